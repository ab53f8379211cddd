"""Inside a payment: who pays whom how much, until when, under which nonce. Checked by us before anybody is asked."""

import re
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from tickyard.chain.address import checksum
from tickyard.kernel.ids import Address
from tickyard.kernel.wire import iso
from tickyard.payments.offer.terms import AcceptsEntry
from tickyard.payments.refusal import Refusal
from tickyard.payments.signed import typed_data
from tickyard.payments.signed.key import Key
from tickyard.payments.signed.payload import Chosen
from tickyard.payments.signed.spelling import ADDRESS, NUMBER

VALID_AT_LEAST_S: Final = 10
VALID_AT_MOST_S: Final = 86_400
"""An unsettled payment stays open until its deadline, so one that lasts for years is not taken."""

_NONCE: Final = re.compile(r"0x[0-9a-fA-F]{64}")
_SIGNATURE: Final = re.compile(r"0x(?:[0-9a-fA-F]{2})+")
_TIME_REASONS: Final = {
    "permit2": ("permit2_not_yet_valid", "permit2_deadline_expired", "permit2_deadline_too_far"),
    "eip3009": (
        "invalid_exact_evm_payload_authorization_valid_after",
        "invalid_exact_evm_payload_authorization_valid_before",
        "invalid_exact_evm_payload_authorization_valid_before_too_far",
    ),
}
_UINT256_MAX: Final = 2**256 - 1


class Payment(msgspec.Struct, frozen=True):
    key: Key
    entry: AcceptsEntry
    valid_after: int
    valid_before: int
    """Unix seconds; past this the chain refuses it."""
    signature: bytes
    digest: bytes
    """What the payer signed."""
    inner: dict[str, Any]
    """The scheme's payload in our own spelling: nothing of the client's text goes any further. A wallet may name its
    account in one case alone, and there are facilitators that read no address but the EIP-55 one."""
    identifier: str | None


def read_authorization(chosen: Chosen) -> Payment:
    """The payment, if it is worth our price to our account."""
    inner, entry = chosen.inner, chosen.entry
    signature = _text(inner, "signature", _SIGNATURE)
    read = _permit2 if entry.method == "permit2" else _eip3009
    try:
        payer, nonce, after, before, digest, clean = read(inner, entry)
    except Refusal:
        if entry.closed is None:
            raise
        # What is wrong with it inside is nobody's concern: it would not be taken anyway.
        raise Refusal(entry.closed) from None
    return Payment(
        key=Key(entry.network, entry.asset, payer, f"0x{nonce:064x}"),
        entry=entry,
        valid_after=after,
        valid_before=before,
        signature=bytes.fromhex(signature[2:]),
        digest=digest,
        inner={"signature": signature.lower(), **clean},
        identifier=chosen.identifier,
    )


def check_times(payment: Payment, now: int) -> None:
    """Refuse a payment that cannot be settled in good time. `now` is Unix seconds by the clock of its network.

    Only a payment about to be taken is asked this: one that was taken in time may come back for its answer later.
    """
    if payment.entry.closed is not None:
        raise Refusal(payment.entry.closed)
    too_early, too_late, too_far = _TIME_REASONS[payment.entry.method]
    # A clock that differs from the signer's is the usual reason: in a sandbox it may be days ahead.
    here = f": it is {iso(datetime.fromtimestamp(now, UTC))} here"
    if payment.valid_after > now:
        raise Refusal(too_early + here)
    if payment.valid_before < now + VALID_AT_LEAST_S:
        raise Refusal(too_late + here)
    if payment.valid_before > now + VALID_AT_MOST_S:
        raise Refusal(too_far + here)


Parts = tuple[Address, int, int, int, bytes, dict[str, Any]]
"""Payer, nonce, valid after, valid before, digest, clean payload."""


def _eip3009(inner: dict[str, Any], entry: AcceptsEntry) -> Parts:
    signed = _object(inner, "authorization")
    payer, to = _address(signed, "from"), _address(signed, "to")
    value, after, before = (_number(signed, name) for name in ("value", "validAfter", "validBefore"))
    nonce = int(_text(signed, "nonce", _NONCE), 16)
    if to != entry.pay_to:
        raise Refusal("invalid_exact_evm_payload_recipient_mismatch")
    if value != entry.amount_raw:
        raise Refusal("invalid_exact_evm_payload_authorization_value_mismatch")
    digest = typed_data.eip3009_digest(entry, payer, after, before, nonce)
    clean = {
        "from": checksum(payer),
        "to": checksum(to),
        "value": str(value),
        "validAfter": str(after),
        "validBefore": str(before),
        "nonce": f"0x{nonce:064x}",
    }
    return payer, nonce, after, before, digest, {"authorization": clean}


def _permit2(inner: dict[str, Any], entry: AcceptsEntry) -> Parts:
    signed = _object(inner, "permit2Authorization")
    permitted, witness = _object(signed, "permitted"), _object(signed, "witness")
    payer, spender = _address(signed, "from"), _address(signed, "spender")
    nonce, before = _number(signed, "nonce"), _number(signed, "deadline")
    after = _number(witness, "validAfter")
    if _address(permitted, "token") != entry.asset:
        raise Refusal("permit2_token_mismatch")
    if _number(permitted, "amount") != entry.amount_raw:
        raise Refusal("permit2_amount_mismatch")
    if spender != entry.spender:
        raise Refusal("invalid_permit2_spender")
    if _address(witness, "to") != entry.pay_to:
        raise Refusal("invalid_permit2_recipient_mismatch")
    digest = typed_data.permit2_digest(entry, nonce, before, after)
    clean = {
        "from": checksum(payer),
        "permitted": {"token": checksum(entry.asset), "amount": str(entry.amount_raw)},
        "spender": checksum(entry.spender),
        "nonce": str(nonce),
        "deadline": str(before),
        "witness": {"to": checksum(entry.pay_to), "validAfter": str(after)},
    }
    return payer, nonce, after, before, digest, {"permit2Authorization": clean}


def _object(holder: dict[str, Any], name: str) -> dict[str, Any]:
    value = holder.get(name)
    if not isinstance(value, dict):
        raise Refusal(f"invalid_payload: {name} must be an object")
    return value


def _text(holder: dict[str, Any], name: str, pattern: re.Pattern[str]) -> str:
    value = holder.get(name)
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise Refusal(f"invalid_payload: {name} is out of shape")
    return value


def _address(holder: dict[str, Any], name: str) -> Address:
    return Address(_text(holder, name, ADDRESS).lower())


def _number(holder: dict[str, Any], name: str) -> int:
    value = int(_text(holder, name, NUMBER))
    if value > _UINT256_MAX:
        raise Refusal(f"invalid_payload: {name} is out of shape")
    return value
