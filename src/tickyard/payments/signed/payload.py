"""From a payment header to JSON we can trust the shape of: one header, once, canonical, small, no key twice.

Whatever is wrong here is a Refusal, never an error of ours.
"""

import binascii
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from tickyard.payments.offer.terms import SECOND, AcceptsEntry, is_same
from tickyard.payments.refusal import Refusal
from tickyard.payments.signed.standard_payload import read_usual

HEADER_MAX_BYTES: Final = 16 * 1024
BRACKETS_MAX: Final = 200
"""Four times as many as a payment has that repeats our longest challenge."""
_HEADERS: Final = (b"payment-signature", b"x-payment")
_NUMBER_MAX_CHARS: Final = 100
_V1_NETWORKS: Final = ("base", SECOND)
_IDENTIFIER: Final = re.compile(r"[A-Za-z0-9_-]{16,128}")
IDENTIFIER_EXTENSION: Final = "payment-identifier"


class Given(msgspec.Struct, frozen=True, gc=False):
    """The one payment header of a request."""

    value: bytes
    is_legacy: bool


class Chosen(msgspec.Struct, frozen=True):
    """Which of our entries the client paid, and its signed payload, not looked into yet."""

    entry: AcceptsEntry
    inner: dict[str, Any]
    identifier: str | None


def payment_header(headers: Iterable[tuple[bytes, bytes]]) -> Given | None:
    """The payment header of a request; None without one."""
    found = [
        # Blanks around a header's value are no part of it, and not every server takes them away.
        Given(value.strip(b" \t"), name == b"x-payment")
        for name, value in headers
        if name in _HEADERS
    ]
    if not found:
        return None
    if len(found) > 1:
        raise Refusal("invalid_payment_header: exactly one payment header, once")
    return found[0]


def choose(given: Given, entries: Sequence[AcceptsEntry]) -> Chosen:
    """Read the header and find what it pays for among our own entries."""
    text = _text(given.value)
    usual = read_usual(text, entries)
    if usual is not None:
        return Chosen(*usual, None)
    envelope = _object_in(text)
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


def _choose_v1(envelope: dict[str, Any], entries: Sequence[AcceptsEntry]) -> Chosen:
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
    return _object_in(_text(value))


def _text(value: bytes) -> bytes:
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


def _object_in(text: bytes) -> dict[str, Any]:
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
