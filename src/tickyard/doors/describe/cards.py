"""Visiting cards: what other software reads before it connects."""

from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from tickyard.doors.describe.paths import MCP_PATH
from tickyard.doors.describe.titles import API_VERSION, TITLE, headline
from tickyard.kernel.operation import Operation

PROTOCOLS: Final = ("2026-07-28", "2025-11-25")
_CARD_SCHEMA: Final = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
_REGISTRY_SCHEMA: Final = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
# Registries allow a hundred characters.
_SHORT: Final = "Prices, quotes, candles, portfolios and unsigned trades of tokenized US stocks on chain 4663."


def server_card(base_url: str) -> dict[str, Any]:
    """The MCP server card. It names no tools: those are listed by the server itself."""
    return {
        "$schema": _CARD_SCHEMA,
        "name": server_name(base_url),
        "title": TITLE,
        "description": _SHORT,
        "version": API_VERSION,
        "websiteUrl": f"{base_url}/docs",
        "remotes": [
            {
                "type": "streamable-http",
                "url": base_url + MCP_PATH,
                "supportedProtocolVersions": list(PROTOCOLS),
            }
        ],
    }


def registry_entry(base_url: str) -> str:
    """`server.json`, the text with which the operator enters the service into the MCP registry."""
    entry = {
        "$schema": _REGISTRY_SCHEMA,
        "name": server_name(base_url),
        "title": TITLE,
        "description": _SHORT,
        "version": API_VERSION,
        "websiteUrl": f"{base_url}/docs",
        "remotes": [{"type": "streamable-http", "url": base_url + MCP_PATH}],
    }
    return msgspec.json.format(msgspec.json.encode(entry), indent=2).decode() + "\n"


def agent_card(rows: Sequence[Operation], base_url: str, description: str) -> dict[str, Any]:
    """The agent card: one skill per tool, reached through the tool server."""
    return {
        "name": TITLE,
        "description": description,
        "version": API_VERSION,
        "documentationUrl": f"{base_url}/docs",
        "provider": {"organization": TITLE, "url": base_url},
        # We are no conversational agent: the one way in is the tool server, named by its protocol's own address.
        "supportedInterfaces": [
            {
                "url": base_url + MCP_PATH,
                "protocolBinding": f"https://modelcontextprotocol.io/specification/{PROTOCOLS[0]}",
                "protocolVersion": "1.0",
            }
        ],
        "capabilities": {"streaming": False, "pushNotifications": False},
        "defaultInputModes": ["application/json"],
        "defaultOutputModes": ["application/json"],
        "skills": [
            {"id": row.name, "name": headline(row), "description": row.text, "tags": [row.tag]}
            for row in rows
            if row.is_tool
        ],
    }


def server_name(base_url: str) -> str:
    """The host's labels from the end to the start, as registries name servers: com.example.api/tickyard."""
    host = urlsplit(base_url).hostname or "localhost"
    try:
        ip_address(host)
    except ValueError:
        return f"{'.'.join(reversed(host.split('.')))}/{TITLE}"
    return f"{host.replace(':', '-')}/{TITLE}"
