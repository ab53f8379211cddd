"""Chain round trips and own CPU of quotes and portfolios, beside the same reads made the usual way with web3.py.

    python -m bench rpc

The chain is of paper and answers from memory (`tests/yards/papernode.py`), in a process of its own. CPU is this
process's user and system time over many requests in a row: door, operation, the client for the node with its sockets,
and every few seconds a refresh of the equity quotes. The HTTP server in front of the door is not in it (see bench
http). Other work on the machine only ever adds CPU (cold caches after every wait), so the best repetition of each
counts. The usual way reads the same things, one `eth_call` each, and decodes them; it computes nothing from them.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import uvloop
from web3 import AsyncHTTPProvider, AsyncWeb3

from bench.reference import start
from bench.report import SPREAD_MAX, Verdict, spread, versions
from tickyard.catalog import CATALOG
from tickyard.chain.address import checksum
from tickyard.doors.app import Plan, build_app
from tickyard.kernel.clock import WallClock
from yards.house import open_house

SYMBOL = "HOOD"
WALLET = "0x" + "ab" * 20
REPETITIONS = 15
TOGETHER = 50
CPU_GOAL_MS = {"quote": 0.6, "portfolio": 1.5}
TRIPS_GOAL, CPU_GOAL = 10, 5

_VIEW = {"type": "function", "stateMutability": "view"}


def _view(name: str, inputs: str, outputs: str) -> dict[str, Any]:
    fields = {"inputs": inputs, "outputs": outputs}
    return {**_VIEW, "name": name} | {
        key: [{"name": "", "type": kind} for kind in kinds.split()] for key, kinds in fields.items()
    }


POOL_ABI = [
    _view("slot0", "", "uint160 int24 uint16 uint16 uint16 uint8 bool"),
    _view("liquidity", "", "uint128"),
]
TOKEN_ABI = [_view("balanceOf", "address", "uint256"), _view("uiMultiplier", "", "uint256")]
QUOTER_ABI = [
    {
        **_view("quoteExactInputSingle", "", "uint256 uint160 uint32 uint256"),
        "inputs": [
            {
                "name": "params",
                "type": "tuple",
                "components": [
                    {"name": name, "type": kind}
                    for name, kind in (
                        ("tokenIn", "address"),
                        ("tokenOut", "address"),
                        ("amountIn", "uint256"),
                        ("fee", "uint24"),
                        ("sqrtPriceLimitX96", "uint160"),
                    )
                ],
            }
        ],
    }
]


@dataclass(frozen=True)
class Side:
    """One way of doing a piece of work: round trips per request, and CPU in milliseconds per repetition."""

    trips: float
    cpu_ms: list[float]

    @property
    def best(self) -> float:
        return min(self.cpu_ms)


async def measure(
    once: Callable[[], Awaitable[object]], trips: Callable[[], int], requests: int, repetitions: int = REPETITIONS
) -> Side:
    for _ in range(max(1, requests // 5)):
        await once()
    before, figures = trips(), []
    for _ in range(repetitions):
        began = time.process_time()
        for _ in range(requests):
            await once()
        figures.append((time.process_time() - began) / requests * 1000)
    return Side((trips() - before) / (repetitions * requests), figures)


async def through_the_door(app: Any, path: str, query: bytes = b"", body: bytes = b"") -> bytes:
    """What a server would call, without the server. With a body it is a POST."""
    scope = {
        "type": "http",
        "method": "POST" if body else "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query,
        "headers": [(b"content-type", b"application/json")] if body else [],
        "client": ("127.0.0.1", 1),
        "http_version": "1.1",
        "scheme": "http",
        "root_path": "",
    }
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    if sent[0]["status"] != 200:
        raise RuntimeError(f"{path} answered {sent[0]['status']}: {sent[1]['body'][:200]!r}")
    return sent[1]["body"]


class Usual:
    """web3.py, one call per thing, with the contracts made beforehand."""

    def __init__(self, deps: Any, url: str) -> None:
        self.web3 = AsyncWeb3(AsyncHTTPProvider(url))
        self.trips = 0
        market, contracts = deps.market, deps.settings.contracts
        self.token = market.registry.find(SYMBOL)
        self.usdg = checksum(contracts.usdg)
        self.quoter = self.web3.eth.contract(checksum(contracts.quoter), abi=QUOTER_ABI)
        self.pools = [
            (pool.fee, self.web3.eth.contract(checksum(pool.address), abi=POOL_ABI))
            for pool in market.pools.of(self.token.address)
        ]
        self.tokens = [
            self.web3.eth.contract(checksum(address), abi=TOKEN_ABI) for address in market.registry.addresses()
        ]

    async def _call(self, function: Any) -> Any:
        self.trips += 1
        return await function.call()

    async def quote(self) -> None:
        """The block's time, every tier quoted, every pool's price and liquidity."""
        self.trips += 1
        await self.web3.eth.get_block("latest")
        for fee, pool in self.pools:
            ask = (self.usdg, self.token.shown_address, 100 * 10**6, fee, 0)
            await self._call(self.quoter.functions.quoteExactInputSingle(ask))
            await self._call(pool.functions.slot0())
            await self._call(pool.functions.liquidity())

    async def portfolio(self) -> None:
        """The block's time, and every token's balance and multiplier."""
        self.trips += 1
        await self.web3.eth.get_block("latest")
        for token in self.tokens:
            await self._call(token.functions.balanceOf(checksum(WALLET)))
            await self._call(token.functions.uiMultiplier())


async def count_trips(app: Any, trips: Callable[[], int]) -> dict[str, int]:
    """Round trips of one request of each kind that reads the chain, and of many equal ones at the same moment."""
    quote = f"symbol={SYMBOL}&side=buy&amount=".encode()
    build = {"symbol": SYMBOL, "side": "buy", "amount": "101", "recipient": WALLET}
    cases = {
        "quote": [("/v1/quote", quote + b"101", b"")],
        "build": [("/v1/trade/build", b"", msgspec.json.encode(build))],
        "stats": [(f"/v1/stats/{SYMBOL}", b"", b"")],
        "portfolio": [(f"/v1/portfolio/{WALLET}", b"", b"")],
        "markets": [("/v1/markets", b"", b"")],
        f"{TOGETHER} equal quotes at once": [("/v1/quote", quote + b"102", b"")] * TOGETHER,
    }
    counted = {}
    for name, requests in cases.items():
        before = trips()
        await asyncio.gather(*(through_the_door(app, *request) for request in requests))
        counted[name] = trips() - before
    return counted


async def run() -> tuple[dict[str, int], dict[str, tuple[Side, Side]]]:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        told = await stack.enter_async_context(start(sys.executable, "-m", "yards.papernode"))
        url = f"http://127.0.0.1:{told['port']}"
        issuer_url = f"http://127.0.0.1:{told['standins']}/issuer"
        deps = await stack.enter_async_context(open_house(folder, url, issuer_url, WallClock()))
        app = build_app(Plan(CATALOG, deps), access_log=None).edge
        usual = Usual(deps, url)
        stack.push_async_callback(usual.web3.provider.disconnect)

        async def quote() -> bytes:
            return await through_the_door(app, "/v1/quote", f"symbol={SYMBOL}&side=buy&amount=100".encode())

        async def portfolio() -> bytes:
            return await through_the_door(app, f"/v1/portfolio/{WALLET}")

        def ours() -> int:
            return deps.rpc.round_trips

        def theirs() -> int:
            return usual.trips

        counted = await count_trips(app, ours)
        return counted, {
            "quote": (await measure(quote, ours, 100), await measure(usual.quote, theirs, 5, 5)),
            "portfolio": (await measure(portfolio, ours, 60), await measure(usual.portfolio, theirs, 1, 3)),
        }


def show(counted: dict[str, int], rows: dict[str, tuple[Side, Side]]) -> int:
    print(versions())
    print("round trips: " + ", ".join(f"{name} {trips}" for name, trips in counted.items()))
    print("case       trips  web3  fewer  goal   CPU ms  goal  web3 ms  less  goal  spread  verdict")
    worst = Verdict.OK if set(counted.values()) == {1} else Verdict.MISSED
    for name, (ours, theirs) in rows.items():
        fewer, less = theirs.trips / ours.trips, theirs.best / ours.best
        widest = max(spread(ours.cpu_ms), spread(theirs.cpu_ms))
        is_met = ours.best <= CPU_GOAL_MS[name] and fewer >= TRIPS_GOAL and less >= CPU_GOAL and ours.trips < 1.05
        verdict = Verdict.OK if is_met else Verdict.TOO_NOISY if widest > SPREAD_MAX else Verdict.MISSED
        worst = max(worst, verdict, key=lambda each: each.value)
        print(
            f"{name:<9}  {ours.trips:5.2f}  {theirs.trips:4.0f}  {fewer:4.0f}x  {TRIPS_GOAL:3}x   {ours.best:6.3f}"
            f"  {CPU_GOAL_MS[name]:4}  {theirs.best:7.2f}  {less:3.0f}x  {CPU_GOAL:3}x  {widest:6.0%}"
            f"  {verdict.name.lower().replace('_', ' ')}"
        )
    return worst.value


def main(arguments: list[str]) -> int:
    if arguments:
        print("usage: python -m bench rpc", file=sys.stderr)
        return 2
    return show(*uvloop.run(run()))
