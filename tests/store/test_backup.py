"""A copy taken while rounds are written shows one moment of it, and comes back whole."""

import asyncio
import contextlib
import shutil
import sqlite3
import stat
import zipfile
from datetime import UTC, datetime

import pytest
from sqlalchemy import func, select

from tickyard.features.history import reading, store
from tickyard.features.history.candles import fold
from tickyard.features.history.tables import recorded, sample
from tickyard.kernel.clock import WallClock
from tickyard.kernel.ids import Address, Symbol
from tickyard.market.sampling.rounds import Round, slot_number
from tickyard.store import outbox
from tickyard.store.copying.backup import BackupRefused, backup, growing_into
from tickyard.store.copying.formats import Archive, SqliteFile, opened
from tickyard.store.copying.restore import restore
from tickyard.store.engine import StoreRefused
from tickyard.store.migrate import migrate, schema_version
from tickyard.store.opening import open_store
from tickyard.store.tokens import token_ids
from yards import parcels
from yards.schema import lay

START = datetime(2026, 9, 16, tzinfo=UTC)
SLOT = slot_number(START) + 1000
TOKENS = [(Symbol(f"T{n}"), Address(f"0x{n:040x}")) for n in range(1, 21)]
NOW = datetime(2026, 11, 1, tzinfo=UTC)
HARD_TEXT = {"text": 'quotes " commas, new\nlines \\ é', "empty": "", "none": None}


async def _write(opened, number):
    prices = {n: 10**9 * n + number for n in range(1, 21)}
    taken = Round(SLOT + number, number, "0x", prices, 0, NOW)
    async with opened.begin() as tx:
        await store.record(tx, taken, history_start=START)


async def _filled(where):
    opened = open_store(where, WallClock())
    await lay(opened)
    async with opened.begin() as tx:
        await token_ids(tx, TOKENS)
        await outbox.put(tx, "webhook", {"a": HARD_TEXT}, NOW)
    for number in range(10):
        await _write(opened, number)
    return opened


async def _check(where, at_least):
    """Whole rounds, none missing in between, candles equal to the fold, the other tables there too."""
    opened = open_store(where, WallClock())
    async with opened.read() as tx:
        slots = (await tx.execute(select(recorded.c.slot).order_by(recorded.c.slot))).scalars().all()
        assert len(slots) >= at_least
        assert slots == list(range(SLOT, SLOT + len(slots)))
        assert (await tx.execute(select(func.count()).select_from(sample))).scalar_one() == 20 * len(slots)
        samples = [(slot, 10**9 * 7 + slot - SLOT) for slot in slots]
        assert (await reading.page(tx, TOKENS[6][1], 3600, 300)).candles == fold(samples, 3600)
        assert (await tx.execute(select(outbox.outbox.c.payload))).scalar_one() == HARD_TEXT
        # Its original went on and may have sent it: the copy never does.
        assert await parcels.due(tx, "webhook", NOW, 10) == []
        assert await parcels.state_of(tx, "webhook", "a") == "unknown"
    await _write(opened, len(slots))
    version = await schema_version(opened)
    await opened.close()
    return version


def test_a_copy_taken_while_rounds_are_written_comes_back_whole(where, other_where, tmp_path):
    async def go():
        opened = await _filled(where)
        written = 10
        copying = asyncio.create_task(backup(opened, tmp_path / "copy"))
        while not copying.done() or written < 13:
            await _write(opened, written)
            written += 1
            await asyncio.wait([copying], timeout=0.001)
        await copying
        version = await schema_version(opened)
        await opened.close()
        await restore(tmp_path / "copy", other_where, WallClock())
        assert await _check(other_where, at_least=10) == version

    asyncio.run(go())


@pytest.mark.database
def test_a_copy_of_sqlite_moves_to_postgresql(postgres_server, tmp_path):
    async def go():
        opened = await _filled(tmp_path / "x.db")
        await backup(opened, tmp_path / "copy")
        await opened.close()
        target = postgres_server.new_database()
        await restore(tmp_path / "copy", target, WallClock())
        await _check(target, at_least=10)

    asyncio.run(go())


def test_of_a_copy_nothing_is_ever_sent_again_however_it_is_brought_back(where, other_where, tmp_path):
    async def go():
        opened = await _filled(where)
        async with opened.begin() as tx:
            await outbox.put(tx, "webhook", {"begun": {}, "done": {}}, NOW)
            for parcel in await parcels.due(tx, "webhook", NOW, 10):
                if parcel.key != "a":
                    await outbox.start(tx, parcel, NOW)
                if parcel.key == "done":
                    await outbox.finish(tx, parcel, "delivered", NOW)
        await backup(opened, tmp_path / "copy")
        async with opened.read() as tx:
            assert await parcels.state_of(tx, "webhook", "a") == "pending", "the original goes on"
        await opened.close()
        await restore(tmp_path / "copy", other_where, WallClock())
        # A SQLite copy is a store by itself: putting it in place by hand must be as safe.
        for place in (other_where, *([tmp_path / "copy"] if where.endswith(".db") else [])):
            brought = open_store(place, WallClock())
            async with brought.read() as tx:
                states = [await parcels.state_of(tx, "webhook", key) for key in ("a", "begun", "done")]
            await brought.close()
            assert states == ["unknown", "unknown", "delivered"]

    asyncio.run(go())


def test_a_copy_goes_into_an_empty_database_only_and_is_never_overwritten(where, other_where, tmp_path):
    async def go():
        opened = await _filled(where)
        await backup(opened, tmp_path / "copy")
        with pytest.raises(BackupRefused, match="never overwritten"):
            await backup(opened, tmp_path / "copy")
        await opened.close()
        with pytest.raises(BackupRefused, match="not empty"):
            await restore(tmp_path / "copy", where, WallClock())
        await restore(tmp_path / "copy", other_where, WallClock())

    asyncio.run(go())


def test_two_runs_that_write_one_copy_leave_one_whole_copy(where, other_where, tmp_path):
    copy = tmp_path / "copy"

    async def go():
        opened = await _filled(where)
        with growing_into(copy), pytest.raises(BackupRefused, match="another run"):
            await backup(opened, copy)
        copy.unlink()
        # A killed run leaves something behind, and stands in nobody's way.
        copy.with_name("copy.unfinished").write_text("half of it")
        ends = await asyncio.gather(*(backup(opened, copy) for _ in range(3)), return_exceptions=True)
        assert sorted(map(type, ends), key=str) == sorted([BackupRefused, BackupRefused, type(None)], key=str)
        assert stat.S_IMODE(copy.stat().st_mode) == 0o600
        assert [each.name for each in tmp_path.glob("copy*")] == ["copy"]
        await opened.close()
        await restore(copy, other_where, WallClock())

    asyncio.run(go())


def test_what_is_no_copy_is_refused_in_a_sentence(where, tmp_path):
    (tmp_path / "text").write_text("hello")
    with zipfile.ZipFile(tmp_path / "zip", "w") as archive:
        archive.writestr("a.txt", "hello")
    for name in ("text", "zip", "missing"):
        with pytest.raises(BackupRefused, match=r"copy"):
            asyncio.run(restore(tmp_path / name, where, WallClock()))


def test_a_file_of_somebody_elses_that_names_a_schema_of_ours_is_refused_and_leaves_nothing(where, tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / "foreign")) as books:
        books.execute("CREATE TABLE alembic_version (version_num VARCHAR)")
        books.execute("INSERT INTO alembic_version VALUES ('0020')")
        books.execute("CREATE TABLE invoice (id INTEGER)")
        books.commit()
    with pytest.raises(BackupRefused, match="tables that the copy does not know"):
        asyncio.run(restore(tmp_path / "foreign", where, WallClock()))
    asyncio.run(restore(_copied(tmp_path), where, WallClock()))


def _copied(folder):
    """A copy of an empty store."""

    async def go():
        store = open_store(str(folder / "other.db"), WallClock())
        await lay(store)
        await backup(store, folder / "copy")
        await store.close()

    asyncio.run(go())
    return folder / "copy"


def _damaged(copy):
    """One bit of another value in 97 places, and three that lack their end."""
    for place in (len(copy) * n // 97 for n in range(97)):
        changed = bytearray(copy)
        changed[place] ^= 1 << place % 8
        yield bytes(changed)
    for missing in (200, 5_000, len(copy) // 2):
        yield copy[:-missing]


def _held(file):
    """What would be brought back; nothing of a copy that is refused."""
    try:
        with opened(file) as copied:
            if not isinstance(copied, Archive):
                return copied.rows
    except BackupRefused:
        return None
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.slow
def test_a_copy_that_was_damaged_on_its_way_is_never_brought_back(where, tmp_path):
    """SQLite itself takes a page that lacks its end for a whole one, and has no checksum for the others."""

    async def scenario():
        filled = await _filled(where)
        await backup(filled, tmp_path / "copy")
        await filled.close()

    asyncio.run(scenario())
    whole, is_archive = _held(tmp_path / "copy"), zipfile.is_zipfile(tmp_path / "copy")
    assert whole
    for each in _damaged((tmp_path / "copy").read_bytes()):
        (tmp_path / "damaged").write_bytes(each)
        # An archive has bytes that mean nothing, such as the hour of each file.
        assert _held(tmp_path / "damaged") in ((None, whole) if is_archive else (None,))


def test_a_database_that_was_copied_by_hand_comes_back_if_nothing_is_missing_at_its_end(tmp_path):
    async def scenario():
        await (await _filled(tmp_path / "x.db")).close()

    asyncio.run(scenario())
    database = (tmp_path / "x.db").read_bytes()
    (tmp_path / "by hand").write_bytes(database)
    (tmp_path / "cut").write_bytes(database[:-1])
    with opened(tmp_path / "by hand") as copied:
        assert copied.rows["sample"] == 200
    with pytest.raises(BackupRefused), opened(tmp_path / "cut"):
        pass


def test_no_store_is_made_beside_the_log_of_one_that_was_moved_away(tmp_path):
    """After a kill the newest is in the log alone; SQLite would remove it for a new file."""

    async def go():
        running = await _filled(tmp_path / "running.db")
        copy, killed = tmp_path / "copy", tmp_path / "killed.db"
        await backup(running, copy)
        await _write(running, 10)
        for end in ("", "-wal", "-shm"):
            shutil.copy(tmp_path / f"running.db{end}", tmp_path / f"killed.db{end}")
        await running.close()
        away = killed.rename(tmp_path / "away.db")
        log = (tmp_path / "killed.db-wal").read_bytes()
        assert log
        with pytest.raises(StoreRefused) as refused:
            await restore(copy, str(killed), WallClock())
        assert "killed.db-wal and killed.db-shm of it are still there" in refused.value.found
        empty = open_store(killed, WallClock())
        with pytest.raises(StoreRefused):
            await migrate(empty)
        assert not killed.exists()
        assert (tmp_path / "killed.db-wal").read_bytes() == log
        away.rename(killed)
        async with open_store(killed, WallClock()).read() as tx:
            assert (await tx.execute(select(func.count()).select_from(recorded))).scalar_one() == 11

    asyncio.run(go())


@pytest.mark.database
def test_a_copy_comes_back_into_postgresql_whole_or_not_at_all(postgres_server, tmp_path, monkeypatch):
    """Half of it would be a good schema without a pin or a payment, on which everything starts."""

    async def go():
        filled = await _filled(tmp_path / "one.db")
        await backup(filled, tmp_path / "copy")
        await filled.close()
        url = postgres_server.new_database()
        seen = []

        async def dies(copied, tx, table):
            # What another process would find right now.
            seen.append(await schema_version(beside))
            raise ConnectionResetError

        beside = open_store(url, WallClock())
        with monkeypatch.context() as torn:
            torn.setattr(SqliteFile, "pour", dies)
            with pytest.raises(ConnectionResetError):
                await restore(tmp_path / "copy", url, WallClock())
        assert seen == [None]
        assert await schema_version(beside) is None
        await beside.close()
        await restore(tmp_path / "copy", url, WallClock())
        await _check(url, 10)
        with pytest.raises(BackupRefused, match="not empty"):
            await restore(tmp_path / "copy", url, WallClock())
        postgres_server.take_back(url)

    asyncio.run(go())
