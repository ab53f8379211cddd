"""From a payment header to JSON we can trust the shape of: one header, once, canonical, small, flat, no key twice.

Whatever is wrong here is a Refusal, never an error of ours.
"""

import base64
import binascii
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tickyard.payments.refusal import Refusal
from tickyard.payments.terms import SECOND, Entry, is_same

HEADER_MAX_BYTES: Final = 16 * 1024
DEPTH_MAX: Final = 16
_NUMBER_MAX_CHARS: Final = 100
_V1_NETWORKS: Final = ("base", SECOND)
_IDENTIFIER: Final = re.compile(r"[A-Za-z0-9_-]{16,128}")
IDENTIFIER_EXTENSION: Final = "payment-identifier"


@dataclass(frozen=True, slots=True)
class Given:
    """The one payment header of a request."""

    value: bytes
    is_legacy: bool


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which of our entries the client paid, and its signed payload, not looked into yet."""

    entry: Entry
    inner: dict[str, Any]
    identifier: str | None


def payment_header(headers: Iterable[tuple[bytes, bytes]]) -> Given | None:
    """The payment header of a request; None without one."""
    found = [
        Given(value, name == b"x-payment") for name, value in headers if name in (b"payment-signature", b"x-payment")
    ]
    if not found:
        return None
    if len(found) > 1:
        raise Refusal("invalid_payment_header: exactly one payment header, once")
    return found[0]


def choose(given: Given, entries: Sequence[Entry]) -> Chosen:
    """Read the header and find what it pays for among our own entries."""
    envelope = decode(given.value)
    version = envelope.get("x402Version")
    if type(version) is int and version == 1 and given.is_legacy:
        return _choose_v1(envelope, entries)
    if type(version) is not int or version != 2:
        raise Refusal("invalid_x402_version")
    inner = envelope.get("payload")
    if not isinstance(inner, dict):
        raise Refusal("invalid_payload: payload must be an object")
    for entry in entries:
        if is_same(envelope.get("accepted"), entry.wire):
            return Chosen(entry, inner, _identifier(envelope.get("extensions")))
    raise Refusal("invalid_payment_requirements: accepted is not one of this route's entries")


def _choose_v1(envelope: dict[str, Any], entries: Sequence[Entry]) -> Chosen:
    """Version 1 knew only EIP-3009 and named networks by words: it can only mean our second entry."""
    if envelope.get("scheme") != "exact":
        raise Refusal("unsupported_scheme")
    if envelope.get("network") not in _V1_NETWORKS:
        raise Refusal("invalid_network")
    inner = envelope.get("payload")
    if not isinstance(inner, dict):
        raise Refusal("invalid_payload: payload must be an object")
    return Chosen(next(entry for entry in entries if entry.network == SECOND), inner, None)


def _identifier(extensions: Any) -> str | None:
    """The client's own name of the payment, when it sent one. Other extensions are only its echo of ours."""
    extension = extensions.get(IDENTIFIER_EXTENSION) if isinstance(extensions, dict) else None
    if extension is None:
        return None
    info = extension.get("info") if isinstance(extension, dict) else None
    if not isinstance(info, dict):
        raise Refusal("invalid_payment_identifier: info must be an object")
    identifier = info.get("id")
    if identifier is None:
        return None
    if not isinstance(identifier, str) or not _IDENTIFIER.fullmatch(identifier):
        raise Refusal("invalid_payment_identifier: id must be 16 to 128 letters, digits, hyphens or underscores")
    return identifier


def decode(value: bytes) -> dict[str, Any]:
    """The JSON object inside a payment header."""
    if len(value) > HEADER_MAX_BYTES:
        raise Refusal("invalid_payment_header: over 16 KiB")
    try:
        text = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise Refusal("invalid_payment_header: not base64") from None
    # Two spellings of one payment must not exist: spare bits and missing padding are refused.
    if not text or base64.b64encode(text) != value:
        raise Refusal("invalid_payment_header: not canonical base64")
    try:
        envelope = json.loads(
            text.decode("utf-8"),
            object_pairs_hook=_object,
            parse_constant=_no_constant,
            parse_int=_integer,
            parse_float=_no_fraction,
        )
    except (ValueError, RecursionError):
        raise Refusal("invalid_payload: not JSON") from None
    if not isinstance(envelope, dict):
        raise Refusal("invalid_payload: not a JSON object")
    if _depth(envelope) > DEPTH_MAX:
        raise Refusal(f"invalid_payload: nested deeper than {DEPTH_MAX}")
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


def _depth(value: Any) -> int:
    deepest, level = 0, [value]
    while level:
        deepest += 1
        level = [
            child
            for each in level
            for child in (each.values() if isinstance(each, dict) else each)
            if isinstance(child, dict | list)
        ]
    return deepest
