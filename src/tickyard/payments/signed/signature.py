"""Who signed. Ordinary signatures are recovered here, so that junk never reaches a facilitator's quota."""

from typing import Final

from tickyard.chain.recovery import signer_of
from tickyard.kernel.ids import Address
from tickyard.payments.refusal import BadPayment
from tickyard.payments.signed.authorization import Payment

ORDINARY_BYTES: Final = 65
_REASONS: Final = {"permit2": "invalid_permit2_signature", "eip3009": "invalid_exact_evm_payload_signature"}
_HALF_ORDER: Final = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0


def has_payer_signed(payment: Payment) -> bool | None:
    """Whether the payer's own key signed. None: only a chain can judge it, because it is no ordinary signature."""
    signature = payment.signature
    if len(signature) != ORDINARY_BYTES:
        return None
    return recover(payment.digest, signature) == payment.key.payer


def not_signed(payment: Payment) -> BadPayment:
    return BadPayment(_REASONS[payment.entry.method])


def recover(digest: bytes, signature: bytes) -> Address | None:
    """The address that signed; None when nobody can have. High `s` is refused as the token refuses it."""
    parity = signature[64] - 27
    if parity not in (0, 1) or int.from_bytes(signature[32:64], "big") > _HALF_ORDER:
        return None
    return signer_of(digest, signature[:64], parity)
