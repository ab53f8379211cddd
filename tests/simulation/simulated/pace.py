"""When the parts of a town wake up: clocks and pauses."""

import asyncio
from contextlib import suppress
from datetime import timedelta

from simulated.loop import START, VirtualClock


class EagerClock(VirtualClock):
    """An agent's: it wakes when somebody claims."""

    def __init__(self, world, process):
        super().__init__(world.loop, START)
        self._world = world
        self._process = process

    async def sleep(self, seconds):
        if seconds < 2:
            await super().sleep(seconds)
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._world.claimed.wait()
        await super().sleep(self._process.rng.uniform(0.05, 1.5))
        self._world.claimed.clear()


class SkewedClock(VirtualClock):
    """A worker's, which may be wrong."""

    skew = timedelta(0)

    def now(self):
        return super().now() + self.skew


class SimulatedPace:
    """The pauses of an agent: long, except when there is something to see."""

    def __init__(self, world, process):
        self._world = world
        self._process = process

    @property
    def round_s(self):
        now, rng = self._world.clock.now(), self._process.rng
        busy = now.hour == 0 or (now.hour == 1 and now.minute < 30)
        if self._world.is_moving:
            return rng.uniform(5, 40)
        return rng.uniform(60, 600) if busy else rng.uniform(2000, 12_000)

    trouble_s = round_s
    halted_s = 3000.0

    @property
    def stand_by_s(self):
        return self._process.rng.uniform(200, 4000)

    @property
    def renew_s(self):
        # Longer than a lease lasts: whoever stands by takes over in the middle of things.
        return self._process.rng.uniform(200, 3000)
