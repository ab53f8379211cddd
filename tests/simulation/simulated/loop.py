"""Virtual time: an event loop that never waits. When nothing can run, time jumps to whatever is due next."""

import asyncio
import selectors
from datetime import UTC, datetime, timedelta


class _NeverWaits(selectors.DefaultSelector):
    """Instead of waiting for `timeout` seconds it lets them have passed."""

    now = 0.0

    def select(self, timeout=None):
        if timeout is None:
            raise RuntimeError("everything waits for something that nobody will do")
        if timeout > 0:
            self.now += timeout
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    selector = _NeverWaits

    def __init__(self):
        self._virtual = self.selector()
        super().__init__(self._virtual)
        self._clock_resolution = 1e-6

    def time(self):
        return self._virtual.now


class VirtualClock:
    """The house's Clock on virtual time."""

    def __init__(self, loop, start):
        self._loop = loop
        self._start = start
        self._start_s = start.timestamp()

    def now(self):
        return self._start + timedelta(microseconds=round(self._loop.time() * 1e6))

    def seconds(self):
        return int(self.timestamp())

    def timestamp(self):
        return self._start_s + round(self._loop.time() * 1e6) / 1e6

    def monotonic(self):
        return self._loop.time()

    async def sleep(self, seconds):
        # The one place that turns a pause into virtual time.
        await asyncio.sleep(seconds)

    async def until(self, moment):
        """Sleep until a moment, to the microsecond."""
        while (left := (moment - self.now()) / timedelta(seconds=1)) > 0:
            await self.sleep(left)


START = datetime(2026, 9, 16, 12, tzinfo=UTC)
