"""The plain ERC-20 calls. Amounts are base units; decimals are for the registry to check."""

from typing import Final

from tickyard.chain.abi import address_word, read_uint, uint_word
from tickyard.kernel.ids import Address

_BALANCE_OF: Final = bytes.fromhex("70a08231")
_ALLOWANCE: Final = bytes.fromhex("dd62ed3e")
_APPROVE: Final = bytes.fromhex("095ea7b3")
_TRANSFER: Final = bytes.fromhex("a9059cbb")
_TRANSFER_FROM: Final = bytes.fromhex("23b872dd")
TOTAL_SUPPLY: Final = bytes.fromhex("18160ddd")
SYMBOL: Final = bytes.fromhex("95d89b41")
DECIMALS: Final = bytes.fromhex("313ce567")


def balance_of(owner: Address) -> bytes:
    return _BALANCE_OF + address_word(owner)


def allowance(owner: Address, spender: Address) -> bytes:
    return _ALLOWANCE + address_word(owner) + address_word(spender)


def approve(spender: Address, amount: int) -> bytes:
    return _APPROVE + address_word(spender) + uint_word(amount)


def transfer(receiver: Address, amount: int) -> bytes:
    return _TRANSFER + address_word(receiver) + uint_word(amount)


def moves(sender: Address, receiver: Address) -> bytes:
    """A transfer of nothing, which needs nobody's leave, and which the standard wants treated like any other: where the
    token is paused or blocks one of the two it fails, and else it does nothing."""
    return _TRANSFER_FROM + address_word(sender) + address_word(receiver) + uint_word(0)


def read_amount(data: bytes) -> int:
    """The answer of balanceOf, allowance and totalSupply."""
    return read_uint(data)


def read_decimals(data: bytes) -> int:
    return read_uint(data, bits=8)
