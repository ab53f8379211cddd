"""How many active alerts there may be: of one host, one domain, one client, and altogether.

Those who count and insert do it one after another (SQLite has one writer; on PostgreSQL they lock one row), so a
cap holds under any concurrency. Alerts only leave in the meantime, never arrive.
"""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, func, select

from tickyard.features.alerts.store import IS_ACTIVE, Alert, alert, alert_gate
from tickyard.kernel.errors import BadRequest
from tickyard.store.engine import Transaction


@dataclass(frozen=True, slots=True)
class AlertCaps:
    per_host: int = 25
    per_domain: int = 250
    per_client: int = 200
    total: int = 100_000


async def check_caps(tx: Transaction, made: Alert, caps: AlertCaps, now: datetime) -> None:
    """BadRequest when one more alert like this would be too many. Insert it in the same transaction."""
    await tx.execute(select(alert_gate.c.id).with_for_update())
    for limit, whose, where in (
        (caps.per_host, "for this webhook host", (alert.c.domain == made.domain, alert.c.host == made.host)),
        (caps.per_domain, "for this webhook domain", (alert.c.domain == made.domain,)),
        (caps.per_client, "from this client", (alert.c.client == made.client,)),
        (caps.total, "at the moment", ()),
    ):
        if await _active(tx, limit, now, *where) >= limit:
            raise BadRequest(f"there are already {limit} active alerts {whose}")


async def _active(tx: Transaction, limit: int, now: datetime, *where: ColumnElement[bool]) -> int:
    # One that is over but not yet marked so has freed its place. Nobody needs to count beyond the limit.
    some = select(alert.c.id).where(IS_ACTIVE, alert.c.expires_at > now, *where).limit(limit).subquery()
    found: int = (await tx.execute(select(func.count()).select_from(some))).scalar_one()
    return found
