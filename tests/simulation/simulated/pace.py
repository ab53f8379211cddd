"""When the parts of a town wake up: clocks and pauses."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from simulated.loop import START, VirtualClock


class Lightly(float):
    """Seconds of a sleep from which a claim wakes one up."""


class EagerClock(VirtualClock):
    """An agent's: it wakes when somebody claims."""

    def __init__(self, world, process):
        super().__init__(world.loop, START)
        self._world = world
        self._process = process

    async def sleep(self, seconds):
        if not isinstance(seconds, Lightly):
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


class OnlookerClock(VirtualClock):
    """An API's: a look into the store that would find it as it was a moment ago is left out."""

    LOOK_S, LONGEST_S = 0.25, 9.5

    def __init__(self, world):
        super().__init__(world.loop, START)
        self._world = world

    async def sleep(self, seconds):
        if seconds == self.LOOK_S:
            with suppress(TimeoutError):
                async with asyncio.timeout(self.LONGEST_S):
                    await self._world.written.wait()
        await super().sleep(seconds)


class SimulatedPace:
    """The pauses of an agent: long, except when there is something to see. A round between two blocks sees nothing."""

    def __init__(self, world, process):
        self._world = world
        self._process = process

    @property
    def _is_busy(self):
        now = self._world.clock.now()
        return now.hour == 0 or (now.hour == 1 and now.minute < 30)

    @property
    def _midnight_s(self):
        """Until then: nobody sleeps through it."""
        return 86_400 - self._world.clock.seconds() % 86_400

    @property
    def round_s(self):
        rng = self._process.rng
        if self._world.is_moving:
            return Lightly(rng.uniform(10, 200) if self._is_busy else rng.uniform(600, 3600))
        if self._is_busy:
            return Lightly(rng.uniform(60, 1500))
        return Lightly(min(rng.uniform(5_000, 40_000), self._midnight_s + rng.uniform(1, 200)))

    trouble_s = round_s
    halted_s = 3000.0
    helpless_s = 300.0

    @property
    def stand_by_s(self):
        rng = self._process.rng
        if self._is_busy:
            return rng.uniform(200, 2000)
        return min(rng.uniform(5_000, 40_000), self._midnight_s + rng.uniform(1, 2000))

    aside_s = stand_by_s

    @property
    def renew_s(self):
        # Longer than a lease lasts: whoever stands by takes over in the middle of things.
        rng = self._process.rng
        return rng.uniform(200, 3000) if self._is_busy else rng.uniform(5_000, 40_000)


def next_hour(now):
    """The next of the three hours at which something becomes due: the snapshot, the sealing, the closing."""
    today = now.replace(minute=0, second=0, microsecond=0)
    return min(moment for hours in (1, 23, 24, 25) if (moment := today.replace(hour=0) + timedelta(hours=hours)) > now)


def is_waiting(epochs, now):
    """Whether a step of these epochs, each with its state, is due by the clock and not done."""
    for epoch, state in epochs:
        midnight = datetime(epoch // 10_000, epoch // 100 % 100, epoch % 100, tzinfo=UTC)
        hours = (now - midnight) / timedelta(hours=1)
        if hours >= {"accruing": 23, "taken": 24, "pooled": 24, "sealed": 24}.get(state, 25):
            return True
    return False


def worker_pause_s(epochs, now, rng):
    """How long a worker sleeps: less while something is to be done, but never past the next hour that matters."""
    if is_waiting(epochs, now):
        return rng.uniform(20, 1200)
    soon = (next_hour(now) - now) / timedelta(seconds=1)
    late = rng.choice((0, 1, rng.uniform(0, 120), rng.uniform(0, 1200)))
    return min(soon + late, rng.uniform(10_000, 40_000))
