"""The store's clock beside ours, when asking takes a while."""

import asyncio
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest

from tickyard.features.earn.days.drift import DriftWatch, clock_drift

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
ASKING = timedelta(milliseconds=100)


class TwoClocks:
    """A store whose clock is so far ahead; asking it takes a tenth of a second, half of it each way."""

    def __init__(self, ahead_ms):
        self.ahead = timedelta(milliseconds=ahead_ms)
        self.clock = self
        self.time = NOON
        self.ticks = 0.0
        self.asked = 0

    def monotonic(self):
        return self.ticks

    @asynccontextmanager
    async def read(self):
        yield None

    async def _theirs(self):
        self.asked += 1
        self.time += ASKING / 2
        theirs = self.time + self.ahead
        self.time += ASKING / 2
        return theirs

    def now(self, *tx):
        return self._theirs() if tx else self.time


@pytest.mark.parametrize(
    ("ahead_ms", "drift_ms"), [(0, 0), (50, 0), (-50, 0), (51, 1), (-51, -1), (1050, 1000), (-1050, -1000)]
)
def test_the_time_that_asking_took_counts_for_us(ahead_ms, drift_ms):
    assert asyncio.run(clock_drift(TwoClocks(ahead_ms))) == timedelta(milliseconds=drift_ms)


@pytest.mark.parametrize(("ahead_ms", "is_told"), [(0, False), (300, False), (301, True), (-300, False), (-301, True)])
def test_a_quarter_of_a_second_is_worth_an_alarm_and_looked_for_once_a_minute(ahead_ms, is_told):
    async def scenario():
        store, watch = TwoClocks(ahead_ms), DriftWatch()
        drift = await watch.measure(store)
        assert (drift is not None) is is_told
        if is_told:
            assert abs(drift) == timedelta(milliseconds=abs(ahead_ms) - 50)
        asked = store.asked
        store.ticks = 59.9
        assert await watch.measure(store) is None
        assert store.asked == asked
        store.ticks = 60.0
        assert (await watch.measure(store) is not None) is is_told
        assert store.asked > asked

    asyncio.run(scenario())
