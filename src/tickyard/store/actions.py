"""The archive of corporate actions: written once an hour, read by its own route and by research.

The issuer forgets an action after about a month; we never do. Its id names the asset, so an action is known here by
asset, type and date, and carries an id of ours made from them: the same on every machine and after every rebuild.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from hashlib import sha256
from typing import Final

from sqlalchemy import Column, Index, Integer, String, Table, bindparam, select

from tickyard.store.engine import Transaction
from tickyard.store.tables import METADATA, Instant

TYPE_PREFIX: Final = "CORPORATE_ACTION_TYPE_"
STATUS_PREFIX: Final = "CORPORATE_ACTION_STATUS_"
RECOUNTS: Final = tuple(
    TYPE_PREFIX + kind for kind in ("FORWARD_SPLIT", "REVERSE_SPLIT", "STOCK_DIVIDEND", "UNIT_SPLIT")
)
"""Actions after which there are more or fewer shares of the same company."""
_COMPLETED: Final = STATUS_PREFIX + "COMPLETED"
_CANCELLED: Final = (STATUS_PREFIX + "CANCELED", STATUS_PREFIX + "CANCELLED")

NO_DATE: Final = ""
"""An action without a date. Not NULL: two NULLs are never the same, and these are."""

corporate_action: Final = Table(
    "corporate_action",
    METADATA,
    Column("id", String, primary_key=True),
    Column("asset_id", String, nullable=False),
    Column("symbol", String, nullable=False),
    Column("type", String, nullable=False),
    Column("process_date", String, nullable=False),
    Column("status", String, nullable=False),
    Column("details", String, nullable=False),
    Column("first_seen_at", Instant, nullable=False),
    Column("updated_at", Instant, nullable=False),
)
Index("ix_corporate_action_symbol", corporate_action.c.symbol)

# What an action looked like from that moment on; its first look included.
corporate_action_change: Final = Table(
    "corporate_action_change",
    METADATA,
    Column("action_id", String, primary_key=True),
    Column("at", Instant, primary_key=True),
    Column("status", String, nullable=False),
    Column("details", String, nullable=False),
)
Index("ix_corporate_action_change_at", corporate_action_change.c.at, corporate_action_change.c.action_id)

# One row: when the issuer's list was last read.
corporate_action_sync: Final = Table(
    "corporate_action_sync",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("at", Instant, nullable=False),
)


@dataclass(frozen=True, slots=True)
class Archived:
    id: str
    asset_id: str
    symbol: str
    type: str
    process_date: str
    status: str
    details: str
    """Canonical JSON."""
    first_seen_at: datetime
    updated_at: datetime


def action_id(asset_id: str, kind: str, process_date: str) -> str:
    return "ca_" + sha256(f"{asset_id}/{kind}/{process_date}".encode()).hexdigest()[:24]


async def archived(tx: Transaction, symbol: str | None = None, status: str | None = None) -> list[Archived]:
    """Those without a date first, then the newest; by symbol within a day."""
    actions = corporate_action.c
    query = select(corporate_action)
    if symbol is not None:
        query = query.where(actions.symbol == symbol)
    if status is not None:
        query = query.where(actions.status == status)
    found = [Archived(**row) for row in (await tx.execute(query)).mappings()]
    found.sort(key=lambda action: (action.symbol, action.type, action.id))
    found.sort(key=lambda action: (action.process_date == NO_DATE, action.process_date), reverse=True)
    return found


async def last_sync(tx: Transaction) -> datetime | None:
    at: datetime | None = (await tx.execute(select(corporate_action_sync.c.at))).scalar_one_or_none()
    return at


# Built once: building it costs more than running it, and every research asks it.
_OF_SYMBOL: Final = select(
    corporate_action.c.type,
    corporate_action.c.status,
    corporate_action.c.process_date,
    corporate_action.c.first_seen_at,
).where(corporate_action.c.symbol == bindparam("symbol"))


async def recounts_between(tx: Transaction, symbol: str, after: date, until: date) -> Sequence[date]:
    """Days after the one and up to the other on which the number of the company's shares was changed.

    An action without a date counts, when it is completed, from the day on which we first saw it.
    """
    days = []
    for kind, status, process_date, first_seen_at in await tx.execute(_OF_SYMBOL, {"symbol": symbol}):
        if kind not in RECOUNTS or status in _CANCELLED:
            continue
        if process_date != NO_DATE:
            days.append(date.fromisoformat(process_date))
        elif status == _COMPLETED:
            days.append(first_seen_at.date())
    return sorted(day for day in days if after < day <= until)
