"""What a wallet is told of its claim, which attempt a new one is, and who waits for how long."""

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import insert, select, text

from tickyard.features.earn import rules
from tickyard.features.earn.books import public
from tickyard.features.earn.books.reserves import get_earn_reserves
from tickyard.features.earn.claims import store as claims
from tickyard.features.earn.claims import waiting
from tickyard.features.earn.claims.waiting import WaitingRoom
from tickyard.features.earn.tables import earn_claim, earn_epoch, earn_line, earn_share, earn_tally
from tickyard.kernel.errors import BadRequest, UpstreamDown
from tickyard.kernel.operation import NoAsk
from yards.reward_days import ALICE, BOB, EPOCH, live_in_town

MICROSECOND = timedelta(microseconds=1)
SHOWN_STATES = {
    "taken": "snapshot", "pooled": "snapshot", "sealed": "sealed", "open": "open", "closing": "open",
    "closed": "closed",
}  # fmt: skip


@pytest.fixture
def run(tmp_path):
    return lambda work: asyncio.run(live_in_town(str(tmp_path / "tickyard.db"), tmp_path, work))


async def put(town, table, *rows):
    async with town.store.begin() as tx:
        for row in rows:
            await tx.execute(insert(table), row)


def day(state="open", epoch=EPOCH, **more):
    row = {"id": epoch, "state": state, "pool_raw": 300, "eligible_total": 3, "eligible_wallets": 2, "rolled_raw": 0}
    return row | {"revenue_raw": 300, "rollover_raw": 0} | more


def share(address, balance=2):
    return {"epoch": EPOCH, "address": address, "balance": balance}


def claim(attempt=0, address=ALICE.address):
    at = rules.opens_at(EPOCH)
    return {"epoch": EPOCH, "address": address, "attempt": attempt, "signature": "0xold", "reserved_at": at}


def line(state, attempt=0, address=ALICE.address, epoch=EPOCH):
    return {
        "epoch": epoch, "address": address, "attempt": attempt, "state": state, "amount_raw": 200,
        "hash": f"0x{state}{attempt}", "sent_at": rules.opens_at(EPOCH),
    }  # fmt: skip


STORIES = {
    "nothing": ([], []),
    "claimed": ([claim()], []),
    "sent": ([claim()], [line("sent")]),
    "due": ([claim()], [line("due")]),
    "paid": ([claim()], [line("confirmed")]),
    "failed": ([claim()], [line("failed")]),
    "refused": ([claim()], [line("refused")]),
    "claimed again": ([claim(1)], [line("failed")]),
    "paid, and the claim forgotten": ([], [line("confirmed")]),
    "paid at a second try that was forgotten": ([claim()], [line("failed"), line("confirmed", 1)]),
    "failed at a second try that was forgotten": ([claim()], [line("failed"), line("failed", 1)]),
}


async def tell(town, story, **more):
    await put(town, earn_epoch, day(**more))
    await put(town, earn_share, share(ALICE.address))
    told, lines = STORIES[story]
    await put(town, earn_claim, *told)
    # Another wallet's, and another day's.
    await put(town, earn_line, *lines, line("confirmed", 9, BOB.address), line("confirmed", 9, epoch=EPOCH - 1))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("story", "attempt", "is_claimed", "tx", "shown"),
    [
        ("nothing", None, False, None, None),
        ("claimed", 0, True, None, "reserved"),
        ("sent", 0, True, "0xsent0", "sent"),
        ("due", 0, True, None, "reserved"),
        ("paid", 0, True, "0xconfirmed0", "confirmed"),
        ("failed", 0, False, None, "failed"),
        ("refused", 0, False, None, "failed"),
        ("claimed again", 1, True, None, "reserved"),
        ("paid, and the claim forgotten", 0, True, "0xconfirmed0", "confirmed"),
        ("paid at a second try that was forgotten", 1, True, "0xconfirmed1", "confirmed"),
        ("failed at a second try that was forgotten", 1, False, None, "failed"),
    ],
)
def test_what_became_of_a_claim_is_what_became_of_its_newest_attempt(run, story, attempt, is_claimed, tx, shown):
    async def work(town):
        await tell(town, story)
        async with town.store.read() as view:
            found = await claims.standing(view, EPOCH, ALICE.address)
            newest = await claims.newest_standing(view, ALICE.address)
            stranger = await claims.standing(view, EPOCH, "0x" + "99" * 20)
            assert await claims.standing(view, EPOCH + 1, ALICE.address) is None
        assert found == newest
        assert (found.attempt, found.is_claimed, found.tx, found.share_raw) == (attempt, is_claimed, tx, 200)
        assert (found.in_snapshot, stranger.in_snapshot, stranger.share_raw, stranger.is_claimed) == (
            True, False, 0, False,
        )  # fmt: skip
        (told,) = (await town.books())["wallets"]
        assert told["claim"] == shown

    run(work)


@pytest.mark.parametrize(
    ("story", "attempt", "is_new"),
    [
        ("nothing", 0, True),
        ("claimed", 0, False),
        ("paid", 0, False),
        ("failed", 1, True),
        ("refused", 1, True),
        ("claimed again", 1, False),
        ("failed at a second try that was forgotten", 2, True),
    ],
)
def test_a_claim_is_reserved_once_and_after_a_failure_once_more(run, story, attempt, is_new):
    async def work(town):
        await tell(town, story)
        now = rules.opens_at(EPOCH) + timedelta(minutes=5)
        town.clock.now = lambda: now
        for _ in range(2):
            assert await claims.reserve(town.store, EPOCH, ALICE.address, "0xnew") == attempt
        async with town.store.read() as tx:
            row = (await tx.execute(select(earn_claim))).one()
        told = ("0xnew", now) if is_new else ("0xold", rules.opens_at(EPOCH))
        assert (row.attempt, row.signature, row.reserved_at) == (attempt, *told)

    run(work)


def test_the_same_claim_over_another_replica_is_as_good(run):
    async def work(town):
        await tell(town, "nothing")
        town.clock.now = lambda: rules.opens_at(EPOCH)
        async with town.store.begin() as tx:
            # Written at the very moment in which ours would be.
            await tx.execute(
                text(
                    "CREATE TRIGGER faster BEFORE INSERT ON earn_claim BEGIN INSERT INTO earn_claim VALUES"
                    " (NEW.epoch, NEW.address, 3, '0xtheirs', NEW.reserved_at); END"
                )
            )
        assert await claims.reserve(town.store, EPOCH, ALICE.address, "0xnew") == 3

    run(work)


@pytest.mark.parametrize(
    ("state", "at", "refusal"),
    [
        ("open", timedelta(0), None),
        ("open", -MICROSECOND, (BadRequest, "opens at 2026-11-15T00:00:00Z")),
        ("open", timedelta(hours=1) - MICROSECOND, None),
        ("open", timedelta(hours=1), (BadRequest, "closed at 2026-11-15T01:00:00Z")),
        ("sealed", timedelta(0), (UpstreamDown, "not open yet")),
        ("closing", timedelta(0), (UpstreamDown, "not open yet")),
    ],
)
def test_a_claim_is_reserved_in_the_window_of_an_open_day(run, state, at, refusal):
    async def work(town):
        await tell(town, "nothing", state=state)
        moment = rules.opens_at(EPOCH) + at
        town.clock.now = lambda: moment
        async with town.store.read() as tx:
            found = await claims.standing(tx, EPOCH, ALICE.address)
        assert found.is_open(moment) is (refusal is None)
        if refusal is None:
            assert await claims.reserve(town.store, EPOCH, ALICE.address, "0xnew") == 0
        else:
            with pytest.raises(refusal[0], match=refusal[1]):
                await claims.reserve(town.store, EPOCH, ALICE.address, "0xnew")

    run(work)


def test_the_newest_day_is_the_newest_with_a_snapshot(run):
    async def work(town):
        days = [day("closed"), day("taken", EPOCH + 1), day("skipped", EPOCH + 2), day("accruing", EPOCH + 3)]
        await put(town, earn_epoch, *days)
        async with town.store.read() as tx:
            assert (await claims.newest_epoch(tx)).id == EPOCH + 1
            assert (await claims.newest_standing(tx, ALICE.address)).epoch == EPOCH + 1
            assert await claims.claimed(tx, EPOCH) == (0, 0)

    run(work)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("state", "attempt", "epoch", "is_told"),
    [
        ("sent", 0, EPOCH, True),
        ("confirmed", 0, EPOCH, True),
        ("refused", 0, EPOCH, True),
        ("due", 0, EPOCH, False),
        ("sent", 1, EPOCH, False),
        ("sent", 0, EPOCH - 1, False),
    ],
)
def test_who_waits_is_told_when_the_agent_has_acted_and_gives_up_after_ten_seconds(
    run, monkeypatch, state, attempt, epoch, is_told
):
    monkeypatch.setattr(waiting, "_ASKED_AT_ONCE", 1)

    async def work(town):
        await put(town, earn_line, line(state, attempt, epoch=epoch))
        room, began = WaitingRoom(), town.clock.monotonic()
        whom = [(EPOCH, ALICE.address, 0), (EPOCH, ALICE.address, 0), (EPOCH - 1, BOB.address, 0)]
        answers = await asyncio.gather(*(room.wait(town.store, key) for key in whom))
        assert answers == [is_told, is_told, False]
        assert 10 <= town.clock.monotonic() - began < 11
        assert not room._wanted

    run(work)


def test_the_books_are_read_in_pages_of_any_size(run, monkeypatch):
    monkeypatch.setattr(public, "_LINES_AT_ONCE", 2)

    async def work(town):
        whom = [f"0x{digit * 40}" for digit in "12345"]
        await put(town, earn_epoch, day())
        await put(town, earn_share, *map(share, whom))
        for limit in (1, 2, 3, 4, 5, 6):
            found, cursor = [], None
            while True:
                page = await town.books(limit=limit, **({"cursor": cursor} if cursor else {}))
                assert len(page["wallets"]) <= limit
                found += [each["address"].lower() for each in page["wallets"]]
                cursor = page["nextCursor"]
                if cursor is None:
                    break
                assert len(page["wallets"]) == limit
            assert found == whom

    run(work)


@pytest.mark.parametrize("state", SHOWN_STATES)
def test_a_day_is_shown_by_the_word_that_callers_know(run, state):
    async def work(town):
        await put(town, earn_epoch, day(state))
        books = await town.books()
        assert books["state"] == SHOWN_STATES[state]
        assert (books["balanced"] is not None) is (state == "closed")
        assert (books["sealedAt"], books["closedAt"], books["digest"]) == (None, None, None)

    run(work)


def test_the_reserves_show_the_newest_thirty_pools_and_what_is_not_closed_of_them(run):
    async def work(town):
        states = ("pooled", "sealed", "open", "closing", "closed")
        await put(town, earn_epoch, *(day("closed", 20261000 + each) for each in range(1, 31)))
        await put(town, earn_epoch, *(day(state, EPOCH + at) for at, state in enumerate(states)))
        await put(town, earn_epoch, day("taken", EPOCH + 9, pool_raw=None))
        await put(town, earn_tally, {"epoch": EPOCH + 4, "wallets": 1, "live_raw": 9, "paid_raw": 7})
        town.chain.eth = 2**255 - 1
        told = (await get_earn_reserves(town, NoAsk())).answer
        assert [each.id for each in told.epochs] == [
            *range(EPOCH + 4, EPOCH - 1, -1), *range(20261030, 20261005, -1),
        ]  # fmt: skip
        assert (told.sealed_usd, told.paid_usd, told.owed_usd) == ("0.001200", "0.000007", "0.009293")
        assert {each.on_chain_books_hash for each in told.epochs} == {None}
        assert (told.epochs[0].paid_usd, told.epochs[1].paid_usd) == ("0.000007", "0.000000")
        assert told.payer.eth.replace(".", "") == str(2**255 - 1)
        town.chain.eth = 2**255
        with pytest.raises(UpstreamDown):
            await get_earn_reserves(town, NoAsk())

    run(work)
