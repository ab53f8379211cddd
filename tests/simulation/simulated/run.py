"""Simulated days over the real code.

python -m simulated.run --seed 7            one world, exactly as it was
python -m simulated.run --total 100000      the long run; with --progress FILE it goes on where it was interrupted
"""

import argparse
import asyncio
import gc
import hashlib
import logging
import os
import shutil
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from multiprocessing import get_context
from pathlib import Path

import msgspec

from simulated.auditor import Auditor
from simulated.disk import ServerLoop
from simulated.loop import START, VirtualLoop
from simulated.people import WALLETS
from simulated.world import FATE, World
from tickyard.features.earn.books.sums import unbalanced_epochs

DAYS_PER_WORLD = 10
CALM_DAYS = 2
FEW = 10
WORLDS_PER_PROCESS = 200
"""Then it makes room for a new one: a long run must not need more memory in its tenth hour than in its first."""


def scratch():
    """Memory when the system has a folder for it: every commit is synced, and nothing here outlives the run."""
    memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="tickyard-sim-", dir=memory if memory.is_dir() else None))


async def live(seed, days, folder, mood=None, url=None):
    """One world for so many days, audited each noon; then two calm days, after which nothing may be open."""
    world = World(seed, folder, mood=mood, url=url)
    await world.open()
    found = []
    try:
        world._jobs += [
            world.loop.create_task(life)
            for life in (
                world.nature.miner_life(),
                world.people.buyer_life(),
                world.people.trader_life(),
                world.people.mischief_life(),
                world.nature.edge_life(),
                world.people.crowd_life(),
            )
        ]
        world._jobs.append(world.loop.create_task(world.nature.fate_life(), name=FATE))
        for n in (1, 2, 3):
            world.spawn(f"api-{n}", world.api_life)
        for n in (1, 2):
            world.spawn(f"worker-{n}", world.worker_life)
            world.spawn(f"agent-{n}", world.agent_life)
        world._jobs += [world.loop.create_task(world.people.holder_life(wallet)) for wallet in WALLETS]
        for day in range(1, days + CALM_DAYS + 1):
            await world.clock.until(START + timedelta(days=day))
            if day == days:
                world.calm()
            found = await Auditor(world).audit(is_final=day == days + CALM_DAYS)
            # And what the house itself would cry about.
            found += [f"the house itself finds {each} unbalanced" for each in await unbalanced_epochs(world)]
            if found:
                break
        seen = world.truth
        trace = world.chain.blocks[-1].hash, seen.answers, sorted(seen.lies), seen.settlements, seen.kills, found
        return found, world.truth, hashlib.sha256(repr(trace).encode()).hexdigest()[:16], world.chain
    finally:
        await world.close()


def run_world(seed, days=DAYS_PER_WORLD, mood=None, url=None):
    """`url`: its books are in that database, which has its schema, and not in a file."""
    folder = scratch()
    logging.disable(logging.CRITICAL)
    # Statements leave much behind, and little of it in circles: looking for them rarely saves a twentieth of the time.
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    try:
        with asyncio.Runner(loop_factory=ServerLoop if url else VirtualLoop) as runner:
            return runner.run(live(seed, days, folder, mood, url))
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
        # A world is one great circle, and so rarely looked for it would stay beside the next hundred.
        gc.collect()
        logging.disable(logging.NOTSET)
        shutil.rmtree(folder, ignore_errors=True)


def shard(work, *arguments, cores=None):
    """Run on every core, in processes of their own; results as they come. A few are not worth starting them."""
    if len(arguments[0]) <= FEW or cores == 1:
        yield from map(work, *arguments)
        return
    cores = cores or os.cpu_count() or 2
    with ProcessPoolExecutor(cores, get_context("spawn"), max_tasks_per_child=WORLDS_PER_PROCESS) as pool:
        yield from pool.map(work, *arguments)


class Lived(msgspec.Struct, kw_only=True):
    """What became of one world."""

    seed: int
    days: int
    claims: int
    answered: int
    kills: int
    reorganisations: int
    lost: int
    trace: str
    violations: list[str]

    @property
    def told(self):
        return (
            f"seed {self.seed}: {self.days} days, {self.claims} claims, {self.answered} answered, {self.kills} kills, "
            f"{self.reorganisations} reorganisations, {self.lost} lost, trace {self.trace}"
        )


def lived(seed, days=DAYS_PER_WORLD, mood=None, url=None):
    found, truth, trace, chain = run_world(seed, days, mood, url)
    return Lived(
        seed=seed, days=days, claims=truth.claims, answered=truth.paid_answers, kills=truth.kills,
        reorganisations=chain.reorgs, lost=chain.forgets, trace=trace, violations=found[:10],
    )  # fmt: skip


def tell(seed, days=DAYS_PER_WORLD, mood=None, url=None):
    """One world: a line about it, and how many violations there were."""
    world = lived(seed, days, mood, url)
    return "\n".join([world.told, *_wrong(world)]), world.answered, len(world.violations)


def _wrong(world):
    return [f"  VIOLATION: {each}" for each in world.violations]


def read_progress(path):
    """The worlds that were lived through without a violation, by seed. The last line may be torn."""
    found = {}
    for line in path.read_bytes().splitlines() if path.exists() else ():
        try:
            world = msgspec.json.decode(line, type=Lived)
        except msgspec.DecodeError:
            continue
        if not world.violations:
            found[world.seed] = world
    return found


def live_on(seeds, progress=None, cores=None):
    """Every world of these seeds that was not lived through yet; each as it comes, and written down at once."""
    known = read_progress(progress) if progress else {}
    yield from (known[seed] for seed in seeds if seed in known)
    left = [seed for seed in seeds if seed not in known]
    for world in shard(lived, left, cores=cores):
        if progress:
            with progress.open("ab") as file:
                file.write(b"\n" + msgspec.json.encode(world))
        yield world


def total(worlds):
    """One line about all of them. The calm days at the end of each count: they are lived and audited too."""
    days = sum(world.days + CALM_DAYS for world in worlds)
    sums = (
        f"{sum(getattr(world, name) for world in worlds)} {name}"
        for name in ("claims", "answered", "kills", "reorganisations", "lost")
    )
    seeds = f"seeds {min(each.seed for each in worlds)} to {max(each.seed for each in worlds)}"
    return f"{len(worlds)} worlds, {days} days, {seeds}: {', '.join(sums)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the first one")
    parser.add_argument("--days", type=int, default=DAYS_PER_WORLD, help="in one world, before the calm ones")
    parser.add_argument(
        "--mood", type=float, help="how bad things are: 0 nothing fails, 2 is terrible; left out, luck says"
    )
    parser.add_argument("--worlds", type=int, default=1, help="this many, with one seed after the other")
    parser.add_argument("--total", type=int, help="instead: so many days in all, on every core")
    parser.add_argument("--cores", type=int, help="on so many of them")
    parser.add_argument("--progress", type=Path, help="write every world down here, and leave out those that are")
    asked = parser.parse_args()
    if asked.total:
        worlds = -(-asked.total // (DAYS_PER_WORLD + CALM_DAYS))
        told = live_on(range(asked.seed, asked.seed + worlds), asked.progress, asked.cores)
    else:
        told = (lived(seed, asked.days, asked.mood) for seed in range(asked.seed, asked.seed + asked.worlds))
    all_of_them = []
    for world in told:
        print(world.told, *_wrong(world), sep="\n", flush=True)
        if world.violations:
            sys.exit(1)
        all_of_them.append(world)
    if asked.total:
        print(total(all_of_them))


if __name__ == "__main__":
    main()
