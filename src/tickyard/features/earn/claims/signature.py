"""Who signed a claim, and whether that is an account which a key controls."""

import re
from collections.abc import Iterable
from typing import Final

from tickyard.chain.recovery import signer_of
from tickyard.kernel.errors import BadRequest
from tickyard.kernel.ids import Address

SIGNATURE_PATTERN: Final = "^0x[0-9a-fA-F]{130}$"

_SIGNATURE: Final = re.compile(r"0x[0-9a-fA-F]{130}")
_PARITY: Final = {0: 0, 1: 1, 27: 0, 28: 1}
_DELEGATION: Final = re.compile(r"0xef0100[0-9a-fA-F]{40}")


def read_signature(text: str) -> bytes:
    """Exactly 65 bytes: r, s, and v as 0, 1, 27 or 28."""
    if not _SIGNATURE.fullmatch(text):
        raise BadRequest("signature must be 0x followed by 130 hex digits")
    signature = bytes.fromhex(text[2:])
    if signature[64] not in _PARITY:
        raise BadRequest("the last byte of signature must be 0, 1, 27 or 28")
    return signature


def recover(digest: bytes, signature: bytes) -> Address | None:
    """The address that signed; None when nobody can have.

    A high `s` recovers too, and may: nothing is looked up by signature, so its second form is no second claim.
    """
    if len(signature) != 65 or (parity := _PARITY.get(signature[64])) is None:
        return None
    return signer_of(digest, signature[:64], parity)


def is_signed_by(address: Address, digests: Iterable[bytes], signature: bytes) -> bool:
    """Whether the address signed one of these."""
    return any(recover(digest, signature) == address for digest in digests)


def is_key_account(code: str) -> bool:
    """Whether a key controls the account with this code: none at all, or an EIP-7702 delegation."""
    return code == "0x" or _DELEGATION.fullmatch(code) is not None
