"""Which day's pool each settlement of a stretch of time went into."""

import asyncio
import random
from datetime import UTC, datetime, timedelta

from sqlalchemy import insert

from tickyard.features.earn.books.pools import read_pools
from tickyard.features.earn.tables import earn_credit, earn_epoch
from tickyard.kernel.clock import WallClock
from tickyard.store.migrate import migrate
from tickyard.store.revenue import revenue
from tickyard.store.sqlite.engine import SqliteStore

MIDNIGHT = datetime(2026, 11, 17, tzinfo=UTC)
HOUR = timedelta(hours=1)


def test_a_settlement_is_in_the_pool_it_was_credited_to_and_others_of_other_times_are_not_told(tmp_path):
    settled = {
        "before": MIDNIGHT - HOUR,
        "first": MIDNIGHT,
        "late": MIDNIGHT + 23 * HOUR,
        "after": MIDNIGHT + 24 * HOUR,
    }
    pools = {"before": 20261116, "first": 20261117, "late": 20261118, "after": 20261118}

    async def run():
        store = SqliteStore(tmp_path / "store.db", WallClock(), random.Random(1))
        try:
            await migrate(store)
            async with store.begin() as tx:
                for name, at in settled.items():
                    row = {"settlement": name, "amount_raw": 1, "settled_at": at, "credited_at": at}
                    await tx.execute(insert(revenue), row)
                    await tx.execute(insert(earn_credit), {"settlement": name, "epoch": pools[name]})
                for epoch, pool_raw in ((20261117, 1), (20261118, 2), (20261119, None)):
                    await tx.execute(insert(earn_epoch), {"id": epoch, "state": "open", "pool_raw": pool_raw})
            return await read_pools(store, MIDNIGHT, MIDNIGHT + 24 * HOUR)
        finally:
            await store.close()

    found = asyncio.run(run())
    assert (found.epochs, found.newest) == ({"first": 20261117, "late": 20261118}, 20261118)
    assert found.day("late", settled["late"]) == "2026-11-18"
