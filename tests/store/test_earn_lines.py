"""The agent's side of the books, row by row: what waits, what is on its way, and what is counted."""

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import insert, select

from tickyard.features.earn.tables import earn_batch, earn_claim, earn_close, earn_epoch, earn_line, earn_tally
from tickyard.kernel.ids import Address
from tickyard.payout import ledger
from tickyard.payout.judge import Claim
from yards.reward_days import ALICE, BOB, CAROL, EPOCH, POOR, live_in_town

PAYER, OTHER = Address("0x" + "77" * 20), Address("0x" + "88" * 20)
YESTERDAY = EPOCH - 1


@pytest.fixture
def run(tmp_path):
    return lambda work: asyncio.run(live_in_town(str(tmp_path / "tickyard.db"), tmp_path, work))


async def put(town, table, *rows):
    async with town.store.begin() as tx:
        await tx.execute(insert(table), [dict(row) for row in rows])


def claim_row(town, wallet, attempt=0, epoch=EPOCH, ago_s=0):
    at = town.clock.now() - timedelta(seconds=ago_s)
    return {"epoch": epoch, "address": wallet.address, "attempt": attempt, "signature": "0x", "reserved_at": at}


def line_row(town, wallet, state, attempt=0, amount=1, payer=PAYER, nonce=5, epoch=EPOCH, ago_s=0):
    return {
        "epoch": epoch, "address": wallet.address, "attempt": attempt, "state": state, "amount_raw": amount,
        "payer": payer, "nonce": nonce, "sent_at": town.clock.now() - timedelta(seconds=ago_s),
    }  # fmt: skip


def batch_of(town, name="0xone", payer=PAYER, nonce=5, opens=False, signed_s=0):
    at = town.clock.now() + timedelta(seconds=signed_s)
    return ledger.Batch(name, payer, nonce, EPOCH, opens, 100, 200, 3, at)


def payout(wallet, amount, attempt=0, town=None):
    return ledger.PayoutLine(Claim(EPOCH, wallet.address, attempt, "0x", town.clock.now()), amount)


async def read(town, asking, *asked):
    async with town.store.read() as tx:
        return await asking(tx, *asked)


async def lines(town):
    async with town.store.read() as tx:
        found = await tx.execute(select(earn_line).order_by(earn_line.c.address, earn_line.c.attempt))
        return {(row.address, row.attempt): row for row in found}


async def tally(town):
    async with town.store.read() as tx:
        row = (await tx.execute(select(earn_tally).where(earn_tally.c.epoch == EPOCH))).one_or_none()
        return None if row is None else (row.wallets, row.live_raw, row.paid_raw)


def test_what_goes_again_comes_first_then_the_longest_waiting_and_nothing_that_has_a_line(run):
    async def work(town):
        await put(
            town, earn_claim, claim_row(town, ALICE, ago_s=10), claim_row(town, BOB, ago_s=20),
            claim_row(town, CAROL, attempt=1, ago_s=30), claim_row(town, POOR, ago_s=40),
            claim_row(town, POOR, epoch=YESTERDAY, ago_s=50),
        )  # fmt: skip
        await put(town, earn_line, line_row(town, CAROL, "failed"), line_row(town, POOR, "due"))

        async def found(ago_s, most):
            since = town.clock.now() - timedelta(seconds=ago_s)
            claims = await read(town, ledger.waiting_claims, EPOCH, since, most)
            return [(each.address, each.attempt, each.is_again) for each in claims]

        again, first = (POOR.address, 0, True), (CAROL.address, 1, False)
        assert await found(100, 9) == [again, first, (BOB.address, 0, False), (ALICE.address, 0, False)]
        assert await found(25, 9) == [again, (BOB.address, 0, False), (ALICE.address, 0, False)]
        assert await found(100, 1) == [again, first]

    run(work)


def test_what_closing_did_not_count_as_on_its_way_is_not_kept(run):
    async def work(town):
        kept, returned, later = claim_row(town, ALICE), claim_row(town, BOB), claim_row(town, CAROL, attempt=1)
        claims = [
            Claim(EPOCH, row["address"], row["attempt"], "0x", row["reserved_at"]) for row in (kept, returned, later)
        ]
        row = {"epoch": EPOCH, "attempt": 0, "amount_raw": 1, "returned_to": None}
        await put(
            town, earn_close, {**row, "address": ALICE.address}, {**row, "address": BOB.address, "returned_to": EPOCH},
            {**row, "address": CAROL.address}, {**row, "address": BOB.address, "epoch": YESTERDAY},
        )  # fmt: skip
        days = {"open": EPOCH + 1, "closing": EPOCH + 2, "sealed": EPOCH + 3, "closed": EPOCH}
        await put(town, earn_epoch, *({"id": day, "state": state} for state, day in days.items()))
        found = {state: await read(town, ledger.not_kept, day, claims) for state, day in days.items()}
        gone = {(BOB.address, 0), (CAROL.address, 1)}
        assert found == {"open": set(), "closing": None, "sealed": None, "closed": gone}

    run(work)


def test_sums_over_lines_take_those_that_are_live_of_the_day_and_the_payer_that_is_asked_for(run):
    async def work(town):
        await put(
            town, earn_line, line_row(town, ALICE, "sent", amount=1, nonce=4), line_row(town, BOB, "sent", amount=2),
            line_row(town, CAROL, "sent", amount=4, payer=OTHER), line_row(town, POOR, "due", amount=8, nonce=6),
            line_row(town, ALICE, "confirmed", 1, amount=16), line_row(town, BOB, "failed", 1, amount=32),
            line_row(town, CAROL, "refused", 1, amount=64), line_row(town, POOR, "sent", 1, 128, nonce=6, ago_s=3600),
        )  # fmt: skip
        assert await read(town, ledger.on_its_way, PAYER, 5) == 2 + 128
        assert await read(town, ledger.on_its_way, PAYER, 7) == 0
        minute = timedelta(minutes=1)
        assert await read(town, ledger.spent_since, town.clock.now() - minute) == 1 + 2 + 4 + 8 + 16
        assert await read(town, ledger.spent_since, town.clock.now() + minute) == 0
        assert await read(town, ledger.spent_in_epoch, EPOCH) == 0
        found = await read(town, ledger.batch_lines, batch_of(town, nonce=6))
        assert found == [(POOR.address, 128)]

    run(work)


def test_what_was_sent_at_the_first_moment_of_a_day_is_that_days(run):
    async def work(town):
        row = line_row(town, ALICE, "sent", amount=7)
        await put(town, earn_line, row)
        assert await read(town, ledger.spent_since, row["sent_at"]) == 7
        assert await read(town, ledger.spent_since, row["sent_at"] + timedelta(microseconds=1)) == 0

    run(work)


def test_the_newest_form_of_a_nonce_comes_last_and_what_has_ended_not_at_all(run):
    async def work(town):
        forms = [batch_of(town, "0xb", nonce=2, signed_s=9), batch_of(town, "0xa", nonce=2, opens=True),
                 batch_of(town, "0xc", nonce=1, signed_s=20), batch_of(town, "0xd", nonce=0)]  # fmt: skip
        async with town.store.begin() as tx:
            for form in forms:
                await ledger.add_batch(tx, form)
            ended = earn_batch.c.hash == "0xd"
            await tx.execute(earn_batch.update().where(ended).values(ended_at=town.clock.now()))
        assert await read(town, ledger.live_batches) == [forms[2], forms[1], forms[0]]
        # Signed again: it lives again.
        async with town.store.begin() as tx:
            await ledger.add_batch(tx, forms[3])
        assert await read(town, ledger.live_batches) == [forms[3], forms[2], forms[1], forms[0]]

    run(work)


def test_a_line_is_counted_when_it_is_sent_first_and_not_when_it_goes_again(run):
    async def work(town):
        await put(town, earn_line, line_row(town, ALICE, "due", amount=5, payer=OTHER, nonce=1))
        await put(town, earn_tally, {"epoch": EPOCH, "wallets": 1, "live_raw": 5, "paid_raw": 2})
        batch = batch_of(town)
        async with town.store.begin() as tx:
            await ledger.add_batch(tx, batch, [payout(ALICE, 5, town=town), payout(BOB, 30, town=town)])
        assert await tally(town) == (2, 35, 2)
        found = await lines(town)
        assert {(row.state, row.payer, row.nonce, row.hash) for row in found.values()} == {("sent", PAYER, 5, "0xone")}
        dearer = batch_of(town, "0xtwo")
        async with town.store.begin() as tx:
            await tx.execute(earn_line.update().where(earn_line.c.address == BOB.address).values(state="confirmed"))
            await ledger.replace_batch(tx, dearer)
        found = await lines(town)
        assert (found[ALICE.address, 0].hash, found[BOB.address, 0].hash) == ("0xtwo", "0xone")
        assert await tally(town) == (2, 35, 2)

    run(work)


def test_a_refusal_takes_back_what_was_counted_and_only_that(run):
    async def work(town):
        await put(town, earn_line, line_row(town, ALICE, "due", amount=5))
        await put(town, earn_tally, {"epoch": EPOCH, "wallets": 2, "live_raw": 12, "paid_raw": 7})
        now = town.clock.now()
        async with town.store.begin() as tx:
            for wallet in (ALICE, BOB):
                await ledger.refuse(tx, payout(wallet, 0, town=town).claim, "signed by somebody else", now)
        assert await tally(town) == (1, 7, 7)
        for row in (await lines(town)).values():
            assert (row.state, row.amount_raw, row.ended_at) == ("refused", 0, now)
            assert row.reason == "signed by somebody else"
        assert len(await lines(town)) == 2

    run(work)


def test_nothing_to_count_writes_nothing(run):
    async def work(town):
        async with town.store.begin() as tx:
            await ledger.count(tx, EPOCH)
        assert await tally(town) is None
        for more in ({"wallets": 1}, {"live_raw": -3}, {"paid_raw": 9}):
            async with town.store.begin() as tx:
                await ledger.count(tx, EPOCH, **more)
        assert await tally(town) == (1, -3, 9)

    run(work)
