"""Who held how much at the snapshot, whatever happened to the index and to those who read it."""

import asyncio
import random
from datetime import timedelta

import pytest
from sqlalchemy import func, select, update

from simulated.chain import Hiding, Refusal, View
from tickyard.chain.blocks import final_header
from tickyard.features.earn import rules
from tickyard.features.earn.days import epochs, snapshot
from tickyard.features.earn.days.epochs import run_due
from tickyard.features.earn.days.pool import skip, why_not_skipped
from tickyard.features.earn.room import holder_index
from tickyard.features.earn.tables import (
    holder_balance,
    holder_transfer,
)
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import ZERO_ADDRESS
from yards.reward_days import (
    ALICE,
    BOB,
    CAROL,
    DEPTH,
    EPOCH,
    POOR,
    THRESHOLD,
    TOKEN,
    Faults,
    FrailRpc,
    Process,
    live_in_town,
)


@pytest.fixture
def run(where, tmp_path):
    return lambda work: asyncio.run(live_in_town(where, tmp_path, work))


def test_what_is_thrown_away_to_the_zero_address_holds_up_no_snapshot(run):
    async def work(town):
        await run_due(town, town.clock.now())
        # Many tokens let anybody do this, and count it to the supply as before.
        town.chain.send(POOR.address, TOKEN, ZERO_ADDRESS, 1)
        town.mine()
        assert (await town.to(rules.snapshot_at(EPOCH))).taken == [EPOCH]
        assert (await town.books())["eligibleWallets"] == 2

    run(work)


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
        assert [line["address"].lower() for line in books["wallets"]] == sorted([ALICE.address, BOB.address])
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
        holders = [
            {line["address"].lower() for line in (await town.books(day))["wallets"]} for day in (EPOCH, tomorrow)
        ]
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
        sent = town.chain.send(ALICE.address, TOKEN, CAROL.address, 5)
        town.mine(3)
        await index.catch_up(await final_header(town.rpc, 0))
        assert await _balances(town) == {ALICE.address: 2 * THRESHOLD - 5, BOB.address: THRESHOLD, CAROL.address: 5,
                                         POOR.address: THRESHOLD - 1}  # fmt: skip
        town.chain.reorganise(3, without={sent})
        town.mine(2)
        newest = await final_header(town.rpc, 0)
        await index.catch_up(newest)
        assert await index.mark() == (newest.number, newest.hash), "it goes on from where the branches part"
        assert await _balances(town) == {ALICE.address: 2 * THRESHOLD, BOB.address: THRESHOLD,
                                         POOR.address: THRESHOLD - 1}  # fmt: skip
        async with town.store.read() as tx:
            transfers = await tx.execute(select(func.count()).select_from(holder_transfer))
        assert transfers.scalar_one() == 3

    run(work)


class Forked:
    """Behind one address a node on another branch, which gets everything that is asked in batches."""

    def __init__(self, chain, number):
        self._chain = chain
        self._known = chain.blocks[number].hash.encode()
        self.asked = 0

    def handle(self, body, view):
        self.asked += 1
        answer = self._chain.handle(body, view)
        return answer.replace(self._known, b"0x" + b"f0" * 32) if body.startswith(b"[") else answer


def test_nodes_on_two_branches_are_asked_a_few_times_and_then_left_alone(run):
    async def work(town):
        town.mine(5)
        await holder_index(town).catch_up(await final_header(town.rpc, 0))
        mark, _ = await holder_index(town).mark()
        town.mine(5)
        forked = Forked(town.chain, mark)
        town.rpc = FrailRpc(forked, town.clock, Process("torn", random.Random(1), Faults()))
        with pytest.raises(UpstreamDown, match="branch"):
            await holder_index(town).catch_up(await final_header(town.rpc, 0))
        assert forked.asked < 20
        assert (await holder_index(town).mark())[0] == mark

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


def test_a_transfer_that_the_node_hides_is_caught_holder_by_holder(run):
    async def work(town):
        await run_due(town, town.clock.now())
        hidden = town.chain.send(ALICE.address, TOKEN, CAROL.address, 2 * THRESHOLD - 7)
        town.mine()
        # The sum of all balances stays what it was: only the holders themselves tell.
        town.rpc._nodes._views = [Hiding(hidden)]
        town.clock.move(rules.snapshot_at(EPOCH))
        town.mine()
        for _ in range(3):
            assert "index broken" in (await run_due(town, town.clock.now())).waiting[EPOCH]
        town.rpc._nodes._views = []
        assert (await run_due(town, town.clock.now())).taken == [EPOCH]
        eligible = {line["address"].lower() for line in (await town.books())["wallets"]}
        assert eligible == {BOB.address, CAROL.address}

    run(work)


def test_two_nodes_that_show_different_transfers_are_not_believed(run):
    async def work(town):
        process = Process("second", random.Random(2), Faults())
        hidden = town.chain.send(ALICE.address, TOKEN, CAROL.address, 1)
        town.earn.second_logs = FrailRpc(town.chain, town.clock, process, [Hiding(hidden)])
        town.mine()
        with pytest.raises(UpstreamDown, match="different transfers"):
            await epochs.index_holders(town)
        town.earn.second_logs = FrailRpc(town.chain, town.clock, process)
        assert await epochs.index_holders(town) > 0

    run(work)


@pytest.mark.parametrize("is_second", [False, True])
def test_two_nodes_that_date_the_blocks_before_the_snapshot_differently_are_not_believed(run, is_second):
    async def work(town):
        honest, process = town.rpc, Process("second", random.Random(2), Faults())
        await run_due(town, town.clock.now())
        town.clock.move(rules.snapshot_at(EPOCH) - timedelta(minutes=5))
        town.mine(1)
        first = len(town.chain.blocks)
        # Sold in time, and one node says that it was too late for this snapshot.
        town.chain.send(BOB.address, TOKEN, CAROL.address, THRESHOLD)
        town.mine()
        late = int(rules.snapshot_at(EPOCH).timestamp())
        lying = View(dates=dict.fromkeys(range(first, len(town.chain.blocks)), late))
        liar = FrailRpc(town.chain, town.clock, process, [lying])
        town.rpc, town.earn.second_logs = (honest, liar) if is_second else (liar, honest)
        done = await town.to(rules.snapshot_at(EPOCH))
        assert (done.taken, done.waiting) == ([], {EPOCH: "snapshot: two chain nodes show different blocks"})
        town.rpc, town.earn.second_logs = honest, honest
        assert (await run_due(town, town.clock.now())).taken == [EPOCH]
        books = await town.books()
        assert [line["address"].lower() for line in books["wallets"]] == sorted([ALICE.address, CAROL.address])

    run(work)


@pytest.mark.parametrize("is_second", [False, True])
def test_two_nodes_that_count_the_tokens_decimals_differently_are_not_believed(run, is_second):
    async def work(town):
        honest, process = town.rpc, Process("second", random.Random(2), Faults())
        await run_due(town, town.clock.now())
        # A tenth of what is needed, unless a token has a digit less.
        town.chain.give(TOKEN, CAROL.address, THRESHOLD // 10)
        liar = FrailRpc(town.chain, town.clock, process, [View(decimals=17)])
        town.rpc, town.earn.second_logs = (honest, liar) if is_second else (liar, honest)
        done = await town.to(rules.snapshot_at(EPOCH))
        assert (done.taken, done.waiting) == ([], {EPOCH: "snapshot: two chain nodes show different decimals"})
        town.rpc, town.earn.second_logs = honest, honest
        assert (await run_due(town, town.clock.now())).taken == [EPOCH]
        books = await town.books()
        assert [line["address"].lower() for line in books["wallets"]] == sorted([ALICE.address, BOB.address])

    run(work)


def test_what_a_node_said_of_the_decimals_earlier_decides_no_snapshot(run):
    async def work(town):
        honest, process = town.rpc, Process("garbled", random.Random(2), Faults())
        await run_due(town, town.clock.now())
        town.rpc = FrailRpc(town.chain, town.clock, process, [View(decimals=0)])
        assert (await town.program())["token"]["decimals"] == 0
        town.rpc = honest
        await town.to(rules.snapshot_at(EPOCH))
        assert (await town.books())["eligibleWallets"] == 2, "Poor lacks one unit"

    run(work)


def test_a_chain_that_has_not_come_to_the_snapshot_is_not_said_to_by_one_of_two_nodes(run):
    async def work(town):
        honest, process = town.rpc, Process("second", random.Random(2), Faults())
        await run_due(town, town.clock.now())
        town.mine()
        final = len(town.chain.blocks) - 1 - DEPTH
        lying = View(dates={final: int(rules.snapshot_at(EPOCH).timestamp())})
        town.rpc = FrailRpc(town.chain, town.clock, process, [lying])
        town.earn.second_logs = honest
        town.clock.move(rules.snapshot_at(EPOCH))
        done = await run_due(town, town.clock.now())
        assert (done.taken, done.waiting) == ([], {EPOCH: "snapshot: two chain nodes show different blocks"})

    run(work)


def test_an_index_that_cannot_be_read_keeps_no_epoch_from_being_sealed_opened_or_closed(run):
    async def work(town):
        await run_due(town, town.clock.now())
        await town.pay()
        await town.earn_money(30_000)
        await town.to(rules.snapshot_at(EPOCH))
        town.chain.eth_getLogs = unreadable
        assert (await town.to(rules.opens_at(EPOCH))).sealed == [EPOCH]
        del town.chain.eth_getLogs
        await town.pay()
        town.mine(1)
        town.chain.eth_getLogs = unreadable
        assert (await run_due(town, town.clock.now())).opened == [EPOCH]
        assert (await town.to(rules.closes_at(EPOCH))).closed == [EPOCH]
        # The day after has no snapshot: it is late, is told of, and holds up nobody.
        tomorrow = rules.next_epoch(EPOCH)
        await town.earn_money(5)
        await town.to(rules.snapshot_at(tomorrow) + timedelta(minutes=31))
        assert {epoch for epoch, _ in town.earn.late} == {tomorrow}
        third = rules.next_epoch(tomorrow)
        await town.to(rules.opens_at(tomorrow))
        assert await skip(town.store, tomorrow)
        assert not await skip(town.store, third), "its day is not over"
        assert [await why_not_skipped(town.store, day) for day in (tomorrow, third, EPOCH, 20200101)] == [
            "it was skipped before",
            "its day is not over",
            "it has a pool already, which closes by itself",
            "the program has no such day",
        ]
        del town.chain.eth_getLogs
        await town.to(rules.snapshot_at(third))
        await town.to(rules.opens_at(third))
        assert (await town.books(third))["poolUsd"] == "0.030005"

    run(work)


def test_every_failure_halves_what_is_asked_for_next(run):
    async def work(town):
        town.mine(20)
        town.chain.eth_getLogs = unreadable
        asked = []
        for _ in range(3):
            with pytest.raises(UpstreamDown):
                await epochs.index_holders(town)
            asked.append(town.earn.stride.blocks)
        assert asked[0] > asked[1] > asked[2]
        del town.chain.eth_getLogs
        assert await epochs.index_holders(town) > 0

    run(work)


def unreadable(_query):
    raise Refusal("logs are not served here")


def test_while_a_snapshot_reads_for_itself_nobody_else_moves_the_index(run):
    async def work(town):
        town.mine()
        async with town.earn.reading:
            assert await epochs.index_holders(town) == 0
        assert await epochs.index_holders(town) > 0

    run(work)
