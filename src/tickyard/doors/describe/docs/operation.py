"""One operation of the API reference: what it takes, what it answers, how it fails."""

import json
import re
from html import escape
from shlex import quote as shell_quote
from typing import Any, Final
from urllib.parse import quote, urlencode

from tickyard.doors.describe.docs.schema import field_rows, type_text

_CODE: Final = re.compile(r"`([^`]+)`")
# Optional to the contract, but an example without them is none.
_OPTIONAL_SHOWN: Final = frozenset({"symbols", "x-svc-alert-secret"})
# What exists only where it has happened: by its place in a path, where to find one.
_HAPPENED: Final = {
    "/epochs/{id}": "Put the `id` of a day of this service in the place of the example's: `GET /v1/earn` names the"
    " newest in `epoch`. Before the first snapshot there is none, and the answer is 404.",
    "/payments/{transaction}": "Put the `transaction` of a receipt in the place of the example's: the answer to a paid"
    " call carries it. For a transaction that paid for nothing here the answer is 404.",
}


def operation_section(method: str, path: str, op: dict[str, Any], document: dict[str, Any], server: str) -> str:
    name = escape(op["operationId"])
    paid = op.get("x-payment-info")
    price = f' <span class="price">${escape(paid["price"]["amount"])} per call</span>' if paid else ""
    return "".join(
        [
            f'<article id="{name}"{_call(method, path, op)}><h3><a href="#{name}">{escape(op["summary"])}</a></h3>',
            f'<p class="route"><b class="{method}">{method.upper()}</b> <code>{escape(path)}</code>{price}</p>',
            _description(op),
            '<div class="columns"><div>',
            _parameters(op),
            _body(op, document),
            _failures(op),
            '</div><div class="examples">',
            "<h4>Example</h4>",
            f"<pre><code>{escape(curl(method, path, op, server))}</code></pre>",
            *(f"<p>{prose(text)}</p>" for place, text in _HAPPENED.items() if place in path),
            _answer(op, document),
            "</div></div></article>",
        ]
    )


def _call(method: str, path: str, op: dict[str, Any]) -> str:
    """What the page's script needs to make the example's call."""
    target, headers = example_target(path, op)
    if headers or "text/event-stream" in op["responses"].get("200", {}).get("content", {}):
        # Without what only its owner has it would be nothing but a refusal; and a stream has no end to wait for.
        return ""
    told = {"method": method.upper(), "target": target}
    if body := op.get("requestBody"):
        told["body"] = json.dumps(body["content"]["application/json"]["example"])
    return "".join(f' data-{name}="{escape(value)}"' for name, value in told.items())


def _description(op: dict[str, Any]) -> str:
    """What the headline, which is the first sentence, does not say yet."""
    rest = op["description"].removeprefix(op["summary"]).lstrip(". ")
    return f"<p>{prose(rest)}</p>" if rest else ""


def prose(text: str) -> str:
    """Our own descriptions: plain text with `code` in it."""
    return _CODE.sub(r"<code>\1</code>", escape(text))


def curl(method: str, path: str, op: dict[str, Any], server: str) -> str:
    """A command that can be pasted as it stands, with the examples of the description."""
    target, headers = example_target(path, op)
    url = server + target
    words = ["curl", "-s"] + (["-X", method.upper()] if method not in ("get", "post") else [])
    for line in headers:
        words += ["-H", shell_quote(line)]
    command = " ".join([*words, shell_quote(url)])
    if body := op.get("requestBody"):
        example = json.dumps(body["content"]["application/json"]["example"])
        command += f" \\\n  -H 'Content-Type: application/json' \\\n  -d {shell_quote(example)}"
    return command


def example_target(path: str, op: dict[str, Any]) -> tuple[str, list[str]]:
    """Path and query of a call with the examples of the description, and the headers it needs."""
    query, headers = [], []
    for parameter in op.get("parameters", []):
        value = str(parameter.get("example", _some_value(parameter)))
        is_shown = parameter["required"] or parameter["name"] in _OPTIONAL_SHOWN
        if parameter["in"] == "path":
            path = path.replace("{" + parameter["name"] + "}", quote(value, safe=""))
        elif parameter["in"] == "query" and is_shown:
            query.append((parameter["name"], value))
        elif parameter["in"] == "header" and is_shown:
            headers.append(f"{parameter['name']}: {value}")
    return path + (f"?{urlencode(query, safe=',')}" if query else ""), headers


def _some_value(parameter: dict[str, Any]) -> Any:
    schema = parameter["schema"]
    for part in (schema, *schema.get("anyOf", ())):
        for key in ("default", "const"):
            if part.get(key) is not None:
                return part[key]
        for key in ("examples", "enum"):
            if part.get(key):
                return part[key][0]
    return {"integer": 1, "number": 1.5, "boolean": "true"}.get(
        schema.get("type", ""), f"YOUR_{parameter['name'].rpartition('-')[2].upper()}"
    )


def _parameters(op: dict[str, Any]) -> str:
    if not op.get("parameters"):
        return ""
    rows = [
        _row(p["name"], type_text(p["schema"]), p["required"], p.get("description", ""), p["schema"], f"in {p['in']}")
        for p in op["parameters"]
    ]
    return f"<h4>Parameters</h4><table>{''.join(rows)}</table>"


def _row(
    name: str, kind: str, is_required: bool, text: str, schema: dict[str, Any], place: str = "", depth: int = 0
) -> str:
    notes = [place] if place else []
    if is_required:
        notes.append("required")
    if (default := schema.get("default")) is not None:
        notes.append(f"default {default}")
    about = " ".join(
        part for part in (prose(text), f"<small>{escape(', '.join(notes))}</small>" if notes else "") if part
    )
    return (
        f'<tr><td class="d{depth}"><code>{escape(name)}</code></td>'
        f'<td class="type">{escape(kind)}</td><td>{about}</td></tr>'
    )


def _body(op: dict[str, Any], document: dict[str, Any]) -> str:
    if "requestBody" not in op:
        return ""
    return f"<h4>Body</h4>{_fields(op['requestBody']['content']['application/json']['schema'], document, True)}"


def _fields(schema: dict[str, Any], document: dict[str, Any], is_request: bool) -> str:
    rows = [
        _row(field.name, field.kind, is_request and field.is_required, field.text, field.schema, depth=field.depth)
        for field in field_rows(schema, document["components"]["schemas"])
    ]
    return f"<table>{''.join(rows)}</table>" if rows else ""


def _answer(op: dict[str, Any], document: dict[str, Any]) -> str:
    status, answer = next((s, r) for s, r in op["responses"].items() if s.startswith("2"))
    if "application/json" not in answer["content"]:
        return f"<h4>Answer <small>{status}</small></h4><p><code>{escape(', '.join(answer['content']))}</code></p>"
    content = answer["content"]["application/json"]
    shown = json.dumps(content.get("example"), indent=2, ensure_ascii=False)
    fields = _fields(content["schema"], document, False) if "schema" in content else ""
    return (
        f"<h4>Answer <small>{status}</small></h4><pre><code>{escape(shown)}</code></pre>"
        f"<details><summary>Fields of the answer</summary>{fields}</details>"
    )


def _failures(op: dict[str, Any]) -> str:
    rows = [
        f'<tr><td><code>{status}</code></td><td class="type">{escape(_code(answer))}</td>'
        f"<td>{prose(answer['description'])}</td></tr>"
        for status, answer in op["responses"].items()
        if not status.startswith("2")
    ]
    return f"<h4>Failures</h4><table>{''.join(rows)}</table>" if rows else ""


def _code(answer: dict[str, Any]) -> str:
    example = answer.get("content", {}).get("application/json", {}).get("example")
    error = example.get("error") if isinstance(example, dict) else None
    return str(error["code"]) if isinstance(error, dict) else ""
