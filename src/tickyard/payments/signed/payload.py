"""From a payment header to the entry of ours that it pays: one header, once, and what it says is one of our offers.

Whatever is wrong here is a Refusal, never an error of ours.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from tickyard.kernel.ids import Address
from tickyard.payments.offer.terms import NOT_OFFERED, SECOND, AcceptsEntry, former, is_same
from tickyard.payments.refusal import Refusal
from tickyard.payments.signed.spelling import ADDRESS, NUMBER, header_text, object_in
from tickyard.payments.signed.standard_payload import read_usual

_HEADERS: Final = (b"payment-signature", b"x-payment")
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
    text = header_text(given.value)
    usual = read_usual(text, entries)
    if usual is not None:
        return Chosen(*usual, None)
    envelope = object_in(text)
    version = envelope.get("x402Version")
    if type(version) is int and version == 1 and given.is_legacy:
        return _choose_v1(envelope, entries)
    if type(version) is not int or version != 2:
        raise Refusal("invalid_x402_version")
    inner = envelope.get("payload")
    if not isinstance(inner, dict):
        raise Refusal("invalid_payload: payload must be an object")
    accepted, identifier = envelope.get("accepted"), _identifier(envelope.get("extensions"))
    for entry in entries:
        # Word for word, now or once: a payment that was begun before a price changed is still that payment.
        if is_same(accepted, entry.wire) or is_same(accepted, (entry := _as_it_was(accepted, entry)).wire):
            return Chosen(entry, inner, identifier)
    raise Refusal(NOT_OFFERED)


def _choose_v1(envelope: dict[str, Any], entries: Sequence[AcceptsEntry]) -> Chosen:
    """Version 1 knew only EIP-3009 and named networks by words: it can only mean our second entry."""
    if envelope.get("scheme") != "exact":
        raise Refusal("unsupported_scheme")
    if envelope.get("network") not in _V1_NETWORKS:
        raise Refusal("invalid_network")
    inner = envelope.get("payload")
    if not isinstance(inner, dict):
        raise Refusal("invalid_payload: payload must be an object")
    entry, signed = next(entry for entry in entries if entry.network == SECOND), inner.get("authorization")
    if isinstance(signed, dict):
        entry = _as_it_was({"amount": signed.get("value"), "payTo": signed.get("to")}, entry)
    return Chosen(entry, inner, None)


def _as_it_was(accepted: Any, entry: AcceptsEntry) -> AcceptsEntry:
    """The entry with the price, payee and spender that the client names; itself when these are no such things, or its
    own."""
    amount, pay_to = (accepted.get("amount"), accepted.get("payTo")) if isinstance(accepted, dict) else (None, None)
    if not isinstance(amount, str) or not NUMBER.fullmatch(amount):
        return entry
    if not isinstance(pay_to, str) or not ADDRESS.fullmatch(pay_to):
        return entry
    extra = accepted.get("extra")
    spender = extra.get("spender") if isinstance(extra, dict) else None
    if entry.method != "permit2" or not isinstance(spender, str) or not ADDRESS.fullmatch(spender):
        spender = entry.spender
    if (int(amount), pay_to.lower(), spender.lower()) == (entry.amount_raw, entry.pay_to, entry.spender):
        return entry
    return former(entry, int(amount), Address(pay_to.lower()), Address(spender.lower()))


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
