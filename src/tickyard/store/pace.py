"""Pace: how often all processes on this database together may ask somebody.

One row says when the next turn is free. Taking a turn moves it on by a conditional write, so turns are spread
evenly whoever takes them. Turns are never closer than the interval: a burst at its end and one at the next start would
look to the other side like twice the rate.
"""

from datetime import timedelta
from typing import Final

from sqlalchemy import Column, String, Table, select, update

from tickyard.kernel.errors import UpstreamDown
from tickyard.store.engine import Contended, Store, Transaction
from tickyard.store.tables import METADATA, Instant, from_micros, to_micros
from tickyard.store.upsert import insert_new

PATIENCE_S: Final = 5
_SECOND: Final = 1_000_000
# Requests do not leave exactly when they may: a little more than the interval keeps late ones apart, too.
_SLACK_PERCENT: Final = 4
_ATTEMPTS: Final = 20
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


def next_turn(free_at: int, now: int, patience: int) -> int | None:
    """When the caller may go, in microseconds; None when that is further off than anyone waits."""
    if free_at - now > patience + _SECOND:
        # Nobody ever reserves that far ahead: the clock was set back since.
        return now
    turn = max(free_at, now)
    return turn if turn - now <= patience else None


class SharedPace:
    def __init__(self, store: Store, name: str, *, per_second: int, patience_s: int = PATIENCE_S) -> None:
        self._store = store
        self._name = name
        self._interval = interval_micros(per_second)
        self._patience = patience_s * _SECOND

    async def turn(self) -> None:
        """Wait for a turn. UpstreamDown when it would take too long, or while silence is kept."""
        wait_micros = await self._reserve()
        if wait_micros > 0:
            await self._store.clock.sleep(timedelta(microseconds=wait_micros).total_seconds())

    async def hush(self, seconds: int) -> None:
        """Nobody asks for so long."""
        async with self._store.begin() as tx:
            until = await self._store.now(tx) + timedelta(seconds=seconds)
            await self._open(tx)
            await tx.execute(update(pace).where(pace.c.name == self._name).values(quiet_until=until))

    async def _reserve(self) -> int:
        for _ in range(_ATTEMPTS):
            async with self._store.begin() as tx:
                now = to_micros(await self._store.now(tx))
                row = (await tx.execute(select(pace).where(pace.c.name == self._name))).first()
                if row is None:
                    await self._open(tx)
                    continue
                quiet_s = -((now - to_micros(row.quiet_until)) // _SECOND)
                if 0 < quiet_s <= _QUIET_MAX_S:
                    raise UpstreamDown("a source asked us to be silent for a while", retry_after_s=quiet_s)
                turn = next_turn(to_micros(row.free_at), now, self._patience)
                if turn is None:
                    raise UpstreamDown("too many are waiting for a source", retry_after_s=self._patience // _SECOND)
                taken = await tx.execute(
                    update(pace)
                    .where(pace.c.name == self._name, pace.c.free_at == row.free_at)
                    .values(free_at=from_micros(turn + self._interval))
                )
                if taken.rowcount == 1:
                    return turn - now
        raise Contended("the store is busy", retry_after_s=1)

    async def _open(self, tx: Transaction) -> None:
        start = from_micros(0)
        await tx.execute(insert_new(tx, pace), {"name": self._name, "free_at": start, "quiet_until": start})
