"""Worlds of payments over the real code.

python -m paid.run --seed 7 --worlds 1      one world, exactly as it was
"""

import argparse
import asyncio
import gc
import hashlib
import logging
import shutil
import sys

from paid.auditor import Auditor
from paid.world import World
from simulated.loop import VirtualLoop
from simulated.run import scratch, shard


async def _live(seed, folder, only):
    world = World(seed, folder, only)
    try:
        await world.live()
        found = Auditor(world).audit()
        truth = world.truth
        heads = [chain.blocks[-1].hash for chain in world.chains.values()]
        trace = hashlib.sha256(repr((heads, truth.answers, truth.asked, truth.kills)).encode()).hexdigest()[:16]
        return found, truth, trace, sum(len(chain.transfers()) for chain in world.chains.values())
    finally:
        await world.close()


def tell(seed, only=None):
    """One world: a line about it, how many answers there were, and what was found. `only`: these faults, so likely."""
    folder = scratch()
    logging.disable(logging.CRITICAL)
    gc.freeze()
    try:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            found, truth, trace, transfers = runner.run(_live(seed, folder, only))
    finally:
        gc.unfreeze()
        logging.disable(logging.NOTSET)
        shutil.rmtree(folder, ignore_errors=True)
    line = (
        f"seed {seed}: {len(truth.payments)} payments signed, {len(truth.answers)} answers, {transfers} transfers, "
        f"{truth.kills} kills, trace {trace}"
    )
    return "\n".join([line, *(f"  VIOLATION: {each}" for each in found[:10])]), len(truth.answers), len(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--worlds", type=int, default=1)
    parser.add_argument("--shards", action="store_true", help="on every core")
    asked = parser.parse_args()
    seeds = range(asked.seed, asked.seed + asked.worlds)
    for text, _, violations in shard(tell, seeds) if asked.shards else map(tell, seeds):
        print(text, flush=True)
        if violations:
            sys.exit(1)


if __name__ == "__main__":
    main()
