"""Who writes the rows of a day: the newest of several, page by page, and what an earlier one left behind is gone."""

import asyncio
import gzip
import hashlib

import pytest
from sqlalchemy import func, insert, select

from tickyard.features.earn.books.public import FileAsk, get_epoch_file
from tickyard.features.earn.days import sealing, snapshot
from tickyard.features.earn.days.epochs import run_due
from tickyard.features.earn.days.sealing import share_pages, write_books
from tickyard.features.earn.days.snapshot import Overtaken, must_write, sign_on
from tickyard.features.earn.rules import snapshot_at
from tickyard.features.earn.tables import earn_books, earn_epoch, earn_share
from yards.reward_days import ALICE, BOB, EPOCH, THRESHOLD, live_in_town

WHOM = [f"0x{digit * 40}" for digit in "12345"]


@pytest.fixture
def run(tmp_path):
    return lambda work: asyncio.run(live_in_town(str(tmp_path / "tickyard.db"), tmp_path, work))


async def put(town, table, *rows):
    async with town.store.begin() as tx:
        for row in rows:
            await tx.execute(insert(table), row)


def day(state, epoch=EPOCH, **more):
    return {"id": epoch, "state": state, "pool_raw": 100, "eligible_total": 10, "eligible_wallets": 5, **more}


def shares(epoch=EPOCH):
    return [{"epoch": epoch, "address": each, "balance": 2} for each in WHOM]


def test_whoever_signs_on_later_writes_and_the_earlier_one_finds_out(run):
    async def work(town):
        await put(town, earn_epoch, day("pooled"), day("pooled", EPOCH + 1))
        other = await sign_on(town.store, EPOCH + 1, "pooled")
        first = await sign_on(town.store, EPOCH, "pooled")
        async with town.store.begin() as tx:
            await must_write(tx, EPOCH, first)
            await must_write(tx, EPOCH + 1, other)
        second = await sign_on(town.store, EPOCH, "pooled")
        assert first != second
        async with town.store.begin() as tx:
            await must_write(tx, EPOCH, second)
            for epoch, writer in ((EPOCH, first), (EPOCH + 1, second), (EPOCH + 2, second)):
                with pytest.raises(Overtaken):
                    await must_write(tx, epoch, writer)

    run(work)


@pytest.mark.parametrize("state", ["accruing", "taken", "sealed", "open", "closed", "skipped"])
def test_nobody_signs_on_to_a_day_in_another_state(run, state):
    async def work(town):
        await put(town, earn_epoch, day(state, writer="somebody"))
        with pytest.raises(Overtaken):
            await sign_on(town.store, EPOCH, "pooled")
        assert await write_books(town, EPOCH) is False
        async with town.store.read() as tx:
            row = (await tx.execute(select(earn_epoch))).one()
        assert (row.state, row.writer, row.digest) == (state, "somebody", None)

    run(work)


@pytest.mark.parametrize("size", [1, 2, 4, 5, 6])
def test_a_snapshot_is_read_in_pages_of_any_size(run, size):
    async def work(town):
        await put(town, earn_share, *shares(), *shares(EPOCH + 1))
        async with town.store.read() as tx:
            pages = [list(page) async for page in share_pages(tx, EPOCH, size)]
        assert [each for page in pages for each in page] == [(address, 2) for address in WHOM]
        assert {len(page) for page in pages[:-1]} <= {size}

    run(work)


def test_books_are_written_over_what_an_earlier_try_left_and_nobody_elses(run):
    async def work(town):
        await put(town, earn_epoch, day("pooled"))
        await put(town, earn_share, *shares())
        stale = {"part": 0, "body": b"stale"}
        await put(town, earn_books, stale | {"epoch": EPOCH}, {"epoch": EPOCH, "part": 7, "body": b"stale"})
        await put(town, earn_books, stale | {"epoch": EPOCH + 1})
        assert await write_books(town, EPOCH)
        text = ("address,balance,share\n" + "".join(f"{each},2,20\n" for each in WHOM)).encode()
        async with town.store.read() as tx:
            row = (await tx.execute(select(earn_epoch))).one()
            parts = (await tx.execute(select(earn_books.c.epoch, earn_books.c.part))).all()
        assert (row.state, row.digest) == ("sealed", hashlib.sha256(text).hexdigest())
        assert sorted(map(tuple, parts)) == [(EPOCH, 0), (EPOCH, 1), (EPOCH + 1, 0)]
        answer = await get_epoch_file(town, FileAsk(id=EPOCH))
        assert gzip.decompress(b"".join([part async for part in answer.parts])) == text

    run(work)


def test_a_writer_who_was_overtaken_seals_nothing(run):
    async def work(town):
        await put(town, earn_epoch, day("pooled"))
        first = await sign_on(town.store, EPOCH, "pooled")
        await sign_on(town.store, EPOCH, "pooled")
        with pytest.raises(Overtaken):
            await sealing._add_part(town.store, EPOCH, first, 0, b"")
        assert await sealing._finish(town.store, EPOCH, first, "ab" * 32, town.earn.desk) is False
        async with town.store.read() as tx:
            assert (await tx.execute(select(earn_epoch.c.state))).scalar_one() == "pooled"
            assert (await tx.execute(select(func.count()).select_from(earn_books))).scalar_one() == 0

    run(work)


def test_a_snapshot_clears_what_an_earlier_try_wrote_a_little_at_a_time(run, monkeypatch):
    monkeypatch.setattr(snapshot, "_ROWS_AT_ONCE", 2)

    async def work(town):
        await run_due(town, town.clock.now())
        await put(town, earn_share, *shares(), *shares(EPOCH - 1))
        assert (await town.to(snapshot_at(EPOCH))).taken == [EPOCH]
        async with town.store.read() as tx:
            found = (await tx.execute(select(earn_share).where(earn_share.c.epoch == EPOCH))).all()
            others = (await tx.execute(select(earn_share).where(earn_share.c.epoch == EPOCH - 1))).all()
            row = (await tx.execute(select(earn_epoch).where(earn_epoch.c.id == EPOCH))).one()
        held = {ALICE.address: 2 * THRESHOLD, BOB.address: THRESHOLD}
        assert {each.address: each.balance for each in found} == held
        assert len(others) == len(WHOM)
        block = town.chain.blocks[row.block_number]
        moment = snapshot_at(EPOCH).timestamp()
        assert block.timestamp < moment <= town.chain.blocks[row.block_number + 1].timestamp
        assert (row.block_hash, row.eligible_wallets, row.eligible_total) == (block.hash, 2, 3 * THRESHOLD)
        assert row.proven_at_block > row.block_number

    run(work)
