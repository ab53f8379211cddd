"""The desk's memory beside the books: payments that no event has told of, and those that nobody claimed."""

import asyncio
from dataclasses import replace

import pytest
from sqlalchemy import insert, select

from simulated.words import DESK, MULTICALL, USDG
from tickyard.chain.blocks import final_header
from tickyard.features.earn.books.desk import DeskEvent
from tickyard.features.earn.tables import earn_claim, earn_close, earn_epoch, earn_line, earn_share, earn_tally
from tickyard.kernel.errors import UpstreamDown
from tickyard.payout.branch import unpaid_again
from tickyard.payout.ending import Endings
from tickyard.payout.foreign import add_foreign
from tickyard.payout.halt import Halted, halt_reason
from tickyard.payout.hidden import add_hidden, epochs_with_hidden
from tickyard.payout.lines import Ended
from tickyard.payout.proof import must_be_true
from tickyard.store.leases import LostLease, take
from yards.reward_days import ALICE, BOB, CAROL, EPOCH, POOR, live_in_town

TX = "0x" + "a1" * 32


@pytest.fixture
def run(tmp_path):
    return lambda work: asyncio.run(live_in_town(str(tmp_path / "tickyard.db"), tmp_path, work))


async def put(town, table, *rows):
    async with town.store.begin() as tx:
        await tx.execute(insert(table), list(rows))


def day(state="closing", epoch=EPOCH, pool_raw=400):
    return {"id": epoch, "state": state, "pool_raw": pool_raw, "eligible_total": 4, "digest": "d"}


def share_of(wallet, balance=1, epoch=EPOCH):
    return {"epoch": epoch, "address": wallet.address, "balance": balance}


def line_of(town, address, state, attempt=0, amount=100, epoch=EPOCH, block=None):
    return {
        "epoch": epoch, "address": address, "attempt": attempt, "state": state, "amount_raw": amount,
        "sent_at": town.clock.now(), "block_number": block,
    }  # fmt: skip


def claim_of(town, wallet, attempt=0):
    at = town.clock.now()
    return {"epoch": EPOCH, "address": wallet.address, "attempt": attempt, "signature": "0x", "reserved_at": at}


def tally_of(epoch=EPOCH, wallets=1, live_raw=0, paid_raw=0):
    return {"epoch": epoch, "wallets": wallets, "live_raw": live_raw, "paid_raw": paid_raw}


async def tally(town, epoch=EPOCH):
    async with town.store.read() as tx:
        row = (await tx.execute(select(earn_tally).where(earn_tally.c.epoch == epoch))).one_or_none()
    return None if row is None else (row.wallets, row.live_raw, row.paid_raw)


async def lines(town, *states):
    async with town.store.read() as tx:
        found = await tx.execute(select(earn_line).where(earn_line.c.state.in_(states)))
        return {(row.address, row.attempt): row for row in found}


def pay(town, wallet, amount, epoch=EPOCH):
    """In the desk's memory, without an event."""

    def change(state):
        state.paid[epoch, getattr(wallet, "address", wallet)] = amount
        state.spent[epoch] = state.spent.get(epoch, 0) + amount

    town.chain.edit(change)


async def asked(town):
    town.lease = town.lease or await take(town.store, "payout", "test")
    return town.store, town.rpc, MULTICALL, DESK, town.lease, await final_header(town.rpc, 0)


@pytest.mark.parametrize(
    ("word", "kept", "shown", "is_all", "is_true"),
    [
        ("paid", 100, 100, True, True),
        ("paid", 0, 100, True, False),
        ("paid", 99, 100, True, False),
        ("paid", 0, 0, True, False),
        ("skipped", 100, None, True, True),
        ("skipped", 0, None, True, False),
        ("skipped", 100, 100, True, True),
        ("skipped", 100, 99, True, False),
        ("failed", 0, None, True, True),
        ("failed", 100, None, True, False),
        ("failed", 100, None, False, True),
        ("failed", 100, 100, True, True),
        ("paid", 0, 100, False, False),
        ("skipped", 0, None, False, False),
    ],
)
def test_an_event_is_believed_as_far_as_the_desks_memory_bears_it_out(run, word, kept, shown, is_all, is_true):
    """`shown`: what another event of the same read says that the account was paid."""

    async def work(town):
        pay(town, ALICE, kept)
        final = await final_header(town.rpc, 0)
        event = DeskEvent(3, 0, word, EPOCH, ALICE.address, 100 if word != "paid" else shown, TX)
        events = [event] if word == "paid" or shown is None else [event, event._replace(word="paid", amount=shown)]
        asking = must_be_true(town.rpc, MULTICALL, DESK, events, final, is_all=is_all)
        if is_true:
            await asking
        else:
            with pytest.raises(UpstreamDown, match="contradicts"):
                await asking

    run(work)


@pytest.mark.parametrize(
    ("state", "counted", "spent", "is_hidden"),
    [
        pytest.param("closing", None, 1, True, id="nothing was counted"),
        pytest.param("closing", None, 0, False, id="and nothing paid"),
        pytest.param("closing", (100, 100), 101, True, id="more than was counted"),
        pytest.param("closing", (100, 100), 100, False, id="what was counted"),
        pytest.param("closing", (100, 100), 99, False, id="less than was counted"),
        pytest.param("closing", (100, 0), 100, False, id="what is on its way tells by itself"),
        pytest.param("open", None, 1, False, id="while it is open"),
        pytest.param("closed", None, 1, False, id="when it is closed"),
    ],
)
def test_a_day_is_searched_when_the_desk_has_paid_more_of_it_than_any_line_tells(run, state, counted, spent, is_hidden):
    async def work(town):
        await put(town, earn_epoch, day(state))
        if counted:
            await put(town, earn_tally, tally_of(live_raw=counted[0], paid_raw=counted[1]))
        town.chain.edit(lambda chain: chain.spent.update({EPOCH: spent}))
        store, rpc, multicall, desk, _, final = await asked(town)
        assert await epochs_with_hidden(store, rpc, multicall, desk, final) == ({EPOCH: spent} if is_hidden else {})

    run(work)


def test_everybody_with_a_share_is_asked_about_who_has_no_payout_and_waits_for_none(run):
    async def work(town):
        await put(town, earn_epoch, day())
        await put(town, earn_share, *map(share_of, (ALICE, BOB, CAROL, POOR)))
        await put(town, earn_claim, claim_of(town, BOB), claim_of(town, CAROL, attempt=1))
        # Alice has none of this day; Bob's ended unpaid; Carol claimed again since; Poor's is on its way.
        await put(
            town, earn_line, line_of(town, ALICE.address, "confirmed", epoch=EPOCH - 1),
            line_of(town, BOB.address, "failed"), line_of(town, CAROL.address, "failed"),
            line_of(town, POOR.address, "sent", attempt=1),
        )  # fmt: skip
        for wallet in (ALICE, BOB, CAROL, POOR):
            pay(town, wallet, 100)
        args = await asked(town)
        with pytest.raises(LostLease):
            await add_hidden(*args[:4], replace(town.lease, fence=town.lease.fence - 1), args[5], EPOCH)
        assert await tally(town) is None
        assert await add_hidden(*args, EPOCH) == 2
        found = {key: row for key, row in (await lines(town, "confirmed")).items() if row.epoch == EPOCH}
        assert set(found) == {(ALICE.address, 0), (BOB.address, 1)}
        assert {(row.hash, row.block_number, row.amount_raw) for row in found.values()} == {(None, args[5].number, 100)}
        assert await tally(town) == (2, 200, 200)

    run(work)


def test_a_hidden_payment_that_is_no_share_stops_everybody_and_is_written_down(run):
    async def work(town):
        await put(town, earn_epoch, day())
        await put(town, earn_share, share_of(ALICE))
        pay(town, ALICE, 99)
        with pytest.raises(Halted, match="not 100"):
            await add_hidden(*await asked(town), EPOCH)
        async with town.store.read() as tx:
            assert "not 100" in await halt_reason(tx)
        assert set(await lines(town, "confirmed")) == {(ALICE.address, 0)}

    run(work)


def test_a_day_in_which_nobody_was_found_is_searched_again_when_the_desk_has_paid_more(run):
    async def work(town):
        await put(town, earn_epoch, day())
        await put(town, earn_share, share_of(ALICE))
        town.chain.edit(lambda state: state.spent.update({EPOCH: 5}))
        await asked(town)
        endings, final, ended = Endings(*(await asked(town))[:4], USDG), await final_header(town.rpc, 0), Ended()
        cost = []
        for _ in range(2):
            before = town.chain.calls
            await endings.find_hidden(town.lease, final, ended)
            cost.append(town.chain.calls - before)
        assert (cost[0] > cost[1], ended.confirmed) == (True, 0)
        pay(town, ALICE, 100)
        await endings.find_hidden(town.lease, final, ended)
        assert ended.confirmed == 1

    run(work)


KEPT = {"epoch": EPOCH, "address": ALICE.address, "attempt": 0, "amount_raw": 100, "returned_to": None}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("of_day", "counted", "amount", "is_wrong"),
    [
        pytest.param(None, None, 7, False, id="books from before the day"),
        pytest.param(day("taken", pool_raw=None), None, 7, False, id="books from before its pool"),
        pytest.param(day("open"), None, 100, False, id="the right share"),
        pytest.param(day("open"), None, 99, True, id="another amount"),
        pytest.param(day("closed"), KEPT, 100, False, id="kept at the closing"),
        pytest.param(day("closed"), KEPT | {"returned_to": EPOCH}, 100, True, id="gone on to another pool"),
        pytest.param(day("closed"), KEPT | {"amount_raw": 99}, 100, True, id="kept in part"),
        pytest.param(day("closed"), KEPT | {"address": BOB.address}, 100, True, id="kept for another"),
        pytest.param(day("closed"), KEPT | {"epoch": EPOCH - 1}, 100, True, id="kept on another day"),
        pytest.param(day("closed"), None, 100, True, id="never counted"),
    ],
)
def test_a_payment_that_nobody_claimed_is_judged_by_share_and_closing(run, of_day, counted, amount, is_wrong):
    async def work(town):
        await put(town, earn_share, share_of(ALICE), share_of(BOB, 3), share_of(ALICE, 2, EPOCH - 1))
        await put(town, earn_epoch, *([of_day] if of_day else []), day("open", EPOCH - 1))
        if counted:
            await put(town, earn_close, counted)
        event = DeskEvent(3, 0, "paid", EPOCH, ALICE.address, amount, TX)
        async with town.store.begin() as tx:
            wrong = await add_foreign(tx, event, None, town.clock.now())
        assert bool(wrong) is is_wrong
        (row,) = (await lines(town, "confirmed")).values()
        assert (row.hash, row.block_number, row.amount_raw, row.attempt) == (TX, 3, amount, 0)
        assert await tally(town) == (1, amount, amount)

    run(work)


@pytest.mark.parametrize(("claimed", "ended", "attempt"), [(None, None, 0), (2, None, 2), (2, 2, 3), (None, 0, 1)])
def test_a_payment_that_nobody_claimed_comes_after_what_had_ended_unpaid(run, claimed, ended, attempt):
    async def work(town):
        if claimed is not None:
            await put(town, earn_claim, claim_of(town, ALICE, claimed))
        event = DeskEvent(3, 0, "paid", EPOCH, ALICE.address, 100, TX)
        async with town.store.begin() as tx:
            await add_foreign(tx, event, ended, town.clock.now())
        assert set(await lines(town, "confirmed")) == {(ALICE.address, attempt)}

    run(work)


def test_on_another_branch_the_unpaid_of_the_newest_seven_days_go_again(run):
    async def work(town):
        days = list(range(EPOCH, EPOCH + 8))
        await put(
            town, earn_line, *(line_of(town, ALICE.address, "confirmed", epoch=each, block=each) for each in days),
            line_of(town, BOB.address, "confirmed", epoch=days[3], block=days[3]),
            line_of(town, CAROL.address, "failed", epoch=days[3], block=days[3]),
        )  # fmt: skip
        await put(town, earn_claim, *(claim_of(town, ALICE) | {"epoch": each} for each in days))
        await put(town, earn_tally, *(tally_of(each, 1, 100, 100) for each in days))
        pay(town, BOB, 100, days[3])
        args = await asked(town)
        with pytest.raises(LostLease):
            await unpaid_again(*args[:4], replace(town.lease, fence=0), args[5])
        assert await unpaid_again(*args) == (7, days[1])
        assert [await tally(town, each) for each in days] == [(1, 100, 100), *[(1, 100, 0)] * 7]
        due = (await lines(town, "due")).values()
        assert all(row.address == ALICE.address and row.block_number == row.epoch for row in due)

    run(work)


def test_on_another_branch_nobody_is_left_out_behind_the_first_five_hundred(run):
    async def work(town):
        whom = [f"0x{number:040x}" for number in range(1, 502)]
        await put(town, earn_line, *(line_of(town, each, "confirmed", amount=1, block=9) for each in whom))
        await put(town, earn_claim, *(claim_of(town, ALICE) | {"address": each} for each in whom))
        town.chain.edit(lambda state: state.paid.update({(EPOCH, each): 1 for each in whom[1:500]}))
        assert await unpaid_again(*await asked(town)) == (2, 9)
        assert set(await lines(town, "due")) == {(whom[0], 0), (whom[500], 0)}

    run(work)


def test_without_lines_there_is_nothing_to_send_again(run):
    async def work(town):
        assert await unpaid_again(*await asked(town)) == (0, None)

    run(work)
