"""JSON in a header, of which there is one spelling: canonical base64, small, no key twice.

Whatever is wrong here is a Refusal, never an error of ours.
"""

import binascii
import json
import re
from typing import Any, Final

from tickyard.payments.refusal import Refusal

HEADER_MAX_BYTES: Final = 16 * 1024
BRACKETS_MAX: Final = 200
"""Four times as many as a payment has that repeats our longest challenge."""
_NUMBER_MAX_CHARS: Final = 100
ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{40}")
NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,77}")


def decode(value: bytes) -> dict[str, Any]:
    """The JSON object inside a payment header."""
    return object_in(header_text(value))


def header_text(value: bytes) -> bytes:
    if len(value) > HEADER_MAX_BYTES:
        raise Refusal("invalid_payment_header: over 16 KiB")
    try:
        text = binascii.a2b_base64(value)
    except ValueError:
        raise Refusal("invalid_payment_header: not base64") from None
    # Two spellings of one payment must not exist: spare bits, missing padding and stray characters are refused.
    if not text or binascii.b2a_base64(text, newline=False) != value:
        raise Refusal("invalid_payment_header: not canonical base64")
    # Nothing here walks a value to its bottom; this keeps it so that anybody could.
    if text.count(b"{") + text.count(b"[") > BRACKETS_MAX:
        raise Refusal(f"invalid_payload: more than {BRACKETS_MAX} objects and lists")
    return text


def object_in(text: bytes) -> dict[str, Any]:
    """The JSON object, with no key twice in any object of it."""
    try:
        envelope = _STRICT.decode(text.decode("utf-8"))
    except (ValueError, RecursionError):
        raise Refusal("invalid_payload: not JSON") from None
    if not isinstance(envelope, dict):
        raise Refusal("invalid_payload: not a JSON object")
    return envelope


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise Refusal("invalid_payload: a key is given twice")
    return values


def _no_constant(_name: str) -> Any:
    raise Refusal("invalid_payload: not JSON")


def _integer(text: str) -> int:
    if len(text) > _NUMBER_MAX_CHARS:
        raise Refusal("invalid_payload: a number is too long")
    return int(text)


def _no_fraction(_text: str) -> str:
    """A fraction is a value of the client's own, such as an echoed example: nothing we read is one."""
    return "fraction"


_STRICT: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_no_constant, parse_int=_integer, parse_float=_no_fraction
)
