"""Which day's pool a settlement went into: mostly its own day's, a later one's when it was final too late for that."""

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import func, select

from tickyard.features.earn.rules import day_of, epoch_of
from tickyard.features.earn.tables import earn_credit, earn_epoch
from tickyard.store.engine import Store
from tickyard.store.revenue import revenue


@dataclass(frozen=True, slots=True)
class Pools:
    epochs: dict[str, int]
    """Of every settlement that is in one."""
    newest: int
    """The newest epoch whose pool is fixed; 0: none is, or there is no program."""
    first: int = 0
    """The day on which the program began: what was paid before is in no pool."""

    def day(self, settlement: str, settled_at: datetime) -> str:
        """The day of its pool, as a date; empty while nobody knows, and where there is none."""
        own = settled_at.astimezone(UTC).date()
        # What is in no pool yet goes into its own day's, unless that is fixed: then the next one takes it.
        is_open = epoch_of(own) > self.newest and epoch_of(own) >= self.first
        epoch = self.epochs.get(settlement) or (epoch_of(own) if is_open else None)
        day = None if epoch is None else day_of(epoch)
        return "" if day is None else day.isoformat()


async def read_pools(store: Store, since: datetime, until: datetime) -> Pools:
    """For what was settled in [since, until)."""
    inside = (revenue.c.settled_at >= since, revenue.c.settled_at < until)
    credited = select(earn_credit).join(revenue, revenue.c.settlement == earn_credit.c.settlement).where(*inside)
    fixed = select(func.max(earn_epoch.c.id)).where(earn_epoch.c.pool_raw.is_not(None))
    async with store.read() as tx:
        epochs = {row.settlement: row.epoch for row in await tx.execute(credited)}
        began = select(func.min(earn_epoch.c.id))
        return Pools(epochs, (await tx.execute(fixed)).scalar() or 0, (await tx.execute(began)).scalar() or 0)
