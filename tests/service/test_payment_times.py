"""Payments and the clocks of their chains: what is old, what is far from final, and a clock that is not ours."""

import asyncio
import contextlib
import pathlib
import random
from types import SimpleNamespace

import pytest
from sqlalchemy import select

from tickyard.payments.offer.terms import FIRST, SECOND
from tickyard.payments.proof.reconcile import look_after
from tickyard.store.revenue import revenue
from tickyard.store.sqlite.engine import SqliteStore
from yards import paying

call, run = paying.call, paying.run
URL = "/v1/x402/item/AAPL"
BOTH = pytest.mark.parametrize("network", [FIRST, SECOND])


async def worker(world, finality=1):
    process = world.processes[0]
    return await look_after(process.ledger, process.proofs, finality=finality, is_forced=True)


async def credited(world):
    async with world.processes[0].store.read() as tx:
        return (await tx.execute(select(revenue.c.amount_raw))).scalars().all()


@pytest.mark.slow
@BOTH
def test_a_payment_is_credited_however_often_the_chain_was_looked_at_before_it_was_final(tmp_path, network):
    """A busy worker sees a new block every few seconds, and finality is twenty minutes behind it."""

    async def scenario(world):
        chain, proof = world.chains[network], world.processes[0].proofs[network]
        assert (await call(world.app, "GET", URL, world.payment(network=network))).status == 200
        for _ in range(1100):
            world.clock.move(2)
            chain.grow(1)
            await proof.tip()
        assert await worker(world, finality=600) == {"credited": 1}

    run(tmp_path, scenario)


@pytest.mark.slow
@BOTH
def test_payments_of_many_days_are_credited_together(tmp_path, network):
    """The worker was away for four days. Each payment's blocks are far from the others'."""

    async def scenario(world):
        chain = world.chains[network]
        for _ in range(90):
            assert (await call(world.app, "GET", URL, world.payment(network=network))).status == 200
            for _ in range(60):
                world.clock.move(60)
                chain.grow(1)
        assert await worker(world) == {"credited": 90}

    run(tmp_path, scenario)


@pytest.mark.slow
@pytest.mark.parametrize("behind_s", [130, 1800])
@BOTH
def test_a_chain_whose_clock_is_behind_ours_still_shows_what_was_paid(tmp_path, network, behind_s):
    async def scenario(world):
        chain, far = world.chains[network], world.facilitators[network]
        chain.clock = SimpleNamespace(seconds=lambda: world.clock.seconds() - behind_s)
        for is_lost in (False, True):
            for _ in range(20):
                world.clock.move(5)
                chain.grow(1)
                await worker(world)
            far.script["settle"] = ["cut-landed"] if is_lost else []
            assert (await call(world.app, "GET", URL, world.payment(network=network))).status == 200
        for _ in range(20):
            world.clock.move(30)
            chain.grow(1)
            await worker(world)
        assert await credited(world) == [10_000] * 2

    run(tmp_path, scenario)


@BOTH
def test_a_clock_that_was_put_right_after_a_sale_loses_no_payment(tmp_path, network):
    async def scenario(world):
        chain, far = world.chains[network], world.facilitators[network]
        for _ in range(20):
            world.clock.move(30)
            chain.grow(1)
            await worker(world)
        # Our clock is half an hour ahead when it sells, and right when it looks.
        world.clock.move(1800)
        chain.clock = SimpleNamespace(seconds=lambda: world.clock.seconds() - 1800)
        far.script["settle"] = ["refuse"]
        payment = world.payment(network=network)
        assert (await call(world.app, "GET", URL, payment)).status == 402
        chain.pay(*far._parts(far.asked["settle"][-1]))
        for _ in range(20):
            world.clock.move(30)
            chain.grow(1)
        world.clock.move(-1800)
        chain.clock = world.clock
        chain.grow(1)
        assert await worker(world) == {"settled": 1}
        assert await worker(world) == {"credited": 1}

    run(tmp_path, scenario)


class PausedStore(SqliteStore):
    """Its process stands still after the second commit, which says `settling`, until it is woken."""

    def __init__(self, where, clock):
        super().__init__(pathlib.Path(where), clock, random.Random(1))
        self.commits = 0
        self.is_asleep, self.wakes = asyncio.Event(), asyncio.Event()

    @contextlib.asynccontextmanager
    async def begin(self, **how):
        async with super().begin(**how) as tx:
            yield tx
        self.commits += 1
        if self.commits == 2:
            self.is_asleep.set()
            await self.wakes.wait()


@BOTH
@pytest.mark.parametrize("is_repeated", [True, False])
def test_who_overslept_a_settlement_does_not_ask_for_the_money_any_more(tmp_path, network, is_repeated):
    """A paused machine: the buyer was told by another process that nobody knows, and went."""
    stores = []

    def open_store(where, clock):
        stores.append(PausedStore(where, clock))
        return stores[-1]

    async def scenario(world):
        payment = world.payment(network=network)
        paused = asyncio.create_task(call(world.app, "GET", URL, payment))
        await stores[0].is_asleep.wait()
        stores[1].commits = 2
        world.clock.move(40)
        if is_repeated:
            world.facilitators[network].script["settle"] = ["500"]
            assert (await call(world.processes[1].app, "GET", URL, payment)).is_retry_advice
        asked = world.settles(network)
        stores[0].wakes.set()
        assert (await paused).is_retry_advice
        assert (world.settles(network), world.transfers(network)) == (asked, 0)
        # Only the buyer's own repeat may.
        world.clock.move(5)
        assert (await call(world.processes[1].app, "GET", URL, payment)).status == 200
        assert world.transfers(network) == 1

    run(tmp_path, scenario, processes=2, open_store=open_store)
