"""Research over an issuer and a filings database on loopback, with a real store and a clock that can be moved."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, time
from pathlib import Path
from random import Random
from types import SimpleNamespace

from aiohttp import web

from tickyard.features.research.library import Library
from tickyard.features.research.operations import ResearchAsk, get_research
from tickyard.market.listing.registry import Registry
from tickyard.market.market import Market
from tickyard.market.mids import Mids
from tickyard.sandbox.filings.ordinary import AS_OF
from tickyard.sandbox.filings.server import FilingsStandIn
from tickyard.sandbox.standins.faults import FaultBoard
from tickyard.sandbox.standins.issuer import IssuerStandIn
from tickyard.sandbox.standins.process import open_port
from tickyard.sandbox.world import listing
from tickyard.sources.filings.database import Filings, open_source
from tickyard.sources.http import Source
from tickyard.sources.issuer.api import MAX_BYTES, Issuer
from tickyard.store.engine import Store
from tickyard.store.opening import open_store
from tickyard.store.shared_pace import SharedPace
from yards.clocks import MovedClock, SkippingClock
from yards.patience import STUCK_S
from yards.schema import lay

START = datetime.combine(AS_OF, time(15, 30), UTC)


class StartedClock(MovedClock):
    """Begins at a chosen moment."""

    def __init__(self, start=START):
        super().__init__()
        self.offset = start - self.now()


class HurriedClock(StartedClock, SkippingClock):
    """Does not wait between two tries."""


class Desk(FilingsStandIn):
    """The filings stand-in, noting who asked for what, with documents that a test may replace."""

    def __init__(self, board, clock, **more):
        super().__init__(board, clock, **more)
        self.asked = []
        self.replaced = {}
        self.answers = []

    async def answer(self, request):
        path = request.match_info["path"]
        response = await super().answer(request)
        if path in self.replaced:
            body = self.replaced[path]
            missing = web.Response(status=404, text="<html/>", content_type="text/html")
            response = web.Response(body=body, content_type="application/json") if body is not None else missing
        self.asked.append(path)
        self.answers.append(response.status)
        return response


@dataclass
class Yard:
    settings: SimpleNamespace
    clock: StartedClock
    board: FaultBoard
    desk: Desk
    issuer_stand_in: IssuerStandIn
    store: Store
    issuer: Issuer
    market: Market
    filings: Library

    async def research(self, symbol):
        async with asyncio.timeout(STUCK_S):
            return (await get_research(self, ResearchAsk(symbol=symbol))).answer


@asynccontextmanager
async def open_yard(where, *, per_second=10_000, patience_s=5, clock=None, budget_s=8.0, try_s=5.0):
    """`where`: the store's file; the same one again, with the same clock, is a restart."""
    board, clock, rng = FaultBoard(), clock or HurriedClock(), Random(1)
    desk = Desk(board, clock)
    stand_in = IssuerStandIn(board, clock, listing.load(), began=clock.now())
    runner, port = await open_port([desk, stand_in])
    base = f"http://127.0.0.1:{port}"
    store = open_store(Path(where), clock)
    await lay(store)
    pace = SharedPace(store, "filings", per_second=per_second, patience_s=patience_s)
    limits = {"clock": clock, "rng": rng, "budget_s": budget_s, "try_s": try_s}
    data = open_source("filings", f"{base}/filings", "ops@example.com", pace, **limits)
    files = open_source("filings-files", f"{base}/filings/files", "ops@example.com", pace, **limits)
    source = Source("issuer", f"{base}/issuer", clock=clock, rng=rng, max_bytes=MAX_BYTES)
    sources = (data, files, source)
    for each in sources:
        await each.start()
    try:
        issuer = Issuer(source)
        registry = Registry(issuer, _no_schedules, clock, store)
        await registry.refresh()
        # Research reads neither pools nor the chain.
        market = Market(registry, Mids(issuer, clock, registry.symbol_at), None, None, None, None)
        library = Library(Filings(data, files, pace, quiet_s=60), store, clock)
        yield Yard(SimpleNamespace(chain_id=4663), clock, board, desk, stand_in, store, issuer, market, library)
    finally:
        for each in sources:
            await each.close()
        await store.close()
        await runner.cleanup()


async def _no_schedules(_tokens):
    return {}
