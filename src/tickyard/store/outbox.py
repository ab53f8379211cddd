"""The outbox: things to be sent, written in the same transaction as their cause.

    pending --start--> sending --finish--> delivered | failed | unknown
       |  ^  postpone
       +--+---give_up--> failed

`sending` is committed before the first byte leaves. A row found in it after a crash becomes `unknown`: it may have
been sent, so it is never sent again; so does whatever a copy of the store held unsent. Every move is a conditional
write; the row count says who made it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal, NamedTuple

import msgspec
from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    Index,
    Integer,
    String,
    Table,
    bindparam,
    delete,
    func,
    select,
    text,
    update,
)

from tickyard.store.engine import Transaction
from tickyard.store.statement import Query
from tickyard.store.tables import METADATA, Instant, to_micros

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

# All parcels travel as one text that the database takes apart: ten thousand may come at once.
_PUT: Final = """
    INSERT INTO outbox (kind, key, payload, due_at, state, attempts, created_at, moved_at)
    SELECT :kind, parcel.key, parcel.value, :now, 'pending', 0, :now, :now FROM json_each({parcels}) AS parcel
    WHERE true ON CONFLICT DO NOTHING
"""
_PUT_SQLITE: Final = text(_PUT.format(parcels=":parcels"))
_PUT_POSTGRES: Final = text(_PUT.format(parcels="CAST(:parcels AS JSON)")).bindparams(
    bindparam("now", type_=BigInteger)
)


UNSENT_IS_UNKNOWN: Final = "UPDATE outbox SET state = 'unknown' WHERE state IN ('pending', 'sending')"
"""What is true of a copy: its original went on, and may have sent what waits here."""


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
    if not parcels:
        return 0
    values = {"kind": kind, "parcels": msgspec.json.encode(parcels).decode(), "now": to_micros(now)}
    return (await tx.execute(_PUT_SQLITE if tx.is_sqlite else _PUT_POSTGRES, values)).rowcount


class Backlog(NamedTuple):
    pending: int
    overdue_s: int
    """How long the one that is longest due has been waiting; zero when nothing is due."""


async def backlog(tx: Transaction, kind: str, now: datetime) -> Backlog:
    waiting = (outbox.c.kind == kind, outbox.c.state == "pending")
    found = await tx.execute(select(func.count(), func.min(outbox.c.due_at)).where(*waiting))
    pending, first = found.one()
    return Backlog(pending, 0 if first is None else max(0, (now - first) // timedelta(seconds=1)))


async def start(tx: Transaction, parcel: Parcel, now: datetime) -> bool:
    """Claim the one sending there will ever be. False: someone was faster; send nothing."""
    return await _move(tx, parcel, "pending", now, state="sending", tries=1)


async def postpone(tx: Transaction, parcel: Parcel, due_at: datetime, now: datetime) -> bool:
    """It provably did not leave: try again later."""
    return await _move(tx, parcel, "pending", now, state="pending", tries=1, due_at=due_at)


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


_MOVE: Final = Query(
    text("""
    UPDATE outbox SET state = :state, attempts = attempts + :tries, due_at = :due_at, moved_at = :now
    WHERE kind = :kind AND key = :key AND state = :expected RETURNING key
    """).bindparams(
        *(bindparam(name, type_=String) for name in ("state", "kind", "key", "expected")),
        *(bindparam(name, type_=BigInteger) for name in ("tries", "due_at", "now")),
    )
)


async def _move(
    tx: Transaction,
    parcel: Parcel,
    expected: State,
    now: datetime,
    *,
    state: State,
    tries: int = 0,
    due_at: datetime | None = None,
) -> bool:
    moved = await tx.fetch(
        _MOVE,
        {
            "kind": parcel.kind,
            "key": parcel.key,
            "expected": expected,
            "state": state,
            "tries": tries,
            "due_at": to_micros(due_at or parcel.due_at),
            "now": to_micros(now),
        },
    )
    return len(moved) == 1
