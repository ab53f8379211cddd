"""The payer's key got out once: whatever was said to the desk with it, the agents read on, tell a person, and pay."""

import asyncio
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import dates, integers, lists, sampled_from, tuples
from sqlalchemy import select, update

from proof import count
from simulated.chain import Hiding
from simulated.words import DESK, MULTICALL, PAID, USDG, fits
from tickyard.chain.blocks import final_header
from tickyard.features.earn import rules
from tickyard.features.earn.books.desk import open_call, pay_call
from tickyard.features.earn.books.digest import Books
from tickyard.features.earn.days.epochs import run_due
from tickyard.features.earn.days.pool import skip, why_not_skipped
from tickyard.features.earn.days.sealing import share_pages
from tickyard.features.earn.tables import earn_desk_mark, earn_epoch, earn_halt, earn_line, earn_tally
from tickyard.kernel.ids import ZERO_ADDRESS
from tickyard.payout.branch import unpaid_again
from tickyard.payout.ending import Endings
from tickyard.payout.halt import Halted, lift
from tickyard.payout.signing.signer import LocalSigner
from tickyard.payout.signing.transaction import CallTransaction
from yards.reward_days import ALICE, BOB, CAROL, DEPTH, EPOCH, TERMS, live_in_town

NO_DAYS = (0, 20261301, 2**31, 2**63, 2**200, 2**256 - 1)
ALL = 2**256 - 1
OTHER_DESK = "0x" + "d2" * 20
MOST_RAW = 10**15


@pytest.fixture
def run(where, tmp_path):
    return lambda work: asyncio.run(live_in_town(where, tmp_path, work))


async def call_desk(town, key, *calls):
    """Whoever has this key calls the desk, in one block."""
    for data in calls:
        nonce = town.chain.state.nonces.get(key.address, 0) + len(town.chain.pool)
        call = CallTransaction(TERMS.chain_id, nonce, 10**9, 10**10, 10**6, DESK, data)
        town.chain.eth_sendRawTransaction("0x" + call.signed(await key.sign(call.digest)).hex())
    town.mine()


def change_key(town):
    """As the operator does when it got out: another account pays. The key that nobody should have any more."""
    lost, town.signer = town.signer, LocalSigner(b"\x08" * 32)
    town.employ()
    town.mine()
    town.hired = None
    return lost


async def mark(town):
    async with town.store.read() as tx:
        return (await tx.execute(select(earn_desk_mark.c.block_number))).scalar_one()


async def halted(town):
    async with town.store.read() as tx:
        return (await tx.execute(select(earn_halt.c.reason))).scalar_one_or_none()


async def is_paid_as_ever(town):
    await town.ask(BOB)
    town.mine()
    await town.pay()
    assert town.held(BOB) == 10_000
    town.clock.move(rules.closes_at(EPOCH))
    assert (await run_due(town, town.clock.now())).closed == [EPOCH]
    books = await town.books()
    assert books["balanced"]
    return books["paidUsd"]


def test_a_refusal_to_pay_nobody_is_read_like_any_other_and_stops_no_agent(run):
    async def work(town):
        await town.open_day()
        await call_desk(town, town.signer, pay_call(EPOCH, [(ZERO_ADDRESS, 0), (ZERO_ADDRESS, ALL), (BOB.address, 0)]))
        await town.pay()
        assert await halted(town) is None
        change_key(town)
        assert await is_paid_as_ever(town) == "0.010000"

    run(work)


def test_what_was_paid_to_nobody_stops_the_agents_until_a_person_has_seen_it_and_stays_in_the_books(run):
    async def work(town):
        await town.open_day()
        await call_desk(town, town.signer, pay_call(EPOCH, [(ZERO_ADDRESS, 500)]))
        with pytest.raises(Halted, match=f"the desk paid {ZERO_ADDRESS} 500"):
            await town.pay()
        change_key(town)
        await lift(town.store)
        assert await is_paid_as_ever(town) == "0.010500"

    run(work)


@pytest.mark.parametrize("epoch", [20261301, 2**31, 2**200])
def test_a_payment_of_what_is_no_day_stops_the_agents_until_a_person_has_seen_it(run, epoch):
    async def work(town):
        await town.open_day()
        pays = pay_call(epoch, [(CAROL.address, 1), (CAROL.address, 1), (BOB.address, 0)])
        await call_desk(town, town.signer, open_call(epoch, "01" * 32, 10), pays)
        why = f"the desk {DESK} paid {CAROL.address} 1 for epoch {epoch}, which is no day that it pays"
        with pytest.raises(Halted, match=why):
            await town.pay()
        assert await mark(town) == len(town.chain.blocks) - 1 - DEPTH
        change_key(town)
        await lift(town.store)
        assert await is_paid_as_ever(town) == "0.010000"

    run(work)


def test_an_amount_that_no_column_holds_is_told_and_not_written(run):
    async def work(town):
        await town.open_day()
        town.chain.edit(lambda state: state.usdg.__setitem__(town.signer.address, ALL))
        tomorrow = rules.next_epoch(EPOCH)
        await call_desk(
            town, town.signer, open_call(tomorrow, "01" * 32, ALL), pay_call(tomorrow, [(CAROL.address, MOST_RAW + 1)])
        )
        with pytest.raises(Halted, match=f"paid {CAROL.address} {MOST_RAW + 1} for epoch"):
            await town.pay()
        change_key(town)
        await lift(town.store)
        assert await is_paid_as_ever(town) == "0.010000"

    run(work)


async def live_through(town):
    """A day that is paid, and the next one until its snapshot."""
    await town.open_day()
    await town.ask(ALICE)
    for _ in range(3):
        town.mine()
        await town.pay()
    assert (await town.to(rules.closes_at(EPOCH))).closed == [EPOCH]
    return rules.next_epoch(EPOCH)


async def desk_of(town, epoch):
    async with town.store.read() as tx:
        return (await tx.execute(select(earn_epoch.c.desk).where(earn_epoch.c.id == epoch))).scalar_one()


@pytest.mark.slow
@pytest.mark.parametrize("when", ["in advance", "in advance, and paid", "with our books", "when it was over"])
def test_a_replaced_desk_keeps_a_day_only_by_what_nobody_can_do_in_advance(run, when):
    async def work(town):
        following = await live_through(town)
        thief, town.earn.desk = town.signer, OTHER_DESK
        pool_raw = 10_000
        opening = open_call(following, "ad" * 32, pool_raw)
        if when.startswith("in advance"):
            pays = [pay_call(following, [(ALICE.address, 1)])] if when.endswith("paid") else []
            await call_desk(town, thief, opening, *pays)
        await town.to(rules.snapshot_at(following))
        if when == "with our books":
            # The shares are known by now, and what is earned until midnight may be guessed: nothing.
            books = await our_books(town, following, pool_raw)
            await call_desk(town, thief, open_call(following, books, pool_raw))
        town.clock.move(rules.opens_at(following))
        town.mine()
        if when == "when it was over":
            await call_desk(town, thief, opening)
        assert (await run_due(town, town.clock.now())).sealed == [following]
        assert (await town.books(following))["poolUsd"] == "0.010000"
        assert await desk_of(town, following) == (OTHER_DESK if when.startswith("in advance") else DESK)

    run(work)


async def our_books(town, epoch, pool_raw):
    async with town.store.read() as tx:
        total = (await tx.execute(select(earn_epoch.c.eligible_total).where(earn_epoch.c.id == epoch))).scalar_one()
        books = Books(epoch, pool_raw, total)
        async for page in share_pages(tx, epoch):
            books.add(page)
    return books.digest


async def line(town, epoch):
    async with town.store.read() as tx:
        row = (await tx.execute(select(earn_line).where(earn_line.c.epoch == epoch))).one()
        tally = (await tx.execute(select(earn_tally).where(earn_tally.c.epoch == epoch))).one()
    return row.address, row.state, row.amount_raw, (tally.wallets, tally.live_raw, tally.paid_raw)


def test_what_was_paid_in_advance_is_told_and_is_nothing_on_the_desk_that_pays_the_day(run):
    async def work(town):
        following = await live_through(town)
        calls = open_call(following, "ad" * 32, 10), pay_call(following, [(ALICE.address, 1)])
        await call_desk(town, town.signer, *calls)
        with pytest.raises(Halted, match=f"paid {ALICE.address} 1 for epoch {following}, before that day was over"):
            await town.pay()
        assert await line(town, following) == (ALICE.address, "confirmed", 1, (1, 1, 1))
        await lift(town.store)
        # The desk that paid it, should the day be its own after all.
        assert await Endings(town.store, town.rpc, MULTICALL, DESK, USDG).set_aside(town.lease, following, DEPTH)
        assert await line(town, following) == (ALICE.address, "confirmed", 1, (1, 1, 1))
        assert await Endings(town.store, town.rpc, MULTICALL, OTHER_DESK, USDG).set_aside(town.lease, following, DEPTH)
        assert await line(town, following) == (ALICE.address, "failed", 1, (0, 0, 0))

    run(work)


def test_a_node_that_is_behind_sets_nothing_aside(run):
    async def work(town):
        await town.open_day()
        await call_desk(town, town.signer, pay_call(EPOCH, [(BOB.address, 10_000)]))
        await town.pay()
        behind = len(town.chain.blocks) - 2
        assert not await Endings(town.store, town.rpc, MULTICALL, DESK, USDG).set_aside(town.lease, EPOCH, behind)
        assert (await line(town, EPOCH))[1] == "confirmed"

    run(work)


def test_what_the_desk_pays_of_a_day_that_another_one_pays_is_no_line_of_that_day(run):
    async def work(town):
        following = await live_through(town)
        async with town.store.begin() as tx:
            this = update(earn_epoch).where(earn_epoch.c.id == following)
            await tx.execute(this.values(desk=OTHER_DESK))
        calls = open_call(following, "ad" * 32, 10), pay_call(following, [(ALICE.address, 1)])
        await call_desk(town, town.signer, *calls)
        with pytest.raises(Halted, match=f"for epoch {following}, which is no day that it pays"):
            await town.pay()
        async with town.store.read() as tx:
            assert (await tx.execute(select(earn_line).where(earn_line.c.epoch == following))).all() == []

    run(work)


async def look_for_ten_minutes(town):
    for _ in range(10):
        await town.clock.sleep(60)
        await town.pay()


def test_a_thiefs_payment_to_himself_that_a_node_kept_back_is_read_when_a_node_shows_it(run):
    """He has no share, so nobody asks the desk's memory about him; the day would be in closing for ever."""

    async def work(town):
        await town.open_day()
        await call_desk(town, town.signer, pay_call(EPOCH, [(CAROL.address, 500)]))
        hidden = next(log["transactionHash"] for block in town.chain.blocks for one in block.mined for log in one.logs
                      if fits(log["topics"], [PAID]))  # fmt: skip
        nodes, all_shown = town.rpc._nodes, town.rpc._nodes._views
        nodes._views = [Hiding(hidden)]
        await town.pay()
        change_key(town)
        await town.to(rules.closes_at(EPOCH))
        await town.pay()
        assert (await run_due(town, town.clock.now())).closed == []
        nodes._views = all_shown
        with pytest.raises(Halted, match=f"the desk paid {CAROL.address} 500"):
            await look_for_ten_minutes(town)
        await lift(town.store)
        await town.pay()
        assert (await run_due(town, town.clock.now())).closed == [EPOCH]
        books = await town.books()
        assert (books["balanced"], books["paidUsd"]) == (True, "0.000500")

    run(work)


def test_a_day_of_which_somebody_was_paid_in_advance_can_be_skipped(run):
    async def work(town):
        following = await live_through(town)
        calls = open_call(following, "ad" * 32, 10), pay_call(following, [(CAROL.address, 1)])
        await call_desk(town, town.signer, *calls)
        town.clock.move(rules.closes_at(following))
        # The agents were away, and read of it only when that day was over.
        with pytest.raises(Halted, match="before that day was over"):
            await town.pay()
        await run_due(town, town.clock.now() - timedelta(days=1, hours=12))
        assert await skip(town.store, following), await why_not_skipped(town.store, following)

    run(work)


def test_days_to_come_on_which_a_thief_paid_hide_no_other_from_a_branch_that_lost_its_payment(run):
    async def work(town):
        await town.open_day()
        await town.ask(BOB)
        town.mine()
        await town.pay()
        epoch = EPOCH
        for _ in range(8):
            epoch = rules.next_epoch(epoch)
            calls = open_call(epoch, "ad" * 32, 10), pay_call(epoch, [(CAROL.address, 1)])
            await call_desk(town, town.signer, *calls)
        with pytest.raises(Halted, match="before that day was over"):
            await town.pay()
        town.chain.edit(lambda state: state.paid.pop((EPOCH, BOB.address), None))
        final = await final_header(town.rpc, DEPTH)
        again, _ = await unpaid_again(town.store, town.rpc, MULTICALL, DESK, town.lease, final)
        assert (again, (await line(town, EPOCH))[1]) == (1, "due")

    run(work)


EPOCHS = sampled_from((*NO_DAYS, EPOCH, 10101, 99991231)) | integers(0, ALL) | dates().map(rules.epoch_of)
ACCOUNTS = sampled_from((ZERO_ADDRESS, ALICE.address, "0x" + "ff" * 20)) | integers(0, 2**160 - 1).map(
    "0x{:040x}".format
)
AMOUNTS = sampled_from((0, 1, MOST_RAW, MOST_RAW + 1, 2**63, ALL)) | integers(0, ALL)


@settings(max_examples=count(100, tenth=10, quick=2), deadline=None, suppress_health_check=list(HealthCheck))
@given(lies=lists(tuples(EPOCHS, ACCOUNTS, AMOUNTS), min_size=8, max_size=40))
def test_whatever_the_desk_can_say_is_read_and_the_mark_moves_on(tmp_path_factory, lies):
    async def work(town):
        lost = town.signer

        def make_rich(state):
            state.usdg[lost.address] = state.allowances[lost.address] = ALL

        for epoch, account, amount in lies:
            town.chain.edit(make_rich)
            await call_desk(town, lost, open_call(epoch, "01" * 32, ALL), pay_call(epoch, [(account, amount)]))
        for _ in range(2):
            try:
                await town.pay()
            except Halted:
                await lift(town.store)
        assert await mark(town) == len(town.chain.blocks) - 1 - DEPTH
        assert await halted(town) is None

    folder = tmp_path_factory.mktemp("thief")
    asyncio.run(live_in_town(str(folder / "tickyard.db"), folder, work))
