"""kill -9 of a real API process at every step between verifying and answering, and at any moment at all.

Another process starts on the same database and the caller repeats its request with the same payment, as it was told.
No payment is lost, none is taken twice, and whoever is served is served one answer. On SQLite and on PostgreSQL.
"""

import asyncio
import random

import pytest

from proof import MODE, SEED, count
from tickyard.payments.offer.terms import FIRST, SECOND
from yards.paying import World
from yards.payment_yard import Yard

pytestmark = pytest.mark.timeout(1800)

KILLS = count(300)
EVERY = 6 if MODE == "quick" else 1
"""Of the steps of a sale, which are killed at."""
LIFE_S = 0.12
# Longer than any lease of a row.
LEASE_S = 40
# What others can see of a sale, in its order.
WRITE = ["before a write", "before a commit", "after a commit"]
STEPS = ["after a read", "verify asked", *WRITE, "run", *WRITE, "settle asked", "settle landed", *WRITE]


def run(where, scenario, **options):
    async def bounded():
        async with (
            asyncio.timeout(1700),
            World(where, processes=0) as world,
            Yard(world, wait_s=0.3, **options) as yard,
        ):
            await scenario(yard)

    asyncio.run(bounded())


class Reaper:
    """Kills a process when its sale has come so far."""

    def __init__(self, yard, at=None):
        self._yard = yard
        self._at = at
        self.victim = None
        self.steps = []
        yard.on_stage = self.step

    async def step(self, name):
        self.steps.append(name)
        if len(self.steps) - 1 == self._at:
            await self._yard.bury(self.victim)


async def until_served(yard, network, payment, answers):
    """The caller does as it is told: the same payment again, until the answer comes. Time goes by in between."""
    for _ in range(5):
        server = await yard.born()
        answer = await yard.ask(server, payment)
        await yard.bury(server)
        if answer.status == 200:
            break
        assert answer.is_retry_advice, (answer.status, answer.body)
        yard.move(LEASE_S)
    assert answer.status == 200
    answers.append(answer)
    assert len({(each.body, each.headers["payment-response"]) for each in answers}) == 1, "two answers for one payment"
    assert answer.receipt["transaction"] in yard.world.chains[network].mined
    assert answer.receipt["payer"] == yard.world.wallet.address


@pytest.mark.slow
def test_a_process_killed_at_any_step_loses_no_payment_and_takes_none_twice(where):
    async def scenario(yard):
        reaper = Reaper(yard)
        server = await yard.born()
        assert (await yard.ask(server, yard.payment(SECOND))).status == 200
        # Behind them, and behind the buyer's back, it notes that the answer has left.
        assert reaper.steps[: len(STEPS)] == STEPS, "these are the steps that are killed at"
        await yard.bury(server)
        for network in (FIRST, SECOND):
            await kill_at_each_step(yard, network)

    async def kill_at_each_step(yard, network):
        for turn, at in enumerate(range(0, len(STEPS), EVERY), start=yard.world.transfers(network) + 1):
            step = STEPS[at]
            payment = yard.payment(network)
            reaper = Reaper(yard, at)
            reaper.victim = await yard.born()
            assert await yard.ask(reaper.victim, payment) is None
            # The facilitator lives, and goes on with what it was asked.
            assert reaper.steps[: at + 1] == STEPS[: at + 1], step
            yard.on_stage = None
            assert yard.world.transfers(network) <= turn
            await until_served(yard, network, payment, [])
            assert yard.world.transfers(network) == turn, f"killed at {step}: {at}"

    run(where, scenario, is_staged=True)


@pytest.mark.slow
def test_a_process_killed_at_any_moment_loses_no_payment_and_takes_none_twice(where):
    dice = random.Random(SEED)

    async def scenario(yard):
        ends = []
        for _ in range(KILLS):
            network = dice.choice((FIRST, SECOND))
            before = yard.world.transfers(network)
            payment = yard.payment(network)
            server = await yard.born()
            # Some have sold before, so that the moment falls into a sale and not into the first query of a life.
            if dice.random() < 0.5:
                assert (await yard.ask(server, yard.payment(network))).status == 200
                before += 1
            request = asyncio.create_task(yard.ask(server, payment))
            await asyncio.wait({request}, timeout=dice.uniform(0, LIFE_S) ** 2 / LIFE_S)
            await yard.bury(server)
            answer = await request
            ends.append("served" if answer is not None else "cut")
            assert yard.world.transfers(network) <= before + 1
            await until_served(yard, network, payment, [answer] if answer is not None else [])
            assert yard.world.transfers(network) == before + 1
        print(f"{ends.count('cut')} cut, {ends.count('served')} served before they died")
        assert MODE == "quick" or ends.count("cut") > KILLS // 10, "the processes lived too long to prove anything"

    run(where, scenario)
