"""Which ticks of a pool are initialised, and how much liquidity lies on each: the calls, and how answers are read.

A pool notes its initialised ticks in a bitmap: place = tick / spacing, word = place / 256, one bit a place.
"""

from typing import Final, NamedTuple

from tickyard.chain.abi import malformed, read_bool, read_int, read_uint, uint_word, words
from tickyard.chain.v3.ticks import MAX_TICK, MIN_TICK

_FEE_TICK_SPACING: Final = bytes.fromhex("22afcccb")
_TICK_BITMAP: Final = bytes.fromhex("5339c296")
_TICKS: Final = bytes.fromhex("f30dba93")
SPACING_MAX: Final = 16_383
"""The factory allows no wider one."""


class TickLiquidity(NamedTuple):
    gross: int
    """Of all positions that begin or end here. The tick is initialised while it is not zero."""
    net: int
    """What is added when the price rises across it."""


def fee_tick_spacing(fee: int) -> bytes:
    """The factory's `feeAmountTickSpacing`: zero where it knows no such fee."""
    return _FEE_TICK_SPACING + uint_word(fee)


def tick_bitmap(word: int) -> bytes:
    return _TICK_BITMAP + word.to_bytes(32, "big", signed=True)


def tick_info(tick: int) -> bytes:
    return _TICKS + tick.to_bytes(32, "big", signed=True)


def read_bitmap(data: bytes) -> int:
    return read_uint(data)


def read_spacing(data: bytes) -> int:
    spacing = read_int(data, bits=24)
    if not 0 < spacing <= SPACING_MAX:
        raise malformed()
    return spacing


def read_tick(data: bytes) -> TickLiquidity:
    """The other words are the pool's book-keeping about fees and time; the last says once more that it is there."""
    gross_word, net_word, *_, initialised = words(data, 8)
    gross, net = read_uint(gross_word, bits=128), read_int(net_word, bits=128)
    if abs(net) > gross or read_bool(initialised) != (gross > 0):
        raise malformed()
    return TickLiquidity(gross, net)


def words_around(low: int, high: int, spacing: int) -> range:
    """The words of the bitmap that hold the ticks from `low` to `high`."""
    first, last = max(low, MIN_TICK) // spacing >> 8, min(high, MAX_TICK) // spacing >> 8
    return range(first, last + 1)


def ticks_in(word: int, bits: int, spacing: int) -> list[int]:
    """The initialised ticks of one word, ascending. A bit beyond all ticks is a lie."""
    found = []
    while bits:
        low = bits & -bits
        found.append(((word << 8) + low.bit_length() - 1) * spacing)
        bits ^= low
    if found and not MIN_TICK <= found[0] <= found[-1] <= MAX_TICK:
        raise malformed()
    return found
