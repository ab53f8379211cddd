"""Durable events, read from the store: the same for every replica, however often they are read."""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from sqlalchemy import Table, and_, bindparam, or_, select

from tickyard.features.history.candles import bars
from tickyard.features.history.reading import newest_slot, suspects_of
from tickyard.features.history.stream.cursor import LAST_PART, ActionPlace, Cursor, RoundPlace
from tickyard.features.history.stream.told import Told, number
from tickyard.features.history.tables import ROLLUPS, recorded, sample
from tickyard.kernel.clock import SLOT_S
from tickyard.kernel.wire import iso
from tickyard.market.sampling.rounds import slot_start
from tickyard.store.actions import NO_DATE, corporate_action, corporate_action_change
from tickyard.store.engine import Transaction
from tickyard.store.identities import HAS_ITS_NAME
from tickyard.store.tables import from_micros, to_micros
from tickyard.store.tokens import token

INTERVALS: Final = {"5m": 300, "15m": 900, "1h": 3_600, "4h": 14_400, "1d": 86_400}
ROUNDS_MAX: Final = 288
"""A day: who was away for longer is told so."""
ACTIONS_MAX: Final = 1_000
ROUNDS_KEPT: Final = 12
"""An hour: who comes back after a restart was away for seconds, and comes with thousands of others."""

_ROUNDS: Final = (
    select(recorded.c.slot, recorded.c.block_number)
    .where(recorded.c.slot >= bindparam("first"), recorded.c.slot <= bindparam("last"))
    .order_by(recorded.c.slot)
)
_BEFORE: Final = (
    select(recorded.c.slot).where(recorded.c.slot < bindparam("slot")).order_by(recorded.c.slot.desc()).limit(1)
)


def _of_every_token(table: Table, place: str, columns: Sequence[str]) -> Any:
    """The rows of all tokens at one place, a slot or a bucket. An outer join: each token's one row is then looked up,
    while of an inner one a database may make a walk through all that was ever recorded."""
    return (
        select(token.c.id, token.c.symbol, *[table.c[name] for name in columns])
        .outerjoin(table, and_(table.c.token_id == token.c.id, table.c[place] == bindparam("place")))
        .where(HAS_ITS_NAME)
        .order_by(token.c.symbol)
    )


_SAMPLES: Final = _of_every_token(sample, "slot", ["price_e9"])
_CLOSED: Final = {
    interval_s: _of_every_token(table, "bucket", ["bucket", "open", "high", "low", "close", "ticks"])
    for interval_s, table in ROLLUPS.items()
}


async def _there(tx: Transaction, statement: Any, place: int) -> list[Any]:
    """The rows that there are; a token that has none at this place has nothing in the columns of it."""
    return [row for row in await tx.execute(statement, {"place": place}) if row[2] is not None]


async def position(tx: Transaction) -> Cursor:
    """Behind everything there is."""
    last = (
        await tx.execute(
            select(corporate_action_change.c.at, corporate_action_change.c.action_id)
            .order_by(corporate_action_change.c.at.desc(), corporate_action_change.c.action_id.desc())
            .limit(1)
        )
    ).first()
    action = (to_micros(last[0]), last[1]) if last is not None else (0, "")
    newest = await newest_slot(tx)
    return Cursor((newest, LAST_PART) if newest is not None else (0, 0), action)


class Rounds:
    """The events of rounds. A round never changes, so the newest ones are read once for all who come back."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[int, list[Told]]] = {}
        self._reading = asyncio.Lock()

    async def between(self, tx: Transaction, after: RoundPlace, upto: RoundPlace) -> list[Told]:
        """The events of every round behind the one place and not behind the other, in order."""
        # Who has heard a round to its end need not have it read again.
        first = after[0] + (after[1] >= LAST_PART)
        rows = (await tx.execute(_ROUNDS, {"first": first, "last": upto[0]})).all()
        told: list[Told] = []
        for slot, block_number in rows:
            events = await self._of(tx, slot, block_number)
            told += [event for event in events if event.round is not None and after < event.round <= upto]
        return told

    async def _of(self, tx: Transaction, slot: int, block_number: int) -> list[Told]:
        # Those who come together wait for the first of them.
        async with self._reading:
            block, events = self._kept.get(slot, (None, []))
            if block == block_number:
                return events
            events = await _round(tx, slot, block_number)
            self._kept[slot] = block_number, events
            if len(self._kept) > ROUNDS_KEPT:
                del self._kept[min(self._kept)]
            return events


async def _round(tx: Transaction, slot: int, block_number: int) -> list[Told]:
    """A round: its samples, then the candles that it closed."""
    rows = await _there(tx, _SAMPLES, slot)
    doubted = {each.token_id for each in await suspects_of(tx, slot)}
    items = {
        symbol: {"symbol": symbol, "price": number(price_e9), "suspect": token_id in doubted}
        for token_id, symbol, price_e9 in rows
    }
    around = {"slot": iso(slot_start(slot)), "blockNumber": block_number}
    told = [Told("sample", items, around, "samples", round=(slot, 0))]
    before = (await tx.execute(_BEFORE, {"slot": slot})).scalar_one_or_none()
    if before is not None:
        for part, (name, interval_s) in enumerate(INTERVALS.items(), start=1):
            per_bucket = interval_s // SLOT_S
            if before // per_bucket != slot // per_bucket:
                told.append(await _candles(tx, name, interval_s, before // per_bucket, (slot, part)))
    return told


async def _candles(tx: Transaction, name: str, interval_s: int, bucket: int, place: RoundPlace) -> Told:
    if interval_s in ROLLUPS:
        rows: Sequence[Any] = [row[1:] for row in await _there(tx, _CLOSED[interval_s], bucket)]
    else:
        per_bucket = interval_s // SLOT_S
        by_symbol: dict[str, list[tuple[int, int]]] = {}
        for slot in range(bucket * per_bucket, (bucket + 1) * per_bucket):
            for _, symbol, price_e9 in await _there(tx, _SAMPLES, slot):
                by_symbol.setdefault(symbol, []).append((slot, price_e9))
        rows = [(symbol, *bar) for symbol in sorted(by_symbol) for bar in bars(by_symbol[symbol], interval_s)]
    items = {
        symbol: {
            "symbol": symbol,
            "open": number(first),
            "high": number(high),
            "low": number(low),
            "close": number(last),
            "ticks": ticks,
        }
        for symbol, _, first, high, low, last, ticks in rows
    }
    opened = iso(slot_start(bucket * (interval_s // SLOT_S)))
    return Told("candle", items, {"interval": name, "t": opened}, "candles", round=place)


async def actions_between(tx: Transaction, after: ActionPlace, upto: ActionPlace) -> list[Told]:
    """What became known of corporate actions: new ones, and changes of old ones."""
    change, action = corporate_action_change.c, corporate_action.c
    since, until = from_micros(after[0]), from_micros(upto[0])
    query = (
        select(
            action.id,
            action.symbol,
            action.type,
            action.process_date,
            action.first_seen_at,
            change.at,
            change.status,
            change.details,
        )
        .join(corporate_action, action.id == change.action_id)
        .where(
            or_(change.at > since, and_(change.at == since, change.action_id > after[1])),
            or_(change.at < until, and_(change.at == until, change.action_id <= upto[1])),
        )
        .order_by(change.at, change.action_id)
        .limit(ACTIONS_MAX)
    )
    told = []
    for row in await tx.execute(query):
        said = {
            "id": row.id,
            "symbol": row.symbol,
            "type": row.type,
            "status": row.status,
            "processDate": row.process_date if row.process_date != NO_DATE else None,
            "details": msgspec.Raw(row.details.encode()),
            "firstSeenAt": iso(row.first_seen_at),
            "updatedAt": iso(row.at),
        }
        told.append(Told("action", {row.symbol: None}, said, action=(to_micros(row.at), row.id)))
    return told


async def latest_prices(tx: Transaction, slot: int) -> dict[str, Any]:
    """The newest round's samples by symbol, for those who have just come."""
    rows = await _there(tx, _SAMPLES, slot)
    return {symbol: {"symbol": symbol, "price": number(price_e9)} for _, symbol, price_e9 in rows}
