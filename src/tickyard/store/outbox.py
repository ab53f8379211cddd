"""The outbox: things to be sent, written in the same transaction as their cause.

    pending --start--> sending --finish--> delivered | failed | unknown
       |  ^  postpone
       +--+---give_up--> failed

`sending` is committed before the first byte leaves. A row found in it after a crash becomes `unknown`: it may have
been sent, so it is never sent again. Every move is a conditional write; the row count says who made it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from sqlalchemy import JSON, Column, Index, Integer, String, Table, delete, select, update

from tickyard.store.bulk import Bulk
from tickyard.store.engine import Transaction
from tickyard.store.tables import METADATA, Instant

KEEP: Final = timedelta(days=90)

State = Literal["pending", "sending", "delivered", "failed", "unknown"]
Outcome = Literal["delivered", "failed", "unknown"]

outbox: Final = Table(
    "outbox",
    METADATA,
    Column("kind", String, primary_key=True),
    Column("key", String, primary_key=True),
    Column("payload", JSON, nullable=False),
    Column("due_at", Instant, nullable=False),
    Column("state", String, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("moved_at", Instant, nullable=False),
)
Index("ix_outbox_due", outbox.c.kind, outbox.c.state, outbox.c.due_at, outbox.c.key)
Index("ix_outbox_created_at", outbox.c.created_at)
_NEW: Final = Bulk(outbox, only_new=True)


@dataclass(frozen=True, slots=True)
class Parcel:
    kind: str
    key: str
    payload: Any
    due_at: datetime
    attempts: int
    created_at: datetime


async def put(tx: Transaction, kind: str, parcels: Mapping[str, Any], now: datetime) -> int:
    """Put payloads in by their keys, due at once. How many were new: a key is sent once, ever."""
    rows = [
        {"kind": kind, "key": key, "payload": payload, "due_at": now, "state": "pending"}
        | {"attempts": 0, "created_at": now, "moved_at": now}
        for key, payload in parcels.items()
    ]
    return await _NEW.run(tx, rows)


async def due(tx: Transaction, kind: str, now: datetime, limit: int) -> list[Parcel]:
    """What waits to be sent, longest due first."""
    found = await tx.execute(
        select(
            outbox.c.kind,
            outbox.c.key,
            outbox.c.payload,
            outbox.c.due_at,
            outbox.c.attempts,
            outbox.c.created_at,
        )
        .where(outbox.c.kind == kind, outbox.c.state == "pending", outbox.c.due_at <= now)
        .order_by(outbox.c.due_at, outbox.c.key)
        .limit(limit)
    )
    return [Parcel(**row) for row in found.mappings()]


async def state_of(tx: Transaction, kind: str, key: str) -> State | None:
    found = await tx.execute(select(outbox.c.state).where(outbox.c.kind == kind, outbox.c.key == key))
    return found.scalar_one_or_none()


async def start(tx: Transaction, parcel: Parcel, now: datetime) -> bool:
    """Claim the one sending there will ever be. False: someone was faster; send nothing."""
    return await _move(tx, parcel, "pending", now, state="sending", attempts=outbox.c.attempts + 1)


async def postpone(tx: Transaction, parcel: Parcel, due_at: datetime, now: datetime) -> bool:
    """It provably did not leave: try again later."""
    return await _move(tx, parcel, "pending", now, due_at=due_at, attempts=outbox.c.attempts + 1)


async def give_up(tx: Transaction, parcel: Parcel, now: datetime) -> bool:
    """It never left and will not."""
    return await _move(tx, parcel, "pending", now, state="failed")


async def finish(tx: Transaction, parcel: Parcel, outcome: Outcome, now: datetime) -> bool:
    return await _move(tx, parcel, "sending", now, state=outcome)


async def settle_interrupted(tx: Transaction, kind: str, *, started_before: datetime, now: datetime) -> int:
    """Sendings that nobody can still be busy with become unknown. How many."""
    moved = await tx.execute(
        update(outbox)
        .where(outbox.c.kind == kind, outbox.c.state == "sending", outbox.c.moved_at < started_before)
        .values(state="unknown", moved_at=now)
    )
    return moved.rowcount


async def forget_old(tx: Transaction, now: datetime) -> int:
    """Drop what was settled and put in more than 90 days ago."""
    dropped = await tx.execute(
        delete(outbox).where(outbox.c.created_at < now - KEEP, outbox.c.state.in_(("delivered", "failed", "unknown")))
    )
    return dropped.rowcount


async def _move(tx: Transaction, parcel: Parcel, expected: State, now: datetime, **values: Any) -> bool:
    moved = await tx.execute(
        update(outbox)
        .where(outbox.c.kind == parcel.kind, outbox.c.key == parcel.key, outbox.c.state == expected)
        .values(**values, moved_at=now)
    )
    return moved.rowcount == 1
