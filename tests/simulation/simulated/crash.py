"""One claim, from the request to the closing of its epoch, with processes killed at chosen awaits."""

import asyncio
import logging
import shutil
from contextlib import suppress
from datetime import timedelta

from sqlalchemy import text

from simulated.auditor import Auditor
from simulated.faults import Faults
from simulated.loop import START, VirtualLoop
from simulated.people import WALLETS
from simulated.process import Doom
from simulated.run import scratch
from simulated.world import World
from tickyard.features.earn import rules
from tickyard.kernel.errors import Failure
from tickyard.payout.run import LEASE, Pauses, run_agent
from tickyard.store.leases import release, take

EPOCH = rules.accruing_epoch(START)
OPENS = rules.opens_at(EPOCH)


def run_claim(*kills):
    """Kill at these awaits. How many awaits there were, and what the auditor found."""
    folder = scratch()
    logging.disable(logging.CRITICAL)
    try:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            return runner.run(_live(Doom(*kills), folder))
    finally:
        logging.disable(logging.NOTSET)
        shutil.rmtree(folder, ignore_errors=True)


async def _live(doom, folder):
    world = World(1, folder, Faults(), doom)
    world.rng.seed(5)
    world.rest_s = lambda: 15
    await world.open()
    try:
        await _prepare(world)
        doom.is_counting = True
        world.spawn("api-1", world.api_life)
        world.spawn("agent-1", lambda process: _agent(world, process))
        world._jobs.append(world.loop.create_task(_mine(world)))
        await world.clock.sleep(0)
        answer = await _claim(world, WALLETS[0])
        await _confirmed(world)
        doom.is_counting = False
        points = doom.points
        world.retire()
        await world.clock.until(rules.closes_at(EPOCH))
        await world.work_once(world.birth("worker-1"))
        found = await Auditor(world).audit(is_final=True)
        if answer is None:
            found.append("the claim was never answered")
        if world.chain.state.usdg.get(WALLETS[0].address, 0) == 0:
            found.append("the claim was never paid")
        return points, found
    finally:
        await world.close()


async def _prepare(world):
    """A day until its claims are open."""
    world.chain.give("0x" + "7e" * 20, WALLETS[0].address, 10**25)
    process = world.birth("agent-0")
    worker = world.birth("worker-0")
    await world.work_once(worker)
    world.rng.seed(7)
    for _ in range(3):
        await world.people.settle_payment()
    world.chain.mine()
    world.second.mine()
    for moment in (rules.snapshot_at(EPOCH) - timedelta(seconds=9), rules.snapshot_at(EPOCH), OPENS):
        await world.clock.until(moment)
        for _ in range(6):
            world.chain.mine()
            world.second.mine()
        await world.work_once(worker)
    # Opened on the desk first.
    lease = await take(process.store, LEASE, "agent-0")
    await world.agent_of(process).run_once(lease)
    for _ in range(6):
        world.chain.mine()
    await world.work_once(worker)
    await release(process.store, lease)
    process.die()


async def _agent(world, process):
    await run_agent(world.agent_of(process), f"agent {world.lives}", Pauses(round_s=1.9))


async def _mine(world):
    while True:
        await world.clock.sleep(2)
        world.chain.mine()


async def _claim(world, wallet):
    for _ in range(200):
        with suppress(KeyError):
            answer = await world.people.ask("api-1", wallet, EPOCH)
            if answer is not None and not isinstance(answer, Failure):
                return answer
        await world.clock.sleep(2)
    return None


async def _confirmed(world):
    for _ in range(600):
        async with world.store.read() as tx:
            states = (await tx.execute(text("SELECT state FROM earn_line"))).scalars().all()
        if "confirmed" in states:
            return
        await world.clock.sleep(2)
