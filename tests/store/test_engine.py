"""The engine's promises, on both databases."""

import asyncio
import sqlite3
from datetime import timedelta

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import UpstreamDown
from tickyard.store.opening import open_store

CREATE = text("CREATE TABLE box (id INTEGER PRIMARY KEY, label VARCHAR)")
INSERT = text("INSERT INTO box (id, label) VALUES (:id, :label)")
COUNT = text("SELECT count(*) FROM box")
TOTAL = text("SELECT coalesce(sum(id), 0) FROM box")


async def _opened(where, clock=None):
    store = open_store(where, clock or WallClock())
    async with store.begin() as tx:
        await tx.execute(CREATE)
    return store


async def _count(store):
    async with store.read() as tx:
        return (await tx.execute(COUNT)).scalar_one()


def test_a_block_that_raises_leaves_nothing_behind(where):
    async def go():
        store = await _opened(where)

        async def fail():
            async with store.begin() as tx:
                await tx.execute(INSERT, {"id": 1, "label": "a"})
                raise RuntimeError

        with pytest.raises(RuntimeError):
            await fail()
        assert await _count(store) == 0
        await store.close()

    asyncio.run(go())


def test_a_cancelled_block_leaves_nothing_behind_and_the_store_goes_on(where):
    async def go():
        store = await _opened(where)
        inside = asyncio.Event()

        async def stuck():
            async with store.begin() as tx:
                await tx.execute(INSERT, {"id": 1, "label": "a"})
                inside.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(stuck())
        await asyncio.wait_for(inside.wait(), 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with store.begin() as tx:
            await tx.execute(INSERT, {"id": 2, "label": "b"})
        assert await _count(store) == 1
        await store.close()

    asyncio.run(go())


def test_the_row_count_says_what_a_list_of_values_changed(where):
    async def go():
        store = await _opened(where)
        async with store.begin() as tx:
            ignoring = text("INSERT INTO box (id, label) VALUES (:id, :label) ON CONFLICT DO NOTHING")
            rows = [{"id": number, "label": "x"} for number in (1, 2, 2, 3)]
            assert (await tx.execute(ignoring, rows)).rowcount == 3
            assert (await tx.execute(text("UPDATE box SET label = 'y' WHERE id < 3"))).rowcount == 2
        await store.close()

    asyncio.run(go())


def test_a_reader_sees_one_moment_and_cannot_write(where):
    async def go():
        store = await _opened(where)
        async with store.read() as before:
            assert (await before.execute(COUNT)).scalar_one() == 0
            async with store.begin() as tx:
                await tx.execute(INSERT, {"id": 1, "label": "a"})
            assert (await before.execute(COUNT)).scalar_one() == 0
            assert await _count(store) == 1
        with pytest.raises(Exception, match=r"readonly|read-only|does not answer"):
            async with store.read() as tx:
                await tx.execute(INSERT, {"id": 2, "label": "b"})
        assert await _count(store) == 1
        await store.close()

    asyncio.run(go())


def test_a_broken_constraint_is_a_bug_and_not_an_upstream(where):
    async def go():
        store = await _opened(where)
        with pytest.raises(IntegrityError):
            async with store.begin() as tx:
                await tx.execute(INSERT, [{"id": 1, "label": "a"}, {"id": 1, "label": "b"}])
        assert await _count(store) == 0
        await store.close()

    asyncio.run(go())


def test_the_store_has_one_clock_which_follows_the_sandbox(where):
    class Ahead(WallClock):
        offset = timedelta(days=40)

        def now(self):
            return super().now() + self.offset

    async def go():
        store = open_store(where, Ahead())
        async with store.begin() as tx:
            now = await store.now(tx)
        assert abs(now - Ahead().now()) < timedelta(seconds=5)
        await store.close()

    asyncio.run(go())


def test_another_process_holding_the_lock_blocks_neither_the_loop_nor_for_ever(tmp_path):
    class Hurried(WallClock):
        """Five seconds of patience pass in a few pauses."""

        pauses = 0

        def monotonic(self):
            return self.pauses * 0.5

        async def sleep(self, seconds):
            self.pauses += 1
            await super().sleep(0)

    async def go():
        clock = Hurried()
        store = await _opened(tmp_path / "x.db", clock)
        holder = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(UpstreamDown, match="the store is busy"):
            async with store.begin():
                raise AssertionError("not reached")
        assert clock.pauses >= 10
        holder.execute("ROLLBACK")
        async with store.begin() as tx:
            await tx.execute(INSERT, {"id": 1, "label": "a"})
        assert await _count(store) == 1
        holder.close()
        await store.close()

    asyncio.run(go())


@pytest.mark.parametrize("address", ["/proc/none/x.db", "postgresql://u:secret@127.0.0.1:1/x"])
def test_a_store_that_cannot_be_reached_is_an_upstream_that_is_down(address):
    async def go():
        store = open_store(address, WallClock())
        with pytest.raises(UpstreamDown) as caught:
            async with store.read():
                raise AssertionError("not reached")
        assert "secret" not in caught.value.message
        await store.close()

    asyncio.run(go())


@pytest.mark.database
def test_after_the_server_was_killed_and_restarted_the_store_goes_on(doomed_server):
    async def go():
        store = await _opened(doomed_server.new_database())
        async with store.begin() as tx:
            await tx.execute(INSERT, {"id": 1, "label": "a"})

        async def interrupted():
            async with store.begin() as tx:
                await tx.execute(INSERT, {"id": 2, "label": "b"})
                doomed_server.kill()

        with pytest.raises(UpstreamDown):
            await interrupted()
        with pytest.raises(UpstreamDown, match="does not answer"):
            await _count(store)
        doomed_server.start()
        assert await _count(store) == 1
        await store.close()

    asyncio.run(go())


@pytest.mark.database
def test_after_a_failover_during_a_pause_nobody_notices(doomed_server):
    class Jumping(WallClock):
        jump = 0

        def monotonic(self):
            return super().monotonic() + self.jump

    async def go():
        clock = Jumping()
        store = await _opened(doomed_server.new_database(), clock)
        assert await _count(store) == 0
        doomed_server.kill()
        doomed_server.start()
        clock.jump = 60
        assert await _count(store) == 0
        await store.close()

    asyncio.run(go())


def test_a_glance_sees_what_is_committed(where):
    async def go():
        store = await _opened(where)
        async with store.begin() as tx:
            await tx.execute(INSERT, {"id": 1, "label": "a"})
        for _ in range(3):
            async with store.glance() as tx:
                assert (await tx.execute(COUNT)).scalar_one() == 1
        await store.close()

    asyncio.run(go())


@pytest.mark.database
def test_nothing_is_left_in_a_session_that_a_pooler_would_hand_to_somebody_else(postgres_server):
    """In transaction mode the next transaction may be in another session: what is prepared in one is not there."""

    async def go():
        store = await _opened(url)
        for number in range(20):
            async with store.begin() as tx:
                await tx.execute(INSERT, {"id": number, "label": "a"})
            await _count(store)
        async with store.begin() as tx:
            assert (await tx.execute(text("SELECT count(*) FROM pg_prepared_statements"))).scalar_one() == 0
        await store.close()

    url = postgres_server.new_database()
    asyncio.run(go())
    postgres_server.take_back(url)


@pytest.mark.database
@pytest.mark.parametrize("way", ["begin", "read"])
def test_a_transaction_brings_its_limits_along_whichever_session_a_pooler_gives_it(postgres_server, way):
    """Else who is frozen in the middle keeps their locks for ever, and who works gets the hurry of who answers."""

    async def go():
        store = await _opened(url)
        async with store.begin() as tx:
            # A session that nobody of ours has opened, or that somebody in a hurry had before.
            await tx.execute(text("SET statement_timeout = 50"))
            await tx.execute(text("SET idle_in_transaction_session_timeout = 0"))
        async with getattr(store, way)() as tx:
            assert await _setting(tx, "statement_timeout") == "11800ms"
            assert await _setting(tx, "idle_in_transaction_session_timeout") == "10s"
            await tx.execute(text("SELECT pg_sleep(0.2)"))
        async with store.glance() as tx:
            assert await _setting(tx, "idle_in_transaction_session_timeout") == "0"
        await store.close()

    url = postgres_server.new_database()
    asyncio.run(go())
    postgres_server.take_back(url)


async def _setting(tx, name):
    return (await tx.execute(text(f"SHOW {name}"))).scalar_one()
