"""Books from before days that the desk has paid: what was paid is paid, whoever pays by now and whatever they lack."""

import asyncio
import random

import pytest
from sqlalchemy import delete, insert, select

from simulated.chain import Hiding
from simulated.faults import Faults
from simulated.process import FrailRpc, Process
from tickyard.features.earn import rules
from tickyard.features.earn.books.reserves import get_earn_reserves
from tickyard.features.earn.days.epochs import run_due
from tickyard.features.earn.days.pool import skip, why_not_skipped
from tickyard.features.earn.tables import (
    earn_batch,
    earn_books,
    earn_claim,
    earn_close,
    earn_credit,
    earn_desk_mark,
    earn_epoch,
    earn_gate,
    earn_line,
    earn_rollover,
    earn_share,
    earn_tally,
)
from tickyard.kernel.operation import NoAsk
from tickyard.payout.agent import Agent
from tickyard.payout.halt import Halted, lift
from tickyard.payout.turn import NotOurTurn
from tickyard.store.revenue import revenue
from yards.reward_days import ALICE, BOB, DEPTH, EPOCH, MULTICALL, TERMS, live_in_town

NEXT = rules.next_epoch(EPOCH)
OTHER_DESK = "0x" + "d2" * 20
ALL = (
    earn_line, earn_batch, earn_tally, earn_desk_mark, earn_claim, earn_close, earn_epoch, earn_credit, earn_gate,
    earn_books, earn_rollover, earn_share, revenue,
)  # fmt: skip


@pytest.fixture
def run(where, tmp_path):
    return lambda work: asyncio.run(live_in_town(where, tmp_path, work))


async def copy(town):
    async with town.store.read() as tx:
        return {table: [dict(row) for row in (await tx.execute(select(table))).mappings()] for table in ALL}


async def put_back(town, kept):
    async with town.store.begin() as tx:
        for table, rows in kept.items():
            await tx.execute(delete(table))
            if rows:
                await tx.execute(insert(table), rows)
    (town.folder / "accepted.jsonl").unlink(missing_ok=True)
    town.hired = None


async def live_through(town, *later):
    """A day of which the desk pays Alice, and the books as they were at noon of it, before the later revenue came."""
    await run_due(town, town.clock.now())
    await town.pay()
    await town.earn_money(30_000)
    kept = await copy(town)
    await town.earn_money(*later)
    await town.to(rules.snapshot_at(EPOCH))
    await town.open_claims()
    await town.ask(ALICE)
    await settle(town)
    town.clock.move(rules.closes_at(EPOCH))
    town.mine()
    assert (await run_due(town, town.clock.now())).closed == [EPOCH]
    return kept


async def settle(town, agent=None, rounds=3):
    for _ in range(rounds):
        town.mine()
        await town.pay(agent)


def allow(town, amount):
    town.chain.edit(lambda state: state.allowances.__setitem__(town.signer.address, amount))


async def owed(town):
    return (await get_earn_reserves(town, NoAsk())).answer.owed_usd


def for_other_desk(town):
    return Agent(
        town.store, town.rpc, town.signer, TERMS, OTHER_DESK, MULTICALL, town.caps, town.agent().accepted, DEPTH
    )


@pytest.mark.slow
def test_more_paid_than_the_restored_pool_holds_is_not_taken_from_what_the_next_day_needs(run):
    async def work(town):
        await put_back(town, await live_through(town, 60_000))
        assert town.held(ALICE) == 60_000
        town.hired = town.agent()
        await settle(town)
        await run_due(town, town.clock.now())
        await settle(town)
        await run_due(town, town.clock.now())
        books = await town.books()
        assert (books["state"], books["poolUsd"], books["paidUsd"]) == ("closed", "0.030000", "0.060000")
        assert await owed(town) == "0.000000"
        # One base unit less than the next day's pool.
        await town.earn_money(90_000)
        town.chain.edit(lambda state: state.usdg.__setitem__(town.signer.address, 89_999))
        await town.to(rules.snapshot_at(NEXT))
        assert "not solvent" in (await town.open_claims(NEXT)).waiting[NEXT]

    run(work)


@pytest.mark.slow
def test_a_day_that_an_older_desk_has_paid_is_sealed_for_it_again_by_restored_books(run):
    async def work(town):
        await put_back(town, await live_through(town))
        # The settings name the desk that was deployed since: it has paid nobody, and its books are empty.
        town.earn.desk = OTHER_DESK
        waiting = (await run_due(town, town.clock.now())).waiting
        assert "more than the books know" in waiting[EPOCH]
        with pytest.raises(NotOurTurn, match=f"epoch {EPOCH} is paid by the desk"):
            await town.pay(for_other_desk(town))
        await settle(town)
        assert (await run_due(town, town.clock.now())).closed == [EPOCH]
        assert (await town.books())["rolledOverUsd"] == "0.010000", "what Alice was paid is not shared out again"
        assert (await town.pay(for_other_desk(town))).is_idle

    run(work)


@pytest.mark.slow
def test_a_day_is_sealed_for_the_desk_of_the_settings_when_no_other_has_opened_it_and_not_before_that_is_known(run):
    async def work(town):
        await live_through(town)
        town.earn.desk = OTHER_DESK
        await town.to(rules.snapshot_at(NEXT))
        node, town.rpc = (
            town.rpc,
            FrailRpc(town.chain, town.clock, Process("", random.Random(1), Faults(lost_request=1))),
        )
        assert (await town.to(rules.opens_at(NEXT))).waiting[NEXT].startswith("seal: ")
        town.rpc = node
        assert (await run_due(town, town.clock.now())).sealed == [NEXT]
        async with town.store.read() as tx:
            assert (
                await tx.execute(select(earn_epoch.c.desk).where(earn_epoch.c.id == NEXT))
            ).scalar_one() == OTHER_DESK

    run(work)


@pytest.mark.slow
def test_a_day_that_the_desk_has_paid_is_not_skipped(run):
    async def work(town):
        await put_back(town, await live_through(town))
        await settle(town)
        assert not await skip(town.store, EPOCH)
        assert (await why_not_skipped(town.store, EPOCH)).startswith("the desk has paid some of it")
        assert (await run_due(town, town.clock.now())).closed == [EPOCH]
        assert (await town.books())["rolledOverUsd"] == "0.010000"

    run(work)


@pytest.mark.slow
def test_agents_stop_when_the_desk_had_paid_a_day_that_was_skipped_before_they_looked(run):
    async def work(town):
        await put_back(town, await live_through(town))
        assert await skip(town.store, EPOCH)
        with pytest.raises(Halted, match=f"for epoch {EPOCH}, which was skipped"):
            await settle(town)
        await lift(town.store)
        await settle(town)

    run(work)


@pytest.mark.slow
def test_a_line_that_waits_for_the_closing_does_not_keep_a_hidden_payment_from_being_found(run):
    """Lines that are to go again wait until the day is closed: it must not wait for them in turn."""

    async def work(town):
        await town.open_day()
        await town.ask(ALICE)
        allow(town, 0)
        await settle(town)
        kept = await copy(town)
        assert [row["state"] for row in kept[earn_line]] == ["due"]
        allow(town, 10_000)
        hidden = (await town.ask(BOB)).tx
        await settle(town)
        assert (town.held(ALICE), town.held(BOB)) == (0, 10_000)
        await put_back(town, kept)
        town.rpc._nodes._views = [Hiding(hidden)]
        town.clock.move(rules.closes_at(EPOCH))
        await settle(town)
        assert "more than the books know" in (await run_due(town, town.clock.now())).waiting[EPOCH]
        await settle(town)
        assert (await run_due(town, town.clock.now())).closed == [EPOCH]
        allow(town, 10**30)
        await settle(town)
        assert town.held(ALICE) == 20_000
        books = await town.books()
        assert (books["paidUsd"], books["rolledOverUsd"], books["balanced"]) == ("0.030000", "0.000000", True)

    run(work)
