"""Candles are the fold of samples: whatever the gaps, the order, the time of year."""

import asyncio
import contextlib
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tickyard.features.history import reading
from tickyard.features.history.candles import fold
from tickyard.features.history.store import record_all
from tickyard.kernel.clock import WallClock
from tickyard.kernel.ids import Address, Symbol
from tickyard.market.sampling.rounds import Round
from tickyard.store.opening import open_store
from tickyard.store.tokens import token_ids
from yards.schema import lay

START = datetime(2026, 9, 16, tzinfo=UTC)
ADDRESS = Address("0x" + "a" * 40)

INTERVALS = st.sampled_from([300, 900, 3_600, 14_400, 86_400])
PRICES = st.integers(1, 10**18)
YEAR_END = int(datetime(2027, 1, 1, tzinfo=UTC).timestamp()) // 300
SLOTS = st.one_of(st.integers(YEAR_END - 600, YEAR_END + 600), st.integers(5_900_000, 14_000_000))
SAMPLES = st.dictionaries(SLOTS, PRICES, max_size=60)


@given(samples=SAMPLES, interval_s=INTERVALS)
def test_a_candle_is_open_high_low_close_of_exactly_its_own_samples(samples, interval_s):
    candles = fold(samples.items(), interval_s)
    assert sum(candle.ticks for candle in candles) == len(samples)
    for candle in candles:
        start = candle.bucket * interval_s
        inside = [samples[slot] for slot in sorted(samples) if start <= slot * 300 < start + interval_s]
        expected = (inside[0], max(inside), min(inside), inside[-1], len(inside))
        assert (candle.open, candle.high, candle.low, candle.close, candle.ticks) == expected


@given(samples=SAMPLES, interval_s=INTERVALS)
def test_candles_ascend_and_none_is_empty(samples, interval_s):
    candles = fold(samples.items(), interval_s)
    assert [candle.bucket for candle in candles] == sorted({slot * 300 // interval_s for slot in samples})
    assert all(candle.ticks > 0 for candle in candles)


@given(samples=SAMPLES, interval_s=INTERVALS, data=st.data())
def test_the_order_of_arrival_does_not_matter(samples, interval_s, data):
    shuffled = data.draw(st.permutations(list(samples.items())))
    assert fold(shuffled, interval_s) == fold(samples.items(), interval_s)


@given(samples=SAMPLES)
def test_a_day_opens_at_midnight_utc(samples):
    for candle in fold(samples.items(), 86_400):
        assert datetime.fromtimestamp(candle.bucket * 86_400, UTC).strftime("%H:%M:%S") == "00:00:00"


class _Undo(Exception):
    pass


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    opened = open_store(tmp_path_factory.mktemp("candles") / "x.db", WallClock())

    async def prepare():
        await lay(opened)
        async with opened.begin() as tx:
            await token_ids(tx, [(Symbol("T"), ADDRESS)])

    asyncio.run(prepare())
    yield opened
    asyncio.run(opened.close())


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(samples=st.dictionaries(st.integers(YEAR_END - 300, YEAR_END + 300), PRICES, max_size=40), data=st.data())
def test_candles_kept_at_write_time_are_the_fold_whatever_the_order_and_the_batches(store, samples, data):
    arriving = data.draw(st.permutations(sorted(samples)))
    cut = data.draw(st.integers(0, len(arriving)))

    async def go():
        async with store.begin() as tx:
            for batch in (arriving[:cut], *([slot] for slot in arriving[cut:])):
                rounds = [Round(slot, 1, "0x", {1: samples[slot]}, 0, START) for slot in batch]
                await record_all(tx, rounds, history_start=START)
            for interval_s in (300, 900, 3_600, 14_400, 86_400):
                page = await reading.page(tx, ADDRESS, interval_s, 300)
                assert [tuple(bar) for bar in page.candles] == fold(samples.items(), interval_s)
            raise _Undo

    with contextlib.suppress(_Undo):
        asyncio.run(go())
