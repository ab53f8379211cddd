"""What the description says beside the operations: the index, the tool server, and what we send by ourselves."""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from tickyard.doors.describe.examples import example_of
from tickyard.doors.describe.index import Index
from tickyard.doors.describe.paths import MCP_PATH
from tickyard.kernel.operation import PushedEvent
from tickyard.kernel.wire import ErrorBody

FRAME_TAG: Final = {"name": "service", "description": "The service itself: its index and its tool server."}
FRAME_KINDS: Final[tuple[type[msgspec.Struct], ...]] = (Index, ErrorBody)

_TEXT: Final = {"type": "string"}
_SAYS_ERROR: Final = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorBody"}}}
PAYMENT_PARAMETERS: Final = [
    {
        "name": name,
        "in": "header",
        "required": False,
        "description": text,
        "schema": _TEXT,
    }
    for name, text in (
        ("PAYMENT-SIGNATURE", "A signed x402 payment for one of the challenge's offers, as base64 of JSON."),
        ("X-PAYMENT", "The same under its older name; PAYMENT-SIGNATURE is looked at first."),
        ("SIGN-IN-WITH-X", "The payer's signature over the challenge, to fetch a paid answer that got lost."),
    )
]
RECEIPT_HEADERS: Final = {
    name: {"description": text, "schema": _TEXT}
    for name, text in (
        ("PAYMENT-RESPONSE", "What became of the settlement, as base64 of JSON: transaction, network, payer."),
        ("X-PAYMENT-RESPONSE", "The same under its older name."),
    )
}


def frame_paths() -> dict[str, dict[str, Any]]:
    index = {"schema": {"$ref": "#/components/schemas/Index"}, "example": example_of(Index)}
    return {
        "/": {
            "get": _door("get_index", "The name of the service and every route it has.", {"application/json": index})
        },
        MCP_PATH: {"post": _tool_server()},
    }


def _door(name: str, text: str, content: dict[str, Any]) -> dict[str, Any]:
    return {
        "operationId": name,
        "tags": [FRAME_TAG["name"]],
        "summary": name.replace("_", " ").capitalize(),
        "description": text,
        "responses": {
            "200": {"description": "The answer.", "content": content},
            "405": {"description": "Another method of this path.", "content": _SAYS_ERROR},
        },
    }


def _tool_server() -> dict[str, Any]:
    message = {"application/json": {"schema": {"type": "object"}, "example": _CALL}}
    text = "The tool server: one JSON-RPC message of the Model Context Protocol (streamable HTTP, no session kept)."
    door = _door("call_tool_server", text, {"application/json": {"schema": {"type": "object"}}})
    refused = {"400": "No message of the protocol.", "403": "This origin may not call.", "413": "Too long.",
               "406": "The caller takes no JSON.", "415": "No JSON.", "421": "Another host."}  # fmt: skip
    answers = {status: {"description": said, "content": _SAYS_ERROR} for status, said in refused.items()}
    taken = {"202": {"description": "A notification was taken; there is nothing to answer."}}
    return {
        **door,
        "requestBody": {"required": True, "content": message},
        "responses": dict(sorted({**door["responses"], **answers, **taken}.items())),
    }


_CALL: Final = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "get_quote", "arguments": {"symbol": "AAPL", "side": "buy", "amount": "100"}},
}


def webhooks(events: Iterable[PushedEvent]) -> dict[str, Any]:
    """What a receiver gets from us."""
    return {
        event.name: {
            "post": {
                "operationId": f"receive_{event.name}",
                "tags": [event.tag],
                "summary": event.name.replace("_", " ").capitalize(),
                "description": " ".join((event.body.__doc__ or "").split()),
                "parameters": [
                    {"name": name, "in": "header", "required": True, "description": text, "schema": _TEXT}
                    for name, text in event.headers.items()
                ],
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {
                            "schema": {"$ref": f"#/components/schemas/{event.body.__name__}"},
                            "example": example_of(event.body),
                        }
                    },
                },
                "responses": {"2XX": {"description": "Taken: it counts as delivered."}},
            }
        }
        for event in events
    }
