"""What a message to the tool server must look like, and the short sentence for one that does not.

The package's own refusal is a page of types. It also takes an id that is none for no id at all, and answers nothing.
"""

from typing import Any, Final

import msgspec

from tickyard.doors.http.bodies import holds_half_a_character

INVALID_REQUEST: Final = -32600
PARSE_ERROR: Final = -32700


def refusal(body: bytes) -> bytes | None:
    """The error to answer with. None: it is a message, or no JSON, which the package says shortly enough."""
    if holds_half_a_character(body):
        return _error(PARSE_ERROR, "the message is not valid JSON", None)
    try:
        message = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    wrong = _wrong(message)
    if wrong is None:
        return None
    known = message.get("id") if isinstance(message, dict) else None
    return _error(INVALID_REQUEST, wrong, known if _is_id(known) else None)


def _error(code: int, message: str, known: Any) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": known, "error": {"code": code, "message": message}})


def _wrong(message: Any) -> str | None:
    if not isinstance(message, dict):
        return "a message must be one JSON object"
    if message.get("jsonrpc") != "2.0":
        return 'jsonrpc must be "2.0"'
    if "id" in message and not _is_id(message["id"]):
        return "id must be a string or an integer"
    if not isinstance(message.get("method"), str) and not ({"result", "error"} & message.keys()):
        return "method must be a string"
    if not isinstance(message.get("params"), dict | None):
        return "params must be an object"
    return None


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)
