"""The pool of a day: revenue that is in no pool yet, and what earlier epochs left over. Sealed once, at midnight.

Only arithmetic on the store: every amount moves by a row with a unique key, so nothing is counted twice, and what
becomes known after the sealing is simply found by the next one.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, and_, bindparam, func, insert, or_, select, text, update

from tickyard.features.earn.days.outcome import line_since
from tickyard.features.earn.rules import accruing_epoch, opens_at, starts_at
from tickyard.features.earn.tables import (
    IN_ADVANCE,
    UNPAID,
    earn_close,
    earn_credit,
    earn_epoch,
    earn_line,
    earn_rollover,
)
from tickyard.store.engine import Store, Transaction
from tickyard.store.revenue import revenue

SHARED_OUT: Final = ("pooled", "sealed", "open", "closing")
"""There is a pool, and not all of it has gone on yet."""

_CLOCKS_DIFFER: Final = timedelta(hours=1)

_earlier: Final = earn_epoch.alias("earlier")
_PAID_OF_IT: Final = (
    select(earn_line.c.epoch)
    .where(earn_line.c.epoch == earn_epoch.c.id, or_(earn_line.c.reason.is_(None), earn_line.c.reason != IN_ADVANCE))
    .exists()
)
"""Books from before a day's pool, and a desk that has paid of it: what was paid must not go on."""


@dataclass(frozen=True, slots=True)
class Accrued:
    revenue_raw: int
    calls: int
    rollover_raw: int


async def fix_pool(store: Store, epoch: int) -> bool:
    """Fix the pool of an epoch whose snapshot is taken. False: too early, or an earlier pool is not closed.

    An earlier epoch without a pool holds up nobody: what would have been in its pool is in this one.
    """
    async with store.begin() as tx:
        now = await store.now(tx)
        if now < opens_at(epoch):
            return False
        # First of all: whoever else wants to do it waits here, and then finds it done.
        fixed = await tx.execute(
            update(earn_epoch)
            .where(
                earn_epoch.c.id == epoch,
                earn_epoch.c.state == "taken",
                ~_before(epoch, _earlier.c.state.in_(SHARED_OUT)).exists(),
            )
            .values(state="pooled", sealed_at=now)
        )
        if fixed.rowcount != 1:
            return False
        revenue_raw = await _credit(tx, epoch)
        rollover_raw = await _collect_rest(tx, epoch) + await _collect_late(tx, epoch)
        await tx.execute(
            update(earn_epoch)
            .where(earn_epoch.c.id == epoch)
            .values(revenue_raw=revenue_raw, rollover_raw=rollover_raw, pool_raw=revenue_raw + rollover_raw)
        )
    return True


async def skip(store: Store, epoch: int) -> bool:
    """A person gives up on an epoch that has no pool: what it would have shared out goes on to the next one."""
    async with store.begin() as tx:
        skipped = await tx.execute(
            update(earn_epoch)
            .where(earn_epoch.c.id == epoch, earn_epoch.c.state.in_(("accruing", "taken")))
            .where(earn_epoch.c.id < accruing_epoch(await store.now(tx)), ~_PAID_OF_IT)
            .values(state="skipped", writer=None, closed_at=await store.now(tx))
        )
        return skipped.rowcount == 1


async def why_not_skipped(store: Store, epoch: int) -> str:
    """In words for the person who wanted to skip it."""
    async with store.read() as tx:
        found = select(earn_epoch.c.state, _PAID_OF_IT.label("is_paid_of")).where(earn_epoch.c.id == epoch)
        row = (await tx.execute(found)).one_or_none()
        today = accruing_epoch(await store.now(tx))
    if row is None:
        return "the program has no such day"
    state = row.state
    if state == "skipped":
        return "it was skipped before"
    if epoch >= today:
        return "its day is not over"
    if state in ("accruing", "taken") and row.is_paid_of:
        return "the desk has paid some of it: its snapshot must be taken, so that only the rest goes on"
    return "it has a pool already, which closes by itself"


async def accrued(tx: Transaction, epoch: int) -> Accrued:
    """What the pool of the epoch whose day it is would hold if it were sealed now."""
    unsealed = (await tx.execute(_before(epoch, _earlier.c.state.in_(("accruing", "taken"))))).first()
    # While yesterday's pool is not sealed, yesterday's revenue is still its own.
    theirs = revenue.c.settled_at < opens_at(epoch) if unsealed is None else revenue.c.settled_at >= starts_at(epoch)
    if unsealed is None and (newest := (await tx.execute(_newest_pool(epoch))).scalar()) is not None:
        # Asked all day: what was known well before that pool was fixed is in one, and need not be looked at again.
        theirs = revenue.c.credited_at >= opens_at(newest) - _CLOCKS_DIFFER
    found = await tx.execute(_sum_of(_uncredited(await _began(tx, epoch), theirs), revenue.c.amount_raw))
    amount, calls = found.one()
    rest = (await tx.execute(_sum_of(_unrolled(), earn_epoch.c.rolled_raw))).one()
    return Accrued(int(amount or 0), calls, int(rest[0] or 0) + await late_raw(tx))


async def late_raw(tx: Transaction) -> int:
    """Of claims that failed for good after the closing, what the next pool will take."""
    amount, _ = (await tx.execute(_sum_of(_late(), earn_close.c.amount_raw))).one()
    return int(amount or 0)


async def _credit(tx: Transaction, epoch: int) -> int:
    """Put every settlement that is in no pool yet into this one."""
    found = (await tx.execute(_uncredited(await _began(tx, epoch), revenue.c.settled_at < opens_at(epoch)))).all()
    if found:
        await tx.execute(insert(earn_credit), [{"settlement": row.settlement, "epoch": epoch} for row in found])
    return sum(row.amount_raw for row in found)


async def _collect_rest(tx: Transaction, epoch: int) -> int:
    """What closed epochs left over."""
    found = (await tx.execute(_unrolled())).all()
    if found:
        rows = [{"epoch": row.id, "into_epoch": epoch, "amount_raw": row.rolled_raw} for row in found]
        await tx.execute(insert(earn_rollover), rows)
    return sum(row.rolled_raw for row in found)


async def _collect_late(tx: Transaction, epoch: int) -> int:
    """Claims that were on their way when their epoch was closed, and failed for good afterwards."""
    found = (await tx.execute(_late())).all()
    returned = update(earn_close).where(
        earn_close.c.epoch == bindparam("of_epoch"), earn_close.c.address == bindparam("of_address")
    )
    if found:
        rows = [{"of_epoch": row.epoch, "of_address": row.address} for row in found]
        await tx.execute(returned.values(returned_to=epoch), rows)
    return sum(row.amount_raw for row in found)


async def _began(tx: Transaction, epoch: int) -> datetime:
    """When the program did: the days before had no pool and no snapshot, so what they earned is shared out to nobody.

    A service may have sold for months before it gets a desk.
    """
    first = (await tx.execute(select(func.min(earn_epoch.c.id)))).scalar()
    return starts_at(epoch if first is None else first)


def _uncredited(since: datetime, which: ColumnElement[bool]) -> Select[Any]:
    is_new = ~select(earn_credit.c.settlement).where(earn_credit.c.settlement == revenue.c.settlement).exists()
    return select(revenue.c.settlement, revenue.c.amount_raw).where(revenue.c.settled_at >= since, which, is_new)


def _newest_pool(epoch: int) -> Select[Any]:
    return select(func.max(earn_epoch.c.id)).where(earn_epoch.c.id < epoch, earn_epoch.c.pool_raw.is_not(None))


def _unrolled() -> Select[Any]:
    is_new = ~select(earn_rollover.c.epoch).where(earn_rollover.c.epoch == earn_epoch.c.id).exists()
    return select(earn_epoch.c.id, earn_epoch.c.rolled_raw).where(earn_epoch.c.state == "closed", is_new)


def _late() -> Select[Any]:
    # Written out: that is how the database finds its index of these few.
    ended = and_(line_since(earn_close), text(UNPAID))
    # While an epoch is being closed its own count decides.
    closed = and_(earn_epoch.c.id == earn_close.c.epoch, earn_epoch.c.state == "closed")
    return (
        select(earn_close)
        .select_from(earn_close)
        .join(earn_line, ended)
        .join(earn_epoch, closed)
        .where(earn_close.c.returned_to.is_(None))
    )  # fmt: skip


def _sum_of(rows: Select[Any], column: Any) -> Select[Any]:
    within = rows.subquery()
    return select(func.sum(within.c[column.name]), func.count()).select_from(within)


def _before(epoch: int, which: ColumnElement[bool]) -> Select[Any]:
    return select(_earlier.c.id).where(_earlier.c.id < epoch, which)
