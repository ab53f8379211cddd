"""What becomes of parcels: which are due, delivering them all, and reading how far one has come."""

from sqlalchemy import select

from tickyard.store.outbox import Parcel, outbox


async def due(tx, kind, now, limit):
    """What waits to be sent, longest due first."""
    o = outbox.c
    found = await tx.execute(
        select(o.kind, o.key, o.payload, o.due_at, o.attempts, o.created_at)
        .where(o.kind == kind, o.state == "pending", o.due_at <= now)
        .order_by(o.due_at, o.key)
        .limit(limit)
    )
    return [Parcel(**row) for row in found.mappings()]


async def deliver_due(courier):
    """Try everything that is due by now, and come back when each has been tried."""
    while await courier.pick_up():
        await courier.drain()
    await courier.drain()


async def state_of(tx, kind, key):
    found = await tx.execute(select(outbox.c.state).where(outbox.c.kind == kind, outbox.c.key == key))
    return found.scalar_one_or_none()
