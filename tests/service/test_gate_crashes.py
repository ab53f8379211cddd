"""A process that dies at any step between verifying and answering: no payment lost, none taken or served twice.

Every step of a sale that others can see is a stage: each read, each write before and after its commit, the run, and
the facilitator's two calls, before and after the money moved. The process dies at one of them, another one starts, and
the caller repeats its request, or never comes back and the worker finds out.
"""

import asyncio
import contextlib
import pathlib
import random
from collections import Counter

import pytest

from tickyard.payments.offer.terms import FIRST, SECOND
from tickyard.payments.proof.reconcile import look_after
from tickyard.store.sqlite.engine import SqliteStore
from yards import paying
from yards.patience import STUCK_S

URL = "/v1/x402/item/AAPL"
# A sale is over long before this many stages.
FAR = 60


class StagedStore(SqliteStore):
    """A store that says when it is about to do something, and when it has done it."""

    reaper = None

    @contextlib.asynccontextmanager
    async def begin(self, **how):
        await self.reaper.stage("before a write")
        async with super().begin(**how) as tx:
            yield tx
            await self.reaper.stage("before a commit")
        await self.reaper.stage("after a commit")

    @contextlib.asynccontextmanager
    async def glance(self):
        async with super().glance() as tx:
            yield tx
        await self.reaper.stage("after a read")


class Reaper:
    """Kills what runs at a stage."""

    def __init__(self):
        self.count = 0
        self.at = FAR
        self.killed_at = None
        self.victims = lambda: ()

    async def stage(self, name):
        self.count += 1
        if self.count == self.at:
            self.killed_at = name
            for task in self.victims():
                task.cancel()
            # Whoever is a victim ends here; the far end just goes on.
            await asyncio.sleep(0)  # noqa: TID251  one turn of the loop, for the cancellation to arrive


async def live(world, reaper, payment, at):
    """One process and one request; the process dies at a stage. Returns the answer, None when there was none."""
    process = await world.new_process()
    reaper.count, reaper.at, reaper.killed_at = 0, at, None
    request = asyncio.create_task(paying.call(process.app, "GET", URL, payment))
    pen = process.ledger.pen
    reaper.victims = lambda: [
        request,
        *(flight.task for flight in process.cashier._flights.values()),
        *([pen.task] if pen.task else []),
    ]
    try:
        return await request
    except asyncio.CancelledError:
        return None
    finally:
        reaper.at, reaper.sale = FAR * 1000, reaper.count
        await process.cashier.drain()


async def audit(world, network, *, is_served):
    transfers = world.transfers(network)
    assert transfers <= 1
    if is_served:
        assert transfers == 1
    assert world.deps.runs <= 3


def run(tmp_path, scenario):
    async def bounded():
        reaper = Reaper()

        def open_store(where, clock):
            store = StagedStore(pathlib.Path(where), clock, random.Random(1))
            store.reaper = reaper
            return store

        async with (
            asyncio.timeout(STUCK_S),
            paying.World(tmp_path / "x.db", processes=0, open_store=open_store) as world,
        ):
            world.deps.on_stage = reaper.stage
            for facilitator in world.facilitators.values():
                facilitator.on_stage = reaper.stage
            return await scenario(world, reaper)

    return asyncio.run(bounded())


async def until_served(world, reaper, network, payment):
    """The caller does as it is told: the same payment again, until the answer comes."""
    for _ in range(4):
        world.clock.move(35)
        answer = await live(world, reaper, payment, FAR)
        if answer.status == 200:
            break
        assert answer.is_retry_advice
    assert answer.status == 200
    assert answer.receipt["transaction"] in world.chains[network].mined
    await audit(world, network, is_served=True)
    again = await live(world, reaper, payment, FAR)
    assert (again.body, again.receipt) == (answer.body, answer.receipt)
    await audit(world, network, is_served=True)


def stages_of_a_sale(tmp_path):
    async def scenario(world, reaper):
        assert (await live(world, reaper, world.payment(), FAR)).status == 200
        return reaper.sale

    return run(tmp_path, scenario)


def test_a_sale_has_the_stages_that_this_file_kills_at(tmp_path):
    assert stages_of_a_sale(tmp_path) == 14


@pytest.mark.slow
@pytest.mark.parametrize("network", [FIRST, SECOND])
def test_a_caller_who_comes_back_after_any_crash_is_served_for_one_payment(tmp_path, network):
    stages = stages_of_a_sale(tmp_path)
    for at in range(1, stages + 1):

        async def scenario(world, reaper, at=at):
            payment = world.payment(network=network)
            answer = await live(world, reaper, payment, at)
            assert reaper.killed_at is not None
            await audit(world, network, is_served=answer is not None)
            await until_served(world, reaper, network, payment)

        folder = tmp_path / str(at)
        folder.mkdir()
        run(folder, scenario)


@pytest.mark.slow
def test_crashes_may_follow_one_another(tmp_path):
    stages = stages_of_a_sale(tmp_path)
    dice = random.Random(20260916)
    for turn in range(20):
        first, second = dice.randint(1, stages), dice.randint(1, stages)

        async def scenario(world, reaper, first=first, second=second):
            payment = world.payment(network=FIRST)
            for at in (first, second):
                await live(world, reaper, payment, at)
                await audit(world, FIRST, is_served=False)
                world.clock.move(35)
            await until_served(world, reaper, FIRST, payment)

        folder = tmp_path / str(turn)
        folder.mkdir()
        run(folder, scenario)


@pytest.mark.slow
@pytest.mark.parametrize("network", [FIRST, SECOND])
def test_when_the_caller_never_comes_back_the_worker_finds_out_and_the_books_are_right(tmp_path, network):
    stages = stages_of_a_sale(tmp_path)
    for at in range(1, stages + 1):

        async def scenario(world, reaper, at=at):
            payment = world.payment(network=network)
            await live(world, reaper, payment, at)
            world.facilitators[network].modes["settle"] = "cut"
            worker = await world.new_process()
            settles = world.settles(network)
            ended = Counter()
            for _ in range(14):
                world.clock.move(35)
                ended += await look_after(worker.ledger, worker.proofs, finality=0)
            # It looked, booked and gave up, and asked nobody for money.
            assert await worker.ledger.due(network, 10, is_forced=True) == []
            assert world.settles(network) == settles
            assert ended["credited"] == world.transfers(network)

        folder = tmp_path / str(at)
        folder.mkdir()
        run(folder, scenario)
