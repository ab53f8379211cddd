"""The API killed in the middle of the stream, the listener goes on elsewhere: every sample once, in order."""

import asyncio
import contextlib
import os
import random
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from proof import SEED, count
from tickyard.client.stream import listen
from tickyard.features.history.store import record
from tickyard.kernel.clock import WallClock
from tickyard.kernel.ids import Address, Symbol
from tickyard.market.sampling.rounds import Round, slot_number, slot_start
from tickyard.store.opening import open_store
from tickyard.store.tokens import token_ids
from yards.patience import STUCK_S
from yards.schema import lay

KILLS = count(200)
START = datetime(2026, 9, 16, tzinfo=UTC)
FIRST = slot_number(START)
SYMBOLS = ["AAPL", "MSFT", "TSLA"]
DAY = 288


class Hasty(WallClock):
    """Pauses are not what is tested."""

    async def sleep(self, seconds):
        await super().sleep(min(seconds, 0.005))


class Servers:
    def __init__(self, where):
        pipe = subprocess.PIPE
        self._nursery = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("stream_server.py"), where], stdin=pipe, stdout=pipe
        )
        assert self._nursery.stdout.readline() == b"ready\n"
        self.pid = None

    def another(self):
        """A new one on a port of its own; the address."""
        os.write(self._nursery.stdin.fileno(), b"go\n")
        self.pid, port = map(int, self._nursery.stdout.readline().split())
        return f"http://127.0.0.1:{port}"

    def kill(self):
        if self.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        self.pid = None

    def close(self):
        self.kill()
        self._nursery.stdin.close()
        self._nursery.wait(10)
        self._nursery.stdout.close()


class Rounds:
    """A worker that records a round whenever it is told to."""

    def __init__(self, store):
        self.store = store
        self.slot = FIRST
        self.heard = FIRST
        """How far the listener is."""
        self.ids = {}

    async def begin(self):
        async with self.store.begin() as tx:
            tokens = [(Symbol(name), Address(f"0x{n:040x}")) for n, name in enumerate(SYMBOLS, 1)]
            self.ids = await token_ids(tx, tokens)

    async def record(self):
        prices = {token_id: self.slot * 1000 + token_id for token_id in self.ids.values()}
        taken = Round(self.slot, self.slot, "0x", prices, 0, slot_start(self.slot))
        async with self.store.begin() as tx:
            await record(tx, taken, history_start=START)
        self.slot += 1


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_sample_is_heard_once_and_in_order_whoever_is_killed(where):
    rng = random.Random(f"{SEED}/stream")
    servers = Servers(where)
    heard = []

    async def live():
        store = open_store(where, WallClock())
        await lay(store)
        rounds = Rounds(store)
        await rounds.begin()
        await rounds.record()
        last_id, kills = None, 0
        try:
            while kills < KILLS:
                url = servers.another()
                wanted = rng.randint(1, 4)
                told = listen(url, Hasty(), events=["sample", "candle"], last_event_id=last_id)
                feeding = asyncio.create_task(feed(rounds, rng))
                got = 0
                async with asyncio.timeout(STUCK_S):
                    async for event in told:
                        last_id = event.id or last_id
                        heard.append((event.name, event.data))
                        if event.name == "sample":
                            got += 1
                            rounds.heard = slot_number(datetime.fromisoformat(event.data["slot"]))
                        if got >= wanted or (event.name == "snapshot" and rng.random() < 0.5):
                            break
                servers.kill()
                await told.aclose()
                feeding.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await feeding
                kills += 1
            # The last one tells the rest.
            url = servers.another()
            last = slot_start(rounds.slot - 1).isoformat().replace("+00:00", "Z")
            async with asyncio.timeout(STUCK_S):
                if samples(heard)[-1] != last:
                    async for event in listen(url, Hasty(), events=["sample", "candle"], last_event_id=last_id):
                        heard.append((event.name, event.data))
                        if event.name == "sample" and event.data["slot"] == last:
                            break
        finally:
            await store.close()
        return rounds.slot

    try:
        end = asyncio.run(live())
    finally:
        servers.close()
    assert "gap" not in {name for name, _ in heard}
    assert sum(name == "snapshot" for name, _ in heard) == 1
    slots = samples(heard)
    [begun] = [data["lastSlot"] for name, data in heard if name == "snapshot"]
    every = [slot_start(slot).isoformat().replace("+00:00", "Z") for slot in range(FIRST, end)]
    assert slots == every[every.index(begun) + 1 :]
    shut = [data["t"] for name, data in heard if name == "candle" and data["interval"] == "1h"]
    assert shut == sorted(set(shut))
    for name, data in heard:
        if name == "sample":
            assert [item["symbol"] for item in data["samples"]] == SYMBOLS


def samples(heard):
    return [data["slot"] for name, data in heard if name == "sample"]


async def feed(rounds, rng):
    """Rounds while the server lives and perhaps dies, never a whole day ahead: that would be a gap, and rightly."""
    while True:
        if rounds.slot - rounds.heard < DAY // 2:
            await rounds.record()
        await WallClock().sleep(rng.random() * 0.01)
