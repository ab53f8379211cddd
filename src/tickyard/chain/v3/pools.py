"""v3 pools: finding them, reading them, and what their state says about the price.

A pool's price is a square root, sqrtPriceX96 = sqrt(token1 / token0) x 2^96 in base units. Stock tokens have
18 decimals and USDG 6; which of them is token0 is decided by their addresses alone.
"""

from typing import Final, NamedTuple

from tickyard.chain.abi import (
    address_word,
    read_address,
    read_bool,
    read_int,
    read_uint,
    uint_word,
    words,
)
from tickyard.kernel.ids import ZERO_ADDRESS, Address
from tickyard.kernel.units import Price

_GET_POOL: Final = bytes.fromhex("1698ee82")
FACTORY: Final = bytes.fromhex("c45a0155")
TOKEN0: Final = bytes.fromhex("0dfe1681")
TOKEN1: Final = bytes.fromhex("d21220a7")
FEE: Final = bytes.fromhex("ddca3f43")
SLOT0: Final = bytes.fromhex("3850c7bd")
LIQUIDITY: Final = bytes.fromhex("1a686502")
FEES_GROWN: Final = (bytes.fromhex("f3058399"), bytes.fromhex("46141319"))
"""feeGrowthGlobal0X128 and feeGrowthGlobal1X128."""

_DECIMALS_APART: Final = 10**12


class Slot0(NamedTuple):
    sqrt_price_x96: int
    tick: int


def get_pool(token_a: Address, token_b: Address, fee: int) -> bytes:
    return _GET_POOL + address_word(token_a) + address_word(token_b) + uint_word(fee)


def read_pool(data: bytes) -> Address | None:
    """The pool's address; None when the factory has none."""
    address = read_address(data)
    return None if address == ZERO_ADDRESS else address


def read_token(data: bytes) -> Address:
    """The answer of token0, token1 and factory."""
    return read_address(data)


def read_fee(data: bytes) -> int:
    return read_uint(data, bits=24)


def read_slot0(data: bytes) -> Slot0:
    """Price and tick. The other words concern the pool's oracle and fees; they must be well-formed."""
    price, tick, index, cardinality, next_cardinality, protocol_fee, unlocked = words(data, 7)
    for word, bits in ((index, 16), (cardinality, 16), (next_cardinality, 16), (protocol_fee, 8)):
        read_uint(word, bits)
    read_bool(unlocked)
    return Slot0(read_uint(price, bits=160), read_int(tick, bits=24))


def read_liquidity(data: bytes) -> int:
    return read_uint(data, bits=128)


def is_token0(token: Address, other: Address) -> bool:
    """Whether a pool of the two has `token` as token0: the smaller address, compared as a number."""
    if token == other:
        raise ValueError("a pool needs two different tokens")
    return int(token, 16) < int(other, 16)


def spot_price(sqrt_price_x96: int, token_is_token0: bool) -> Price:
    """Dollars per stock token, exact: s^2 x 10^12 / 2^192, or its mirror when the stock is token1."""
    if not sqrt_price_x96:
        raise ValueError("an uninitialised pool has no price")
    square = sqrt_price_x96 * sqrt_price_x96
    if token_is_token0:
        return Price(square * _DECIMALS_APART, 1 << 192)
    return Price(_DECIMALS_APART << 192, square)


def price_e9(sqrt_price_x96: int, token_is_token0: bool) -> int:
    """The spot price in whole nano-dollars, rounded down: the form in which samples are kept."""
    price = spot_price(sqrt_price_x96, token_is_token0)
    return price.num * 10**9 // price.den
