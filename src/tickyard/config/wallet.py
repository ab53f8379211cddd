"""Addresses that money may be sent to, as an operator types them."""

import re
from typing import Final

from sha3 import keccak_256

from tickyard.config import pinned
from tickyard.kernel.ids import EXAMPLE_WALLET, ZERO_ADDRESS, is_address

_ONE_DIGIT: Final = re.compile(r"0x([0-9a-f])\1{39}")
_BURNT: Final = "0x000000000000000000000000000000000000dead"
# The people of the sandbox, whose keys follow from public phrases, and the first account of every development node.
PUBLIC_KEYS: Final = frozenset(
    {
        "0x875f7121a37a8af309b8e85f297b46aa19d85dad",
        "0xb793204cbdced76cd1366f082039304b9a9b3ca8",
        "0x2096634b1d81843bcdcb05282397dc3c57c2ca7a",
        "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266",
    }
)


def problem_with(text: str) -> str | None:
    """What is wrong with an address that is to receive money: the rest of a sentence."""
    if not is_address(text):
        return "must be 0x followed by 40 hex digits"
    if not _has_good_checksum(text):
        return "has a wrong checksum: a letter was mistyped, or its upper and lower case got lost; copy it again"
    address = text.lower()
    if address in (ZERO_ADDRESS, _BURNT) or _ONE_DIGIT.fullmatch(address):
        return "is a placeholder: what is paid there is lost for ever"
    if address == EXAMPLE_WALLET.lower():
        return "is the example of the documentation: put your own wallet here"
    if address in PUBLIC_KEYS:
        return "is a wallet whose key is public: anybody may take what is paid there"
    contracts = {getattr(pinned.MAINNET, name) for name in pinned.Contracts.__struct_fields__}
    if address in {*contracts, pinned.USDC_8453, pinned.SPENDER}:
        return "is a contract from which nothing comes back"
    return None


def _has_good_checksum(text: str) -> bool:
    """EIP-55. One letter case alone carries no checksum."""
    digits = text[2:]
    if digits in (digits.lower(), digits.upper()):
        return True
    # Not from the rooms above, which read chains: settings stand below them.
    nibbles = keccak_256(digits.lower().encode()).hexdigest()
    return all(
        not digit.isalpha() or digit.isupper() == (nibble > "7") for digit, nibble in zip(digits, nibbles, strict=False)
    )
