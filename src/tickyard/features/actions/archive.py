"""Writing the archive: what is new, what has changed, and when."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy import insert, select, update

from tickyard.observe.log import log
from tickyard.sources.issuer.api import IssuerAction
from tickyard.store.actions import (
    NO_DATE,
    action_id,
    corporate_action,
    corporate_action_change,
    corporate_action_sync,
)
from tickyard.store.engine import Transaction
from tickyard.store.upsert import insert_new, upsert

_canonical = msgspec.json.Encoder(order="deterministic").encode


@dataclass(frozen=True, slots=True)
class Synced:
    seen: int
    new: int
    changed: int
    touched: frozenset[str]
    """Symbols of the actions that are new or have changed."""


async def archive(tx: Transaction, actions: Iterable[IssuerAction], now: datetime) -> Synced:
    """Add the issuer's present list to the archive. Nothing ever leaves it."""
    rows = _rows(actions)
    known = {row.id: row for row in await tx.execute(select(corporate_action))}
    synced_at, now = now, await _after_all(tx, now)
    touched = set()
    new = changed = 0
    for key, row in sorted(rows.items()):
        old = known.get(key)
        if old is None:
            values = {**row, "first_seen_at": now, "updated_at": now}
            is_ours = (await tx.execute(insert_new(tx, corporate_action), values)).rowcount == 1
            new += is_ours
        elif (old.status, old.details, old.symbol) != (row["status"], row["details"], row["symbol"]):
            is_ours = await _change(tx, key, old.updated_at, row, now)
            changed += is_ours
        else:
            continue
        if is_ours:
            touched.add(row["symbol"])
            seen = {"action_id": key, "at": now, "status": row["status"], "details": row["details"]}
            await tx.execute(insert(corporate_action_change), seen)
    await tx.execute(
        upsert(tx, corporate_action_sync, ["id"], lambda each: {"at": each.at}), {"id": 1, "at": synced_at}
    )
    return Synced(len(rows), new, changed, frozenset(touched))


async def _after_all(tx: Transaction, now: datetime) -> datetime:
    """Now, or just behind the last change if a clock was set back: whoever follows the changes goes by their times, and
    would never hear of one that is older than what they have heard."""
    newest = select(corporate_action_change.c.at).order_by(corporate_action_change.c.at.desc()).limit(1)
    last: datetime | None = (await tx.execute(newest)).scalar_one_or_none()
    return now if last is None else max(now, last + timedelta(microseconds=1))


async def _change(tx: Transaction, key: str, was: datetime, row: dict[str, Any], now: datetime) -> bool:
    """False: someone was faster."""
    values = {name: row[name] for name in ("status", "details", "symbol")}
    changed = await tx.execute(
        update(corporate_action)
        .where(corporate_action.c.id == key, corporate_action.c.updated_at == was)
        .values(**values, updated_at=now)
    )
    return changed.rowcount == 1


def _rows(actions: Iterable[IssuerAction]) -> dict[str, dict[str, Any]]:
    """By our id. The issuer's list has no order, so of two rows with one key the same one must always win."""
    rows: dict[str, dict[str, Any]] = {}
    for action in actions:
        day = action.process_date.isoformat() if action.process_date is not None else NO_DATE
        key = action_id(action.asset_id, action.type, day)
        row = {
            "id": key,
            "asset_id": action.asset_id,
            "symbol": action.symbol,
            "type": action.type,
            "process_date": day,
            "status": action.status,
            "details": _canonical(action.details).decode(),
        }
        other = rows.get(key)
        if other is not None and other != row:
            log.warning("two corporate actions share asset, type and date", symbol=action.symbol, type=action.type)
            row = max(row, other, key=lambda each: (each["details"], each["status"]))
        rows[key] = row
    return rows
