"""API processes with nothing but the stream, to be killed. Run as a script: `stream_server.py DATABASE`.

Importing takes longer than a life here, so this process stays and gives birth: one server per line that it reads, on a
port of its own choice, which it tells with its pid.
"""

import asyncio
import os
import socket
import sys
from random import Random

import uvicorn

from tickyard.chain.rpc.client import Rpc
from tickyard.config.pinned import MAINNET
from tickyard.config.settings import Settings
from tickyard.deps import Deps
from tickyard.doors.http.cache import FrontCache
from tickyard.doors.http.edge import Edge
from tickyard.doors.http.fast_path import ReadyProtocol
from tickyard.doors.http.limits import client_key
from tickyard.doors.http.stream import PATH, StreamDoor
from tickyard.doors.routes import build_router
from tickyard.features.history.stream import hub as streaming
from tickyard.kernel.clock import WallClock
from tickyard.market.listing.registry import Registry
from tickyard.market.market import Market
from tickyard.market.mids import Mids
from tickyard.market.reading import ChainReader
from tickyard.market.swaps.charts import ChartReader
from tickyard.market.swaps.pools import PoolBook
from tickyard.sources.http import Source
from tickyard.sources.issuer.api import Issuer
from tickyard.store.opening import open_store
from tickyard.supervisor import Supervisor

streaming.LOOK_S = 0.01


def make_hub(where: str) -> streaming.Hub:
    """A hub over a store; what is at port 1 is never reached."""
    clock = WallClock()
    nowhere = "http://127.0.0.1:1"
    settings = Settings(rpc_urls=(nowhere,))
    rpc = Rpc([nowhere], chain_id=4663, clock=clock)
    reader = ChainReader(rpc, MAINNET.multicall3, clock)
    book = PoolBook(reader, MAINNET, (500,), clock)
    issuer = Issuer(Source("issuer", nowhere, clock=clock, rng=Random(), max_bytes=1000), chain_id=4663)

    async def no_schedules(_tokens):
        return {}

    store = open_store(where, clock)
    registry = Registry(issuer, no_schedules, clock, store)
    charts = ChartReader(reader, book, MAINNET)
    market = Market(registry, Mids(issuer, clock, registry.symbol_at), book, reader, charts, MAINNET)
    return streaming.Hub(Deps(settings, clock, market, rpc, store, Supervisor(clock, Random())))


async def serve(where: str, sock: socket.socket) -> None:
    hub = make_hub(where)
    clock = WallClock()
    cache = FrontCache(clock)
    router = build_router([("GET", PATH, StreamDoor(hub, client_key))])
    edge = Edge(router, cache, clock, rate_limit=None, access_log=None, profile_header=None)
    config = uvicorn.Config(
        edge,
        loop="none",
        http=ReadyProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
    )
    keeping = asyncio.create_task(hub.keep())
    await uvicorn.Server(config).serve([sock])
    keeping.cancel()


def main() -> None:
    os.write(1, b"ready\n")
    for _line in sys.stdin:
        sock = socket.create_server(("127.0.0.1", 0))
        child = os.fork()
        if child == 0:
            asyncio.run(serve(sys.argv[1], sock))
            os._exit(0)
        os.write(1, f"{child} {sock.getsockname()[1]}\n".encode())
        sock.close()


if __name__ == "__main__":
    main()
