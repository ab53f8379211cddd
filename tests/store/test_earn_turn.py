"""Whose turn it is: an epoch is paid by the desk that it was sealed for, and by the key that the desk names."""

import asyncio
import random

import pytest
from sqlalchemy import select, update

from simulated.faults import Faults
from simulated.process import FrailRpc, Process
from tickyard.features.earn import rules
from tickyard.features.earn.days.epochs import run_due
from tickyard.features.earn.tables import earn_epoch, earn_line
from tickyard.kernel.errors import UpstreamDown
from tickyard.observe import metrics
from tickyard.payout.agent import Agent
from tickyard.payout.branch import unpaid_again
from tickyard.payout.run import LEASE, run_agent
from tickyard.payout.signing.signer import LocalSigner
from tickyard.payout.turn import NotOurTurn
from tickyard.store.leases import lease, release
from yards.reward_days import ALICE, BOB, DEPTH, DESK, EPOCH, MULTICALL, TERMS, live_in_town

NEXT = rules.next_epoch(EPOCH)
OTHER_DESK = "0x" + "d2" * 20


@pytest.fixture
def run(where, tmp_path):
    return lambda work: asyncio.run(live_in_town(where, tmp_path, work))


def for_other_desk(town) -> Agent:
    agent = town.agent()
    return Agent(town.store, town.rpc, town.signer, TERMS, OTHER_DESK, MULTICALL, town.caps, agent.accepted, DEPTH)


async def states(town):
    async with town.store.read() as tx:
        return [row.state for row in await tx.execute(select(earn_line.c.state).order_by(earn_line.c.address))]


async def set_desk(town, epoch, desk):
    async with town.store.begin() as tx:
        await tx.execute(update(earn_epoch).where(earn_epoch.c.id == epoch).values(desk=desk))


async def desk_of(town, epoch):
    async with town.store.read() as tx:
        return (await tx.execute(select(earn_epoch.c.desk).where(earn_epoch.c.id == epoch))).scalar_one()


async def close_day(town):
    town.clock.move(rules.closes_at(EPOCH))
    town.mine()
    assert (await run_due(town, town.clock.now())).closed == [EPOCH]


@pytest.mark.slow
def test_the_desk_that_a_day_is_sealed_for_pays_it_to_its_end(run):
    async def work(town):
        await town.open_day()
        await town.ask(ALICE)
        town.mine(1)
        # Paid, and not final: of this the other desk knows nothing, and would pay it again.
        other = for_other_desk(town)
        for _ in range(2):
            with pytest.raises(NotOurTurn, match=f"epoch {EPOCH} is paid by the desk {DESK}"):
                await town.pay(other)
        assert await states(town) == ["sent"]
        await close_day(town)
        with pytest.raises(NotOurTurn):
            await town.pay(other)
        assert (await town.pay()).confirmed == 1
        did = await town.pay(other)
        assert did.is_idle
        assert (town.held(ALICE), await states(town)) == (20_000, ["confirmed"])

    run(work)


def test_the_books_name_the_desk_to_check_them_against_from_the_seal_on(run):
    async def work(town):
        await run_due(town, town.clock.now())
        await town.to(rules.snapshot_at(EPOCH))
        assert (await town.books())["desk"] is None
        await town.open_claims()
        town.earn.desk = OTHER_DESK
        assert (await town.books())["desk"].lower() == DESK

    run(work)


def test_a_claim_that_nobody_has_looked_at_by_the_closing_keeps_its_desk(run):
    async def work(town):
        await town.open_day()
        with pytest.raises(UpstreamDown, match="reserved"):
            await town.ask(ALICE, agent=False)
        await close_day(town)
        with pytest.raises(NotOurTurn):
            await town.pay(for_other_desk(town))

    run(work)


@pytest.mark.slow
def test_days_of_two_desks_are_paid_one_after_the_other(run):
    async def work(town):
        await town.open_day()
        await town.ask(ALICE)
        await close_day(town)
        async with town.store.begin() as tx:
            tomorrow = update(earn_epoch).where(earn_epoch.c.id == NEXT)
            await tx.execute(tomorrow.values(state="sealed", desk=OTHER_DESK, digest="x"))
        with pytest.raises(NotOurTurn, match=f"epoch {EPOCH} is paid by the desk {DESK}"):
            await town.pay(for_other_desk(town))
        # Ours is older: it ends, and the day of the other desk is not touched.
        did = await town.pay()
        assert (did.confirmed, did.opened) == (1, 0)
        with pytest.raises(NotOurTurn, match=f"epoch {NEXT} is paid by the desk {OTHER_DESK}"):
            await town.pay()

    run(work)


def test_the_worker_asks_the_desk_of_the_day_whatever_the_settings_say_by_then(run):
    async def work(town):
        await run_due(town, town.clock.now())
        await town.earn_money(30_000)
        await town.to(rules.snapshot_at(EPOCH))
        assert (await town.to(rules.opens_at(EPOCH))).sealed == [EPOCH]
        # There is no desk at this address: whoever asks it learns nothing.
        town.earn.desk = OTHER_DESK
        await town.pay()
        town.mine(1)
        assert (await run_due(town, town.clock.now())).opened == [EPOCH]
        await town.ask(ALICE)
        town.mine()
        await town.pay()
        await close_day(town)
        assert (await town.books())["paidUsd"] == "0.020000"

    run(work)


def test_a_day_that_an_older_worker_sealed_keeps_the_desk_that_has_its_books(run):
    """Between `tickyard migrate` and its restart a worker of the version before seals, and writes no desk down."""

    async def work(town):
        await town.open_day()
        await town.ask(ALICE)
        town.mine(1)
        await set_desk(town, EPOCH, None)
        # The settings name another desk by now, which has paid nobody and would pay everybody again.
        town.earn.desk = OTHER_DESK
        other = for_other_desk(town)
        with pytest.raises(NotOurTurn, match=f"epoch {EPOCH}"):
            await town.pay(other)
        assert await states(town) == ["sent"]
        await run_due(town, town.clock.now())
        assert await desk_of(town, EPOCH) == DESK
        with pytest.raises(NotOurTurn, match=f"epoch {EPOCH} is paid by the desk {DESK}"):
            await town.pay(other)
        await close_day(town)
        assert (await town.pay()).confirmed == 1
        assert (await town.pay(other)).is_idle

    run(work)


def test_a_day_of_no_desk_is_ours_while_no_other_desk_was_ever_read(run):
    async def work(town):
        await town.open_day()
        await set_desk(town, EPOCH, None)
        await town.ask(ALICE)
        town.mine()
        assert (await town.pay()).confirmed == 1

    run(work)


def test_a_day_that_no_desk_has_books_of_goes_to_the_desk_of_the_settings(run):
    async def work(town):
        await run_due(town, town.clock.now())
        await town.pay()
        await town.earn_money(30_000)
        await town.to(rules.snapshot_at(EPOCH))
        assert (await town.to(rules.opens_at(EPOCH))).sealed == [EPOCH]
        await set_desk(town, EPOCH, None)
        town.earn.desk = OTHER_DESK
        await run_due(town, town.clock.now())
        assert await desk_of(town, EPOCH) == OTHER_DESK

    run(work)


def test_a_silent_node_holds_up_the_naming_of_a_desk_and_nothing_else(run):
    async def work(town):
        await town.open_day()
        await set_desk(town, EPOCH, None)
        town.earn.desk = OTHER_DESK
        town.rpc = FrailRpc(town.chain, town.clock, Process("silent", random.Random(1), Faults(lost_request=1.0)))
        await run_due(town, town.clock.now())
        assert await desk_of(town, EPOCH) is None

    run(work)


def test_after_a_branch_was_lost_only_days_of_this_desk_are_held_against_it(run):
    async def work(town):
        await town.open_day()
        await town.ask(ALICE)
        town.mine()
        await town.pay()
        assert await states(town) == ["confirmed"]
        await set_desk(town, EPOCH, OTHER_DESK)
        town.chain.edit(lambda state: state.paid.clear())
        final = town.chain.blocks[-1]
        again = await unpaid_again(town.store, town.rpc, MULTICALL, DESK, town.lease, final)
        assert (again, await states(town)) == ((0, None), ["confirmed"])

    run(work)


@pytest.mark.slow
async def relieved(town, make_unfit):
    """An agent has the lease and is of no use; does one that stands by pay?"""
    await town.open_day()
    await release(town.store, town.lease)
    agent = town.agent()
    tasks = [asyncio.create_task(run_agent(agent, "old"))]

    async def owner():
        async with town.store.read() as tx:
            return (await tx.execute(select(lease.c.owner).where(lease.c.name == LEASE))).scalar_one()

    async def until(is_so):
        while not await is_so():
            assert not any(task.done() for task in tasks)
            await asyncio.wait(tasks, timeout=0.002)

    async def is_old():
        return await owner() == "old"

    async def is_paid():
        town.mine(1)
        return town.held(BOB) == 10_000

    async def rings():
        return metrics.payout_oldest_s._value.get() > 0

    try:
        await until(is_old)
        make_unfit(agent)
        with pytest.raises(UpstreamDown, match="reserved"):
            await town.ask(BOB, agent=False)
        await until(rings)
        tasks.append(asyncio.create_task(run_agent(town.agent(), "new")))
        await until(is_paid)
        assert await owner() == "new"
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


def test_an_agent_whose_key_the_desk_does_not_name_lets_the_right_one_pay(run):
    async def work(town):
        def change_key(_agent):
            town.signer = LocalSigner(b"\x08" * 32)
            town.employ()

        await relieved(town, change_key)

    run(work)


def test_an_agent_whose_node_stays_silent_lets_one_that_stands_by_pay(run):
    async def work(town):
        def cut_off(agent):
            agent.rpc._nodes = FrailRpc(
                town.chain, town.clock, Process("silent", random.Random(1), Faults(lost_request=1.0))
            )._nodes
            town.rpc = FrailRpc(town.chain, town.clock, Process("well", random.Random(1), Faults()))

        await relieved(town, cut_off)

    run(work)


@pytest.mark.parametrize("emptied", ["usdg", "allowances"])
def test_an_agent_whose_account_was_emptied_for_the_new_one_steps_aside_as_well(run, emptied):
    async def work(town):
        await town.open_day()
        old, left = town.agent(), town.signer.address
        town.signer = LocalSigner(b"\x08" * 32)
        town.employ()
        town.chain.edit(lambda state: getattr(state, emptied).update({left: 0}))
        with pytest.raises(UpstreamDown, match="reserved"):
            await town.ask(BOB, agent=False)
        with pytest.raises(NotOurTurn, match=f"another payer than this key: {town.signer.address}"):
            await town.pay(old)

    run(work)
