"""Pools row by row: what closing counts, what goes on to which pool, what is owed, and where the money of a day is."""

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import insert, select, update

from tickyard.features.earn import rules
from tickyard.features.earn.books import sums
from tickyard.features.earn.books.sums import Sums, read_sums, unbalanced_epochs
from tickyard.features.earn.days import closing
from tickyard.features.earn.days.closing import DeskView, close
from tickyard.features.earn.days.opening import owed_raw
from tickyard.features.earn.days.pool import accrued, fix_pool, skip
from tickyard.features.earn.tables import (
    earn_claim,
    earn_close,
    earn_credit,
    earn_epoch,
    earn_line,
    earn_rollover,
    earn_share,
    earn_tally,
)
from tickyard.store.revenue import revenue
from yards.reward_days import ALICE, EPOCH, live_in_town

NEXT = rules.next_epoch(EPOCH)
A, B, C, D, E, F, G, H = (f"0x{digit}0{'0' * 38}" for digit in "12345678")
MICROSECOND = timedelta(microseconds=1)


@pytest.fixture
def run(tmp_path):
    return lambda work: asyncio.run(live_in_town(str(tmp_path / "tickyard.db"), tmp_path, work))


async def put(town, table, *rows):
    async with town.store.begin() as tx:
        for row in rows:
            await tx.execute(insert(table), row)


def day(state, epoch=EPOCH, pool_raw=800, **more):
    return {"id": epoch, "state": state, "pool_raw": pool_raw, "eligible_total": 8, "eligible_wallets": 8, **more}


def line(town, address, state, attempt=0, amount=100, block=None, epoch=EPOCH):
    return {
        "epoch": epoch, "address": address, "attempt": attempt, "state": state, "amount_raw": amount,
        "sent_at": town.clock.now(), "block_number": block,
    }  # fmt: skip


def claim(town, address, attempt=0, epoch=EPOCH):
    at = town.clock.now()
    return {"epoch": epoch, "address": address, "attempt": attempt, "signature": "0x", "reserved_at": at}


def counted(address, attempt=0, amount=100, returned_to=None, epoch=EPOCH):
    return {"epoch": epoch, "address": address, "attempt": attempt, "amount_raw": amount, "returned_to": returned_to}


def freeze(town, moment):
    """The store's clock stands at exactly this moment."""
    town.clock.now = lambda: moment


def desk(spent_raw, block=9, **paid):
    asked = []

    async def paid_to(accounts):
        asked.append(list(accounts))
        return [paid.get(account, 0) for account in accounts]

    return DeskView(block, spent_raw, paid_to), asked


async def row_of(town, epoch=EPOCH):
    async with town.store.read() as tx:
        return (await tx.execute(select(earn_epoch).where(earn_epoch.c.id == epoch))).one()


async def closes(town):
    async with town.store.read() as tx:
        found = await tx.execute(select(earn_close).order_by(earn_close.c.address))
        return [(row.address, row.attempt, row.amount_raw, row.returned_to) for row in found]


async def a_counted_day(town):
    """Eight wallets with equal shares, and one without."""
    await put(town, earn_epoch, day("open"))
    shares = [{"epoch": EPOCH, "address": each, "balance": 1} for each in (A, B, C, D, E, F, G)]
    await put(town, earn_share, *shares)
    await put(town, earn_claim, *(claim(town, each) for each in (A, B, C, D, E)), claim(town, F, attempt=1))
    await put(
        town, earn_line, line(town, B, "sent"), line(town, C, "confirmed", amount=70, block=9),
        line(town, D, "failed"), line(town, E, "refused", amount=0), line(town, F, "failed"),
        line(town, H, "confirmed", 3, amount=5, block=2), line(town, G, "confirmed", epoch=NEXT),
    )  # fmt: skip
    freeze(town, rules.closes_at(EPOCH))


@pytest.mark.parametrize("at_once", [1, 2, 6, 1000])
def test_closing_counts_every_claim_by_what_became_of_it(run, monkeypatch, at_once):
    monkeypatch.setattr(closing, "_AT_ONCE", at_once)

    async def work(town):
        await a_counted_day(town)
        view, asked = desk(75)
        assert await close(town.store, EPOCH, view) == "closed"
        assert await closes(town) == [
            (A, 0, 100, None),
            (B, 0, 100, None),
            (C, 0, 70, None),
            (D, 0, 100, EPOCH),
            (E, 0, 100, EPOCH),
            (F, 1, 100, None),
            (H, 3, 5, None),
        ]
        row = await row_of(town)
        assert (row.state, row.rolled_raw, row.closed_at) == ("closed", 800 - 375, rules.closes_at(EPOCH))
        assert [each for some in asked for each in some] == [A, B, F]
        assert await read_sums(town.store, row) == Sums(800, 75, 300, 425, 0)

    run(work)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spent", "block", "paid", "outcome"),
    [
        (75, 9, {}, "closed"),
        (76, 9, {}, "the desk has paid more than the books know of"),
        (74, 9, {}, "closed"),
        (75, 8, {}, "the desk has paid more than the books know of"),
        (75, 8, {C: 70}, "closed"),
        (175, 9, {B: 100}, "closed"),
        (176, 9, {B: 100}, "the desk has paid more than the books know of"),
    ],
)
def test_a_day_is_closed_when_the_books_know_of_all_that_the_desk_has_paid(run, spent, block, paid, outcome):
    async def work(town):
        await a_counted_day(town)
        assert await close(town.store, EPOCH, desk(spent, block, **paid)[0]) == outcome
        assert (await row_of(town)).state == ("closed" if outcome == "closed" else "closing")

    run(work)


@pytest.mark.parametrize(
    ("state", "moment", "is_closed"),
    [
        ("sealed", timedelta(0), True),
        ("open", timedelta(0), True),
        ("closing", timedelta(0), True),
        ("open", -MICROSECOND, False),
        ("pooled", timedelta(0), False),
        ("taken", timedelta(0), False),
        ("closed", timedelta(0), False),
        ("skipped", timedelta(0), False),
    ],
)
def test_a_day_with_books_is_closed_from_one_o_clock_on(run, state, moment, is_closed):
    async def work(town):
        await put(town, earn_epoch, day(state))
        freeze(town, rules.closes_at(EPOCH) + moment)
        assert await close(town.store, EPOCH, desk(0)[0]) == ("closed" if is_closed else "somebody was faster")
        assert (await row_of(town)).state == ("closed" if is_closed else state)

    run(work)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("state", "earlier", "moment", "is_fixed"),
    [
        ("taken", "closed", timedelta(0), True),
        ("taken", "skipped", timedelta(0), True),
        ("taken", "accruing", timedelta(0), True),
        ("taken", "taken", timedelta(0), True),
        ("taken", "closed", -MICROSECOND, False),
        *(("taken", before, timedelta(0), False) for before in ("pooled", "sealed", "open", "closing")),
        *((state, "closed", timedelta(0), False) for state in ("accruing", "pooled", "closed", "skipped")),
    ],
)
def test_a_pool_is_fixed_at_midnight_when_no_earlier_one_is_shared_out(run, state, earlier, moment, is_fixed):
    async def work(town):
        await put(town, earn_epoch, day(earlier, rolled_raw=30), day(state, NEXT, pool_raw=None))
        # Later days hold up nobody.
        await put(town, earn_epoch, day("open", rules.next_epoch(NEXT)))
        opens = rules.opens_at(NEXT)
        known = {"amount_raw": 7, "credited_at": opens}
        await put(
            town, revenue, {"settlement": "in time", "settled_at": opens - MICROSECOND, **known},
            {"settlement": "too late", "settled_at": opens, **known},
            {"settlement": "in a pool", "settled_at": opens - timedelta(hours=1), **known},
        )  # fmt: skip
        await put(town, earn_credit, {"settlement": "in a pool", "epoch": EPOCH})
        freeze(town, opens + moment)
        assert await fix_pool(town.store, NEXT) is is_fixed
        row = await row_of(town, NEXT)
        if is_fixed:
            rest = 30 if earlier == "closed" else 0
            assert (row.state, row.sealed_at) == ("pooled", opens)
            assert (row.revenue_raw, row.rollover_raw, row.pool_raw) == (7, rest, 7 + rest)
        else:
            assert (row.state, row.pool_raw) == (state, None)

    run(work)


def test_what_is_left_and_what_failed_late_goes_on_once(run):
    async def work(town):
        third = rules.next_epoch(NEXT)
        await put(town, earn_epoch, day("closed", rolled_raw=400), day("taken", NEXT, pool_raw=None))
        await put(town, earn_close, counted(A), counted(B), counted(C, returned_to=EPOCH), counted(D, attempt=1))
        await put(
            town, earn_line, line(town, A, "failed"), line(town, B, "confirmed"), line(town, C, "failed"),
            line(town, D, "refused"),
        )  # fmt: skip
        freeze(town, rules.opens_at(NEXT))
        async with town.store.read() as tx:
            assert (await accrued(tx, NEXT)).rollover_raw == 500
            assert await owed_raw(tx) == 400
        assert await fix_pool(town.store, NEXT)
        assert (await row_of(town, NEXT)).rollover_raw == 500
        assert await closes(town) == [(A, 0, 100, NEXT), (B, 0, 100, None), (C, 0, 100, EPOCH), (D, 1, 100, None)]
        async with town.store.read() as tx:
            (moved,) = (await tx.execute(select(earn_rollover))).all()
            assert (moved.epoch, moved.into_epoch, moved.amount_raw) == (EPOCH, NEXT, 400)
            assert (await accrued(tx, third)).rollover_raw == 0
            assert await owed_raw(tx) == 300
        found = await read_sums(town.store, await row_of(town))
        assert (found.paid, found.in_flight, found.late) == (100, 100, 100)

    run(work)


def test_what_closed_days_owe_is_what_they_kept_and_have_neither_paid_nor_returned(run):
    async def work(town):
        await put(town, earn_epoch, day("closed", rolled_raw=300), day("open", NEXT, rolled_raw=None))
        await put(
            town, earn_tally, *({"epoch": each, "wallets": 1, "live_raw": 90, "paid_raw": 60} for each in (EPOCH, NEXT))
        )
        await put(town, earn_close, counted(A, returned_to=EPOCH), counted(B, returned_to=NEXT, amount=7), counted(C))
        async with town.store.read() as tx:
            assert await owed_raw(tx) == 800 - 300 - 60 - 7

    run(work)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "settled", "credited", "is_counted"),
    [
        pytest.param("taken", timedelta(0), timedelta(0), True, id="of the day itself"),
        pytest.param("taken", -MICROSECOND, timedelta(0), False, id="of yesterday, whose pool is not fixed"),
        pytest.param("accruing", -MICROSECOND, timedelta(0), False, id="of yesterday, which has no snapshot"),
        pytest.param("closed", -MICROSECOND, timedelta(0), True, id="of yesterday, known after its pool was fixed"),
        pytest.param("closed", timedelta(0), -timedelta(hours=1), True, id="known when clocks may differ"),
        pytest.param("closed", timedelta(0), -timedelta(hours=1) - MICROSECOND, False, id="known well before"),
        pytest.param("skipped", timedelta(hours=24) - MICROSECOND, -timedelta(days=9), True, id="the last of the day"),
        pytest.param("skipped", timedelta(hours=24), timedelta(0), False, id="of tomorrow"),
    ],
)
def test_what_accrues_today(run, before, settled, credited, is_counted):
    async def work(town):
        await put(town, earn_epoch, day(before, pool_raw=800 if before == "closed" else None, rolled_raw=0))
        await put(town, earn_epoch, day("accruing", NEXT, pool_raw=None))
        midnight = rules.starts_at(NEXT)
        row = {
            "settlement": "one",
            "amount_raw": 7,
            "settled_at": midnight + settled,
            "credited_at": midnight + credited,
        }
        await put(town, revenue, row)
        async with town.store.read() as tx:
            found = await accrued(tx, NEXT)
        assert (found.revenue_raw, found.calls) == ((7, 1) if is_counted else (0, 0))

    run(work)


@pytest.mark.parametrize(
    ("state", "epoch", "is_skipped"),
    [("accruing", EPOCH, True), ("taken", EPOCH, True), ("pooled", EPOCH, False), ("accruing", NEXT, False)],
)
def test_a_person_skips_a_day_that_is_over_and_has_no_pool(run, state, epoch, is_skipped):
    async def work(town):
        await put(town, earn_epoch, day(state, epoch, writer="somebody"), day("taken", EPOCH - 1))
        freeze(town, rules.starts_at(NEXT))
        assert await skip(town.store, epoch) is is_skipped
        row = await row_of(town, epoch)
        assert (row.state, row.writer) == (("skipped", None) if is_skipped else (state, "somebody"))
        assert (await row_of(town, EPOCH - 1)).state == "taken"

    run(work)


def test_books_that_do_not_balance_are_found_among_the_closed(run):
    async def work(town):
        await put(town, earn_epoch, day("closed", rolled_raw=800), day("closed", NEXT, rolled_raw=799))
        await put(town, earn_epoch, day("open", rules.next_epoch(NEXT), rolled_raw=None))
        assert await unbalanced_epochs(town) == [NEXT]
        assert await unbalanced_epochs(town, newest=1) == [NEXT]
        await put(town, earn_epoch, day("closed", NEXT + 5, rolled_raw=800))
        assert await unbalanced_epochs(town, newest=1) == []

    run(work)


def test_many_wallets_are_added_up_in_slices_to_the_same_sums(run, monkeypatch):
    monkeypatch.setattr(sums, "_SLICES", "08f")

    async def work(town):
        whom = [f"0x{start}{rest * 38}" for start in ("00", "07", "08", "80", "88", "f0", "ff") for rest in "0f"]
        await put(town, earn_line, *(line(town, each, "confirmed", amount=1) for each in whom))
        await put(town, earn_epoch, day("open") | {"eligible_wallets": 2_001})
        assert (await read_sums(town.store, await row_of(town))).paid == len(whom)

    run(work)


def test_the_sums_of_a_day_with_many_wallets_are_added_up_once_for_all_its_pages(run, monkeypatch):
    monkeypatch.setattr(sums, "_SLICES", "0f")
    added_up = []

    async def counted(store, row):
        added_up.append(row.state)
        return await read_sums(store, row)

    monkeypatch.setattr(sums, "read_sums", counted)

    async def work(town):
        await put(town, earn_epoch, day("open") | {"eligible_wallets": 2_001, "digest": "d"})
        pages = [{}, {"cursor": "0x" + "11" * 20}, {"cursor": "0x" + "22" * 20}]
        await asyncio.gather(*(town.books(EPOCH, **page) for page in pages))
        await town.books(EPOCH, limit=1)
        assert added_up == ["open"]
        async with town.store.begin() as tx:
            await tx.execute(update(earn_epoch).values(state="closed", rolled_raw=800))
        assert (await town.books())["balanced"], "what was added up before the closing says nothing about it"
        await town.clock.sleep(60)
        await town.books()
        assert added_up == ["open", "closed", "closed"]

    run(work)


def test_the_sums_of_a_day_with_few_wallets_are_those_of_the_moment(run):
    async def work(town):
        await put(town, earn_epoch, day("open") | {"eligible_wallets": 2_000, "digest": "d"})
        assert (await town.books())["paidUsd"] == "0.000000"
        await put(town, earn_line, line(town, ALICE.address, "confirmed", amount=1))
        assert (await town.books())["paidUsd"] == "0.000001"

    run(work)
