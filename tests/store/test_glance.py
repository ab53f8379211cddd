"""Glances and the busiest statements, which take a shorter way to the driver, on both databases."""

import asyncio
import sqlite3

import psycopg
import pytest
from sqlalchemy import bindparam, select, text

from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address, Symbol
from tickyard.store.opening import open_store
from tickyard.store.statement import Query
from tickyard.store.tokens import token, token_ids
from yards.schema import lay

BY_SYMBOL = Query(select(token.c.id, token.c.address).where(token.c.symbol == bindparam("symbol")))
RENAMED = Query(text("UPDATE token SET symbol = :symbol WHERE id = 1 RETURNING symbol, id"))
ADDRESS = Address("0x" + "a" * 40)


def run(where, work):
    async def go():
        store = open_store(where, WallClock())
        try:
            await lay(store)
            async with store.begin() as tx:
                await token_ids(tx, [(Symbol("T"), ADDRESS)])
            await work(store)
        finally:
            await store.close()

    asyncio.run(go())


async def look(store, symbol="T"):
    async with store.glance() as tx:
        return await tx.fetch(BY_SYMBOL, {"symbol": symbol})


def test_a_busy_statement_gives_plain_rows(where):
    async def work(store):
        assert await look(store) == [(1, ADDRESS)]
        assert await look(store, "X") == []
        async with store.read() as tx:
            assert await tx.fetch(BY_SYMBOL, {"symbol": "T"}) == [(1, ADDRESS)]

    run(where, work)


def test_what_it_writes_lands_or_not_with_its_transaction(where):
    async def work(store):
        async def rename_and_fall():
            async with store.begin() as tx:
                assert await tx.fetch(RENAMED, {"symbol": "U"}) == [("U", 1)]
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await rename_and_fall()
        assert await look(store, "U") == []
        async with store.begin() as tx:
            await tx.fetch(RENAMED, {"symbol": "U"})
        assert await look(store, "U") == [(1, ADDRESS)]

    run(where, work)


def test_many_glances_at_once_each_see_the_newest_commit(where):
    async def work(store):
        for n in range(3):
            async with store.begin() as tx:
                await tx.fetch(RENAMED, {"symbol": f"S{n}"})
            found = await asyncio.gather(*(look(store, f"S{n}") for _ in range(20)))
            assert found == [[(1, ADDRESS)]] * 20

    run(where, work)


def test_a_wrong_statement_is_a_bug_and_the_next_glance_works(where):
    async def work(store):
        with pytest.raises((sqlite3.Error, psycopg.Error)):
            async with store.glance() as tx:
                await tx.fetch(Query(text("SELECT nothing FORM nowhere at all")), {})
        assert await look(store) == [(1, ADDRESS)]

    run(where, work)


@pytest.mark.database
def test_after_the_server_was_killed_glances_go_on(doomed_server):
    async def work(store):
        assert await look(store) == [(1, ADDRESS)]
        doomed_server.kill()
        for _ in range(3):
            with pytest.raises(UpstreamDown):
                await look(store)
        doomed_server.start()
        assert await look(store) == [(1, ADDRESS)]

    run(doomed_server.new_database(), work)


def test_constants_must_be_written_out():
    with pytest.raises(AssertionError):
        _ = Query(select(token.c.id).where(token.c.symbol == "T")).for_sqlite
