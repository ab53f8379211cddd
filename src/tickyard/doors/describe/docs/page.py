"""/docs: the API reference for people, made from openapi.json when the service starts.

One page, complete in itself: no font and no image from anywhere, so it can be read offline and saved. A script of the
web app's adds copy buttons and calls to this very service; without it the page is one to read.
"""

import re
from collections.abc import Iterable
from html import escape
from typing import Any, Final

from tickyard.doors.describe.docs.operation import operation_section
from tickyard.doors.describe.docs.style import STYLE
from tickyard.doors.http.web_app import APP_PATH

_METHODS: Final = ("get", "post", "put", "delete")
_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; require-trusted-types-for 'script'"
)


def render_docs(
    document: dict[str, Any], *, script: str | None = None, is_sandbox: bool = False, has_app: bool = True
) -> bytes:
    """The whole page. `script`: where its script is, if it has one."""
    info, server = document["info"], document["servers"][0]["url"]
    groups = [(tag, list(_operations(document, tag["name"]))) for tag in document["tags"]]
    groups = [(tag, operations) for tag, operations in groups if operations]
    return "".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            f"<title>{escape(info['title'])} API reference</title><style>{STYLE}</style>",
            f'<script type="module" src="{escape(script)}"></script>' if script else "",
            f"</head><body{' data-sandbox' if is_sandbox else ''}>",
            _navigation(info, groups),
            "<main>",
            _introduction(info, server, has_app=has_app),
            *(_group(tag, operations, document, server) for tag, operations in groups),
            "<footer>Made from <a href='/openapi.json'>openapi.json</a> when this service started.</footer>",
            "</main></body></html>",
        ]
    ).encode()


def _operations(document: dict[str, Any], tag: str) -> Iterable[tuple[str, str, dict[str, Any]]]:
    for path, item in document["paths"].items():
        for method in _METHODS:
            if method in item and tag in item[method].get("tags", []):
                yield method, path, item[method]


def _navigation(info: dict[str, Any], groups: list[Any]) -> str:
    parts = [f'<nav><a class="home" href="#top">{escape(info["title"])} <small>{escape(info["version"])}</small></a>']
    for tag, operations in groups:
        parts.append(f'<a class="group" href="#tag-{escape(tag["name"])}">{escape(tag["name"].capitalize())}</a><ul>')
        parts += [
            f'<li><a href="#{escape(op["operationId"])}"><b class="{method}">{method.upper()}</b> '
            f"<span>{escape(_short(path))}</span></a></li>"
            for method, path, op in operations
        ]
        parts.append("</ul>")
    return "".join([*parts, "</nav>"])


def _short(path: str) -> str:
    return re.sub(r"^/v1", "", path) or "/"


def _introduction(info: dict[str, Any], server: str, *, has_app: bool) -> str:
    base = escape(server)
    app = f'\n<dt>To look at</dt><dd><a href="{APP_PATH}">{base}{APP_PATH}</a></dd>' if has_app else ""
    return f"""<header id="top"><h1>{escape(info["title"])}</h1><p class="lead">{escape(info["description"])}</p>
<dl class="facts"><dt>Base URL</dt><dd><code>{base}</code></dd>{app}
<dt>Tool server</dt><dd><code>{base}/mcp</code> (MCP, streamable HTTP)</dd>
<dt>Machine readable</dt><dd><a href="/openapi.json">openapi.json</a>, <a href="/llms.txt">llms.txt</a></dd>
<dt>Version</dt><dd>{escape(info["version"])}</dd></dl>
<p>Free routes need no key. Bodies are JSON. Amounts and prices are decimal strings, so that nothing is lost on the
way; <code>null</code> means unknown, never zero. Times are ISO 8601 in UTC. Every answer carries
<code>X-Request-Id</code>, and every failure is the same object:</p>
<pre><code>{{"error": {{"code": "not_found", "message": "no asset has this symbol"}}}}</code></pre></header>"""


def _group(tag: dict[str, str], operations: list[Any], document: dict[str, Any], server: str) -> str:
    name = escape(tag["name"])
    sections = [operation_section(method, path, op, document, server) for method, path, op in operations]
    return (
        f'<section class="group" id="tag-{name}"><h2>{name.capitalize()}</h2>'
        f"<p>{escape(tag.get('description', ''))}</p>{''.join(sections)}</section>"
    )
