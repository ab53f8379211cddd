"""Writes that share a commit: each gets its own answer, and the trouble of one is not that of the others."""

import asyncio

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, insert, select

from tickyard.kernel.clock import WallClock, breathe
from tickyard.kernel.errors import UpstreamDown
from tickyard.store.engine import Contended
from tickyard.store.group_commit import AT_ONCE, Together
from tickyard.store.opening import open_store
from tickyard.store.statement import Prepared
from yards.patience import STUCK_S

NUMBERS = Table("numbers", MetaData(), Column("n", Integer, primary_key=True, autoincrement=False))
WRITE = Prepared(lambda _tx: insert(NUMBERS), ("n",))
ALL = select(NUMBERS.c.n).order_by(NUMBERS.c.n)


def run(where, scenario):
    async def bounded():
        store = open_store(where, WallClock())
        try:
            async with asyncio.timeout(STUCK_S):
                async with store.begin() as tx:
                    await tx.run_sync(NUMBERS.create)
                await scenario(store, Together(store))
        finally:
            await store.close()

    asyncio.run(bounded())


async def numbers(store):
    async with store.read() as tx:
        return list((await tx.execute(ALL)).scalars())


def writing(n):
    async def work(tx):
        await WRITE.change(tx, {"n": n})
        return n

    return work


def failing(n):
    async def work(tx):
        await WRITE.change(tx, {"n": n})
        raise LookupError(n)

    return work


def test_everybody_gets_their_own_answer_once_it_is_written(where):
    async def scenario(store, pen):
        assert await asyncio.gather(*(pen.write(writing(n)) for n in range(300))) == list(range(300))
        assert await numbers(store) == list(range(300))
        assert pen.task is None

    run(where, scenario)


def test_the_trouble_of_one_is_not_that_of_the_others(where):
    async def scenario(store, pen):
        ends = await asyncio.gather(
            *(pen.write((failing if n % 3 == 0 else writing)(n)) for n in range(9)), return_exceptions=True
        )
        assert [n for n, end in enumerate(ends) if isinstance(end, LookupError)] == [0, 3, 6]
        assert [end for end in ends if isinstance(end, int)] == [1, 2, 4, 5, 7, 8]
        assert await numbers(store) == [1, 2, 4, 5, 7, 8]

    run(where, scenario)


def test_a_store_that_does_not_answer_is_told_to_all_at_once(where):
    async def busy(_tx):
        raise UpstreamDown("the store is busy")

    async def scenario(store, pen):
        ends = await asyncio.gather(pen.write(busy), pen.write(busy), return_exceptions=True)
        assert [type(end) for end in ends] == [UpstreamDown] * 2
        assert await pen.write(writing(1)) == 1

    run(where, scenario)


def test_who_waits_for_a_turn_does_not_find_out_anew_that_the_store_is_gone(where):
    count = 0

    async def gone(_tx):
        nonlocal count
        count += 1
        await breathe()
        raise UpstreamDown("the store does not answer")

    async def scenario(store, pen):
        ends = await asyncio.gather(*(pen.write(gone) for _ in range(50)), return_exceptions=True)
        assert [type(end) for end in ends] == [UpstreamDown] * 50
        assert count <= AT_ONCE
        assert await asyncio.gather(*(pen.write(writing(n)) for n in range(50))) == list(range(50))

    run(where, scenario)


@pytest.mark.database
def test_a_rival_is_the_trouble_of_one_alone(postgres_server):
    async def beaten(_tx):
        await breathe()
        raise Contended("the store is busy")

    async def scenario(store, pen):
        works = [beaten if n % 2 else writing(n) for n in range(50)]
        ends = await asyncio.gather(*map(pen.write, works), return_exceptions=True)
        assert ends[::2] == list(range(0, 50, 2))
        assert {type(end) for end in ends[1::2]} == {Contended}

    run(postgres_server.new_database(), scenario)


def test_whoever_stops_waiting_holds_up_nobody(where):
    async def scenario(store, pen):
        gone = asyncio.create_task(pen.write(writing(1)))
        stays = asyncio.create_task(pen.write(writing(2)))
        await store.clock.sleep(0)
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        assert await stays == 2
        assert 2 in await numbers(store)

    run(where, scenario)


def test_those_who_arrive_turn_after_turn_share_one_commit(tmp_path):
    async def scenario(store, pen):
        told = []
        async with store.begin() as tx:
            await tx.run_sync(
                lambda connection: connection.connection.driver_connection.set_trace_callback(told.append)
            )

        async def arrive(n):
            for _ in range(n):
                await breathe()
            await pen.write(writing(n))

        told.clear()
        await asyncio.gather(*(arrive(n) for n in range(40)))
        assert told.count("COMMIT") == 1
        assert await numbers(store) == list(range(40))

    run(tmp_path / "x.db", scenario)
