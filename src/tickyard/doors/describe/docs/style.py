"""The look of /docs: light and dark by the reader's own choice, readable on a phone and on paper."""

from typing import Final

STYLE: Final = """
:root{color-scheme:light dark;--ink:#1c2024;--dim:#5f6772;--paper:#fff;--soft:#f5f6f8;--line:#e2e5ea;--link:#0b62c4;
--get:#0a7d4f;--post:#0b62c4;--delete:#b3261e;--price:#8a5a00;--code:#f0f2f5}
@media(prefers-color-scheme:dark){:root{--ink:#e4e7eb;--dim:#9aa3ae;--paper:#14171b;--soft:#1b1f25;--line:#2b3139;
--link:#6db3ff;--get:#4fd39a;--post:#6db3ff;--delete:#ff8a80;--price:#f0b94d;--code:#20252c}}
*{box-sizing:border-box}html{scroll-behavior:smooth;scroll-padding-top:1rem}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif;
display:grid;grid-template-columns:17rem minmax(0,1fr)}
a{color:var(--link);text-decoration:none}a:hover{text-decoration:underline}
nav{position:sticky;top:0;height:100vh;overflow-y:auto;padding:1.25rem 1rem;background:var(--soft);
border-right:1px solid var(--line);font-size:.86rem}
nav a{color:inherit;display:block}nav .home{font-size:1.15rem;font-weight:650;margin-bottom:1rem}
nav .group{font-weight:600;margin:1rem 0 .25rem;color:var(--dim)}nav ul{list-style:none;margin:0;padding:0}
nav li a{display:flex;gap:.5rem;align-items:baseline;padding:.16rem 0}
nav li b{flex:0 0 2.9rem;font-size:.66rem}nav li span{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
main{max-width:82rem;padding:2.5rem clamp(1rem,4vw,3.5rem) 4rem;min-width:0}
h1{font-size:2.1rem;margin:0 0 .25rem;letter-spacing:-.02em}h2{font-size:1.5rem;margin:3.5rem 0 .25rem}
h3{font-size:1.12rem;margin:0 0 .4rem}h3 a{color:inherit}
h4{font-size:.78rem;text-transform:uppercase;letter-spacing:.06em;color:var(--dim);margin:1.25rem 0 .4rem}
.lead{font-size:1.1rem;color:var(--dim);margin:.25rem 0 1.25rem}small{color:var(--dim);font-weight:400}
.facts{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:.3rem 1.25rem;margin:1.25rem 0}
.facts dt{color:var(--dim)}.facts dd{margin:0;min-width:0;overflow-wrap:anywhere}
article{border-top:1px solid var(--line);padding:1.6rem 0 1rem;margin-top:1.25rem}
.route{margin:.2rem 0 .6rem}.route code{font-size:.95rem}
.route b,nav b{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
b.get{color:var(--get)}b.post,b.put{color:var(--post)}b.delete{color:var(--delete)}
.price{color:var(--price);font-size:.85rem;font-weight:600;margin-left:.6rem}
.columns{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1fr);gap:0 2.25rem}
code{font:.86em ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;background:var(--code);border-radius:4px;
padding:.1em .3em}
pre{background:var(--code);border:1px solid var(--line);border-radius:8px;padding:.8rem 1rem;overflow:auto;
max-height:26rem;margin:.4rem 0}
pre code{background:none;padding:0;font-size:.8rem;line-height:1.5}
table{border-collapse:collapse;width:100%;font-size:.86rem}
td{border-top:1px solid var(--line);padding:.4rem .6rem .4rem 0;vertical-align:top}tr:first-child td{border-top:0}
td:first-child{white-space:nowrap}td.type{color:var(--dim);min-width:8.6rem;overflow-wrap:anywhere}
td.d1{padding-left:1rem}td.d2{padding-left:2rem}td.d3{padding-left:3rem}
details{margin:.6rem 0}summary{cursor:pointer;color:var(--link);font-size:.88rem}
.copied{position:relative}.copied>button{position:absolute;top:.45rem;right:.5rem;opacity:0;transition:opacity .15s}
.copied:hover>button,.copied>button:focus-visible{opacity:1}@media(hover:none){.copied>button{opacity:.85}}
button{font:600 .76rem system-ui,sans-serif;color:var(--ink);background:var(--paper);border:1px solid var(--line);
border-radius:6px;padding:.28rem .6rem;cursor:pointer}button:hover{border-color:var(--dim)}button:disabled{opacity:.5}
button:focus-visible,input:focus-visible,textarea:focus-visible{outline:2px solid var(--link);outline-offset:1px}
.try{border:1px solid var(--line);border-radius:8px;padding:.6rem .7rem;margin:1.25rem 0 .4rem;background:var(--soft)}
.try .line{display:flex;gap:.6rem;align-items:center}.try b{font:600 .72rem ui-monospace,Menlo,Consolas,monospace}
.try input,.try textarea{flex:1;min-width:0;width:100%;font:.8rem ui-monospace,Menlo,Consolas,monospace;
color:var(--ink);background:var(--paper);border:1px solid var(--line);border-radius:6px;padding:.35rem .5rem}
.try textarea{display:block;margin-top:.5rem;resize:vertical}
.said p{margin:.6rem 0 .3rem;font-size:.84rem;overflow-wrap:anywhere}
.said .good{color:var(--get)}.said .bad{color:var(--delete)}.said>button{margin-top:.6rem}
footer{margin-top:4rem;color:var(--dim);font-size:.85rem}
@media(max-width:70rem){.columns{grid-template-columns:minmax(0,1fr)}}
@media(max-width:52rem){body{display:block}nav{position:static;height:auto;max-height:16rem;border-right:0;
border-bottom:1px solid var(--line)}table{table-layout:fixed}td{overflow-wrap:anywhere}
td:first-child{white-space:normal;width:33%}td.type{min-width:0;width:25%}}
@media(max-width:30rem){.facts{grid-template-columns:minmax(0,1fr);gap:0}.facts dd{margin-bottom:.5rem}}
@media print{nav,.try,.copied>button{display:none}body{display:block}pre{max-height:none;white-space:pre-wrap}}
"""
