"""Recording rounds and reading them back, on both databases."""

import asyncio
import json
import re
from datetime import UTC, datetime
from random import Random

import pytest
from sqlalchemy import select, text
from sqlalchemy.dialects import postgresql, sqlite

from tickyard.features.history import reading, store
from tickyard.features.history.candles import fold
from tickyard.features.history.operations import SECONDS
from tickyard.features.history.stream.replay import Rounds, latest_prices, position
from tickyard.features.history.tables import ROLLUPS, recorded, sample
from tickyard.kernel.clock import WallClock
from tickyard.kernel.ids import Address, Symbol
from tickyard.market.sampling.rounds import Round, slot_number
from tickyard.store.actions import corporate_action_change
from tickyard.store.identities import AssetIdentity, pin, repin
from tickyard.store.opening import open_store
from tickyard.store.statement import Bulk
from tickyard.store.tokens import token_ids
from yards.schema import lay

START = datetime(2026, 9, 16, tzinfo=UTC)
SLOT = slot_number(datetime(2026, 12, 31, 20, tzinfo=UTC))
TOKENS = [(Symbol(f"T{n}"), Address(f"0x{n:040x}")) for n in range(1, 6)]


def run(where, work):
    async def go():
        opened = open_store(where, WallClock())
        try:
            await lay(opened)
            async with opened.begin() as tx:
                await token_ids(tx, TOKENS)
            return await work(opened)
        finally:
            await opened.close()

    return asyncio.run(go())


def a_round(slot, prices, skipped=0):
    taken_at = datetime.fromtimestamp(slot * 300 + 2, UTC)
    return Round(slot, 1_000 + slot, f"0x{slot:064x}", dict(prices), skipped, taken_at)


async def record(opened, taken):
    async with opened.begin() as tx:
        return await store.record(tx, taken, history_start=START)


async def everything(opened):
    async with opened.read() as tx:
        rows = (await tx.execute(select(sample).order_by(*sample.primary_key))).all()
        rounds = (await tx.execute(select(recorded).order_by(recorded.c.slot))).all()
        candles = [(await tx.execute(select(t).order_by(*t.primary_key))).all() for t in ROLLUPS.values()]
        return rows, rounds, candles


def test_a_round_and_its_samples_land_together(where):
    async def work(opened):
        assert await record(opened, a_round(SLOT, {1: 5, 2: 10**18}, skipped=3)) == 2
        rows, rounds, _ = await everything(opened)
        assert rows == [(1, SLOT, 5), (2, SLOT, 10**18)]
        assert rounds == [
            (SLOT, 1_000 + SLOT, f"0x{SLOT:064x}", datetime.fromtimestamp(SLOT * 300 + 2, UTC), 2, 3),
        ]

    run(where, work)


def test_a_second_write_for_a_slot_changes_nothing(where):
    async def work(opened):
        await record(opened, a_round(SLOT, {1: 5, 2: 7}))
        before = await everything(opened)
        assert await record(opened, a_round(SLOT, {1: 6, 3: 8})) == 0
        assert await everything(opened) == before

    run(where, work)


def test_the_same_round_written_by_several_at_once_is_written_once(where):
    async def work(opened):
        others = [open_store(where, WallClock()) for _ in range(3)]
        prices = {n: n * 100 for n in range(1, 6)}
        written = await asyncio.gather(*[record(each, a_round(SLOT, prices)) for each in [opened, *others]])
        assert sorted(written) == [0, 0, 0, 5]
        _, _, candles = await everything(opened)
        assert all(row.ticks == 1 for table in candles for row in table)
        for each in others:
            await each.close()

    run(where, work)


def test_rounds_of_one_candle_written_at_once_do_not_deadlock_and_all_count(where):
    async def work(opened):
        others = [open_store(where, WallClock()) for _ in range(3)]
        first = SLOT - SLOT % 288
        rounds = [a_round(first + n, dict.fromkeys(Random(n).sample(range(1, 6), 5), 100 + n)) for n in range(12)]
        stores = [opened, *others]
        await asyncio.gather(*[record(stores[n % 4], taken) for n, taken in enumerate(rounds)])
        _, _, candles = await everything(opened)
        assert all(row.ticks == 12 and row.open == 100 and row.close == 111 for table in candles for row in table)
        for each in others:
            await each.close()

    run(where, work)


def test_nothing_is_written_before_history_starts(where):
    async def work(opened):
        assert await record(opened, a_round(slot_number(START) - 1, {1: 5})) == 0
        assert await everything(opened) == ([], [], [[], [], []])
        assert await record(opened, a_round(slot_number(START), {1: 5})) == 1

    run(where, work)


def test_a_round_in_which_every_token_failed_is_kept_without_samples(where):
    async def work(opened):
        assert await record(opened, a_round(SLOT, {}, skipped=5)) == 0
        rows, rounds, _ = await everything(opened)
        assert rows == []
        assert [row.skipped for row in rounds] == [5]

    run(where, work)


@pytest.mark.parametrize("seed", range(3))
def test_candles_of_every_interval_are_the_fold_of_the_samples_in_any_order_of_arrival(where, seed):
    """Eight hours over the end of a year, with gaps, out of order, some slots in one transaction."""
    rng = Random(seed)
    slots = rng.sample(range(SLOT, SLOT + 96), 60)
    samples = {slot: {t: rng.randint(1, 10**18) for t in range(1, 4) if rng.random() < 0.8} for slot in slots}

    async def work(opened):
        waiting = list(slots)
        while waiting:
            together = [waiting.pop() for _ in range(min(len(waiting), rng.randint(1, 9)))]
            async with opened.begin() as tx:
                rounds = [a_round(slot, samples[slot]) for slot in together]
                await store.record_all(tx, rounds, history_start=START)
        async with opened.read() as tx:
            for token_id in range(1, 4):
                mine = [(slot, prices[token_id]) for slot, prices in samples.items() if token_id in prices]
                for interval_s in SECONDS.values():
                    expected = fold(mine, interval_s)
                    assert (await reading.page(tx, TOKENS[token_id - 1][1], interval_s, 300)).candles == expected
                    limit = rng.randint(1, 20)
                    assert (await reading.page(tx, TOKENS[token_id - 1][1], interval_s, limit)).candles == expected[
                        -limit:
                    ]
                    before_s = rng.randint(SLOT * 300, (SLOT + 96) * 300)
                    older = [candle for candle in expected if candle.bucket * interval_s < before_s]
                    assert (
                        await reading.page(tx, TOKENS[token_id - 1][1], interval_s, limit, before_s)
                    ).candles == older[-limit:]

    run(where, work)


def test_coverage_counts_the_samples_of_every_token_since_a_slot(where):
    async def work(opened):
        for n in range(4):
            await record(opened, a_round(SLOT + n, {1: 5} | ({2: 6} if n % 2 else {})))
        async with opened.read() as tx:
            assert await reading.coverage(tx, SLOT + 1) == {1: 3, 2: 2, 3: 0, 4: 0, 5: 0}

    run(where, work)


def test_the_latest_sample_of_every_token_also_as_it_was_before_a_slot(where):
    async def work(opened):
        await record(opened, a_round(SLOT, {1: 5, 2: 6}))
        await record(opened, a_round(SLOT + 1, {1: 7}))
        async with opened.read() as tx:
            assert await reading.latest_samples(tx) == {1: (SLOT + 1, 7), 2: (SLOT, 6)}
            assert await reading.latest_samples(tx, before_slot=SLOT + 1) == {1: (SLOT, 5), 2: (SLOT, 6)}
            assert await reading.latest_samples(tx, before_slot=SLOT) == {}
            assert await reading.newest_slot(tx) == SLOT + 1

    run(where, work)


def test_the_newest_sample_between_two_slots(where):
    async def work(opened):
        for slot in (SLOT, SLOT + 2, SLOT + 5):
            await record(opened, a_round(slot, {1: slot}))
        async with opened.read() as tx:
            assert await reading.sample_between(tx, 1, SLOT, SLOT + 4) == (SLOT + 2, SLOT + 2)
            assert await reading.sample_between(tx, 1, SLOT + 5, SLOT + 5) == (SLOT + 5, SLOT + 5)
            assert await reading.sample_between(tx, 1, SLOT + 3, SLOT + 4) is None
            assert await reading.sample_between(tx, 2, 0, SLOT + 9) is None

    run(where, work)


def test_token_ids_are_given_once_also_when_asked_for_at_once_and_follow_the_address(where):
    async def work(opened):
        others = [open_store(where, WallClock()) for _ in range(3)]

        async def ask(each, tokens):
            async with each.begin() as tx:
                return await token_ids(tx, tokens)

        more = [(Symbol(f"N{n}"), Address(f"0x{n:040x}")) for n in range(100, 140)]
        answers = await asyncio.gather(*[ask(each, more) for each in [opened, *others]])
        assert all(answer == answers[0] for answer in answers)
        assert sorted(answers[0].values()) == list(range(6, 46))
        renamed = await ask(opened, [(Symbol("NEW"), TOKENS[0][1])])
        assert renamed == {TOKENS[0][1]: 1}
        for each in others:
            await each.close()

    run(where, work)


def test_what_the_stream_tells_of_a_symbol_is_of_the_token_that_has_its_name(where):
    """As after `tickyard registry accept`: both tokens were recorded within the same candles, under the same symbol."""
    midnight, symbol = SLOT // 288 * 288, TOKENS[0][0]

    async def work(opened):
        moved = AssetIdentity(symbol, Address("0x" + "c3" * 20), "0x01")
        async with opened.begin() as tx:
            await pin(tx, [AssetIdentity(*TOKENS[0], "0x01")], START)
            new = (await token_ids(tx, [(symbol, moved.address)]))[moved.address]
            assert new > 1
        for slot, price in ((midnight - 3, {new: 30}), (midnight - 2, {1: 10}), (midnight - 1, {new: 20})):
            await record(opened, a_round(slot, price))
        await record(opened, a_round(midnight, {new: 20}))
        async with opened.begin() as tx:
            await repin(tx, moved, START)
        async with opened.read() as tx:
            closed = (await Rounds().between(tx, (midnight - 1, 999), (midnight, 999)))[1:]
            bars = [json.loads(event.data(None).decode().partition("data: ")[2])["candles"] for event in closed]
            ticks = [[(bar["symbol"], bar["low"] * 10**9, bar["ticks"]) for bar in each] for each in bars]
            assert ticks == [[(symbol, 20, 1)], *[[(symbol, 20, 2)]] * 4]
            assert not await latest_prices(tx, midnight - 2)
            assert (await reading.coverage(tx, 0)).items() >= {2: 0, new: 3}.items()
            assert 1 not in await reading.coverage(tx, 0)

    run(where, work)


class Explained:
    """A transaction that keeps the plan of all that is asked in it."""

    def __init__(self, tx):
        self._tx = tx
        self.fetch = tx.fetch
        self.plans = []

    async def execute(self, statement, values=None):
        explain, dialect = ("EXPLAIN QUERY PLAN", sqlite) if self._tx.is_sqlite else ("EXPLAIN", postgresql)
        spelled = statement.params(values or {}).compile(
            dialect=dialect.dialect(), compile_kwargs={"literal_binds": True}
        )
        self.plans += [str(line) for line in await self._tx.execute(text(f"{explain} {spelled}"))]
        return await self._tx.execute(statement, values)


def test_what_the_stream_tells_of_a_round_costs_the_same_after_years_of_samples(where):
    """Samples are kept for ever, and lie by token: whoever looks for a slot among them must name the tokens first."""
    midnight, count = SLOT // 288 * 288, 1_000
    tokens = [(Symbol(f"T{n}"), Address(f"0x{n:040x}")) for n in range(1, 21)]

    async def work(opened):
        async with opened.begin() as tx:
            ids = (await token_ids(tx, tokens)).values()
            old = [{"token_id": each, "slot": midnight - 2 - n, "price_e9": 5} for each in ids for n in range(count)]
            await Bulk(sample).run(tx, old)
            figures = dict.fromkeys(("open", "high", "low", "close", "ticks", "first_slot", "last_slot"), 5)
            for interval_s, table in ROLLUPS.items():
                last = midnight // (interval_s // 300) - 1
                bars = [{"token_id": each, "bucket": last - n, **figures} for each in ids for n in range(count)]
                await Bulk(table).run(tx, bars)
        for slot in (midnight - 1, midnight):
            await record(opened, a_round(slot, {1: 5, 2: 10}))
        async with opened.begin() as tx:
            if not tx.is_sqlite:
                await tx.execute(text("ANALYZE"))
        async with opened.read() as tx:
            explained = Explained(tx)
            told = await Rounds().between(explained, (midnight - 1, 999), (midnight, 999))
            await latest_prices(explained, midnight)
        assert [event.name for event in told] == ["sample", *["candle"] * 5]
        tables = ("sample", *(table.name for table in ROLLUPS.values()))
        scans = [line for line in explained.plans for each in tables if re.search(rf"(?i)scan (on )?{each}\b", line)]
        assert not scans

    run(where, work)


def test_where_the_stream_is_costs_the_same_after_years_of_corporate_actions(where):
    """Every process with a listener asks twice a second."""

    async def work(opened):
        rows = [
            {"action_id": f"ca_{n}", "at": datetime.fromtimestamp(10**9 + n, UTC), "status": "x", "details": "{}"}
            for n in range(2_000)
        ]
        async with opened.begin() as tx:
            await Bulk(corporate_action_change).run(tx, rows)
            if not tx.is_sqlite:
                await tx.execute(text("ANALYZE"))
        async with opened.read() as tx:
            explained = Explained(tx)
            here = await position(explained)
        assert here.action == ((10**9 + 1_999) * 10**6, "ca_1999")
        assert [line for line in explained.plans if "ix_corporate_action_change_at" in line]
        assert not [line for line in explained.plans if "Sort" in line or "TEMP B-TREE" in line]

    run(where, work)
