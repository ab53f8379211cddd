"""Every move of a parcel is made once, by one."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from tickyard.kernel.clock import WallClock
from tickyard.store import outbox
from tickyard.store.opening import open_store
from yards import parcels
from yards.schema import lay

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)


def run(where, work):
    async def go():
        store = open_store(where, WallClock())
        try:
            await lay(store)
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(go())


async def put(store, **parcels):
    async with store.begin() as tx:
        return await outbox.put(tx, "webhook", parcels, NOW)


async def due(store, now=NOW):
    async with store.read() as tx:
        return await parcels.due(tx, "webhook", now, 100)


async def move(store, step, *args, **more):
    async with store.begin() as tx:
        return await step(tx, *args, **more)


async def state(store, key):
    async with store.read() as tx:
        return await parcels.state_of(tx, "webhook", key)


def test_a_key_goes_in_once_and_keeps_its_first_payload(where):
    async def work(store):
        assert await put(store, a={"n": 1, "text": "é"}, b={"n": 2}) == 2
        assert await put(store, a={"n": 9}, c={"n": 3}) == 1
        assert await put(store) == 0
        assert {parcel.key: parcel.payload["n"] for parcel in await due(store)} == {"a": 1, "b": 2, "c": 3}

    run(where, work)


@pytest.mark.slow
def test_ten_thousand_go_in_together(where):
    async def work(store):
        many = {f"k{n}": {"n": n, "text": 'a "quoted", {braced} \\ text'} for n in range(10_000)}
        async with store.begin() as tx:
            assert await outbox.put(tx, "webhook", many, NOW) == 10_000
        async with store.read() as tx:
            assert {p.key: p.payload for p in await parcels.due(tx, "webhook", NOW, 20_000)} == many

    run(where, work)


def test_of_many_that_start_one_sends(where):
    async def work(store):
        await put(store, a={})
        (parcel,) = await due(store)
        started = await asyncio.gather(*[move(store, outbox.start, parcel, NOW) for _ in range(6)])
        assert sorted(started) == [False] * 5 + [True]
        assert await state(store, "a") == "sending"
        assert await due(store) == []
        assert await move(store, outbox.finish, parcel, "delivered", LATER)
        assert not await move(store, outbox.finish, parcel, "failed", LATER)
        assert await state(store, "a") == "delivered"

    run(where, work)


def test_a_postponed_parcel_comes_back_when_it_is_due(where):
    async def work(store):
        await put(store, a={})
        (parcel,) = await due(store)
        assert await move(store, outbox.postpone, parcel, LATER, NOW)
        assert await due(store) == []
        (again,) = await due(store, LATER)
        assert (again.attempts, again.created_at) == (1, NOW)
        assert await move(store, outbox.give_up, again, LATER)
        assert await state(store, "a") == "failed"
        assert not await move(store, outbox.start, again, LATER)

    run(where, work)


def test_a_sending_interrupted_by_a_crash_becomes_unknown_and_is_never_sent_again(where):
    async def work(store):
        await put(store, a={}, b={})
        first, second = await due(store)
        await move(store, outbox.start, first, NOW)
        await move(store, outbox.start, second, LATER)
        settled = await move(store, outbox.settle_interrupted, "webhook", started_before=LATER, now=LATER)
        assert settled == 1
        assert await state(store, first.key) == "unknown"
        assert await state(store, second.key) == "sending"
        assert not await move(store, outbox.start, first, LATER)

    run(where, work)


def test_settled_parcels_are_forgotten_after_ninety_days_and_no_others(where):
    async def work(store):
        await put(store, a={}, b={})
        parcel = (await due(store))[0]
        await move(store, outbox.start, parcel, NOW)
        await move(store, outbox.finish, parcel, "delivered", NOW)
        assert await move(store, outbox.forget_old, NOW + outbox.KEEP) == 0
        assert await move(store, outbox.forget_old, NOW + outbox.KEEP + timedelta(seconds=1)) == 1
        assert await state(store, parcel.key) is None
        assert len(await due(store)) == 1

    run(where, work)
