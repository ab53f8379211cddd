"""What accrues today, beside books that hold years of it."""

import asyncio
import random
import sqlite3
from datetime import UTC, datetime, timedelta

from sqlalchemy import Engine, event, insert

from tickyard.features.earn.days.pool import accrued
from tickyard.features.earn.tables import earn_credit, earn_epoch
from tickyard.kernel.clock import WallClock
from tickyard.store.migrate import migrate
from tickyard.store.revenue import revenue
from tickyard.store.sqlite.engine import SqliteStore

MIDNIGHT = datetime(2026, 11, 17, tzinfo=UTC)
YESTERDAY, TODAY = 20261116, 20261117
HOUR = timedelta(hours=1)


def test_what_is_in_a_pool_is_not_read_again_and_what_became_known_late_is_counted(tmp_path):
    asked = []

    def note(_connection, _cursor, statement, values, *_):
        if "FROM revenue" in statement:
            asked.append((statement, values))

    async def run():
        store = SqliteStore(tmp_path / "store.db", WallClock(), random.Random(1))
        try:
            await migrate(store)
            rows = {
                "long ago": (MIDNIGHT - 999 * HOUR, MIDNIGHT - 998 * HOUR),
                "before its pool": (MIDNIGHT - 2 * HOUR, MIDNIGHT - HOUR),
                "known late": (MIDNIGHT - 99 * HOUR, MIDNIGHT + HOUR),
                "today": (MIDNIGHT + HOUR, MIDNIGHT + 2 * HOUR),
            }
            async with store.begin() as tx:
                for name, (settled, credited) in rows.items():
                    row = {"settlement": name, "amount_raw": 10_000, "settled_at": settled, "credited_at": credited}
                    await tx.execute(insert(revenue), row)
                for name in ("long ago", "before its pool"):
                    await tx.execute(insert(earn_credit), {"settlement": name, "epoch": YESTERDAY})
                await tx.execute(insert(earn_epoch), {"id": YESTERDAY - 10, "state": "closed", "pool_raw": 0})
                await tx.execute(insert(earn_epoch), {"id": YESTERDAY, "state": "closed", "pool_raw": 20_000})
            event.listen(Engine, "before_cursor_execute", note)
            try:
                async with store.read() as tx:
                    found = await accrued(tx, TODAY)
            finally:
                event.remove(Engine, "before_cursor_execute", note)
            assert (found.revenue_raw, found.calls) == (20_000, 2)
        finally:
            await store.close()

    asyncio.run(run())
    books = sqlite3.connect(tmp_path / "store.db")
    ((statement, values),) = asked
    plan = [line for *_, line in books.execute(f"EXPLAIN QUERY PLAN {statement}", values)]
    books.close()
    assert any("ix_revenue_credited_at" in line for line in plan), plan
