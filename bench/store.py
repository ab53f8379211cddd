"""History: candles read cold and served from the cache, rounds appended, and a new slot noticed, on both databases.

    python -m bench store                 30 days of samples of 194 tokens; a year with YEAR=1
    python -m bench.store serve WHERE     an API process that answers history from this database

The reference of a cold read is the database's own driver with the plainest query for the same rows, and the same
encoder. The reference of an appended round is the same transaction with the samples alone.
"""

import asyncio
import json
import os
import sys
import tempfile
import time
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from types import SimpleNamespace

import uvloop

from bench import ratios, report
from bench.bare import Bare, open_bare
from bench.http import against_reference
from bench.kept import Kept
from bench.ratios import Figure, Times, side_by_side
from bench.reference import serve, start
from bench.report import Row
from tickyard.config.settings import HISTORY_START
from tickyard.doors.http.cache import FrontCache
from tickyard.doors.http.edge import Edge
from tickyard.doors.http.fast_path import ReadyProtocol
from tickyard.doors.routes import Endpoint, build_router
from tickyard.features.history import store as history
from tickyard.features.history.follow import follow_rounds
from tickyard.features.history.operations import SECONDS, History, HistoryAsk, get_history
from tickyard.features.history.tables import sample
from tickyard.kernel.clock import WallClock
from tickyard.kernel.ids import Address, Symbol
from tickyard.kernel.operation import Operation
from tickyard.kernel.wire import encode, iso
from tickyard.market.listing.registry import Registry
from tickyard.market.sampling.rounds import Round, slot_number, slot_start
from tickyard.market.sampling.samples import DAY_SLOTS, LatestSamples
from tickyard.store.engine import Store
from tickyard.store.identities import keep_listing
from tickyard.store.migrate import migrate
from tickyard.store.opening import open_store
from tickyard.store.statement import Bulk
from tickyard.store.tokens import token_ids

DATABASES = ("SQLite", "PostgreSQL")
TOKENS = 194
DAYS = 365 if os.environ.get("YEAR") == "1" else 30
START = datetime.fromisoformat(HISTORY_START).astimezone(UTC)
FIRST = slot_number(START)
CANDLES = 300
THIN_DAYS = max(0, CANDLES - DAYS)
"""Days before the others with a sample every four hours, so that there are 300 candles of every interval."""
THIN_SLOTS = 48
LAST = FIRST + (THIN_DAYS + DAYS) * DAY_SLOTS
COLD_GOAL, CACHED_GOAL, APPEND_GOAL, NOTICED_GOAL_S = 1.5, 0.90, 10.0, 1.0
NOTICED_TIMES = 9


def address_of(token_id: int) -> Address:
    return Address(f"0x{token_id:040x}")


class StandingClock(WallClock):
    """Shortly after the newest sample, for ever: answers stay good while they are measured."""

    def now(self) -> datetime:
        return slot_start(LAST - 1) + timedelta(seconds=10)


async def fill(store: Store) -> None:
    """Every price wanders by up to a tenth of a percent per slot."""
    rng = Random(3)
    async with store.begin() as tx:
        named = [(Symbol(f"T{n}"), address_of(n)) for n in range(1, TOKENS + 1)]
        ids = sorted((await token_ids(tx, named)).values())
    prices = {token_id: rng.randrange(10**9, 10**12) for token_id in ids}
    for number, day in enumerate(range(FIRST, LAST, DAY_SLOTS)):
        rounds = []
        for slot in range(day, day + DAY_SLOTS, THIN_SLOTS if number < THIN_DAYS else 1):
            prices = {token: price + price * rng.randrange(-1000, 1001) // 1_000_000 for token, price in prices.items()}
            rounds.append(Round(slot, slot, "0x", prices, 0, slot_start(slot)))
        async with store.begin() as tx:
            await history.record_all(tx, rounds, history_start=START)


ORDERS = {"token": "id", "round": "slot", "sample": "slot, token_id"}
ORDERS |= {f"candle_{name}": "bucket, token_id" for name in ("1h", "4h", "1d")}
SAMPLES = Kept(f"samples-{DAYS}", fill, ORDERS)


async def _no_schedules(_tokens: object) -> dict:
    return {}


async def open_registry(folder: Path) -> Registry:
    asset = {"multiplier_e18": 10**18, "pending_multiplier_e18": None, "pending_effective_at": None}
    asset |= {"status": "ASSET_STATUS_ACTIVE", "logo_url": "", "isin": "US0000000000", "trading_capabilities": None}
    named = [
        asset | {"id": hex(n), "symbol": f"T{n}", "name": f"T{n}", "address": address_of(n)}
        for n in range(1, TOKENS + 1)
    ]
    store = open_store(folder / "registry.db", WallClock())
    await migrate(store)
    async with store.begin() as tx:
        await keep_listing(tx, json.dumps(named), store.clock.now())
    registry = Registry(None, _no_schedules, store.clock, store)
    await registry.follow_store()
    await store.close()
    return registry


@asynccontextmanager
async def open_deps(where: str) -> AsyncIterator[SimpleNamespace]:
    clock = StandingClock()
    store = open_store(where, clock)
    try:
        with tempfile.TemporaryDirectory() as folder:
            market = SimpleNamespace(registry=await open_registry(Path(folder)))
            yield SimpleNamespace(clock=clock, store=store, market=market)
    finally:
        await store.close()


async def cold(database: str, deps: SimpleNamespace, bare: Bare) -> list[Times]:
    rows = []
    for interval in SECONDS:

        async def ours(at: int, interval=interval) -> bytes:
            ask = HistoryAsk(symbol=Symbol(f"T{at % TOKENS + 1}"), interval=interval, limit=CANDLES)
            return encode((await get_history(deps, ask)).answer)

        async def theirs(at: int, interval=interval) -> bytes:
            return encode(await bare.history(at % TOKENS + 1, interval, CANDLES, iso(START)))

        for at in (1, 100, TOKENS):
            if await ours(at) != await theirs(at):
                raise RuntimeError("the reference does not read the same candles")
        rows.append(await side_by_side(f"{database}, {CANDLES} x {interval} cold", ours, theirs, COLD_GOAL))
    return rows


async def append(database: str, store: Store) -> Times:
    """Both at the end of history; slots taken by one are never met by the other."""
    samples = Bulk(sample)
    rng = Random(4)

    def taken(slot: int) -> Round:
        prices = {token_id: rng.randrange(10**9, 10**12) for token_id in range(1, TOKENS + 1)}
        return Round(slot, slot, "0x", prices, 0, slot_start(slot))

    async def ours(at: int) -> None:
        each = taken(LAST + at)
        async with store.begin() as tx:
            await history.record(tx, each, history_start=START)

    async def theirs(at: int) -> None:
        each = taken(LAST + 10_000 + at)
        async with store.begin() as tx:
            rows = [{"token_id": token, "slot": each.slot, "price_e9": price} for token, price in each.prices.items()]
            await samples.run(tx, rows)

    return await side_by_side(f"{database}, a round of {TOKENS} with candles", ours, theirs, APPEND_GOAL, each=15)


ROW = Operation("get_history", "GET", "/v1/history/{symbol}", get_history, History, "history", HistoryAsk)


async def api(where: str) -> None:
    async with open_deps(where) as deps:
        cache = FrontCache(deps.clock)
        router = build_router([(ROW.method, ROW.path, Endpoint(ROW, deps, cache, deps.clock))])
        following = asyncio.create_task(follow_rounds(deps.store, LatestSamples(), deps.clock, cache.clear))
        app = Edge(router, cache, deps.clock, rate_limit=None, access_log=None, profile_header=None)
        try:
            await serve(app, http=ReadyProtocol)
        finally:
            following.cancel()


def fetch(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read()


async def noticed_s(url: str, store: Store) -> float:
    """From the commit of a round to the first answer that shows it, the slowest of a few."""
    slowest = 0.0
    for n in range(NOTICED_TIMES):
        before = await asyncio.to_thread(fetch, url)
        # Not in step with the process that looks.
        await asyncio.sleep(0.07 * n)
        taken = Round(LAST + 30_000 + n, 1, "0x", {1: 10**9 + n}, 0, slot_start(LAST))
        async with store.begin() as tx:
            await history.record(tx, taken, history_start=START)
        began = time.perf_counter()
        while await asyncio.to_thread(fetch, url) == before:
            pass
        slowest = max(slowest, time.perf_counter() - began)
    return slowest


async def run() -> tuple[list[Times], list[Row], list[Figure]]:
    times, rows, figures = [], [], []
    for database in DATABASES:
        async with SAMPLES.on(database) as where, open_deps(where) as deps, open_bare(where) as bare:
            times += await cold(database, deps, bare)
            async with start(sys.executable, "-m", "bench.store", "serve", where) as told:
                # Nothing spelled out that is the default: the form under which an answer is kept.
                url = f"http://127.0.0.1:{told['port']}/v1/history/T1?limit={CANDLES}"
                row = await against_reference(
                    f"{database}, {CANDLES} x 1h from the cache", url, told["pid"], CACHED_GOAL
                )
                rows.append(row)
                slowest = await noticed_s(url, deps.store)
            figures.append(
                Figure(f"{database}, a new slot noticed, slowest of {NOTICED_TIMES}", slowest, "s", NOTICED_GOAL_S)
            )
            times.append(await append(database, deps.store))
    return times, rows, figures


def main(_arguments: list[str]) -> int:
    print(f"{DAYS} days of samples of {TOKENS} tokens")
    times, rows, figures = uvloop.run(run())
    return max(ratios.show(times, figures), report.show(rows))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", where]:
            uvloop.run(api(where))
        case _:
            sys.exit(main(sys.argv[1:]))
