"""The live market: quotes from memory beside quotes by round trip, over HTTP, and what following the chain costs.

The node is the paper chain, 20 ms away and in a process of its own, with a new block at every look. Each figure stands
beside its goal and, where there is one, beside the same request without the mirror.
"""

import asyncio
import os
import random
import sys
import tempfile
import time
import tracemalloc
import urllib.request
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median, quantiles

import aiohttp
import uvloop

from bench.asking import ask, serving
from bench.cpu import cores, pin
from bench.load import Target, measure
from bench.reference import start
from bench.stream import tell
from tickyard.catalog import CATALOG
from tickyard.chain.v3.depth import to_move
from tickyard.chain.v3.events import Swapped
from tickyard.chain.v3.math import swap
from tickyard.doors.app import Plan, build_app
from tickyard.kernel.clock import WallClock
from tickyard.market.mirror.held import Held
from tickyard.market.swaps.charts import FAR
from tickyard.market.swaps.pools import deepest
from yards.house import open_house

AWAY_S = 0.020
ASKED_S = 15
REPETITIONS = 5
LISTENERS = 5_000


class Node:
    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/"

    async def move(self) -> None:
        async with aiohttp.ClientSession() as session, session.post(self.url + "move"):
            pass

    async def calls(self) -> int:
        async with aiohttp.ClientSession() as session, session.get(self.url + "calls") as answer:
            return await answer.json()


@asynccontextmanager
async def market(folder: Path, away_s: float, **settings: str):
    async with start(sys.executable, "-m", "bench.far_node", str(away_s)) as told:
        node, issuer = Node(told["port"]), f"http://127.0.0.1:{told['standins']}/issuer"
        async with open_house(folder, node.url, issuer, WallClock(), **settings) as deps:
            await node.move()
            yield node, deps


async def warm(deps) -> None:
    """Until every pool is in memory."""
    pools = [*deps.market.pools.every()]
    for _ in range(600):
        if deps.market.live.serve(pools) is not None:
            return
        await asyncio.sleep(0.1)
    raise RuntimeError("the mirror did not come up")


class Table:
    def __init__(self) -> None:
        self.is_good = True

    def row(self, what: str, found: str, goal: str, is_met: bool) -> None:
        self.is_good &= is_met
        print(f"{what:58} {found:>24}   goal {goal:18} {'ok' if is_met else 'MISSED'}", flush=True)


async def quotes(table: Table, folder: Path) -> None:
    async with market(folder / "off", AWAY_S, MIRROR="off") as (_, deps):
        symbols = [a.symbol for a in deps.market.registry.all() if a.address and deps.market.pools.of(a.address)]
        paths = [f"/v1/quote?symbol={symbol}&side=buy&amount=100" for symbol in symbols[:20]]
        async with serving(build_app(Plan(CATALOG, deps), access_log=None).edge) as base:
            slow = await ask(base, 3, paths)
            slow_cpu, _ = await loaded(base + paths[0])
    async with market(folder / "on", AWAY_S, MIRROR="on") as (node, deps):
        await warm(deps)
        async with serving(build_app(Plan(CATALOG, deps), access_log=None).edge) as base:
            before, began = await node.calls(), time.monotonic()
            fast = await ask(base, ASKED_S, paths)
            # More quotes are made here than a million an hour, and one in 500 is asked of the node as well.
            followed = await node.calls() - before - len(fast) // 500
            per_hour = followed / (time.monotonic() - began) * 3600 + 1_000_000 / 500
            cpu, per_second = await loaded(base + paths[0])
        held = len(deps.market.live.mirror._held)
    p50, p99 = median(fast), quantiles(fast, n=100)[98]
    table.row("quote over HTTP, a node 20 ms away, p50", f"{p50:.2f} ms (was {median(slow):.1f})", "<= 1 ms", p50 <= 1)
    table.row("quote over HTTP, a node 20 ms away, p99", f"{p99:.2f} ms", "<= 5 ms", p99 <= 5)
    table.row("quote over HTTP, CPU", f"{cpu:.3f} ms (was {slow_cpu:.3f})", "<= 0.14 ms", cpu <= 0.14)
    table.row("quotes a second, one core", f"{per_second:,.0f}", ">= 7,000", per_second >= 7_000)
    table.row("node calls in an hour with 1,000,000 quotes", f"{per_hour:,.0f}", "<= 20,000", per_hour <= 20_000)
    print(f"  with {held} pools in memory")


async def loaded(url: str) -> tuple[float, float]:
    """CPU milliseconds per quote, and quotes a second of one core, under all the load that it bears."""
    length = len(await asyncio.to_thread(lambda: urllib.request.urlopen(url, timeout=10).read()))
    target = Target(url, os.getpid(), length)
    samples = [await measure(target, connections=16) for _ in range(REPETITIONS)]
    return min(each.cpu_us for each in samples) / 1e3, max(each.requests / each.server_cpu for each in samples)


async def building(table: Table, folder: Path) -> None:
    async with market(folder / "build", 0, MIRROR="off") as (_, deps):
        pools = [pool for token in deps.market.registry.addresses() for pool in deps.market.pools.of(token)]
        charts = deps.market.charts
        await charts.read(pools, reach=FAR)
        charts.forget(pools)
        tracemalloc.start()
        began, cpu = time.monotonic(), time.process_time()
        reading = await charts.read(pools, reach=FAR)
        took, used = time.monotonic() - began, tracemalloc.get_traced_memory()[0] / 2**20
        tracemalloc.stop()
        table.row(
            f"{len(pools)} pools built from nothing",
            f"{took:.2f} s, {used:.1f} MB",
            "<= 3 s, <= 40 MB",
            took <= 3 and used <= 40,
        )
        print(f"  of which own CPU {time.process_time() - cpu:.2f} s")
        swaps(table, [Held(chart, "") for chart in reading.charts if chart.spot.is_usable][:50])


def swaps(table: Table, helds: list[Held]) -> None:
    """A block with a swap in each of fifty pools."""
    events = []
    for held in helds:
        curve = held.chart.spot.curve
        made = swap(curve, zero_for_one=True, amount=10**15 if held.pool.token_is_0 else 10**6)
        events.append(
            Swapped(made.amount_in, -made.amount_out, made.sqrt_price_after, made.liquidity_after, made.tick_after)
        )
    figures = []
    for _ in range(20):
        began = time.process_time()
        for held, event in zip(helds, events, strict=True):
            held.after(event)
        figures.append((time.process_time() - began) * 1e3)
    best = min(figures)
    table.row("one block with 50 swaps applied", f"{best:.2f} ms", "<= 2 ms", best <= 2)


async def streaming(table: Table, folder: Path) -> None:
    async with market(folder / "stream", 0, MIRROR="off", STREAM_MAX_PER_CLIENT="100000") as (_, deps):
        app = build_app(Plan(CATALOG, deps), access_log=None)
        last_ms, kilobytes = await tell(app, LISTENERS)
        table.row(
            f"an event to {LISTENERS:,} listeners, the last one", f"{last_ms:.0f} ms", "<= 500 ms", last_ms <= 500
        )
        table.row("memory of a connection", f"{kilobytes:.1f} KB", "<= 25 KB", kilobytes <= 25)


async def manipulation(folder: Path) -> None:
    """What it costs to move each token's sample by 5 %, either way, in its deepest pool."""
    async with market(folder / "cost", 0, MIRROR="off") as (_, deps):
        costs = []
        for asset in deps.market.registry.all():
            pools = deps.market.pools.of(asset.address) if asset.address else ()
            if not pools:
                continue
            reading = await deps.market.look(pools, reach=1_100)
            best = deepest(chart.spot for chart in reading.charts)
            if best is not None:
                moves = [to_move(best.curve, bps, token_is_0=best.pool.token_is_0).usdg for bps in (500, -500)]
                costs.append((min(moves) // 10**6, asset.symbol))
    print("USD to move the sample by 5 %, the cheaper way: " + ", ".join(f"{s} {c:,}" for c, s in sorted(costs)))


async def run() -> bool:
    random.seed(1)
    table = Table()
    pair = cores()
    pin(os.getpid(), pair and pair[0])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        await quotes(table, folder)
        await building(table, folder)
        await streaming(table, folder)
        await manipulation(folder)
    return table.is_good


def main(_arguments: list[str]) -> int:
    return 0 if uvloop.run(run()) else 1


if __name__ == "__main__":
    sys.exit(main([]))
