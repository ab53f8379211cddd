"""What becomes of parcels: delivering all that is due, and reading how far one has come."""

from sqlalchemy import select

from tickyard.store.outbox import outbox


async def deliver_due(courier):
    """Try everything that is due by now, and come back when each has been tried."""
    while await courier.pick_up():
        await courier.drain()
    await courier.drain()


async def state_of(tx, kind, key):
    found = await tx.execute(select(outbox.c.state).where(outbox.c.kind == kind, outbox.c.key == key))
    return found.scalar_one_or_none()
