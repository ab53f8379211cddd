"""Which key each version is: pinned in the store when first used, one truth for all processes.

A process with another key under the same number would make secrets that no other process knows, and sign webhooks that
no receiver believes. Nothing else would tell: a secret is derived and never stored, and a wrong one is a 404.
"""

from typing import Final

from sqlalchemy import Column, Integer, String, Table, func, select

from tickyard.features.alerts.secret import AlertKeys
from tickyard.features.alerts.store import IS_ACTIVE, alert
from tickyard.store.engine import Store, Transaction
from tickyard.store.tables import METADATA
from tickyard.store.upsert import insert_new

alert_key: Final = Table(
    "alert_key",
    METADATA,
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("mark", String, nullable=False),
)


async def pin_keys(store: Store, keys: AlertKeys) -> list[int]:
    """Pin the versions that are new; those that are pinned as another key."""
    marks = keys.marks()
    async with store.read() as tx:
        pinned = await _pinned(tx)
    if marks.keys() - pinned.keys():
        async with store.begin() as tx:
            rows = [{"version": version, "mark": mark} for version, mark in sorted(marks.items())]
            await tx.execute(insert_new(tx, alert_key), rows)
            # Another process may have been first.
            pinned = await _pinned(tx)
    return _others(marks, pinned)


async def other_keys(tx: Transaction, keys: AlertKeys) -> list[int]:
    """The versions that are pinned as another key."""
    return _others(keys.marks(), await _pinned(tx))


async def without_key(tx: Transaction, keys: AlertKeys) -> dict[int, int]:
    """How many active alerts there are of each version that is not among these keys."""
    rows = await tx.execute(select(alert.c.key_version, func.count()).where(IS_ACTIVE).group_by(alert.c.key_version))
    return {version: count for version, count in rows if not keys.knows(version)}


async def _pinned(tx: Transaction) -> dict[int, str]:
    rows = await tx.execute(select(alert_key.c.version, alert_key.c.mark))
    return {row.version: row.mark for row in rows}


def _others(marks: dict[int, str], pinned: dict[int, str]) -> list[int]:
    return sorted(version for version, mark in marks.items() if pinned.get(version, mark) != mark)
