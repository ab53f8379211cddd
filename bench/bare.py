"""The plainest way to read candles: the driver's own cursor, one query, and the answer's own structures."""

import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, Protocol

import psycopg

from tickyard.features.history.operations import SECONDS, SOURCE, Candle, History

_ROLLUPS = {"1h": "candle_1h", "4h": "candle_4h", "1d": "candle_1d"}
_SAMPLES = "SELECT slot, price_e9 FROM sample WHERE token_id = ? ORDER BY slot DESC LIMIT ?"
_CANDLES = "SELECT bucket, open, high, low, close, ticks FROM {} WHERE token_id = ? ORDER BY bucket DESC LIMIT ?"


class Bare(Protocol):
    async def rows(self, query: str, *values: Any) -> Sequence[tuple[Any, ...]]: ...

    async def history(self, token_id: int, interval: str, limit: int, since: str) -> History:
        """The newest candles, or the samples they are folded from. What else the answer says is given."""
        seconds = SECONDS[interval]
        if interval in _ROLLUPS:
            bars = await self.rows(_CANDLES.format(_ROLLUPS[interval]), token_id, limit)
        else:
            per_bucket = seconds // 300
            samples = await self.rows(_SAMPLES, token_id, limit * per_bucket)
            bars = _folded(samples, per_bucket)[:limit]
        moment = datetime.fromtimestamp
        candles = [
            Candle(
                t=moment(bucket * seconds, UTC),
                open=opened / 10**9,
                high=high / 10**9,
                low=low / 10**9,
                close=close / 10**9,
                ticks=ticks,
            )
            for bucket, opened, high, low, close, ticks in reversed(bars)
        ]
        return History(symbol=f"T{token_id}", interval=interval, source=SOURCE, history_since=since, candles=candles)


def _folded(samples: Sequence[tuple[int, int]], per_bucket: int) -> list[tuple[int, ...]]:
    if per_bucket == 1:
        return [(slot, price, price, price, price, 1) for slot, price in samples]
    buckets: dict[int, list[int]] = {}
    for slot, price in samples:
        buckets.setdefault(slot // per_bucket, []).append(price)
    return [
        (bucket, prices[-1], max(prices), min(prices), prices[0], len(prices)) for bucket, prices in buckets.items()
    ]


class BareSqlite(Bare):
    def __init__(self, link: sqlite3.Connection) -> None:
        self._link = link

    async def rows(self, query: str, *values: Any) -> Sequence[tuple[Any, ...]]:
        return self._link.execute(query, values).fetchall()


class BarePostgres(Bare):
    def __init__(self, link: psycopg.AsyncConnection) -> None:
        self._link = link

    async def rows(self, query: str, *values: Any) -> Sequence[tuple[Any, ...]]:
        return await (await self._link.execute(query.replace("?", "%s"), values)).fetchall()


@asynccontextmanager
async def open_bare(where: str) -> AsyncIterator[Bare]:
    if where.startswith("postgresql"):
        async with await psycopg.AsyncConnection.connect(where, autocommit=True) as link:
            yield BarePostgres(link)
        return
    plain = sqlite3.connect(where)
    try:
        yield BareSqlite(plain)
    finally:
        plain.close()
