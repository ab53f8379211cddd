"""What a pool's book-keeping about fees adds to the gas of a swap.

A word of storage that is written for the first time costs 17,100 gas more than one that was written before, and 19,900
more than one that stays as it is. A swap writes the fees of the token that goes in; crossing a tick writes what had
been earned of either token on its far side. So two swaps that go alike can differ by 40,000 gas a tick.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from tickyard.chain.abi import read_uint, words

_FIRST: Final = 19_900
_AGAIN: Final = 2_800
_CLEARED: Final = _AGAIN - 4_800
"""What becomes zero is refunded."""


class Wear(NamedTuple):
    """More gas than where nothing had to be written: (token0 goes in, token1 goes in)."""

    swap: tuple[int, int]
    ticks: Mapping[int, tuple[int, int]]
    """For crossing each."""


UNKNOWN_TICK: Final = (_FIRST + _AGAIN, _FIRST + _AGAIN)
UNKNOWN: Final = Wear((0, 0), {})


def read_wear(grown: tuple[bytes, bytes], ticks: Mapping[int, bytes]) -> Wear:
    """From the answers of feeGrowthGlobal0X128 and feeGrowthGlobal1X128, and of `ticks` for each."""
    all0, all1 = map(read_uint, grown)
    crossing = {}
    for tick, data in ticks.items():
        own0, own1 = map(read_uint, words(data, 8)[2:4])
        crossing[tick] = (_earning(own0) + _turned(own1, all1), _earning(own1) + _turned(own0, all0))
    return Wear((0 if all0 else _FIRST - _AGAIN, 0 if all1 else _FIRST - _AGAIN), crossing)


def _earning(own: int) -> int:
    """Of the token that goes in: its fees have grown on the way to the tick."""
    return _AGAIN if own else _FIRST


def _turned(own: int, in_all: int) -> int:
    """Of the other token: what was earned on this side becomes what was earned on the other."""
    if own == in_all:
        return _CLEARED if own else 0
    return _AGAIN if own else _FIRST
