"""The front cache weighs what it keeps: it is bounded in bytes, whatever the answers are like."""

import asyncio
import dataclasses
import os
import tracemalloc

import pytest

from tickyard.catalog import CATALOG
from tickyard.doors.calling import Calling
from tickyard.doors.http.cache import FrontCache
from tickyard.features.history.operations import HistoryAsk
from tickyard.kernel.clock import WallClock
from tickyard.kernel.operation import Kept
from yards.clocks import MovedClock

MIB = 1024 * 1024


@pytest.mark.slow
def test_large_answers_make_room_for_one_another():
    cache = FrontCache(WallClock(), bytes_max=8 * MIB)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number in range(2000):
            # What does not compress weighs twice.
            cache.put(b"/v1/history/%d" % number, "/v1/history/{symbol}", os.urandom(30_000), 300)
            assert cache.size <= 8 * MIB
        held = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert held < 9 * MIB
    assert cache.get(b"/v1/history/1999") is not None
    assert cache.get(b"/v1/history/0") is None


@pytest.mark.slow
def test_tiny_answers_are_weighed_with_their_frame():
    cache = FrontCache(WallClock(), bytes_max=8 * MIB)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number in range(20_000):
            cache.put(b"/v1/assets/%d" % number, "/v1/assets/{symbol}", b"{}", 300)
        held = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert held < 9 * MIB
    assert len(cache) > 1000


@pytest.mark.parametrize("wrong_s", [-7200, 7200])
def test_a_clock_that_is_set_makes_no_answer_live_longer(wrong_s):
    clock = MovedClock()
    cache = FrontCache(clock)
    clock.misset(wrong_s)
    cache.put(b"/a", "/a", b"{}", 5)
    assert cache.get(b"/a") is not None
    clock.misset(0)
    assert cache.get(b"/a") is None
    assert cache.size == 0


def test_what_is_forgotten_renewed_or_too_large_weighs_nothing():
    cache = FrontCache(WallClock(), bytes_max=MIB)
    for _ in range(5):
        cache.put(b"/a", "/a", b"x" * 1000, 300)
    one = cache.size
    assert len(cache) == 1
    entry = cache.put(b"/b", "/b", os.urandom(2 * MIB), 300)
    assert len(entry.body) == 2 * MIB
    assert cache.get(b"/b") is None
    assert cache.size <= one
    cache.clear()
    assert cache.size == 0


@pytest.mark.parametrize(
    ("interval", "before", "settled"),
    [
        ("1h", "2026-10-03T14:00:00Z", "2026-10-03T14:00:00Z"),
        ("1h", "2026-10-03T14:00:00.001Z", "2026-10-03T15:00:00Z"),
        ("1h", "2026-10-03T14:59:59.999Z", "2026-10-03T15:00:00Z"),
        ("5m", "2026-10-03T14:01:00Z", "2026-10-03T14:05:00Z"),
        ("1d", "2026-10-03T14:01:00Z", "2026-10-04T00:00:00Z"),
        ("1d", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
        ("1d", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
    ],
)
def test_before_is_rounded_to_the_opening_of_a_candle(interval, before, settled):
    assert HistoryAsk(symbol="AAPL", interval=interval, before=before).settled().before == settled


def test_a_thousand_moments_within_one_candle_are_kept_once():
    runs = []

    async def run(_deps, ask):
        runs.append(ask.before)
        return Kept({"candles": []}, 60)

    row = next(row for row in CATALOG if row.name == "get_history")
    cache = FrontCache(WallClock())
    calling = Calling(dataclasses.replace(row, run=run), None, cache)

    async def scenario():
        for millisecond in range(1000):
            await calling.answer(HistoryAsk(symbol="AAPL", before=f"2026-10-03T14:00:00.{millisecond:03}Z"))

    asyncio.run(scenario())
    assert runs == ["2026-10-03T14:00:00Z", "2026-10-03T15:00:00Z"]
    assert len(cache) == 2
