"""A process that writes rounds until it is killed. Run as a script: `writer.py ADDRESS`.

Importing takes longer than a life here, so this process stays and gives birth to writers: one per line that it
reads. It tells the pid of each, each tells the slots that were acknowledged, and its end is told too.
"""

import asyncio
import os
import sys
from datetime import UTC, datetime

from tickyard.features.history import reading, store
from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import UpstreamDown
from tickyard.market.sampling.rounds import Round, slot_number
from tickyard.store.opening import open_store

START = datetime(2026, 9, 16, tzinfo=UTC)
FIRST = slot_number(START)
TOKENS = 40


def price(slot: int, token_id: int) -> int:
    return (slot * 7_919 + token_id * 104_729) % 10**12 + 1


def say(text: str) -> None:
    os.write(1, f"{text}\n".encode())


async def write(where: str, slot: int | None = None, *, since: datetime = START) -> None:
    """From this slot on, or from the newest; history begins `since`."""
    opened = open_store(where, WallClock())
    async with opened.read() as tx:
        newest = await reading.newest_slot(tx)
    slot = slot or newest or FIRST
    while True:
        # A writer that starts again repeats the last slot, which must change nothing.
        prices = {n: price(slot, n) for n in range(1, TOKENS + 1)}
        taken = Round(slot, slot, "0x", prices, 0, START)
        try:
            async with opened.begin() as tx:
                await store.record(tx, taken, history_start=since)
        except UpstreamDown:
            continue
        say(f"ack {slot}")
        slot += 1


def main() -> None:
    say("ready")
    for _line in sys.stdin:
        child = os.fork()
        if child == 0:
            asyncio.run(write(sys.argv[1]))
        say(f"pid {child}")
        os.waitpid(child, 0)
        say("dead")


if __name__ == "__main__":
    main()
