"""Whatever happens to a database is an upstream that is down: told in time, with nothing half-written, and healed by itself."""

import asyncio
import sqlite3
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from tickyard.features.history import store as history
from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import UpstreamDown
from tickyard.market.sampling.rounds import Round, slot_number
from tickyard.store.engine import Contended, StoreRefused
from tickyard.store.leases import try_write
from tickyard.store.opening import open_store
from tickyard.store.postgres import room
from yards.patience import STUCK_S
from yards.schema import lay

CLOCK = WallClock()
START = datetime(2026, 9, 16, tzinfo=UTC)
FIRST = slot_number(START)
TOKENS = 40

# What only our own mistake brings about.
BUGS = {
    "07", "09", "0A", "0B", "0F", "0L", "0P", "0Z", "20", "21", "22", "23", "24", "26", "27", "2B", "2D", "2F", "34",
    "38", "39", "3B", "42", "44", "P0",
}  # fmt: skip
# What an operator brings about: a person can mend it, and no code can.
REFUSALS = {"42501", "42P01", "42703", "3F000", "25006"}
SURELY_DOWN = (
    *REFUSALS,
    "08006",
    "25P03",
    "25006",
    "53100",
    "53300",
    "55P03",
    "57014",
    "57P01",
    "57P03",
    "58030",
    "XX000",
    "XX001",
)


async def _raise(store, state):
    async with store.begin() as tx:
        await tx.execute(text(f"DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '{state}'; END $$"))


@pytest.mark.database
def test_every_error_that_a_server_knows_is_a_bug_or_the_store_in_trouble(postgres_server):
    states = sorted(
        state for state in psycopg.errors._sqlcodes if state.isalnum() and state[:2] not in ("00", "01", "02")
    )
    assert set(SURELY_DOWN) <= set(states)

    async def go():
        store = open_store(postgres_server.new_database(), CLOCK)
        told = {}
        for state in states:
            try:
                await _raise(store, state)
            except Contended:
                told[state] = "contended"
            except UpstreamDown:
                told[state] = "down"
            except DBAPIError as error:
                told[state] = "bug" if error.orig.sqlstate == state else "another"
        await store.close()
        return told

    told = asyncio.run(go())
    assert {state for state, what in told.items() if what == "contended"} == {"40001", "40P01"}
    assert {told[state] for state in SURELY_DOWN} == {"down"}
    order = {"25000", "25001", "25P01", "25P02"}
    assert {state for state, what in told.items() if what == "bug"} == {
        state for state in states if (state[:2] in BUGS or state in order) and state not in REFUSALS
    }


# What a server says to who comes at the wrong moment, and to whom it will never let in.
SOON = (
    "the database system is starting up",
    "the database system is not yet accepting connections",
    "the database system is shutting down",
    "the database system is in recovery mode",
    "sorry, too many clients already",
    "remaining connection slots are reserved for roles with the SUPERUSER attribute",
    "terminating connection due to administrator command",
)
NEVER = ('role "api" does not exist', 'database "tickyard" does not exist', "no pg_hba.conf entry for host")


def test_a_server_that_is_starting_or_full_refuses_nobody_for_good(tmp_path):
    """The words as they come over the wire, from a server that says nothing else."""

    async def ask(words):
        async def refuse(reader, writer):
            await reader.readexactly(int.from_bytes(await reader.readexactly(4)) - 4)
            fields = b"SFATAL\0VFATAL\0C57P03\0M" + words.encode() + b"\0\0"
            writer.write(b"E" + (len(fields) + 4).to_bytes(4) + fields)
            await writer.drain()
            writer.close()

        async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            address = f"postgresql://api@127.0.0.1:{port}/tickyard?sslmode=disable&gssencmode=disable"
            store = open_store(address, CLOCK)
            try:
                with pytest.raises(UpstreamDown) as caught:
                    async with store.read() as tx:
                        await tx.execute(text("SELECT 1"))
            finally:
                await store.close()
        return caught.value

    for words in SOON:
        assert not isinstance(asyncio.run(ask(words)), StoreRefused), words
    for words in NEVER:
        told = asyncio.run(ask(words))
        assert isinstance(told, StoreRefused), words
        assert words in told.found


@pytest.mark.database
def test_a_server_that_only_reads_is_not_blamed_on_the_account(postgres_server):
    async def go():
        store = open_store(f"{url}{'&' if '?' in url else '?'}options=-c%20default_transaction_read_only=on", CLOCK)
        with pytest.raises(StoreRefused) as refused:
            async with store.read() as tx:
                await tx.execute(text("SELECT 1"))
        assert "read-only" in refused.value.found
        assert refused.value.mend.startswith("name the primary")
        await store.close()

    url = postgres_server.new_database()
    asyncio.run(go())


@pytest.mark.database
def test_a_transaction_that_slept_too_long_is_the_store_in_trouble(postgres_server):
    """As after a process was frozen for a while: the server has hung up in the middle."""

    async def sleep(store, *then):
        async with store.begin() as tx:
            await tx.execute(text("SET LOCAL idle_in_transaction_session_timeout = 50"))
            await CLOCK.sleep(0.4)
            for statement in then:
                await tx.execute(text(statement))

    async def go():
        store = open_store(postgres_server.new_database(), CLOCK)
        with pytest.raises(UpstreamDown):
            await sleep(store, "SELECT 1")
        with pytest.raises(UpstreamDown):
            await sleep(store)
        async with store.begin() as tx:
            assert (await tx.execute(text("SELECT 1"))).scalar_one() == 1
        await store.close()

    asyncio.run(go())


async def _ways(store):
    """Each way of using the store, and how long it took to say that it is down; None: it answered."""
    took = {}
    for name in ("begin", "read", "glance"):
        began = time.monotonic()
        try:
            async with getattr(store, name)() as tx:
                await tx.execute(text("SELECT 1"))
        except UpstreamDown:
            took[name] = time.monotonic() - began
        else:
            took[name] = None
    return took


@pytest.mark.database
def test_a_frozen_server_is_told_within_six_seconds_and_used_again_when_it_is_back(doomed_server):
    async def go():
        store = open_store(doomed_server.new_database(), CLOCK, is_hurried=True)
        assert set((await _ways(store)).values()) == {None}

        async def interrupted():
            async with store.begin() as tx:
                await tx.execute(text("SELECT 1"))
                doomed_server.freeze()
                await tx.execute(text("SELECT 1"))

        began = time.monotonic()
        with pytest.raises(UpstreamDown):
            await interrupted()
        assert time.monotonic() - began < 6
        # Many at once: those who wait for a connection are told in time too.
        told = await asyncio.gather(*(_ways(store) for _ in range(30)))
        doomed_server.thaw()
        assert all(seconds is not None and seconds < 6 for each in told for seconds in each.values()), told
        assert set((await _ways(store)).values()) == {None}
        await store.close()

    asyncio.run(go())


@pytest.mark.database
def test_a_server_that_is_stopped_and_started_again_is_used_again_without_a_restart_of_ours(doomed_server):
    async def go():
        store = open_store(doomed_server.new_database(), CLOCK, is_hurried=True)
        for _ in range(2):
            assert set((await _ways(store)).values()) == {None}
            doomed_server.kill()
            assert all(seconds is not None and seconds < 6 for seconds in (await _ways(store)).values())
            doomed_server.start()
            # What was lent a moment ago may fail once; then all of it is dialled again.
            await _ways(store)
            assert set((await _ways(store)).values()) == {None}
        await store.close()

    asyncio.run(go())


def _round(slot):
    return Round(slot, slot, "0x", {n: 10**9 + n for n in range(1, TOKENS + 1)}, 0, START)


async def _record(store, slot):
    async with store.begin() as tx:
        await history.record(tx, _round(slot), history_start=START)


async def _until_full(store):
    """How many rounds were recorded before the store said no."""
    for number in range(100_000):
        try:
            await _record(store, FIRST + number)
        except UpstreamDown:
            return number
    raise AssertionError("it never filled")


def _whole(rounds, samples):
    assert samples == dict.fromkeys(rounds, TOKENS), "a round is half-written"


@pytest.mark.slow
def test_a_full_disk_refuses_a_round_as_a_whole_on_sqlite(tmp_path):
    where = tmp_path / "tickyard.db"
    # In a process of its own: a file that may not grow is the same to it as a disk without room.
    script = f"""
import asyncio, resource, signal, sys
sys.path[:0] = {[str(Path(__file__).parent), *sys.path]!r}
import test_trouble as t
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
async def go():
    store = t.open_store({str(where)!r}, t.CLOCK)
    await t.lay(store)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, resource.RLIM_INFINITY))
    done = await t._until_full(store)
    try:
        await t._record(store, t.FIRST + done)
    except t.UpstreamDown:
        print("still full")
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await t._record(store, t.FIRST + done)
    print(done + 1)
    await store.close()
asyncio.run(go())
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=STUCK_S)
    assert ran.returncode == 0, ran.stderr
    still, recorded = ran.stdout.split("\n")[:2]
    assert still == "still full"
    with sqlite3.connect(where) as books:
        assert books.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        rounds = [row[0] for row in books.execute("SELECT slot FROM round")]
        assert len(rounds) == int(recorded) > 10
        _whole(rounds, dict(books.execute("SELECT slot, count(*) FROM sample GROUP BY slot")))
    books.close()


@pytest.mark.slow
def test_a_database_that_may_not_grow_refuses_a_round_as_a_whole_on_sqlite(tmp_path):
    async def go():
        store = open_store(tmp_path / "tickyard.db", CLOCK)
        await lay(store)
        async with store.begin() as tx:
            await tx.execute(text("PRAGMA max_page_count = 150"))
        assert await _until_full(store) > 5
        await store.close()

    asyncio.run(go())
    with sqlite3.connect(tmp_path / "tickyard.db") as books:
        rounds = [row[0] for row in books.execute("SELECT slot FROM round")]
        _whole(rounds, dict(books.execute("SELECT slot, count(*) FROM sample GROUP BY slot")))
    books.close()


@pytest.mark.database
def test_a_full_disk_refuses_a_round_as_a_whole_on_postgresql(doomed_server):
    url = doomed_server.new_database()

    async def go():
        store = open_store(url, CLOCK)
        await lay(store)
        with psycopg.connect(url, autocommit=True) as books:
            books.execute("INSERT INTO sample SELECT 1, n, 1 FROM generate_series(-500000, -1) AS n")
            room = books.execute("SELECT pg_relation_size('sample'), pg_indexes_size('sample')").fetchone()
        # A little more than the largest file has; those of the write-ahead log have 16 MB from the start.
        await restart(2**17 + max(*room, 17 * 2**20))
        done = await _until_full(store)
        with pytest.raises(UpstreamDown):
            await _record(store, FIRST + done)
        await restart(None)
        await _ways(store)
        await _record(store, FIRST + done)
        await store.close()
        return done + 1

    async def restart(limit):
        doomed_server.shut_down()
        doomed_server.file_max_bytes = limit
        doomed_server.start()

    recorded = asyncio.run(go())
    with psycopg.connect(url) as books:
        rounds = [row[0] for row in books.execute("SELECT slot FROM round")]
        assert len(rounds) == recorded > 10
        _whole(rounds, dict(books.execute("SELECT slot, count(*) FROM sample WHERE slot > 0 GROUP BY slot").fetchall()))


@pytest.mark.parametrize("fate", ["moved", "removed", "replaced"])
def test_a_file_that_is_taken_away_under_a_running_process_takes_nothing_more(tmp_path, fate):
    """An operator who restores, or tidies up, before every process has stopped."""
    path, away = tmp_path / "x.db", tmp_path / "away.db"

    async def refused(entering):
        with pytest.raises(StoreRefused, match="does not answer") as refusal:
            async with entering():
                pass
        assert "moved, removed or replaced" in refusal.value.found

    async def work():
        store, other = open_store(path, CLOCK), open_store(tmp_path / "other.db", CLOCK)
        try:
            await lay(store)
            await lay(other)
            await other.close()
            async with store.read() as tx:
                await tx.execute(text("SELECT 1"))
            path.rename(away)
            if fate == "removed":
                away.unlink()
            elif fate == "replaced":
                (tmp_path / "other.db").rename(path)
            for entering in (store.begin, store.read, store.glance):
                await refused(entering)
            # Nor is an empty one made in its place, which the next process would take for the store.
            assert path.exists() == (fate == "replaced")
            if fate == "moved":
                away.rename(path)
                async with store.begin() as tx:
                    await tx.execute(text("SELECT 1"))
        finally:
            await store.close()

    asyncio.run(work())


@pytest.mark.database
def test_a_server_whose_disk_is_full_is_told_though_a_tiny_row_can_still_be_written(postgres_server, monkeypatch):
    """`/readyz` was 200 for as long as no table could grow: the row it wrote had its place."""

    async def go():
        store = open_store(postgres_server.new_database(), CLOCK)
        try:
            await lay(store)
            await try_write(store)
            async with store.begin() as tx:
                await tx.execute(room.LITTLE_MEMORY)
                plan = await tx.execute(text(f"EXPLAIN (ANALYZE, BUFFERS) {room.SPILLED.text}"))
                assert any("temp " in line and "written=" in line for line in plan.scalars())
            # A limit on such files is no full disk, nor is a make of server that does not know the setting.
            for state, is_full in (("53400", False), ("42704", False), ("53100", True)):
                said = f"DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '{state}'; END $$"
                monkeypatch.setattr(room, "SPILLED", text(said))
                if is_full:
                    with pytest.raises(UpstreamDown, match="disk is full"):
                        await try_write(store)
                else:
                    await try_write(store)
        finally:
            await store.close()

    asyncio.run(go())
