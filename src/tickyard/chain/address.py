"""How an address is shown: EIP-55 mixed case. Inside the house addresses are lower case."""

from functools import lru_cache

from tickyard.chain.keccak import keccak256
from tickyard.kernel.ids import Address


@lru_cache(maxsize=8192)
def checksum(address: Address) -> str:
    """The EIP-55 form. Cached, because the same few hundred tokens and pools are shown again and again."""
    digits = address[2:]
    nibbles = keccak256(digits.encode()).hex()
    return "0x" + "".join(
        digit.upper() if nibble > "7" else digit for digit, nibble in zip(digits, nibbles, strict=False)
    )


def has_valid_checksum(text: str) -> bool:
    """False only for mixed letter case that is not the EIP-55 one: one case alone carries no checksum."""
    digits = text[2:]
    if digits in (digits.lower(), digits.upper()):
        return True
    return checksum(Address(text.lower())) == text
