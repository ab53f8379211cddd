"""Candles: the fold of samples into buckets of time. Pure, and the only definition of a candle there is."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from tickyard.kernel.clock import SLOT_S

Sample = tuple[int, int]
"""Slot and price in nano-dollars."""


class RawCandle(NamedTuple):
    bucket: int
    """Unix seconds divided by the interval: buckets are aligned to UTC."""
    open: int
    high: int
    low: int
    close: int
    ticks: int


class CandlePart(NamedTuple):
    """The candle of some samples of a bucket, and where they lie in it: parts join in any order."""

    candle: RawCandle
    first_slot: int
    last_slot: int


Bar = tuple[int, int, int, int, int, int]
"""The figures of a candle, in its order. Hundreds are made for one answer, and a name costs more than the sums."""


def bars(samples: Iterable[Sample], interval_s: int) -> list[Bar]:
    """The candles of samples that are already in order, oldest first. Buckets without a sample are absent."""
    per_bucket = interval_s // SLOT_S
    if per_bucket == 1:
        return [(slot, price, price, price, price, 1) for slot, price in samples]
    made = []
    bucket = end = first = high = low = last = ticks = 0
    for slot, price in samples:
        if slot < end:
            if price > high:
                high = price
            elif price < low:
                low = price
            ticks += 1
        else:
            if ticks:
                made.append((bucket, first, high, low, last, ticks))
            bucket = slot // per_bucket
            end = (bucket + 1) * per_bucket
            first = high = low = price
            ticks = 1
        last = price
    if ticks:
        made.append((bucket, first, high, low, last, ticks))
    return made


def fold(samples: Iterable[Sample], interval_s: int) -> list[RawCandle]:
    """The candles of these samples, in whatever order they come."""
    return [RawCandle(*bar) for bar in bars(sorted(samples), interval_s)]


def parts(samples: Iterable[Sample], interval_s: int) -> Iterator[CandlePart]:
    """The same candles, ready to be joined with what other samples of their buckets gave."""
    per_bucket = interval_s // SLOT_S
    for _bucket, group in groupby(sorted(samples), lambda each: each[0] // per_bucket):
        inside = list(group)
        (candle,) = fold(inside, interval_s)
        yield CandlePart(candle, inside[0][0], inside[-1][0])
