"""Pace: how often all processes on this database together may ask somebody.

One row says when the next turn is free. A turn is taken by a conditional write at the moment it is used, never ahead
of it: a process that was stalled does not send all it had reserved at once. Turns are never closer than the interval: a
burst at the end of one second and one at the start of the next would look to the other side like twice the rate.
"""

import asyncio
from datetime import timedelta
from typing import Final

from sqlalchemy import Column, String, Table, select, update

from tickyard.kernel.errors import UpstreamDown
from tickyard.store.engine import Store, Transaction
from tickyard.store.tables import METADATA, Instant, from_micros, to_micros
from tickyard.store.upsert import insert_new

PATIENCE_S: Final = 10
_SECOND: Final = 1_000_000
# Requests travel at different speeds: a little more than the interval keeps them apart at the other end, too.
_SLACK_PERCENT: Final = 4
_QUIET_MAX_S: Final = 3600
"""A longer silence was ordered by a clock that has been set back since."""

pace: Final = Table(
    "pace",
    METADATA,
    Column("name", String, primary_key=True),
    Column("free_at", Instant, nullable=False),
    Column("quiet_until", Instant, nullable=False),
)


def interval_micros(per_second: int) -> int:
    return _SECOND * (100 + _SLACK_PERCENT) // (100 * per_second)


def wait_micros(free_at: int, now: int, interval: int) -> int:
    """How long until the turn is free, 0 when it is. Further off than the interval it can only be by a wrong clock."""
    wait = free_at - now
    return wait if 0 < wait <= interval else 0


class SharedPace:
    def __init__(self, store: Store, name: str, *, per_second: int, patience_s: int = PATIENCE_S) -> None:
        self._store = store
        self._name = name
        self._interval = interval_micros(per_second)
        self._patience_s = patience_s
        # Our own callers stand in line here, so that only one of them at a time watches the row.
        self._line = asyncio.Lock()
        self._waiting = 0

    async def turn(self) -> None:
        """Wait for a turn. UpstreamDown when it would take too long, or while silence is kept."""
        if self._waiting * self._interval > self._patience_s * _SECOND:
            raise self._too_many()
        self._waiting += 1
        try:
            async with asyncio.timeout(self._patience_s), self._line:
                while wait := await self._take():
                    await self._store.clock.sleep(timedelta(microseconds=wait).total_seconds())
        except TimeoutError:
            raise self._too_many() from None
        finally:
            self._waiting -= 1

    async def hush(self, seconds: int) -> None:
        """Nobody asks for so long."""
        async with self._store.begin() as tx:
            until = await self._store.now(tx) + timedelta(seconds=seconds)
            await self._open(tx)
            await tx.execute(update(pace).where(pace.c.name == self._name).values(quiet_until=until))

    async def _take(self) -> int:
        """Take the turn if it is free: 0. Otherwise how long to wait before looking again."""
        async with self._store.begin() as tx:
            now = to_micros(await self._store.now(tx))
            row = (await tx.execute(select(pace).where(pace.c.name == self._name))).first()
            if row is None:
                await self._open(tx)
                return 1
            quiet_s = -((now - to_micros(row.quiet_until)) // _SECOND)
            if 0 < quiet_s <= _QUIET_MAX_S:
                raise UpstreamDown("a source asked us to be silent for a while", retry_after_s=quiet_s)
            wait = wait_micros(to_micros(row.free_at), now, self._interval)
            if wait:
                return wait
            taken = await tx.execute(
                update(pace)
                .where(pace.c.name == self._name, pace.c.free_at == row.free_at)
                .values(free_at=from_micros(now + self._interval))
            )
            return 0 if taken.rowcount == 1 else self._interval

    async def _open(self, tx: Transaction) -> None:
        start = from_micros(0)
        await tx.execute(insert_new(tx, pace), {"name": self._name, "free_at": start, "quiet_until": start})

    def _too_many(self) -> UpstreamDown:
        return UpstreamDown("too many are waiting for a source", retry_after_s=self._patience_s)
