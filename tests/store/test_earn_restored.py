"""Books that were restored from a copy: what the desk paid after it was taken is found again, and counted once."""

import asyncio

import pytest
from sqlalchemy import delete, insert, select

from simulated.chain import Hiding
from tickyard.features.earn import rules
from tickyard.features.earn.days.epochs import run_due
from tickyard.features.earn.tables import (
    earn_batch,
    earn_books,
    earn_claim,
    earn_credit,
    earn_desk_mark,
    earn_epoch,
    earn_gate,
    earn_line,
    earn_tally,
)
from tickyard.kernel.errors import UpstreamDown
from tickyard.payout.halt import Halted, lift
from tickyard.payout.judge import PayoutCaps
from tickyard.store.revenue import revenue
from yards.reward_days import ALICE, BOB, EPOCH, live_in_town

TABLES = (earn_line, earn_batch, earn_tally, earn_desk_mark, earn_claim)
WHOLE = (*TABLES, earn_epoch, earn_credit, earn_gate, earn_books, revenue)


@pytest.fixture
def run(where, tmp_path):
    return lambda work: asyncio.run(live_in_town(where, tmp_path, work))


async def copy(town, tables=TABLES):
    async with town.store.read() as tx:
        return {table: [dict(row) for row in (await tx.execute(select(table))).mappings()] for table in tables}


async def put_back(town, kept):
    async with town.store.begin() as tx:
        for table in kept:
            await tx.execute(delete(table))
            if kept[table]:
                await tx.execute(insert(table), kept[table])


async def fail_then_pay(town, kept_when):
    """A payout fails for good, is claimed again and paid; a copy of the books as they were at some moment of it."""
    await town.open_day()
    town.chain.frozen.add(ALICE.address)
    await town.ask(ALICE)
    kept = await copy(town)
    town.mine()
    assert (await town.pay()).failed == 1
    if kept_when == "failed":
        kept = await copy(town)
    town.chain.frozen.clear()
    paid = (await town.ask(ALICE)).tx
    town.mine()
    await town.pay()
    assert town.held(ALICE) == 20_000
    return kept, paid


@pytest.mark.slow
@pytest.mark.parametrize("kept_when", ["sent", "failed"])
def test_who_was_paid_at_the_second_try_is_shown_as_paid_by_books_that_know_of_the_first(run, kept_when):
    async def work(town):
        kept, paid = await fail_then_pay(town, kept_when)
        await put_back(town, kept)
        await town.pay(town.agent())
        shown = (await town.status(ALICE))["epoch"]
        assert (shown["claimed"], shown["claimTx"]) == (True, paid)
        assert ((await town.ask(ALICE)).tx, (await town.ask(ALICE)).status) == (paid, "confirmed")
        town.clock.move(rules.closes_at(EPOCH))
        town.mine()
        assert (await run_due(town, town.clock.now())).closed == [EPOCH], "nobody waits for a person"
        books = await town.books()
        assert (books["paidUsd"], books["rolledOverUsd"], books["balanced"]) == ("0.020000", "0.010000", True)
        (line,) = [each for each in books["wallets"] if each["address"].lower() == ALICE.address]
        assert (line["claim"], line["tx"]) == ("confirmed", paid)
        assert town.held(ALICE) == 20_000

    run(work)


@pytest.mark.slow
def test_what_was_paid_after_all_does_not_go_on_to_the_next_pool_too(run):
    async def work(town):
        kept, _paid = await fail_then_pay(town, "sent")
        await put_back(town, kept)
        # Closed before an agent has read the desk: the first try counts as on its way.
        town.clock.move(rules.closes_at(EPOCH))
        town.mine()
        assert (await run_due(town, town.clock.now())).closed == [EPOCH]
        await town.pay(town.agent())
        books = await town.books()
        assert (books["paidUsd"], books["returnedLaterUsd"], books["balanced"]) == ("0.020000", "0.000000", True)
        following = rules.next_epoch(EPOCH)
        await town.to(rules.snapshot_at(following))
        await town.open_claims(following)
        assert (await town.books(following))["poolUsd"] == "0.010000", "only what nobody claimed"
        assert (await town.books())["balanced"] is True

    run(work)


def test_an_epoch_that_was_counted_before_the_desk_was_read_is_closed_when_it_has_been(run):
    async def work(town):
        kept, _paid = await fail_then_pay(town, "failed")
        await put_back(town, kept)
        town.clock.move(rules.closes_at(EPOCH))
        town.mine()
        done = await run_due(town, town.clock.now())
        assert "more than the books know" in done.waiting[EPOCH], "until the agent has read the desk"
        await town.pay(town.agent())
        assert (await run_due(town, town.clock.now())).closed == [EPOCH]
        books = await town.books()
        assert (books["paidUsd"], books["rolledOverUsd"], books["balanced"]) == ("0.020000", "0.010000", True)

    run(work)


def test_a_payment_of_which_no_claim_is_known_is_shown_to_its_wallet(run):
    async def work(town):
        await town.open_day()
        kept = await copy(town)
        paid = (await town.ask(ALICE)).tx
        town.mine()
        await town.pay()
        await put_back(town, kept)
        await town.pay(town.agent())
        shown = (await town.status(ALICE))["epoch"]
        assert (shown["claimed"], shown["claimTx"]) == (True, paid)
        assert (await town.ask(ALICE)).tx == paid

    run(work)


@pytest.mark.slow
def test_a_copy_from_before_the_seal_that_lacks_revenue_halts_its_own_day_and_no_other(run):
    async def work(town):
        await run_due(town, town.clock.now())
        await town.pay()
        await town.earn_money(30_000)
        await town.to(rules.snapshot_at(EPOCH))
        kept = await copy(town, WHOLE)
        await town.earn_money(6_000)
        await town.open_claims()
        await town.ask(ALICE)
        town.mine()
        await town.pay()
        assert town.held(ALICE) == 24_000
        await put_back(town, kept)
        (town.folder / "accepted.jsonl").unlink()
        agent = town.agent()
        await run_due(town, town.clock.now())
        for why in ("not 20000", "the desk has other books"):
            with pytest.raises(Halted, match=why):
                await town.pay(agent)
            await lift(town.store)
        town.clock.move(rules.closes_at(EPOCH))
        town.mine()
        assert (await run_due(town, town.clock.now())).closed == [EPOCH]
        books = await town.books()
        assert (books["paidUsd"], books["rolledOverUsd"], books["balanced"]) == ("0.024000", "0.006000", True)
        assert (await town.ask(ALICE)).amount_usd == "0.024000", "what was paid, not what these books would give"
        following = rules.next_epoch(EPOCH)
        await town.to(rules.snapshot_at(following))
        await town.pay(agent)
        assert (await town.open_claims(following)).opened == [following]

    run(work)


@pytest.mark.slow
@pytest.mark.parametrize("known", ["reserved", "sent"])
def test_a_claim_that_waits_hides_no_payment_that_the_books_have_forgotten(run, known):
    async def work(town):
        await town.open_day()
        if known == "reserved":
            # Alice's claim is over a cap: it waits, and its share is kept for it.
            town.caps = PayoutCaps(15_000, 10**12, 10**12)
            with pytest.raises(UpstreamDown, match="reserved"):
                await town.ask(ALICE)
        else:
            # Her payout is on its way, and will be refused.
            town.chain.frozen.add(ALICE.address)
            await town.ask(ALICE)
        kept = await copy(town)
        await town.ask(BOB)
        town.mine()
        await town.pay()
        assert (town.held(ALICE), town.held(BOB)) == (0, 10_000)
        await put_back(town, kept)
        town.clock.move(rules.closes_at(EPOCH))
        town.mine()
        done = await run_due(town, town.clock.now())
        assert "more than the books know" in done.waiting[EPOCH], "the books know nothing of Bob"
        await town.pay(town.agent())
        assert (await run_due(town, town.clock.now())).closed == [EPOCH]
        books = await town.books()
        assert (books["paidUsd"], books["balanced"]) == ("0.010000", True)
        assert books["rolledOverUsd"] == ("0.000000" if known == "reserved" else "0.020000")

    run(work)


@pytest.mark.slow
@pytest.mark.parametrize("kept_when", ["before", "failed"])
def test_a_payment_that_no_node_shows_and_no_claim_asks_for_again_is_found_in_the_desks_memory(run, kept_when):
    """The copy has lost the claim too: nobody would send it again and be told that it is paid."""

    async def work(town):
        await town.open_day()
        kept = await copy(town)
        if kept_when == "failed":
            town.chain.frozen.add(BOB.address)
            await town.ask(BOB)
            town.mine()
            assert (await town.pay()).failed == 1
            town.chain.frozen.clear()
            kept = await copy(town)
        hidden = (await town.ask(BOB)).tx
        await put_back(town, kept)
        town.rpc._nodes._views = [Hiding(hidden)]
        town.clock.move(rules.closes_at(EPOCH))
        town.mine()
        agent = town.agent()
        await town.pay(agent)
        assert "more than the books know" in (await run_due(town, town.clock.now())).waiting[EPOCH]
        await town.pay(agent)
        assert (await run_due(town, town.clock.now())).closed == [EPOCH]
        books = await town.books()
        assert (books["paidUsd"], books["rolledOverUsd"], books["balanced"]) == ("0.010000", "0.020000", True)
        assert (await town.status(BOB))["epoch"]["claimed"] is True
        with pytest.raises(UpstreamDown, match="is paid"):
            await town.ask(BOB)

    run(work)


@pytest.mark.slow
def test_a_claim_that_waits_is_ended_by_the_desks_own_word_and_not_by_its_memory(run):
    async def work(town):
        await town.open_day()
        few, enough = PayoutCaps(5_000, 10**12, 10**12), town.caps
        town.caps = few
        with pytest.raises(UpstreamDown, match="reserved"):
            await town.ask(BOB)
        kept = await copy(town)
        with pytest.raises(UpstreamDown, match="reserved"):
            await town.ask(ALICE)
        town.caps = enough
        assert (await town.pay()).sent == 2
        (hidden,) = town.chain.pool
        await put_back(town, kept)
        town.rpc._nodes._views = [Hiding(hidden)]
        town.clock.move(rules.closes_at(EPOCH))
        town.mine()
        town.caps = few
        assert "more than the books know" in (await run_due(town, town.clock.now())).waiting[EPOCH]
        assert (await town.pay(town.agent())).confirmed == 1, "Alice, of whose claim nothing is known"
        assert (await town.status(BOB))["epoch"]["claimed"] is True
        assert {each["claim"] for each in (await town.books())["wallets"]} == {"confirmed", "reserved"}
        assert (await run_due(town, town.clock.now())).closed == [EPOCH]
        town.caps = enough
        agent = town.agent()
        assert (await town.pay(agent)).sent == 1
        town.mine()
        assert (await town.pay(agent)).confirmed == 1
        assert (town.held(ALICE), town.held(BOB)) == (20_000, 10_000)

    run(work)


def test_a_day_waits_for_the_pool_of_the_one_before_and_says_so(run):
    async def work(town):
        await town.open_day()
        kept = await copy(town)
        await town.ask(BOB)
        town.mine()
        await town.pay()
        await put_back(town, kept)
        following = rules.next_epoch(EPOCH)
        await town.to(rules.snapshot_at(following))
        done = await town.to(rules.opens_at(following))
        assert "more than the books know" in done.waiting[EPOCH]
        assert done.waiting[following] == "seal: an earlier epoch is not closed"
        await town.pay(town.agent())
        assert following in (await run_due(town, town.clock.now())).sealed

    run(work)
