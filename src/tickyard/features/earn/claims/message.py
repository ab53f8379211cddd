"""The text that a claimant signs. The service derives it from what it knows; a client's text is never looked at."""

from dataclasses import dataclass
from typing import Any, Final

from tickyard.chain.abi import address_word, uint_word
from tickyard.chain.address import checksum
from tickyard.chain.keccak import keccak256
from tickyard.kernel.ids import Address

_PURPOSE: Final = "claim daily reward"
_DOMAIN_TYPE: Final = b"EIP712Domain(string name,string version,uint256 chainId)"
_CLAIM_TYPE: Final = b"Claim(string purpose,uint256 epoch,address address,address holderOf,address paidIn)"
_PREFIX: Final = b"\x19Ethereum Signed Message:\n"


@dataclass(frozen=True, slots=True)
class EarnTerms:
    """What a claim is about, beside its epoch and address."""

    chain_id: int
    token: Address
    """The service token, whose holders share the pool."""
    usdg: Address
    """What they are paid in."""


def claim_message(terms: EarnTerms, epoch: int, address: Address) -> str:
    return (
        "tickyard asks you to sign a reward claim.\n"
        "\n"
        "Signing costs nothing, moves nothing and approves nothing. It lets the service pay your share of one "
        "day's pool to your own address.\n"
        "\n"
        f"Purpose: {_PURPOSE}\n"
        f"Chain ID: {terms.chain_id}\n"
        f"Epoch: {epoch}\n"
        f"Address: {checksum(address)}\n"
        f"Holder of: {checksum(terms.token)}\n"
        f"Paid in: USDG {checksum(terms.usdg)}"
    )


def claim_typed_data(terms: EarnTerms, epoch: int, address: Address) -> dict[str, Any]:
    """The same claim as EIP-712 typed data, for wallets that show its fields one by one."""
    return {
        "types": {
            "EIP712Domain": [
                {"name": "name", "type": "string"},
                {"name": "version", "type": "string"},
                {"name": "chainId", "type": "uint256"},
            ],
            "Claim": [
                {"name": "purpose", "type": "string"},
                {"name": "epoch", "type": "uint256"},
                {"name": "address", "type": "address"},
                {"name": "holderOf", "type": "address"},
                {"name": "paidIn", "type": "address"},
            ],
        },
        "primaryType": "Claim",
        "domain": {"name": "tickyard", "version": "1", "chainId": terms.chain_id},
        "message": {
            "purpose": _PURPOSE,
            "epoch": epoch,
            "address": checksum(address),
            "holderOf": checksum(terms.token),
            "paidIn": checksum(terms.usdg),
        },
    }


def typed_digest(terms: EarnTerms, epoch: int, address: Address) -> bytes:
    """EIP-712, as `eth_signTypedData_v4` hashes what `claim_typed_data` says."""
    domain = keccak256(keccak256(_DOMAIN_TYPE) + keccak256(b"tickyard") + keccak256(b"1") + uint_word(terms.chain_id))
    claim = keccak256(
        keccak256(_CLAIM_TYPE)
        + keccak256(_PURPOSE.encode())
        + uint_word(epoch)
        + address_word(address)
        + address_word(terms.token)
        + address_word(terms.usdg)
    )
    return keccak256(b"\x19\x01" + domain + claim)


def claim_digests(terms: EarnTerms, epoch: int, address: Address) -> tuple[bytes, bytes]:
    """What a claim may be signed as: the message, or the typed data."""
    return message_digest(claim_message(terms, epoch, address)), typed_digest(terms, epoch, address)


def message_digest(text: str) -> bytes:
    """EIP-191, as `personal_sign` hashes it."""
    body = text.encode()
    return keccak256(_PREFIX + str(len(body)).encode() + body)
