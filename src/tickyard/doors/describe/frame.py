"""What the description says beside the operations: the index, the tool server, and what we send by ourselves."""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from tickyard.doors.describe.examples import example_of
from tickyard.doors.describe.index import Index
from tickyard.doors.describe.paths import MCP_PATH
from tickyard.features.history.stream.told import EVENTS
from tickyard.kernel.operation import PushedEvent
from tickyard.kernel.wire import ErrorBody

FRAME_TAG: Final = {
    "name": "service",
    "description": "The service itself: its index, its tool server, its stream and its state.",
}
FRAME_KINDS: Final[tuple[type[msgspec.Struct], ...]] = (Index, ErrorBody)

_TEXT: Final = {"type": "string"}
_SAYS_ERROR: Final = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorBody"}}}
_PROTOCOL_ERROR: Final = {
    "type": "object",
    "properties": {
        "jsonrpc": {"const": "2.0"},
        "id": {"type": ["string", "integer", "null"]},
        "error": {
            "type": "object",
            "properties": {"code": {"type": "integer"}, "message": _TEXT},
            "required": ["code", "message"],
        },
    },
    "required": ["jsonrpc", "error"],
}
_SAYS_PROTOCOL_ERROR: Final = {"application/json": {"schema": _PROTOCOL_ERROR}}
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
        "/v1/stream": {"get": _stream()},
        "/healthz": {"get": _door("get_health", "The process lives.", _object({"status": "ok"}, status=_TEXT))},
        "/readyz": {"get": _readiness()},
    }


def _object(example: dict[str, Any], **fields: dict[str, Any]) -> dict[str, Any]:
    shape = {"type": "object", "properties": fields, "required": sorted(fields)}
    return {"application/json": {"schema": shape, "example": example}}


def _readiness() -> dict[str, Any]:
    age = {"type": ["integer", "null"]}
    tasks = {"type": "array", "items": _TEXT}
    example = {"status": "ready", "headAgeSeconds": 1, "registryAgeSeconds": 25, "tasks": ["registry", "stream"]}
    told = _object(example, status=_TEXT, headAgeSeconds=age, registryAgeSeconds=age, tasks=tasks)
    door = _door("get_readiness", "The process can serve: what it depends on answers, and its tasks run.", told)
    door["responses"]["503"] = {"description": "Not now; the message says why.", "content": _SAYS_ERROR}
    return door


def _stream() -> dict[str, Any]:
    text = (
        "Follow the market: server-sent events, a snapshot first. The durable ones carry an `id`; whoever comes back"
        " with it as `Last-Event-ID` gets what was missed, or the event `gap`."
    )
    door = _door("follow_stream", text, {"text/event-stream": {"schema": _TEXT}})
    refused = {"400": "A parameter is out of shape.", "404": "No asset has this symbol.", "429": "Too many listeners."}
    answers = {status: {"description": said, "content": _SAYS_ERROR} for status, said in refused.items()}
    parameters = [
        {"name": name, "in": place, "required": False, "description": said, "schema": _TEXT, "example": example}
        for name, place, said, example in (
            ("symbols", "query", "Up to 50 symbols, separated by commas; all when left out.", "AAPL,MSFT"),
            (
                "events",
                "query",
                f"Some of {', '.join(EVENTS)}, separated by commas; all when left out.",
                "price,sample",
            ),
            ("Last-Event-ID", "header", "The id of the last event that arrived.", "7"),
        )
    ]
    return {**door, "parameters": parameters, "responses": dict(sorted({**door["responses"], **answers}.items()))}


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
    # What has reached the protocol is refused in its words.
    words = {"400": _SAYS_PROTOCOL_ERROR, "406": _SAYS_PROTOCOL_ERROR}
    answers = {
        status: {"description": said, "content": words.get(status, _SAYS_ERROR)} for status, said in refused.items()
    }
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
