"""The measurement of alerts, in small: a few hundred of them fire, and all are delivered over TLS."""

import asyncio

import pytest

from bench import alerts
from bench.paper import DatedClock
from tickyard.store.migrate import migrate
from tickyard.store.opening import open_store

pytestmark = pytest.mark.slow


def test_all_that_fires_is_delivered(tmp_path):
    async def measure():
        store = open_store(tmp_path / "alerts.db", DatedClock(alerts.TAKEN))
        try:
            await migrate(store)
            await alerts.fill(store, alerts.TOKENS * 8)
            return await alerts.deliver(store, alerts.Riser(store, alerts.TOKENS * 2))
        finally:
            await store.close()

    recorded_ms, per_second = asyncio.run(measure())
    assert recorded_ms > 0
    assert per_second > 0
