"""The text that a claimant signs. The service derives it from what it knows; a client's text is never looked at."""

from dataclasses import dataclass
from typing import Final

from tickyard.chain.address import checksum
from tickyard.chain.keccak import keccak256
from tickyard.kernel.ids import Address

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
        "Purpose: claim daily reward\n"
        f"Chain ID: {terms.chain_id}\n"
        f"Epoch: {epoch}\n"
        f"Address: {checksum(address)}\n"
        f"Holder of: {checksum(terms.token)}\n"
        f"Paid in: USDG {checksum(terms.usdg)}"
    )


def message_digest(text: str) -> bytes:
    """EIP-191, as `personal_sign` hashes it."""
    body = text.encode()
    return keccak256(_PREFIX + str(len(body)).encode() + body)
