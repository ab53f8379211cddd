"""All prices in one call beside one price: CPU of the serving process per request, over real sockets.

    python -m bench batch

Other work on the machine only ever adds CPU, so the best repetition of each counts.
"""

import asyncio
import sys
import tempfile
import urllib.request
from pathlib import Path

import uvloop

from bench.load import Target, measure
from bench.reference import serve, start
from tickyard.doors.http.cache import FrontCache
from tickyard.doors.http.edge import Edge
from tickyard.doors.routes import Endpoint, build_router
from tickyard.features import prices
from tickyard.kernel.clock import WallClock
from tickyard.kernel.operation import Operation
from yards.house import open_house

GOAL = 2.0
REPETITIONS = 5
ONE, ALL = "/v1/prices/GME", "/v1/prices"
# GME is halted in the sandbox, so its price stands still; of all prices some move, and with them the length.
ROWS = (
    Operation(
        name="get_price",
        method="GET",
        path="/v1/prices/{symbol}",
        run=prices.get_price,
        ask=prices.PriceAsk,
        answer=prices.PriceRecord,
        tag="registry",
    ),
    Operation(
        name="list_prices",
        method="GET",
        path=ALL,
        run=prices.list_prices,
        ask=prices.PricesAsk,
        answer=prices.Prices,
        tag="registry",
    ),
)


class StandingClock(WallClock):
    """Kept answers stay: what is measured is what a caller meets nearly every time."""

    def __init__(self) -> None:
        self._moment = super().timestamp()

    def timestamp(self) -> float:
        return self._moment


async def serve_prices(node: str, standins: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        urls = (f"http://127.0.0.1:{node}", f"http://127.0.0.1:{standins}/issuer")
        async with open_house(Path(folder), *urls, WallClock()) as deps:
            clock = StandingClock()
            cache = FrontCache(clock)
            router = build_router((row.method, row.path, Endpoint(row, deps, cache, clock)) for row in ROWS)
            await serve(Edge(router, cache, clock, rate_limit=None, access_log=None, profile_header=None))


def length(url: str) -> int:
    with urllib.request.urlopen(url, timeout=20) as answer:
        return len(answer.read())


async def run() -> tuple[float, float, int]:
    async with start(sys.executable, "-m", "yards.papernode") as node:
        ports = str(node["port"]), str(node["standins"])
        async with start(sys.executable, "-m", "bench.batch", "serve", *ports) as told:
            base = f"http://127.0.0.1:{told['port']}"
            targets = [
                Target(base + path, told["pid"], await asyncio.to_thread(length, base + path)) for path in (ONE, ALL)
            ]
            best = [float("inf"), float("inf")]
            for _ in range(REPETITIONS):
                for at, target in enumerate(targets):
                    best[at] = min(best[at], (await measure(target, connections=8, seconds=1.0)).cpu_us)
            return *best, targets[1].length


def main(_arguments: list[str]) -> int:
    one, every, size = asyncio.run(run())
    print(f"one price {one:.1f} us, all prices {every:.1f} us ({size} bytes): {every / one:.2f} times, goal {GOAL:g}")
    return 0 if every <= GOAL * one else 1


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", node, standins]:
            uvloop.run(serve_prices(node, standins))
        case _:
            sys.exit(main(sys.argv[1:]))
