"""Halts: what one agent saw stays seen, whatever becomes of that agent, and a person can end it."""

import asyncio

import pytest

from simulated.chain import Refusal
from tickyard.features.earn import rules
from tickyard.features.earn.days.epochs import run_due
from tickyard.kernel.errors import UpstreamDown
from tickyard.payout.halt import Halted, halt, lift
from yards.reward_days import ALICE, BOB, EPOCH, live_in_town


@pytest.fixture
def run(where, tmp_path):
    return lambda work: asyncio.run(live_in_town(where, tmp_path, work))


async def leave_final_branch(town, wallet, without, depth=0):
    """Pay, or try to, until it has ended for good; then another branch without that transaction."""
    tx = (await town.ask(wallet)).tx
    while (did := await town.pay()).confirmed + did.failed == 0:
        town.mine(1)
        depth += 1
    town.chain.reorganise(depth, without=[tx] if without else [])
    town.mine()
    with pytest.raises(Halted, match="is not on the chain any more"):
        await town.pay()


def test_who_is_paid_on_a_branch_that_was_final_and_left_is_paid_after_a_person_has_looked(run):
    async def work(town):
        await town.open_day()
        await leave_final_branch(town, ALICE, without=True)
        assert town.held(ALICE) == 0
        assert "is not on the chain any more" in str(await lift(town.store))
        for _ in range(3):
            await town.pay()
            town.mine()
        assert town.held(ALICE) == 20_000
        assert (await town.ask(ALICE)).status == "confirmed"
        await town.ask(BOB)
        town.mine()
        await town.pay()
        assert town.held(BOB) == 10_000
        assert (await town.books())["paidUsd"] == "0.030000"

    run(work)


def test_who_is_paid_on_the_branch_that_stays_is_found_there_and_not_paid_again(run):
    async def work(town):
        await town.open_day()
        await leave_final_branch(town, ALICE, without=False)
        town.mine()
        await lift(town.store)
        for _ in range(4):
            await town.pay()
            town.mine()
        assert town.held(ALICE) == 20_000
        assert (await town.ask(ALICE)).status == "confirmed"
        assert (await town.books())["paidUsd"] == "0.020000"

    run(work)


def test_a_payout_of_a_closed_day_that_its_branch_took_along_is_paid_all_the_same(run):
    async def work(town):
        await town.open_day()
        await town.ask(ALICE)
        town.clock.move(rules.closes_at(EPOCH))
        town.mine(1)
        assert (await run_due(town, town.clock.now())).closed == [EPOCH]
        await leave_final_branch(town, ALICE, without=True, depth=1)
        assert town.held(ALICE) == 0
        await lift(town.store)
        for _ in range(4):
            await town.pay()
            town.mine()
        assert town.held(ALICE) == 20_000
        books = await town.books()
        assert (books["paidUsd"], books["rolledOverUsd"], books["balanced"]) == ("0.020000", "0.010000", True)

    run(work)


async def lose_a_finished_day(town):
    """Pay and close a day, look through it until nothing is left to do; then another branch, and a person who looked."""
    await town.open_day()
    tx = (await town.ask(ALICE)).tx
    assert (await town.to(rules.closes_at(EPOCH))).closed == [EPOCH]
    for _ in range(3):
        await town.pay()
        await town.clock.sleep(61)
    town.mine(1)
    town.chain.reorganise(8, without=[tx])
    town.mine()
    with pytest.raises(Halted, match="is not on the chain any more"):
        await town.pay()
    assert town.held(ALICE) == 0
    await lift(town.store)


@pytest.mark.parametrize("is_another", [False, True])
def test_a_finished_day_that_its_branch_took_along_is_paid_whoever_saw_it_and_stumbled(run, is_another):
    async def work(town):
        await lose_a_finished_day(town)
        town.chain.eth_getLogs = out_of_order
        with pytest.raises(UpstreamDown):
            await town.pay(town.agent() if is_another else None)
        del town.chain.eth_getLogs
        for _ in range(4):
            await town.pay()
            town.mine()
            await town.clock.sleep(61)
        assert town.held(ALICE) == 20_000
        assert (await town.books())["paidUsd"] == "0.020000"

    run(work)


def out_of_order(*_asked):
    raise Refusal("internal error")


def test_a_halt_that_a_node_was_to_blame_for_is_over_when_a_person_lifts_it(run):
    async def work(town):
        await town.open_day()
        await town.ask(ALICE)
        town.mine()
        await town.pay()
        await halt(town.store, "a node told of another branch")
        assert await lift(town.store) == "a node told of another branch"
        assert await lift(town.store) is None
        await town.ask(BOB)
        town.mine()
        await town.pay()
        assert (await town.books())["paidUsd"] == "0.030000"

    run(work)
