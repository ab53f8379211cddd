"""Who held how much at the snapshot, whatever happened to the index and to those who read it."""

import asyncio
from datetime import timedelta
from types import SimpleNamespace

import pytest
from sqlalchemy import func, select, update

from tickyard.chain.blocks import final_header
from tickyard.features.earn import epochs, rules, snapshot
from tickyard.features.earn.desk import holder_index
from tickyard.features.earn.epochs import run_due
from tickyard.features.earn.tables import (
    holder_balance,
    holder_transfer,
)
from tickyard.kernel.errors import UpstreamDown
from yards.reward_days import (
    ALICE,
    BOB,
    CAROL,
    DEPTH,
    EPOCH,
    POOR,
    THRESHOLD,
    TOKEN,
    live_in_town,
)


@pytest.fixture
def run(where, tmp_path):
    return lambda work: asyncio.run(live_in_town(where, tmp_path, work))


def test_a_worker_that_was_down_for_days_catches_up_in_order(run):
    async def work(town):
        await town.earn_money(30_000)
        await run_due(town, town.clock.now())
        before = (await town.status(BOB))["balanceTokens"]
        town.clock.move(rules.snapshot_at(EPOCH) - timedelta(seconds=5))
        town.mine()
        town.clock.move(rules.snapshot_at(EPOCH))
        # Sold after the snapshot: it still counts, however late the snapshot is taken.
        town.chain.send(BOB.address, TOKEN, CAROL.address, THRESHOLD)
        town.mine()
        town.clock.move(rules.closes_at(EPOCH) + timedelta(days=3))
        town.mine()
        done = await run_due(town, town.clock.now())
        third = rules.epoch_of(rules.day_of(EPOCH) + timedelta(days=3))
        assert done.closed == [EPOCH, *rules.epochs_between(EPOCH, third)]
        books = await town.books()
        assert [line["address"].lower() for line in books["lines"]] == sorted([ALICE.address, BOB.address])
        assert before == "1000000"
        assert (books["poolUsd"], books["rolledOverUsd"]) == ("0.030000", "0.030000")
        assert (await town.program())["accruing"]["rolloverUsd"] == "0.030000"
        assert (await run_due(town, town.clock.now())).is_idle

    run(work)


def test_a_snapshot_taken_after_the_next_days_is_still_what_the_chain_held(run, monkeypatch):
    async def work(town):
        await town.earn_money(30_000)
        await run_due(town, town.clock.now())
        town.clock.move(rules.snapshot_at(EPOCH))
        # At the snapshot Bob had just enough.
        town.chain.send(BOB.address, TOKEN, CAROL.address, 1)
        town.mine()
        tomorrow = rules.next_epoch(EPOCH)
        town.clock.move(rules.snapshot_at(tomorrow))
        town.mine()
        with monkeypatch.context() as bad_day:
            bad_day.setattr(epochs, "take", fails_for(EPOCH))
            assert (await run_due(town, town.clock.now())).taken == [tomorrow]
        assert (await run_due(town, town.clock.now())).taken == [EPOCH]
        holders = [{line["address"].lower() for line in (await town.books(day))["lines"]} for day in (EPOCH, tomorrow)]
        assert holders == [{ALICE.address, BOB.address}, {ALICE.address}]

    def fails_for(epoch):
        async def take(deps, asked):
            if asked == epoch:
                raise UpstreamDown("the chain node refused to show logs")
            return await snapshot.take(deps, asked)

        return take

    run(work)


def test_the_index_reads_in_small_steps_and_undoes_a_reorganisation(run):
    async def work(town):
        town.chain.faults.log_range = 3
        index = holder_index(town)
        town.mine(20)
        await index.catch_up(await final_header(town.rpc, 0))
        town.chain.send(ALICE.address, TOKEN, CAROL.address, 5)
        town.mine(3)
        await index.catch_up(await final_header(town.rpc, 0))
        assert await _balances(town) == {ALICE.address: 2 * THRESHOLD - 5, BOB.address: THRESHOLD, CAROL.address: 5,
                                         POOR.address: THRESHOLD - 1}  # fmt: skip
        town.chain.resends = ALICE.address
        town.chain._rng = SimpleNamespace(random=lambda: 0.9)
        town.chain.reorganise(3)
        town.mine(2)
        await index.catch_up(await final_header(town.rpc, 0))
        assert await _balances(town) == {ALICE.address: 2 * THRESHOLD, BOB.address: THRESHOLD,
                                         POOR.address: THRESHOLD - 1}  # fmt: skip
        async with town.store.read() as tx:
            transfers = await tx.execute(select(func.count()).select_from(holder_transfer))
        assert transfers.scalar_one() == 3

    run(work)


def test_an_index_that_missed_a_transfer_is_noticed_and_read_again(run):
    async def work(town):
        await run_due(town, town.clock.now())
        await town.earn_money(1)
        town.clock.move(rules.snapshot_at(EPOCH))
        town.mine()
        index = holder_index(town)
        await index.catch_up(await final_header(town.rpc, DEPTH))
        async with town.store.begin() as tx:
            await tx.execute(update(holder_balance).where(holder_balance.c.address == BOB.address).values(balance=7))
        assert "index broken" in (await run_due(town, town.clock.now())).waiting[EPOCH]
        assert (await run_due(town, town.clock.now())).taken == [EPOCH]
        assert (await town.books())["eligibleWallets"] == 2

    run(work)


def test_an_index_with_a_balance_that_cannot_be_starts_again(run):
    async def work(town):
        index = holder_index(town)
        await index.catch_up(await final_header(town.rpc, 0))
        async with town.store.begin() as tx:
            await tx.execute(update(holder_balance).where(holder_balance.c.address == BOB.address).values(balance=7))
        town.chain.send(BOB.address, TOKEN, CAROL.address, 8)
        town.mine()
        assert await index.catch_up(await final_header(town.rpc, 0)) == 0
        assert await index.mark() is None
        await index.catch_up(await final_header(town.rpc, 0))
        assert (await _balances(town))[BOB.address] == THRESHOLD - 8

    run(work)


async def _balances(town):
    async with town.store.read() as tx:
        found = await tx.execute(select(holder_balance))
        return {row.address: row.balance for row in found}
