"""Where the sandbox's stock prices go: a gentle, endless wander that everybody can compute.

The issuer stand-in and the trader ask the same functions, so they agree without talking. Pure and exact:
the same asset and moment give the same price in every process.
"""

from datetime import datetime
from functools import cache, lru_cache
from hashlib import blake2b

from tickyard.sandbox.world.listing import Listed

CENT_E6 = 10_000
_MILLION = 1_000_000
# Waves of different length, each at most this many millionths high; together they stay within 3 %.
_WAVES = ((86_400, 12_000), (14_400, 9_000), (3_600, 4_000), (300, 1_500))


def draw(*parts: object) -> int:
    """A number from 0 to 2^64 - 1 that looks random and follows from its parts."""
    return int.from_bytes(blake2b("/".join(map(str, parts)).encode(), digest_size=8).digest(), "big")


@lru_cache(maxsize=8192)
def sway(amplitude: int, *parts: object) -> int:
    """A drawn number from -amplitude to +amplitude."""
    return draw(*parts) % (2 * amplitude + 1) - amplitude


def quote_e6(listed: Listed, moment: datetime) -> tuple[int, int]:
    """Bid and ask of the underlying in micro-dollars, in whole cents like the issuer's."""
    # A halted stock stands still.
    return _quote_e6(listed, 0 if listed.is_halted else _drift(listed, int(moment.timestamp())))


def _quote_e6(listed: Listed, drift: int) -> tuple[int, int]:
    middle = listed.price_e6 * (_MILLION + drift) // _MILLION
    half = middle * _half_spread(listed.symbol) // 10_000
    bid = (middle - half) // CENT_E6 * CENT_E6
    ask = -(-(middle + half) // CENT_E6) * CENT_E6
    return bid, ask


@cache
def _half_spread(symbol: str) -> int:
    return 1 + draw(symbol, "spread") % 3


def mid_e6(listed: Listed, moment: datetime) -> int:
    """The underlying's mid in micro-dollars; exact, because bid and ask are whole cents."""
    bid, ask = quote_e6(listed, moment)
    return (bid + ask) // 2


def _mid_e6(listed: Listed, drift: int) -> int:
    bid, ask = _quote_e6(listed, drift)
    return (bid + ask) // 2


def mids_e6(listed: Listed, seconds: range) -> list[int]:
    """The mids of many moments: the same figures, drawn once for each point of a wave and not for each moment."""
    if listed.is_halted:
        return [_mid_e6(listed, 0)] * len(seconds)
    drifts = [0] * len(seconds)
    for length, height in _WAVES:
        present = here = there = 0
        for place, second in enumerate(seconds):
            step, rest = divmod(second, length)
            if step != present:
                present, here, there = step, *(sway(height, listed.symbol, length, step + i) for i in (0, 1))
            drifts[place] += (here * (length - rest) + there * rest) // length
    return [_mid_e6(listed, drift) for drift in drifts]


def _drift(listed: Listed, second: int) -> int:
    """Millionths above or below the reference: straight lines between drawn points, wave upon wave."""
    total = 0
    for length, height in _WAVES:
        step, rest = divmod(second, length)
        here, there = (sway(height, listed.symbol, length, step + i) for i in (0, 1))
        total += (here * (length - rest) + there * rest) // length
    return total
