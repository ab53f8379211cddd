"""kill -9 at random points: what was acknowledged is there, no slot is partial, nothing is there twice."""

import asyncio
import os
import random
import select
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import func
from sqlalchemy import select as query

from proof import count
from tickyard.features.history import reading
from tickyard.features.history.candles import fold
from tickyard.features.history.operations import SECONDS
from tickyard.features.history.tables import recorded, sample
from tickyard.kernel.clock import WallClock
from tickyard.kernel.ids import Address, Symbol
from tickyard.market.sampling.rounds import slot_number
from tickyard.store.opening import open_store
from tickyard.store.tokens import token_ids
from yards.schema import lay

KILLS = count(300)
LIFE_S = 0.25
CLOCK = WallClock()
TOKENS = 40
FIRST = slot_number(datetime(2026, 9, 16, tzinfo=UTC))


def price(slot, token_id):
    return (slot * 7_919 + token_id * 104_729) % 10**12 + 1


class Writers:
    """Writers, one at a time, through the process that gives birth to them."""

    def __init__(self, where):
        script = Path(__file__).with_name("writer.py")
        pipe = subprocess.PIPE
        self._nursery = subprocess.Popen([sys.executable, script, where], stdin=pipe, stdout=pipe)
        self._rest = b""
        self.acknowledged = []
        assert self._line(30) == "ready"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._nursery.stdin.close()
        self._nursery.wait(10)
        self._nursery.stdout.close()

    def live(self, seconds, *, from_birth):
        """One writer, killed so many seconds after its birth, or after its first acknowledgement."""
        os.write(self._nursery.stdin.fileno(), b"go\n")
        first = self._line(10)
        while not first.startswith("pid "):
            self._note(first)
            first = self._line(10)
        if not from_birth:
            self._note(self._line(10))
        end = CLOCK.monotonic() + seconds
        while (line := self._line(max(0, end - CLOCK.monotonic()))) is not None and CLOCK.monotonic() < end:
            self._note(line)
        if line is not None:
            self._note(line)
        os.kill(int(first.split()[1]), signal.SIGKILL)
        while (line := self._line(10)) != "dead":
            self._note(line)

    def _note(self, line):
        word, slot = line.split()
        assert word == "ack"
        self.acknowledged.append(int(slot))

    def _line(self, seconds):
        """The next line, or None when none comes in time."""
        out = self._nursery.stdout.fileno()
        while b"\n" not in self._rest:
            if not select.select([out], [], [], seconds)[0]:
                return None
            more = os.read(out, 65536)
            assert more, "the writers' parent is gone"
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode()


async def _prepare(where):
    store = open_store(where, WallClock())
    await lay(store)
    async with store.begin() as tx:
        await token_ids(tx, [(Symbol(f"T{n}"), Address(f"0x{n:040x}")) for n in range(1, TOKENS + 1)])
    await store.close()


async def _audit(where, acknowledged):
    store = open_store(where, WallClock())
    async with store.read() as tx:
        slots = (await tx.execute(query(recorded.c.slot).order_by(recorded.c.slot))).scalars().all()
        samples = (await tx.execute(query(func.count()).select_from(sample))).scalar_one()
        assert set(acknowledged) <= set(slots), "an acknowledged slot is lost"
        assert slots == list(range(FIRST, FIRST + len(slots))), "a slot is missing or there twice"
        assert samples == TOKENS * len(slots), "a slot is partial"
    await store.close()
    return slots


async def _audit_candles(where, slots):
    store = open_store(where, WallClock())
    async with store.read() as tx:
        for token_id in (1, 17, TOKENS):
            samples = [(slot, price(slot, token_id)) for slot in slots]
            for interval_s in SECONDS.values():
                assert (await reading.page(tx, Address(f"0x{token_id:040x}"), interval_s, len(slots))).candles == fold(
                    samples, interval_s
                )
    await store.close()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_writer_killed_at_any_point_loses_nothing_and_leaves_no_partial_slot(where):
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}, {KILLS} kills")
    rng = random.Random(seed)
    asyncio.run(_prepare(where))
    slots = []
    with Writers(where) as writers:
        for _ in range(KILLS):
            writers.live(rng.uniform(0, LIFE_S), from_birth=rng.random() < 0.2)
            slots = asyncio.run(_audit(where, writers.acknowledged))
    assert len(writers.acknowledged) > KILLS, "the writers lived too short to prove anything"
    asyncio.run(_audit_candles(where, slots))
    print(f"{len(writers.acknowledged)} acknowledged, {len(slots)} slots")
