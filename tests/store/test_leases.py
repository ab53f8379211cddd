"""One holder at a time, and a holder that overslept is told so before it writes."""

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from tickyard.store import leases
from tickyard.store.leases import LostLease, guard, lease, release, renew, take
from tickyard.store.opening import open_store
from yards.clocks import SkippingClock
from yards.schema import lay


def run(where, work):
    async def go():
        clock = SkippingClock()
        store = open_store(where, clock)
        try:
            await lay(store)
            return await work(store, clock)
        finally:
            await store.close()

    return asyncio.run(go())


def test_of_many_that_want_it_one_gets_it(where):
    async def work(store, _clock):
        taken = await asyncio.gather(*[take(store, "tick", f"w{n}") for n in range(8)])
        assert sum(each is not None for each in taken) == 1

    run(where, work)


def test_a_released_lease_is_free_at_once(where):
    async def work(store, _clock):
        first = await take(store, "tick", "a")
        assert await take(store, "tick", "b") is None
        await release(store, first)
        second = await take(store, "tick", "b")
        assert second.fence == first.fence + 1

    run(where, work)


def test_a_holder_that_was_killed_while_the_clock_was_hours_ahead_is_replaced_when_it_is_right(where):
    async def work(store, clock):
        clock.misset(hours=2)
        first = await take(store, "tick", "a")
        clock.misset(0)
        async with store.begin() as tx:
            if not tx.is_sqlite:
                # There the database's own clock is the one that counts: this is what it writes when it is ahead.
                ahead = await store.now(tx) + timedelta(hours=2, seconds=leases.LEASE_S)
                await tx.execute(update(lease).values(until=ahead))
        second = await take(store, "tick", "b")
        assert second.fence == first.fence + 1
        assert await take(store, "tick", "c") is None
        with pytest.raises(LostLease):
            await renew(store, first)

    run(where, work)


def test_a_clock_that_is_set_back_a_little_takes_nothing_from_a_holder(where):
    async def work(store, clock):
        clock.misset(seconds=leases.LEASE_S - 1)
        first = await take(store, "tick", "a")
        clock.misset(0)
        assert await take(store, "tick", "b") is None
        await renew(store, first)

    run(where, work)


def test_a_killed_holder_is_replaced_within_fifteen_seconds_and_its_fence_has_moved(where):
    async def work(store, clock):
        first = await take(store, "tick", "a")
        waited = 0
        while (second := await take(store, "tick", "b")) is None:
            await clock.sleep(leases.RENEW_S)
            waited += leases.RENEW_S
        assert waited <= 15
        assert second.fence == first.fence + 1
        with pytest.raises(LostLease):
            await renew(store, first)
        await release(store, first)
        assert await take(store, "tick", "c") is None

    run(where, work)


def test_a_holder_that_renews_keeps_it(where):
    async def work(store, clock):
        held = await take(store, "tick", "a")
        for _ in range(5):
            await clock.sleep(leases.RENEW_S)
            await renew(store, held)
        assert await take(store, "tick", "b") is None

    run(where, work)


def test_a_holder_that_overslept_writes_nothing(where):
    async def work(store, clock):
        held = await take(store, "tick", "a")
        async with store.begin() as tx:
            await guard(tx, held)
        clock.offset += timedelta(seconds=leases.LEASE_S)
        await take(store, "tick", "b")

        async def write_late():
            async with store.begin() as tx:
                await tx.execute(lease.insert(), {"name": "late", "owner": "a", "until": clock.now(), "fence": 1})
                await guard(tx, held)

        with pytest.raises(LostLease):
            await write_late()
        async with store.read() as tx:
            assert (await tx.execute(select(lease.c.name))).scalars().all() == ["tick"]

    run(where, work)


def test_a_lease_cannot_change_hands_between_guard_and_commit(where):
    async def work(store, clock):
        held = await take(store, "tick", "a")
        clock.offset += timedelta(seconds=leases.LEASE_S)
        order = []
        async with store.begin() as tx:
            await guard(tx, held)
            rival = asyncio.create_task(take(store, "tick", "b"))
            # Long enough for a take-over that nothing holds up to be done.
            await asyncio.wait([rival], timeout=0.3)
            assert not rival.done()
            order.append("committed")
        assert (await asyncio.wait_for(rival, 5)).fence == held.fence + 1
        assert order == ["committed"]

    run(where, work)


def test_leases_of_different_names_do_not_touch_each_other(where):
    async def work(store, _clock):
        assert (await take(store, "tick", "a")).fence == 1
        assert (await take(store, "deliver", "b")).fence == 1

    run(where, work)
