"""How the service is found: the documents that directories, agents and scanners look for.

All of them are made from the catalog's rows and the base URL, so none can name a route that does not exist or
forget one that does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import quote

from tickyard.doors.describe.cards import agent_card, server_card
from tickyard.doors.describe.examples import example_of
from tickyard.doors.describe.paths import MCP_PATH
from tickyard.doors.describe.payment_info import price_text
from tickyard.doors.describe.titles import TITLE
from tickyard.kernel.operation import Operation
from tickyard.kernel.wire import encode, iso
from tickyard.payments.offer.bazaar import paid_path

_LINKSET: Final = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'
_JSON: Final = "application/json"
_CARD: Final = "application/mcp-server-card+json"
_TEXT: Final = "text/plain; charset=utf-8"
_EXPIRES: Final = timedelta(days=360)


@dataclass(frozen=True, slots=True)
class DiscoveryDocument:
    path: str
    content_type: str
    body: bytes


def documents(
    rows: Sequence[Operation], *, base_url: str, description: str, contact: str, now: datetime
) -> list[DiscoveryDocument]:
    """Every discovery document. `contact`: a mail address or URL for reports of vulnerabilities."""
    return [
        DiscoveryDocument("/.well-known/x402", _JSON, encode(x402_manifest(rows, base_url, description))),
        DiscoveryDocument("/.well-known/api-catalog", _LINKSET, encode(api_catalog(rows, base_url))),
        DiscoveryDocument("/.well-known/agent-card.json", _JSON, encode(agent_card(rows, base_url, description))),
        DiscoveryDocument("/.well-known/mcp/server-card.json", _CARD, encode(server_card(base_url))),
        DiscoveryDocument("/.well-known/security.txt", _TEXT, security_txt(base_url, contact, now).encode()),
        DiscoveryDocument("/llms.txt", _TEXT, llms_txt(rows, base_url, description).encode()),
    ]


DOCUMENT_PATHS: Final = (
    "/.well-known/x402",
    "/.well-known/api-catalog",
    "/.well-known/agent-card.json",
    "/.well-known/mcp/server-card.json",
    "/.well-known/security.txt",
    "/llms.txt",
)


def example_path(row: Operation, path: str) -> str:
    """A path that can really be called, with the example of each of its parameters."""
    for name, value in example_of(row.ask).items():
        path = path.replace("{" + name + "}", quote(str(value), safe=""))
    return path


def x402_manifest(rows: Sequence[Operation], base_url: str, description: str) -> dict[str, Any]:
    """What can be bought here. Every URL in `resources` answers 402 as it stands."""
    paid = [row for row in rows if row.price is not None]
    return {
        "version": 1,
        "x402Version": 2,
        "name": TITLE,
        "description": description,
        "resources": [base_url + example_path(row, paid_path(row)) for row in paid],
        "endpoints": [
            {
                "method": row.method,
                "url": base_url + paid_path(row),
                "operation": row.name,
                "description": row.title,
                "price": {"currency": "USD", "amount": price_text(row.price)},
            }
            for row in paid
            if row.price is not None
        ],
        "openapi": f"{base_url}/openapi.json",
    }


def api_catalog(rows: Sequence[Operation], base_url: str) -> dict[str, Any]:
    """RFC 9727: where the API is described, documented and watched."""
    status = [{"href": f"{base_url}/readyz", "type": _JSON}]
    if any(row.path == "/v1/status" for row in rows):
        status.append({"href": f"{base_url}/v1/status", "type": _JSON})
    return {
        "linkset": [
            {
                "anchor": f"{base_url}/.well-known/api-catalog",
                "item": [{"href": f"{base_url}/"}, {"href": base_url + MCP_PATH}],
            },
            {
                "anchor": f"{base_url}/",
                "service-desc": [
                    {"href": f"{base_url}/openapi.json", "type": "application/vnd.oai.openapi+json;version=3.1"}
                ],
                "service-doc": [
                    {"href": f"{base_url}/docs", "type": "text/html"},
                    {"href": f"{base_url}/llms.txt", "type": "text/plain"},
                ],
                "service-meta": [{"href": f"{base_url}/.well-known/x402", "type": _JSON}],
                "status": status,
            },
            {
                "anchor": base_url + MCP_PATH,
                "service-desc": [{"href": f"{base_url}/.well-known/mcp/server-card.json", "type": _CARD}],
            },
        ]
    }


def security_txt(base_url: str, contact: str, now: datetime) -> str:
    """RFC 9116."""
    where = contact if ":" in contact else f"mailto:{contact}"
    return (
        f"Contact: {where}\n"
        f"Expires: {iso((now + _EXPIRES).replace(microsecond=0))}\n"
        "Preferred-Languages: en\n"
        f"Canonical: {base_url}/.well-known/security.txt\n"
    )


def llms_txt(rows: Sequence[Operation], base_url: str, description: str) -> str:
    """What a language model should know about the service, in one page."""
    free = [_line(row, base_url, row.path) for row in rows]
    paid = [
        f"{_line(row, base_url, paid_path(row))} (${price_text(row.price)} per call)"
        for row in rows
        if row.price is not None
    ]
    tools = ", ".join(row.name for row in rows if row.is_tool)
    lines = [
        f"# {TITLE}",
        "",
        f"> {description}",
        "",
        "Free routes need no key. Money and amounts are decimal strings; null means unknown, never zero. A token",
        "stands for `multiplier` underlying shares. Errors are {error: {code, message}}. Nothing here holds keys,",
        "signs or sends.",
        "",
        "## Descriptions",
        "",
        f"- [OpenAPI 3.1]({base_url}/openapi.json): the machine-readable contract",
        f"- [API reference]({base_url}/docs): the same for people",
        f"- [Tool server]({base_url}{MCP_PATH}): MCP over streamable HTTP, no key; tools: {tools}",
        "",
        "## Free routes",
        "",
        *free,
    ]
    if paid:
        lines += ["", "## Pay-per-call routes (x402 v2), same inputs and answers", "", *paid]
    return "\n".join(lines) + "\n"


def _line(row: Operation, base_url: str, path: str) -> str:
    return f"- [{row.method} {path}]({base_url}{path}): {row.title}"
