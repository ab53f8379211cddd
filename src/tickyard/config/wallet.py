"""Addresses that money may be sent to, as an operator types them."""

import re
from typing import Final

from sha3 import keccak_256

from tickyard.config import pinned
from tickyard.kernel.ids import EXAMPLE_WALLET, is_address

_ONE_DIGIT: Final = re.compile(r"0x([0-9a-f])\1{39}")
_SMALL_MAX: Final = 0xFFFF
"""Numbers, not wallets: the chain's own built-in contracts, and what somebody types to fill a field."""
_BURNT: Final = "0x000000000000000000000000000000000000dead"
# The people of the sandbox, whose keys follow from public phrases, and the ten accounts of every development node.
PUBLIC_KEYS: Final = frozenset(
    {
        "0x875f7121a37a8af309b8e85f297b46aa19d85dad",
        "0xb793204cbdced76cd1366f082039304b9a9b3ca8",
        "0x2096634b1d81843bcdcb05282397dc3c57c2ca7a",
        "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266",
        "0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
        "0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc",
        "0x90f79bf6eb2c4f870365e785982e1f101e93b906",
        "0x15d34aaf54267db7d7c367839aaf71a00a2c6a65",
        "0x9965507d1a55bcc2695c58ba16fb37d819b0a4dc",
        "0x976ea74026e726554db657fa54763abd0c3a0aa9",
        "0x14dc79964da2c08b23698b3d3cc7ca32193d9955",
        "0x23618e81e3f5cdf7f54c3d65f7fbc0abf5b21e8f",
        "0xa0ee7a142d267c1f36714e4a8f75612f20a79720",
    }
)


def problem_with(text: str) -> str | None:
    """What is wrong with an address that is to receive money: the rest of a sentence."""
    if not is_address(text):
        return "must be 0x followed by 40 hex digits"
    if not _has_good_checksum(text):
        return "has a wrong checksum: a letter was mistyped, or its upper and lower case got lost; copy it again"
    address = text.lower()
    if int(address, 16) <= _SMALL_MAX or address == _BURNT or _ONE_DIGIT.fullmatch(address):
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
