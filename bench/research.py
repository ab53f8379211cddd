"""Research: served warm against a raw ASGI app, the reading of a large document, and how often the filings are asked.

    python -m bench research            all of it
    python -m bench.research serve      the service under test, over stand-ins of its own

The service has its edge, cache, binder and operation, a real store and real sockets to issuer and filings; research
never reads the chain, so there is none.
"""

import asyncio
import gzip
import json
import sys
import tempfile
import time
import urllib.request
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import date
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import median
from types import SimpleNamespace

import uvloop
from aiohttp import web

from bench.http import against_reference
from bench.reference import serve, start
from bench.report import Row, show
from tickyard.doors.http.cache import FrontCache
from tickyard.doors.http.edge import Edge
from tickyard.doors.http.fast_path import ReadyProtocol
from tickyard.doors.routes import Endpoint, build_router
from tickyard.features.research.answer import Research
from tickyard.features.research.library import Library
from tickyard.features.research.operations import ResearchAsk, get_research
from tickyard.features.research.study import study
from tickyard.kernel.clock import WallClock
from tickyard.kernel.operation import Operation
from tickyard.market.listing.registry import Registry
from tickyard.market.market import Market
from tickyard.market.mids import Mids
from tickyard.sandbox.filings.server import FilingsStandIn
from tickyard.sandbox.standins.faults import FaultBoard
from tickyard.sandbox.standins.issuer import IssuerStandIn
from tickyard.sandbox.standins.process import open_port
from tickyard.sandbox.world.listing import load
from tickyard.sources.filings.border import Company, read_facts
from tickyard.sources.filings.database import PER_SECOND, Filings, open_source
from tickyard.sources.http import Source
from tickyard.sources.issuer.api import MAX_BYTES, Issuer
from tickyard.store.migrate import migrate
from tickyard.store.opening import open_store
from tickyard.store.shared_pace import SharedPace

WARM_GOAL = 1.50
READ_GOAL_MS, CHOOSE_GOAL_MS = 60, 10
REPETITIONS = 9
# GME is halted in the sandbox: its price, and so the length of the answer, stands still.
SYMBOL, OTHER = "GME", "AAPL"
CONTACT = "bench@example.com"
# A filer with more rows of wanted concepts than most.
REAL = Path(__file__).parents[1] / "tests/filings/facts/APH@2026-04-27.json.gz"
CIK, DAY = 820313, date(2026, 4, 27)


class Counting(FilingsStandIn):
    """The filings stand-in, and how often it was asked."""

    requests = 0

    def add_to(self, app) -> None:
        super().add_to(app)
        app.router.add_get("/asked", self.asked)

    async def asked(self, _request):
        return web.json_response(self.requests)

    async def answer(self, request):
        self.requests += 1
        return await super().answer(request)


async def _no_schedules(_tokens) -> dict:
    return {}


@asynccontextmanager
async def research_app(folder: Path, base: str):
    clock, rng = WallClock(), Random(1)
    store = open_store(folder / "tickyard.db", clock)
    await migrate(store)
    pace = SharedPace(store, "filings", per_second=PER_SECOND)
    data = open_source("filings", f"{base}/filings", CONTACT, pace, clock=clock, rng=rng)
    files = open_source("filings-files", f"{base}/filings/files", CONTACT, pace, clock=clock, rng=rng)
    source = Source("issuer", f"{base}/issuer", clock=clock, rng=rng, max_bytes=MAX_BYTES)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(store.close)
        for each in (data, files, source):
            await each.start()
            stack.push_async_callback(each.close)
        issuer = Issuer(source)
        registry = Registry(issuer, _no_schedules, clock, store)
        await registry.refresh()
        deps = SimpleNamespace(
            settings=SimpleNamespace(chain_id=4663),
            clock=clock,
            market=Market(registry, Mids(issuer, clock, registry.symbol_at), None, None, None, None),
            store=store,
            filings=Library(Filings(data, files, pace), store, clock),
        )
        path = "/v1/research/{symbol}"
        row = Operation("get_research", "GET", path, get_research, Research, "research", ResearchAsk)
        cache = FrontCache(clock)
        router = build_router([(row.method, row.path, Endpoint(row, deps, cache, clock))])
        yield Edge(router, cache, clock, rate_limit=None, access_log=None, profile_header=None)


async def under_test(base: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with research_app(Path(folder), base) as app:
            await serve(app, http=ReadyProtocol)


def large_document(megabytes: int = 5) -> bytes:
    """A real filer's facts, with all that any choice could want, among hundreds of concepts that nobody asks for."""
    document = json.loads(gzip.decompress(REAL.read_bytes()))
    gaap = document["facts"]["us-gaap"]
    filler = gaap["Assets"]
    size, each = len(json.dumps(document)), len(json.dumps(filler)) + 20
    for seed in range((megabytes * 10**6 - size) // each + 1):
        gaap[f"Other{seed:04d}"] = filler
    return json.dumps(document).encode()


def choose_ms() -> tuple[float, float, int]:
    """CPU milliseconds to read a large document, and from there to the chosen figures."""
    body = large_document()
    company = Company(cik=CIK, name="A filer", fiscal_year_end="1231")
    reading, choosing = [], []
    for _ in range(REPETITIONS):
        began = time.process_time()
        facts = read_facts(body, CIK)
        read = time.process_time()
        found = study(company, facts, DAY)
        reading.append((read - began) * 1000)
        choosing.append((time.process_time() - read) * 1000)
    if found.revenue is None or found.net_income is None or found.shares is None or facts.unread:
        raise RuntimeError("the document was not read")
    return median(reading), median(choosing), len(body)


def fetch(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.read()


async def run() -> tuple[Row, list[int]]:
    clock, board = WallClock(), FaultBoard()
    runner, port = await open_port([Counting(board, clock), IssuerStandIn(board, clock, load(), began=clock.now())])
    base = f"http://127.0.0.1:{port}"

    async def asked() -> int:
        return int(await asyncio.to_thread(fetch, f"{base}/asked"))

    try:
        async with start(sys.executable, "-m", "bench.research", "serve", base) as told:
            url = f"http://127.0.0.1:{told['port']}/v1/research/"
            counts = [await asked()]
            for symbol in (OTHER, SYMBOL, SYMBOL):
                await asyncio.to_thread(fetch, url + symbol)
                counts.append(await asked())
            row = await against_reference("research warm", url + SYMBOL, told["pid"], WARM_GOAL)
            counts.append(await asked())
    finally:
        await runner.cleanup()
    return row, [late - early for early, late in pairwise(counts)]


def main(_arguments: list[str]) -> int:
    reading, choosing, size = choose_ms()
    is_fast = reading + choosing <= READ_GOAL_MS and choosing <= CHOOSE_GOAL_MS
    print(f"facts of {size / 1e6:.1f} MB: read in {reading:.1f} ms, chosen in {choosing:.1f} ms more, CPU", end=" ")
    print(f"(goal {READ_GOAL_MS} in all, {CHOOSE_GOAL_MS} to choose): {'ok' if is_fast else 'missed'}")
    row, asked = asyncio.run(run())
    is_frugal = asked == [3, 2, 0, 0]
    print(
        f"filings requests: {asked[0]} for the first symbol with the ticker map, {asked[1]} for the next, then", end=""
    )
    print(f" {asked[2] + asked[3]} (goal 3, 2, 0): {'ok' if is_frugal else 'missed'}")
    return max(show([row]), int(not is_fast), int(not is_frugal))


if __name__ == "__main__":
    uvloop.run(under_test(sys.argv[2]))
