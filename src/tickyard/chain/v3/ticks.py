"""Ticks and square-root prices, equal to the pool contract's for every tick.

Tick t stands for the price 1.0001^t of token0 in token1. Pools keep the square root of the price as a
binary fraction of 96 places (Q96). The contract's value is not the nearest one: it is the outcome of a
fixed chain of truncated products, so the same chain is walked here, step by step.
"""

from functools import lru_cache
from math import isqrt
from typing import Final

MIN_TICK: Final = -887272
MAX_TICK: Final = 887272
MIN_SQRT_RATIO: Final = 4295128739
"""The square-root price at MIN_TICK: the lowest a pool may have."""
MAX_SQRT_RATIO: Final = 1461446703485210103287273052203988822378723970342
"""The square-root price at MAX_TICK: a pool's price is always below it."""
Q96: Final = 1 << 96

_UINT256_MAX: Final = (1 << 256) - 1


def _halvings() -> tuple[int, ...]:
    """1.0001^(-2^i / 2) for i = 0..19 in Q128, each rounded to the nearest: one factor per bit of |tick|."""
    wide, factors = 512, []
    power = isqrt((10_000 << 2 * wide) // 10_001)
    for _ in range(MAX_TICK.bit_length()):
        factors.append(((power >> (wide - 129)) + 1) >> 1)
        power = power * power >> wide
    return tuple(factors)


_FACTORS: Final = _halvings()

# log2(sqrt(1.0001)) = 0.0000721...; its inverse times 2^16. The estimate made with it is corrected below,
# so these digits decide how fast tick_at is, never what it answers.
_TICKS_PER_OCTAVE_X16: Final = 908567298
_LOG_BITS: Final = 18


@lru_cache(maxsize=1 << 14)
def sqrt_ratio_at(tick: int) -> int:
    """The square-root price (Q96) at a tick."""
    if not MIN_TICK <= tick <= MAX_TICK:
        raise ValueError(f"tick {tick} is out of range")
    bits, ratio = abs(tick), 1 << 128
    for factor in _FACTORS:
        if bits & 1:
            ratio = ratio * factor >> 128
        bits >>= 1
    if tick > 0:
        ratio = _UINT256_MAX // ratio
    # Q128 to Q96, upwards: tick_at of the outcome is then this tick again.
    return -(-ratio >> 32)


def tick_at(sqrt_price: int) -> int:
    """The greatest tick whose square-root price is not above this one."""
    if not MIN_SQRT_RATIO <= sqrt_price < MAX_SQRT_RATIO:
        raise ValueError("square-root price is out of range")
    tick = min(max(_estimate(sqrt_price), MIN_TICK), MAX_TICK)
    while sqrt_ratio_at(tick) > sqrt_price:
        tick -= 1
    while sqrt_ratio_at(tick + 1) <= sqrt_price:
        tick += 1
    return tick


def _estimate(sqrt_price: int) -> int:
    """log2 of the price by repeated squaring, turned into ticks: at most one off."""
    octave = sqrt_price.bit_length() - 1
    mantissa = sqrt_price << 63 >> octave
    log = octave - 96
    for _ in range(_LOG_BITS):
        mantissa = mantissa * mantissa >> 63
        carry = mantissa >> 64
        mantissa >>= carry
        log = log << 1 | carry
    return log * _TICKS_PER_OCTAVE_X16 >> (16 + _LOG_BITS)
