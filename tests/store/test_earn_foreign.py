"""Payments that the desk made and that no claim asked for: the key is in wrong hands, or another agent is wrong."""

import asyncio

import pytest

from simulated.words import DESK, MULTICALL, USDG
from simulated.world import DEPTH
from tickyard.chain.blocks import final_header
from tickyard.features.earn import rules
from tickyard.features.earn.books.desk import pay_call
from tickyard.features.earn.books.reserves import get_earn_reserves
from tickyard.features.earn.days.epochs import run_due
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.operation import NoAsk
from tickyard.payout.ending import Endings
from tickyard.payout.halt import Halted, lift
from tickyard.payout.lines import Ended
from tickyard.payout.signing.transaction import CallTransaction
from yards.reward_days import ALICE, BOB, CAROL, EPOCH, TERMS, live_in_town


@pytest.fixture
def run(where, tmp_path):
    return lambda work: asyncio.run(live_in_town(where, tmp_path, work))


async def pay_by_hand(town, *lines):
    """Whoever has the key calls the desk."""
    nonce = town.chain.state.nonces.get(town.signer.address, 0)
    data = pay_call(EPOCH, [(wallet.address, amount) for wallet, amount in lines])
    call = CallTransaction(TERMS.chain_id, nonce, 10**9, 10**10, 10**6, DESK, data)
    town.chain.eth_sendRawTransaction("0x" + call.signed(await town.signer.sign(call.digest)).hex())
    town.mine()


@pytest.mark.slow
@pytest.mark.parametrize(("wallet", "amount"), [(CAROL, 500), (ALICE, 1)])
def test_agents_stop_when_the_desk_paid_what_no_share_says_and_the_books_take_it_as_it_is(run, wallet, amount):
    async def work(town):
        await town.open_day()
        await pay_by_hand(town, (wallet, amount))
        assert town.held(wallet) == amount
        with pytest.raises(Halted, match="the desk paid"):
            await town.pay()
        await lift(town.store)
        await town.ask(BOB)
        town.mine()
        await town.pay()
        town.clock.move(rules.closes_at(EPOCH))
        assert (await run_due(town, town.clock.now())).closed == [EPOCH], "later days do not wait for ever"
        books = await town.books()
        assert (books["balanced"], books["paidUsd"]) == (True, f"0.{amount + 10_000:06d}")
        assert books["rolledOverUsd"] == f"0.{20_000 - amount:06d}"

    run(work)


def test_what_an_agent_saw_stops_the_next_one_too_when_the_first_dies_right_after_it(run):
    async def work(town):
        await town.open_day()
        await pay_by_hand(town, (CAROL, 500))
        final = await final_header(town.rpc, DEPTH)
        with pytest.raises(Halted, match="the desk paid"):
            await Endings(town.store, town.rpc, MULTICALL, DESK, USDG).read_on(town.lease, final, Ended())
        # Killed here: nobody reads those events again.
        with pytest.raises(Halted, match="the desk paid"):
            await town.pay(town.agent())

    run(work)


def test_agents_stop_when_a_claim_on_its_way_is_paid_another_amount_and_the_books_take_it_as_it_is(run):
    async def work(town):
        await town.open_day()
        town.chain.faults.drop = 1.0
        await town.ask(ALICE)
        town.chain.faults.drop = 0.0
        await pay_by_hand(town, (ALICE, 7))
        with pytest.raises(Halted, match="not 20000"):
            await town.pay()
        await lift(town.store)
        for _ in range(3):
            await town.pay()
            town.mine()
        town.clock.move(rules.closes_at(EPOCH))
        assert (await run_due(town, town.clock.now())).closed == [EPOCH]
        books = await town.books()
        assert (books["balanced"], books["paidUsd"], books["rolledOverUsd"]) == (True, "0.000007", "0.029993")

    run(work)


def test_what_a_thief_took_is_not_taken_from_those_of_the_next_day(run):
    async def work(town):
        await town.open_day()
        await pay_by_hand(town, (CAROL, 30_000))
        with pytest.raises(Halted, match="the desk paid"):
            await town.pay()
        with pytest.raises(UpstreamDown, match="reserved"):
            await town.ask(BOB, agent=False)
        town.clock.move(rules.closes_at(EPOCH))
        assert (await run_due(town, town.clock.now())).closed == [EPOCH]
        books = await town.books()
        assert (books["paidUsd"], books["rolledOverUsd"], books["balanced"]) == ("0.030000", "0.000000", False)

    run(work)


def test_who_was_paid_the_right_share_by_hand_stops_nobody(run):
    async def work(town):
        await town.open_day()
        await pay_by_hand(town, (ALICE, 20_000))
        assert (await town.pay()).confirmed == 1
        assert (await town.ask(ALICE)).status == "confirmed"

    run(work)


def test_what_a_thief_takes_of_a_share_that_has_gone_on_is_not_taken_from_what_is_owed_to_others(run):
    async def work(town):
        await town.open_day()
        with pytest.raises(UpstreamDown, match="reserved"):
            await town.ask(ALICE, agent=False)
        town.clock.move(rules.closes_at(EPOCH))
        assert (await run_due(town, town.clock.now())).closed == [EPOCH]
        assert await owed(town) == "0.020000"
        await pay_by_hand(town, (BOB, 10_000))
        with pytest.raises(Halted, match="had gone on to another pool"):
            await town.pay()
        assert await owed(town) == "0.020000"
        await lift(town.store)
        for _ in range(3):
            await town.pay()
            town.mine()
        assert town.held(ALICE) == 20_000
        assert await owed(town) == "0.000000"

    run(work)


async def owed(town):
    return (await get_earn_reserves(town, NoAsk())).answer.owed_usd


@pytest.mark.parametrize("is_closed", [False, True])
def test_a_payment_that_nobody_asked_us_for_and_that_leaves_the_chain_again_is_as_if_it_had_never_been(run, is_closed):
    async def work(town):
        await town.open_day()
        before = len(town.chain.blocks)
        await pay_by_hand(town, (BOB, 10_000))
        (tx,) = [mined.transaction.hash for block in town.chain.blocks[before:] for mined in block.mined]
        assert (await town.pay()).confirmed == 1
        if is_closed:
            assert (await town.to(rules.closes_at(EPOCH))).closed == [EPOCH]
        town.chain.reorganise(len(town.chain.blocks) - before, without=[tx])
        town.mine()
        with pytest.raises(Halted, match="is not on the chain any more"):
            await town.pay()
        await lift(town.store)
        await town.pay()
        if is_closed:
            assert await owed(town) == "0.000000"
            books, accruing = await town.books(), (await town.program())["accruing"]
            assert (books["paidUsd"], accruing["rolloverUsd"]) == ("0.000000", "0.030000")
        else:
            assert not (await town.status(BOB))["epoch"]["claimed"]
            await town.ask(BOB)
            town.mine()
            await town.pay()
            assert (town.held(BOB), (await town.books())["paidUsd"]) == (10_000, "0.010000")

    run(work)
