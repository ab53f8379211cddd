"""A crowd of payments that cost their sender nothing, at a store that has few connections."""

import asyncio
import contextlib
import random

import pytest

from tickyard.kernel.clock import WallClock, breathe
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.payments.books.turns import AT_ONCE, Turns
from tickyard.payments.offer.terms import SECOND
from tickyard.payments.selling.pickup import AT_ONCE as SIGNING_IN
from tickyard.payments.signed.key import Key
from tickyard.store.group_commit import AT_ONCE as WRITING
from tickyard.store.migrate import migrate
from tickyard.store.sqlite.engine import SqliteStore
from yards import paying
from yards.patience import STUCK_S
from yards.payer import Wallet, sign_in

URL = "/v1/x402/item/AAPL"
KEYS = [Key(SECOND, Address("0x" + "aa" * 20), Address("0x" + "bb" * 20), f"0x{n:064x}") for n in range(50)]


@pytest.mark.database
def test_a_crowd_of_bad_payments_leaves_connections_to_others_and_hears_of_no_trouble(postgres_server):
    async def run():
        most = 0
        async with asyncio.timeout(STUCK_S), paying.World(postgres_server.new_database(), verify_s=60.0) as world:
            store = world.processes[0].store
            world.facilitators[SECOND].modes["verify"] = "refuse"

            async def buy(n):
                nonlocal most
                payment = world.payment(wallet=Wallet())
                most = max(most, store.lent)
                return await paying.call(world.app, "GET", URL, payment, client=(f"203.0.113.{n}", 1234))

            answers = await asyncio.gather(*(buy(n) for n in range(200)))
            assert {answer.status for answer in answers} == {402}
            assert most <= AT_ONCE

    asyncio.run(run())


@pytest.mark.database
def test_a_crowd_that_pays_leaves_connections_to_others_and_hears_of_no_trouble(postgres_server):
    async def run():
        most = 0
        patient = {"verify_s": 60.0, "settle_s": 60.0}
        async with asyncio.timeout(STUCK_S), paying.World(postgres_server.new_database(), **patient) as world:
            store = world.processes[0].store

            async def buy():
                nonlocal most
                answer = await paying.call(world.app, "GET", URL, world.payment(wallet=Wallet()))
                most = max(most, store.lent)
                return answer

            answers = await asyncio.gather(*(buy() for _ in range(200)))
            assert {answer.status for answer in answers} == {200}
            assert most <= AT_ONCE + WRITING

    asyncio.run(run())


@pytest.mark.database
def test_a_crowd_that_signs_in_leaves_connections_to_others_and_hears_of_no_trouble(postgres_server):
    async def run():
        most = 0
        async with asyncio.timeout(STUCK_S), paying.World(postgres_server.new_database()) as world:
            store = world.processes[0].store
            offer = (await paying.call(world.app, "GET", URL)).json()["extensions"]["sign-in-with-x"]
            headers = [sign_in(offer, Wallet(), SECOND) for _ in range(200)]

            async def ask(header):
                nonlocal most
                answer = await paying.call(world.app, "GET", URL, header)
                most = max(most, store.lent)
                return answer

            answers = await asyncio.gather(*map(ask, headers))
            assert {answer.status for answer in answers} == {402}
            assert most <= SIGNING_IN

    asyncio.run(run())


class GatedStore(SqliteStore):
    """Whoever looks waits at a gate; behind it the store may be gone."""

    def __init__(self, where):
        super().__init__(where, WallClock(), random.Random(1))
        self.gate = asyncio.Event()
        self.is_gone = False
        self.looking = self.most = 0

    @contextlib.asynccontextmanager
    async def glance(self):
        self.looking += 1
        self.most = max(self.most, self.looking)
        try:
            await self.gate.wait()
            if self.is_gone:
                raise UpstreamDown("the store does not answer")
            async with super().glance() as tx:
                await breathe()
                yield tx
        finally:
            self.looking -= 1


def gated(tmp_path, scenario):
    async def run():
        store = GatedStore(tmp_path / "store.db")
        try:
            store.gate.set()
            await migrate(store)
            store.gate.clear()
            turns = Turns(store)
            tasks = [asyncio.create_task(turns.find(key)) for key in KEYS]
            await breathe()
            async with asyncio.timeout(STUCK_S):
                await scenario(store, turns, tasks)
            # Whatever happened, the next one is served.
            store.is_gone = False
            assert await turns.find(KEYS[0]) is None
            assert store.most == AT_ONCE
            assert (turns._busy, len(turns._waiting), len(turns._servers)) == (0, 0, 0)
        finally:
            await store.close()

    asyncio.run(run())


def test_all_of_a_crowd_are_looked_up(tmp_path):
    async def scenario(store, turns, tasks):
        store.gate.set()
        assert await asyncio.gather(*tasks) == [None] * len(KEYS)

    gated(tmp_path, scenario)


def test_when_the_store_is_gone_nobody_of_a_crowd_waits_for_a_turn_to_hear_it(tmp_path):
    async def scenario(store, turns, tasks):
        store.is_gone = True
        store.gate.set()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        assert {type(end) for end in ends} == {UpstreamDown}

    gated(tmp_path, scenario)


def test_who_leaves_the_crowd_keeps_nobody_waiting(tmp_path):
    async def scenario(store, turns, tasks):
        # Of those who are being looked up, and of those who wait.
        for task in tasks[:2] + tasks[10:20]:
            task.cancel()
        await breathe()
        store.gate.set()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        assert ends.count(None) == len(KEYS) - 12

    gated(tmp_path, scenario)
