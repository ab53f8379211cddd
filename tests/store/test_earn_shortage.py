"""A claim outlives an account that is short, and a transaction that came to nothing after the closing."""

import asyncio
from datetime import timedelta

import pytest

from tickyard.features.earn import rules
from tickyard.features.earn.books.funds import tell_funds
from tickyard.features.earn.books.reserves import get_earn_reserves
from tickyard.features.earn.days.epochs import run_due
from tickyard.features.earn.days.opening import open_claims
from tickyard.features.earn.days.pool import skip
from tickyard.kernel.errors import BadRequest, NotFound, UpstreamDown
from tickyard.kernel.operation import NoAsk
from tickyard.observe import metrics
from tickyard.observe.metrics import REGISTRY
from tickyard.payout.judge import PayoutCaps
from yards.reward_days import ALICE, BOB, EPOCH, USDG, live_in_town

LAST_MOMENT = rules.closes_at(EPOCH) - timedelta(seconds=30)


@pytest.fixture
def run(where, tmp_path):
    return lambda work: asyncio.run(live_in_town(where, tmp_path, work))


def allow(town, amount):
    town.chain.edit(lambda state: state.allowances.__setitem__(town.signer.address, amount))


def pause(town, paused):
    town.chain.edit(lambda state: setattr(state, "paused", paused))


def stand_still(town, still):
    town.chain.edit(lambda state: setattr(state, "still", still))


async def rounds(town, many=4):
    for _ in range(many):
        await town.pay()
        town.mine()


async def reserves(town):
    told = (await get_earn_reserves(town, NoAsk())).answer
    return told.owed_usd, told.paid_usd


async def close(town):
    town.clock.move(rules.closes_at(EPOCH))
    town.mine(1)
    assert (await run_due(town, town.clock.now())).closed == [EPOCH]


@pytest.mark.slow
@pytest.mark.parametrize("short_of", ["allowance", "USDG"])
def test_a_claim_waits_for_an_account_that_is_short_and_is_paid_after_the_window(run, short_of):
    async def work(town):
        await town.open_day()
        town.clock.move(LAST_MOMENT)
        if short_of == "allowance":
            allow(town, 19_999)
        else:
            town.chain.send(town.signer.address, USDG, "0x" + "99" * 20, 10**12 - 19_999)
            town.mine(1)
        claims = asyncio.gather(*(town.ask(each, agent=False) for each in (ALICE, BOB)), return_exceptions=True)
        while not claims.done():
            await asyncio.wait([claims], timeout=0.002)
            await town.pay()
        await rounds(town)
        await close(town)
        await rounds(town)
        assert (town.held(ALICE), town.held(BOB)) == (0, 10_000), "what it can pay, it pays"
        assert (await town.books())["inFlightUsd"] == "0.020000"
        town.employ()
        town.mine(1)
        await rounds(town)
        assert town.held(ALICE) == 20_000
        books = await town.books()
        assert (books["paidUsd"], books["inFlightUsd"], books["balanced"]) == ("0.030000", "0.000000", True)

    run(work)


def test_whoever_claims_before_a_late_snapshot_is_told_to_wait_and_of_a_skipped_day_that_it_was(run):
    """Not that the wallet is in no snapshot: who hears that does not come back."""

    async def work(town):
        await run_due(town, town.clock.now())
        await town.earn_money(10_000)
        assert (await town.program())["accruing"]["rolloverUsd"] == "0.000000"
        assert await reserves(town) == ("0.000000", "0.000000")
        town.clock.move(rules.opens_at(EPOCH) + timedelta(minutes=5))
        with pytest.raises(UpstreamDown, match="not taken yet"):
            await town.ask(ALICE)
        assert await skip(town.store, EPOCH)
        with pytest.raises(BadRequest, match="was skipped"):
            await town.ask(ALICE)
        with pytest.raises(NotFound, match="no such epoch"):
            await town.books()

    run(work)


@pytest.mark.parametrize("trouble", ["no allowance", "USDG is paused"])
def test_an_account_that_runs_short_while_a_payout_is_on_its_way_releases_no_claim(run, trouble):
    async def work(town):
        await town.open_day()
        town.clock.move(LAST_MOMENT)
        await town.ask(ALICE)
        if trouble == "no allowance":
            allow(town, 0)
        else:
            stand_still(town, True)
        await close(town)
        await rounds(town)
        assert town.held(ALICE) == 0
        assert (await town.books())["inFlightUsd"] == "0.020000"
        assert await reserves(town) == ("0.020000", "0.000000"), "what was rolled over is owed to nobody"
        allow(town, 10**30)
        stand_still(town, False)
        await rounds(town)
        assert town.held(ALICE) == 20_000
        assert (await town.books())["balanced"] is True
        assert await reserves(town) == ("0.000000", "0.020000")

    run(work)


def test_a_payout_that_came_to_nothing_is_told_by_no_transaction_until_it_goes_again(run):
    async def work(town):
        await town.open_day()
        first = (await town.ask(ALICE)).tx
        allow(town, 0)
        await rounds(town)
        # It is final, and says on the chain that it has paid nobody.
        assert (await town.status(ALICE))["epoch"]["claimed"] is True
        assert (await town.status(ALICE))["epoch"]["claimTx"] is None
        with pytest.raises(UpstreamDown, match="is reserved, repeat"):
            await town.ask(ALICE, agent=False)
        told = (await town.books())["wallets"]
        assert [(line["claim"], line["tx"]) for line in told if line["claim"]] == [("reserved", None)]
        allow(town, 10**30)
        second = (await town.ask(ALICE)).tx
        assert second != first
        assert (await town.status(ALICE))["epoch"]["claimTx"] == second

    run(work)


def test_nothing_is_sent_while_usdg_is_paused_and_claims_are_paid_when_it_moves_again(run):
    """Each try would fail for everybody, at the cost of its gas."""

    async def work(town):
        await town.open_day()
        town.clock.move(LAST_MOMENT)
        stand_still(town, True)
        sent, refused = town.chain.state.nonces[town.signer.address], metrics.payout_refused._value.get()
        with pytest.raises(UpstreamDown, match="reserved"):
            await town.ask(ALICE)
        await close(town)
        await rounds(town)
        assert town.chain.state.nonces[town.signer.address] == sent
        assert metrics.payout_refused._value.get() > refused
        stand_still(town, False)
        await rounds(town)
        assert town.held(ALICE) == 20_000
        assert (await town.books())["balanced"] is True

    run(work)


def test_an_account_that_is_filled_up_in_the_very_block_that_was_too_early_releases_no_claim(run):
    async def work(town):
        await town.open_day()
        town.clock.move(LAST_MOMENT)
        await town.ask(ALICE)
        payer, friend = town.signer.address, "0x" + "ff" * 20
        town.chain.edit(lambda state: state.usdg.update({payer: 19_999, friend: 10**12}))
        town.chain.send(friend, USDG, payer, 10**12)
        await close(town)
        await rounds(town)
        assert town.held(ALICE) == 20_000, "the window is over: nobody could have claimed again"

    run(work)


@pytest.mark.slow
@pytest.mark.parametrize("hour", ["open", "closed"])
def test_what_is_owed_and_what_is_there_are_shown_after_the_opening_too(run, hour):
    def shown():
        names = ("owed", "balance", "allowance")
        return tuple(REGISTRY.get_sample_value(f"tickyard_earn_{name}_microdollars") for name in names)

    async def work(town):
        await town.open_day()
        await tell_funds(town)
        assert shown()[:2] == (30_000, 10**12)
        await town.ask(ALICE)
        if hour == "closed":
            await close(town)
            await tell_funds(town)
            assert shown()[:2] == (0, 10**12 - 20_000), "mined, and not final"
        else:
            town.chain.send(town.signer.address, USDG, "0x" + "99" * 20, 10**12 - 25_000)
            allow(town, 7)
            town.mine(1)
            await tell_funds(town)
            assert shown() == (30_000, 25_000, 7), "nothing could be paid"

    run(work)


def test_what_reverts_after_the_closing_is_sent_again_by_the_same_agent(run):
    async def work(town):
        await town.open_day()
        town.clock.move(LAST_MOMENT)
        await town.ask(ALICE)
        pause(town, True)
        await close(town)
        await rounds(town)
        assert town.held(ALICE) == 0
        pause(town, False)
        await rounds(town)
        assert town.held(ALICE) == 20_000
        assert (await town.books())["balanced"] is True

    run(work)


@pytest.mark.slow
def test_what_the_cap_of_a_day_holds_over_the_closing_is_paid_by_the_same_agent_the_day_after(run):
    async def work(town):
        town.caps = PayoutCaps(10**12, 10**12, 20_000)
        await town.open_day()
        await town.ask(ALICE)
        with pytest.raises(Exception, match="reserved"):
            await town.ask(BOB)
        await close(town)
        await rounds(town)
        assert town.held(BOB) == 0
        await town.to(rules.opens_at(rules.next_epoch(EPOCH)) - timedelta(hours=2))
        await town.to(rules.opens_at(rules.next_epoch(EPOCH)))
        await town.clock.sleep(60)
        await rounds(town)
        assert town.held(BOB) == 10_000

    run(work)


def test_an_account_that_has_exactly_what_is_due_pays_it_all(run):
    async def work(town):
        await town.open_day()
        allow(town, 30_000)
        await asyncio.gather(
            *(town.ask(each, agent=False) for each in (ALICE, BOB)), town.pay(), return_exceptions=True
        )
        town.clock.move(LAST_MOMENT)
        await rounds(town)
        assert (town.held(ALICE), town.held(BOB)) == (20_000, 10_000)

    run(work)


def test_what_is_on_its_way_is_shown_as_sent_and_the_alarm_knows_the_allowance(run):
    async def work(town):
        allow(town, 123_456)
        await town.open_day()
        await tell_funds(town)
        assert metrics.earn_allowance._value.get() == 123_456
        await town.ask(ALICE)
        assert [line["claim"] for line in (await town.books())["wallets"]].count("sent") == 1

    run(work)


def test_a_worker_whose_clock_is_ahead_closes_nothing_before_its_time(run):
    """The store's clock is the one that counts."""

    async def work(town):
        await town.open_day()
        done = await run_due(town, rules.closes_at(EPOCH))
        assert (done.closed, done.waiting) == ([], {EPOCH: "close: somebody was faster"})
        assert (await town.ask(ALICE)).ok

    run(work)


def test_claims_are_opened_once_in_their_window_and_not_while_the_desk_is_paused(run):
    async def work(town):
        await run_due(town, town.clock.now())
        await town.earn_money(10_000)
        await town.to(rules.snapshot_at(EPOCH))
        await town.to(rules.opens_at(EPOCH))
        await town.pay()
        town.mine(1)
        town.chain.edit(lambda state: setattr(state, "paused", True))
        assert (await run_due(town, town.clock.now())).waiting[EPOCH] == "open: the desk is paused"
        town.chain.edit(lambda state: setattr(state, "paused", False))
        opens = town.clock.now()
        for outside in (rules.closes_at(EPOCH), rules.opens_at(EPOCH) - timedelta(seconds=5)):
            town.clock.move(outside)
            assert await open_claims(town, EPOCH) == "outside the window"
        town.clock.move(opens)
        assert await open_claims(town, EPOCH) == "opened"
        assert await open_claims(town, EPOCH) == "somebody was faster"

    run(work)
