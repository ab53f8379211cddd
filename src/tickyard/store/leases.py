"""Leases: at any moment one process does a piece of work.

A lease is a row with an owner and an end. Its fence grows each time it changes hands, so a holder that slept
through its own end is told so by `guard`, inside the transaction in which it wanted to write. Leases save work;
unique constraints carry the safety.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from sqlalchemy import BigInteger, Column, String, Table, bindparam, or_, select, update

from tickyard.store.engine import Store, Transaction
from tickyard.store.statement import Query
from tickyard.store.tables import METADATA, Instant
from tickyard.store.upsert import insert_new, upsert

LEASE_S: Final = 10
RENEW_S: Final = 3
"""A holder renews, and the others look, this often: a killed one is replaced within 13 seconds."""
_HELD_MOST_S: Final = 2 * LEASE_S
"""Nobody takes one for longer: it was taken by a clock that has been set back since, and whoever lives renews it."""

lease: Final = Table(
    "lease",
    METADATA,
    Column("name", String, primary_key=True),
    Column("owner", String, nullable=False),
    Column("until", Instant, nullable=False),
    Column("fence", BigInteger, nullable=False),
)


# Before most of what is written; the shared lock makes a take-over wait for our commit. SQLite has one writer anyway.
_FENCE: Final = Query(select(lease.c.fence).where(lease.c.name == bindparam("of_name")).with_for_update(read=True))

# Agents and workers that stand by ask for these all day long: they are put together once.
_IS_FREE: Final = (
    lease.c.name == bindparam("of_name"),
    or_(lease.c.until <= bindparam("now"), lease.c.until > bindparam("too_far")),
)
_TAKE: Final = (
    update(lease)
    .where(*_IS_FREE)
    .values(owner=bindparam("new_owner"), until=bindparam("new_until"), fence=lease.c.fence + 1)
)
_FENCE_OF: Final = select(lease.c.fence).where(lease.c.name == bindparam("of_name"))
_HOLD: Final = (
    update(lease)
    .where(
        lease.c.name == bindparam("of_name"),
        lease.c.owner == bindparam("of_owner"),
        lease.c.fence == bindparam("of_fence"),
    )
    .values(until=bindparam("new_until"))
)

_NEVER_TAKEN: Final = datetime.fromtimestamp(0, UTC)
_LOOK: Final = "whether the store can be written"


class LostLease(Exception):
    """Somebody else does this work now. Stop, and write nothing more."""


@dataclass(frozen=True, slots=True)
class Lease:
    name: str
    owner: str
    fence: int


async def take(store: Store, name: str, owner: str) -> Lease | None:
    """Take the lease when it is free or over; None: somebody holds it. `owner` names one run of one process."""
    async with store.begin() as tx:
        now = await store.now(tx)
        until = now + timedelta(seconds=LEASE_S)
        too_far = now + timedelta(seconds=_HELD_MOST_S)
        free = {"of_name": name, "now": now, "too_far": too_far, "new_owner": owner, "new_until": until}
        taken = await tx.execute(_TAKE, free)
        if taken.rowcount == 0:
            row = {"name": name, "owner": owner, "until": until, "fence": 1}
            taken = await tx.execute(insert_new(tx, lease), row)
        if taken.rowcount == 0:
            return None
        fence = await tx.execute(_FENCE_OF, {"of_name": name})
        return Lease(name, owner, fence.scalar_one())


async def renew(store: Store, held: Lease) -> None:
    """Hold it for another ten seconds. Raises LostLease when it has changed hands."""
    async with store.begin() as tx:
        until = await store.now(tx) + timedelta(seconds=LEASE_S)
        renewed = await tx.execute(_HOLD, {**_named(held), "new_until": until})
        if renewed.rowcount == 0:
            raise LostLease(held.name)


async def release(store: Store, held: Lease) -> None:
    """Let the next one have it at once."""
    async with store.begin() as tx:
        await tx.execute(_HOLD, {**_named(held), "new_until": await store.now(tx)})


async def guard(tx: Transaction, held: Lease) -> None:
    """Raise LostLease when the lease has changed hands. Until this transaction ends, it cannot."""
    found = await tx.fetch(_FENCE, {"of_name": held.name})
    if not found or found[0][0] != held.fence:
        raise LostLease(held.name)


def _named(held: Lease) -> dict[str, str | int]:
    return {"of_name": held.name, "of_owner": held.owner, "of_fence": held.fence}


async def alone(tx: Transaction, name: str) -> None:
    """Let whoever else comes to this line wait until this transaction ends, and see what it wrote.

    Where no row is there yet that could be locked, because the work is about which rows there are. A row of this table,
    which nobody takes.
    """
    row = {"name": name, "owner": "", "until": _NEVER_TAKEN, "fence": 1}
    await tx.execute(upsert(tx, lease, ["name"], lambda new: {"until": new.until}), row)


async def try_write(store: Store) -> None:
    """Write and commit something tiny: a full disk, a standby and an account that may only read look well until then.

    A row of this table, because it is the one that every process's account may write.
    """
    async with store.begin() as tx:
        row = {"name": _LOOK, "owner": "", "until": await store.now(tx), "fence": 1}
        once_more = upsert(tx, lease, ["name"], lambda new: {"until": new.until, "fence": lease.c.fence + 1})
        await tx.execute(once_more, row)
    await store.must_have_room()
