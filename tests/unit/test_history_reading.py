"""Samples and candles as they are read, against plain lists: pages of every interval, the newest, the day before."""

import asyncio
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from proof import SEED
from tickyard.features.history.reading import (
    coverage,
    day_changes,
    latest_samples,
    newest_slot,
    page,
    sample_between,
    suspects_of,
)
from tickyard.features.history.store import mark_synthetic, record
from tickyard.kernel.clock import WallClock
from tickyard.kernel.ids import Address, Symbol
from tickyard.market.sampling.rounds import Round
from tickyard.market.sampling.samples import DayChange
from tickyard.store.opening import open_store
from tickyard.store.tokens import token_ids
from yards.schema import lay

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST = 5_900_000 // 288 * 288 - 40
TOKENS = [Address(f"0x{number:040x}") for number in (1, 2, 3, 4)]
DAY = 288


class Past:
    """What was written: (slot, price) of each token, oldest first; the last token was never sampled."""

    def __init__(self, ids, samples, doubted):
        self.ids, self.samples, self.doubted = ids, samples, doubted
        self.slots = sorted({slot for its in samples.values() for slot, _ in its})

    def candles(self, token, interval_s):
        """(when it opened, open, high, low, close, ticks) of each, oldest first."""
        length, made = interval_s // 300, {}
        for slot, price in self.samples[token]:
            made.setdefault(slot // length, []).append(price)
        return [(bucket, its[0], max(its), min(its), its[-1], len(its)) for bucket, its in sorted(made.items())]


async def fill(store, luck):
    samples, doubted = {token: [] for token in TOKENS}, {}
    async with store.begin() as tx:
        ids = await token_ids(tx, [(Symbol(f"T{n}"), token) for n, token in enumerate(TOKENS)])
        slot = FIRST
        while slot < FIRST + 2 * DAY + 60:
            # The third is gone by the last day.
            there = TOKENS[:2] if slot > FIRST + DAY + 60 else TOKENS[:3]
            its = {token: luck.randint(1, 10**12) for token in there if luck.random() < 0.8} or {TOKENS[0]: 5}
            doubted[slot] = {token: luck.randint(1, 10**12) for token in its if luck.random() < 0.1}
            for token, price in its.items():
                samples[token].append((slot, price))
            by_id = {ids[token]: price for token, price in its.items()}
            odd = {ids[token]: price for token, price in doubted[slot].items()}
            at = EPOCH + timedelta(minutes=5 * slot)
            await record(tx, Round(slot, slot, "0x", by_id, 0, at, odd), history_start=EPOCH)
            slot += luck.choice([1, 1, 2, 3, 5, 9])
    return Past(ids, samples, doubted)


@pytest.fixture
def run(tmp_path):
    def run(work):
        async def go():
            store = open_store(tmp_path / "tickyard.db", WallClock(), Random(1))
            try:
                await lay(store)
                return await work(store)
            finally:
                await store.close()

        return asyncio.run(go())

    return run


@pytest.mark.slow
@pytest.mark.parametrize("interval_s", [300, 900, 3_600, 14_400, 86_400])
def test_a_page_has_the_newest_candles_before_a_moment_each_of_them_whole(run, interval_s):
    luck = Random(f"{SEED} {interval_s}")

    async def work(store):
        past = await fill(store, luck)
        async with store.read() as tx:
            for token in TOKENS:
                whole = past.candles(token, interval_s)
                first = past.samples[token][0][0] if past.samples[token] else None
                for limit in (1, 3, 1_000):
                    edge = luck.choice(whole)[0] * interval_s if whole else 0
                    for before_s in (None, edge, edge + 1, edge + interval_s, 0):
                        shown = await page(tx, token, interval_s, limit, before_s)
                        wanted = [each for each in whole if before_s is None or each[0] * interval_s < before_s]
                        assert [tuple(each) for each in shown.candles] == wanted[-limit:]
                        assert (shown.first_slot, shown.newest_round) == (first, past.slots[-1])
                        assert shown.synthetic_before is None
        async with store.begin() as tx:
            await mark_synthetic(tx, FIRST + 7)
        async with store.read() as tx:
            assert (await page(tx, TOKENS[0], interval_s, 1)).synthetic_before == FIRST + 7

    run(work)


def test_the_newest_samples_and_those_of_a_span_are_found(run):
    luck = Random(f"{SEED} newest")

    async def work(store):
        async with store.read() as tx:
            assert (await newest_slot(tx), await latest_samples(tx), await day_changes(tx)) == (None, {}, {})
        past = await fill(store, luck)
        async with store.read() as tx:
            assert await newest_slot(tx) == past.slots[-1]
            newest = {past.ids[token]: its[-1] for token, its in past.samples.items() if its}
            assert await latest_samples(tx) == newest
            for slot in luck.sample(past.slots, 10):
                assert await coverage(tx, slot) == {
                    past.ids[token]: sum(each >= slot for each, _ in its) for token, its in past.samples.items()
                }
                older = {token: [each for each in its if each[0] < slot] for token, its in past.samples.items()}
                assert await latest_samples(tx, slot) == {past.ids[t]: its[-1] for t, its in older.items() if its}
                odd = past.doubted[slot]
                told = [(past.ids[t], dict(past.samples[t])[slot], odd[t]) for t in TOKENS if t in odd]
                assert [tuple(each) for each in await suspects_of(tx, slot)] == sorted(told)
                its = past.samples[TOKENS[1]]
                for lo, hi in ((slot, slot), (slot - 4, slot), (slot + 1, slot + 3), (slot, slot - 1)):
                    inside = [each for each in its if lo <= each[0] <= hi]
                    assert await sample_between(tx, past.ids[TOKENS[1]], lo, hi) == (inside[-1] if inside else None)

    run(work)


@pytest.mark.slow
@pytest.mark.parametrize("age", [287, 288, 289, 291, 292, None])
@pytest.mark.parametrize("is_newest", [True, False])
def test_the_price_of_a_day_ago_is_at_most_a_quarter_of_an_hour_older(run, age, is_newest):
    """Whether the token was sampled in the newest round, as nearly all are, or not."""

    async def work(store):
        slot = FIRST + DAY
        async with store.begin() as tx:
            ids = await token_ids(tx, [(Symbol(f"T{n}"), token) for n, token in enumerate(TOKENS[:2])])
            one, other = (ids[token] for token in TOKENS[:2])
            rounds = {slot: {one: 1_000, other: 7}} | ({} if age is None else {slot - age: {one: 900}})
            if not is_newest:
                rounds[slot + 1] = {other: 8}
            for at, prices in sorted(rounds.items()):
                taken = Round(at, at, "0x", prices, 0, EPOCH + timedelta(minutes=5 * at))
                await record(tx, taken, history_start=EPOCH)
        async with store.read() as tx:
            changes = await day_changes(tx)
        wanted = 900 if age is not None and 288 <= age <= 291 else None
        assert changes[TOKENS[0]] == DayChange(slot, 1_000, wanted)
        assert changes[TOKENS[1]].day_ago_e9 is None

    run(work)
