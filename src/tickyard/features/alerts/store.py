"""The alert table and the conditional writes that move an alert."""

from collections.abc import Set
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Column,
    Integer,
    Row,
    String,
    Table,
    bindparam,
    insert,
    literal_column,
    select,
    text,
    update,
)

from tickyard.features.alerts.rules import AlertStatus, Condition, Delivery
from tickyard.kernel.ids import Symbol
from tickyard.store.engine import Transaction
from tickyard.store.outbox import Parcel, outbox
from tickyard.store.statement import Query
from tickyard.store.tables import METADATA, Instant, partial_index

KIND: Final = "alert"
"""Whose parcels these are in the outbox; their key is the alert's id."""

alert: Final = Table(
    "alert",
    METADATA,
    Column("id", String, primary_key=True),
    Column("symbol", String, nullable=False),
    Column("token_id", Integer, nullable=False),
    Column("condition", String, nullable=False),
    Column("price_e9", BigInteger, nullable=False),
    Column("webhook_url", String, nullable=False),
    Column("host", String, nullable=False),
    Column("domain", String, nullable=False),
    Column("client", String, nullable=False),
    Column("key_version", Integer, nullable=False),
    Column("status", String, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("expires_at", Instant, nullable=False),
    Column("fired_at", Instant),
    Column("fired_price_e9", BigInteger),
    # How the delivery ended. The outbox forgets after 90 days, an alert stays readable.
    Column("delivery", String),
)
# A row that everyone who creates an alert locks first: caps are counted by one at a time.
alert_gate: Final = Table("alert_gate", METADATA, Column("id", Integer, primary_key=True, autoincrement=False))

# Written out, not bound: the databases use a partial index only when they can see its condition in the statement.
IS_ACTIVE: Final = alert.c.status == literal_column("'active'")

for _name, _columns in {
    "armed": (alert.c.token_id, alert.c.condition, alert.c.price_e9),
    "domain": (alert.c.domain, alert.c.host),
    "client": (alert.c.client,),
    "expires_at": (alert.c.expires_at,),
}.items():
    partial_index(f"ix_alert_{_name}", *_columns, where=IS_ACTIVE)


@dataclass(frozen=True, slots=True)
class Alert:
    id: str
    symbol: Symbol
    token_id: int
    condition: Condition
    price_e9: int
    webhook_url: str
    host: str
    domain: str
    client: str
    key_version: int
    status: AlertStatus
    created_at: datetime
    expires_at: datetime
    fired_at: datetime | None = None
    fired_price_e9: int | None = None
    delivery: Delivery | None = None


async def add(tx: Transaction, made: Alert) -> None:
    row = {column.name: getattr(made, column.name) for column in alert.columns}
    await tx.execute(insert(alert), {**row, "condition": str(made.condition), "status": str(made.status)})


async def find(tx: Transaction, alert_id: str) -> Alert | None:
    """The alert with what is known of its delivery."""
    state = select(outbox.c.state).where(outbox.c.kind == KIND, outbox.c.key == alert.c.id).scalar_subquery()
    found = await tx.execute(select(alert, state.label("state")).where(alert.c.id == alert_id))
    row = found.one_or_none()
    return None if row is None else _read(row)


async def cancel(tx: Transaction, alert_id: str, now: datetime) -> None:
    """One that is not active any more stays what it is."""
    await tx.execute(
        update(alert)
        .where(alert.c.id == alert_id, IS_ACTIVE, alert.c.expires_at > now)
        .values(status=str(AlertStatus.CANCELLED))
    )


async def expire(tx: Transaction, now: datetime, alert_id: str | None = None) -> int:
    """Mark alerts whose time is over, all or one. How many there were."""
    over = update(alert).where(IS_ACTIVE, alert.c.expires_at <= now).values(status=str(AlertStatus.EXPIRED))
    changed = await tx.execute(over if alert_id is None else over.where(alert.c.id == alert_id))
    return changed.rowcount


async def due_parcels(tx: Transaction, now: datetime, in_hand: Set[str], limit: int) -> list[Parcel]:
    """Parcels that wait to be sent and are not in hand, longest due first.

    What is in hand is still pending for the database, and stands before the rest: it is passed over by key alone.
    """
    keys = await tx.execute(
        select(outbox.c.key)
        .where(outbox.c.kind == KIND, outbox.c.state == str(Delivery.PENDING), outbox.c.due_at <= now)
        .order_by(outbox.c.due_at)
        .limit(len(in_hand) + limit)
    )
    new = [key for key in keys.scalars() if key not in in_hand][:limit]
    columns = [outbox.c[field.name] for field in fields(Parcel)]
    found = await tx.execute(select(*columns).where(outbox.c.kind == KIND, outbox.c.key.in_(new)))
    parcels = {row.key: Parcel(*row) for row in found}
    return [parcels[key] for key in new]


_REMEMBER: Final = Query(
    text("UPDATE alert SET delivery = :ended WHERE id = :id AND status = 'fired' RETURNING id").bindparams(
        bindparam("ended", type_=String), bindparam("id", type_=String)
    )
)


async def remember_delivery(tx: Transaction, alert_id: str, ended: Delivery) -> None:
    await tx.fetch(_REMEMBER, {"id": alert_id, "ended": str(ended)})


async def remember_unknown(tx: Transaction) -> None:
    """Alerts whose sending was interrupted say so from now on."""
    lost = select(outbox.c.key).where(outbox.c.kind == KIND, outbox.c.state == str(Delivery.UNKNOWN))
    await tx.execute(
        update(alert)
        .where(alert.c.id.in_(lost), alert.c.status == str(AlertStatus.FIRED), alert.c.delivery.is_(None))
        .values(delivery=str(Delivery.UNKNOWN))
    )


def _read(row: Row[Any]) -> Alert:
    values = dict(row._mapping)
    delivery = values["delivery"] or values["state"]
    del values["state"]
    return Alert(
        **{
            **values,
            "status": AlertStatus(values["status"]),
            "delivery": None if delivery is None else Delivery(delivery),
        }
    )
