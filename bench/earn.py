"""The reward program under load: shares, a snapshot, and the first minute of a window.

    python -m bench earn

Shares are pure arithmetic. The snapshot is taken and sealed from an index that has already been read, on SQLite, with
a chain that answers from memory. The claims are real: signatures, a store, an EVM node with a block every 0.25 s and
the payout agent, all in this one process, so that each of them slows the others down.
"""

import asyncio
import json
import random
import tempfile
import time
from contextlib import AsyncExitStack, suppress
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from aiohttp import web
from sqlalchemy import func, insert, select

from bench.report import versions
from tickyard.chain.rpc.client import Rpc
from tickyard.features.earn import rules
from tickyard.features.earn.epochs import run_due
from tickyard.features.earn.message import EarnTerms, claim_message
from tickyard.features.earn.operations import ClaimAsk, claim
from tickyard.features.earn.room import EarnRoom
from tickyard.features.earn.tables import earn_payer, earn_payout, holder_balance, holder_mark
from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import UpstreamDown
from tickyard.payout.accepted import AcceptedSnapshots
from tickyard.payout.agent import Agent
from tickyard.payout.judge import PayoutCaps
from tickyard.payout.keystore import open_keystore
from tickyard.payout.run import run_agent
from tickyard.sandbox.commands.claimant import sign
from tickyard.sandbox.node.process import Node
from tickyard.sandbox.node.transact import send_all
from tickyard.sandbox.world import place
from tickyard.sandbox.world.holders import settle_holders, wallet_of, write_payout_keystore
from tickyard.sandbox.world.wallets import MAKER
from tickyard.store.engine import Store
from tickyard.store.migrate import migrate
from tickyard.store.opening import open_store
from tickyard.store.revenue import revenue
from tickyard.store.statement import Bulk

TERMS = EarnTerms(4663, place.SERVICE_TOKEN, place.USDG)
DEPTH = 4
SHARES_S, SNAPSHOT_S, CLAIM_P99_S = 2.0, 60.0, 3.0
HOLDERS, SNAPSHOT_HOLDERS, CLAIMS, ARRIVE_S = 1_000_000, 100_000, 1_000, 60.0


class MovedClock(WallClock):
    def __init__(self) -> None:
        self.offset = timedelta(0)

    def now(self) -> Any:
        return super().now() + self.offset


def shares() -> float:
    rng = random.Random(1)
    balances = [rng.randrange(10**24, 10**30) for _ in range(HOLDERS)]
    began = time.perf_counter()
    rules.split(123_456_789_012, balances)
    return time.perf_counter() - began


class PaperChain:
    """Just enough of a node for a snapshot: blocks of one second, and the supply."""

    def __init__(self, head: int, first_time: int, supply: int) -> None:
        self._head, self._first_time, self._supply = head, first_time, supply

    def _one(self, call: dict[str, Any]) -> Any:
        method, params = call["method"], call["params"]
        if method == "eth_getBlockByNumber":
            number = self._head if params[0] == "latest" else int(params[0], 16)
            time_ = hex(self._first_time + number)
            return {"number": hex(number), "hash": f"0x{number:064x}", "timestamp": time_, "baseFeePerGas": "0x0"}
        data = params[0]["data"] if method == "eth_call" else ""
        views = {
            "0x18160ddd": f"{self._supply:064x}",
            "0x313ce567": f"{18:064x}",
            "0x95d89b41": f"{32:064x}{4:064x}" + b"TICK".ljust(32, b"\0").hex(),
        }
        answers = {
            "eth_chainId": hex(4663),
            "eth_blockNumber": hex(self._head),
            "eth_getLogs": [],
            "eth_getBalance": hex(10**20),
            "eth_call": "0x" + views.get(data[:10], f"{10**15:064x}"),
        }
        return answers[method]

    async def answer(self, request: web.Request) -> web.Response:
        asked = json.loads(await request.read())
        calls = asked if isinstance(asked, list) else [asked]
        replies = [{"jsonrpc": "2.0", "id": call["id"], "result": self._one(call)} for call in calls]
        return web.json_response(replies if isinstance(asked, list) else replies[0])


async def snapshot(folder: Path) -> float:
    """From an index that stands at the final block to a sealed pool."""
    clock = MovedClock()
    epoch = rules.accruing_epoch(clock.now() + timedelta(days=1))
    rng = random.Random(2)
    rows = [{"address": f"0x{n:040x}", "balance": rng.randrange(10**24, 10**27)} for n in range(SNAPSHOT_HOLDERS)]
    first = int(rules.starts_at(epoch).timestamp())
    head = 24 * 3600 + 10
    async with AsyncExitStack() as stack:
        app = web.Application()
        app.router.add_post("/", PaperChain(head, first, sum(row["balance"] for row in rows)).answer)
        runner = web.AppRunner(app)
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        store = open_store(folder / "snapshot.db", clock)
        stack.push_async_callback(store.close)
        await migrate(store)
        rpc = Rpc([f"http://127.0.0.1:{runner.addresses[0][1]}/"], chain_id=4663, clock=clock)
        stack.push_async_callback(rpc.close)
        deps = SimpleNamespace(store=store, rpc=rpc, clock=clock, earn=EarnRoom(TERMS, DEPTH))
        clock.offset = rules.starts_at(epoch) - WallClock().now()
        await run_due(deps, clock.now())
        async with store.begin() as tx:
            await Bulk(holder_balance).run(tx, rows)
            mark = {"block_number": head - DEPTH, "block_hash": f"0x{head - DEPTH:064x}"}
            await tx.execute(insert(holder_mark), mark)
            await tx.execute(insert(earn_payer), {"chain_id": 4663, "address": "0x" + "11" * 20, "next_nonce": 0})
        clock.offset = rules.opens_at(epoch) - WallClock().now()
        began = time.perf_counter()
        done = await run_due(deps, clock.now())
        took = time.perf_counter() - began
        assert (done.taken, done.sealed, done.opened) == ([epoch], [epoch], [epoch])
        return took


async def claims(folder: Path) -> tuple[list[float], float]:
    """Latencies of claims that arrive evenly over the first minute, and when the last one was confirmed."""
    clock = MovedClock()
    people = [wallet_of(f"holder-{n}") for n in range(CLAIMS)]
    async with AsyncExitStack() as stack:
        node = await stack.enter_async_context(await Node.start(chain_id=4663, now=clock.now(), run_dir=folder))
        await place.unlock_maker(node)
        await place.place_contracts(node)
        await send_all(node, MAKER, place.first_steps(), per_block=50)
        await settle_holders(node, people, lambda n: 10**24 + n)
        write_payout_keystore(folder)
        store = open_store(folder / "claims.db", clock)
        stack.push_async_callback(store.close)
        await migrate(store)
        rpc = Rpc([node.url], chain_id=4663, clock=clock)
        stack.push_async_callback(rpc.close)
        deps = SimpleNamespace(store=store, rpc=rpc, clock=clock, earn=EarnRoom(TERMS, DEPTH))
        signer = open_keystore(folder / "payout.json", folder / "payout.password")
        caps = PayoutCaps(10**12, 10**12, 10**12)
        agent = Agent(store, rpc, signer, TERMS, caps, AcceptedSnapshots(folder / "accepted"), DEPTH)
        epoch = rules.accruing_epoch(clock.now() + timedelta(days=1))
        paying = asyncio.create_task(run_agent(agent, "bench"))
        stack.push_async_callback(_stop, paying)
        await clock.sleep(1)
        for moment in (rules.starts_at(epoch), rules.snapshot_at(epoch), rules.opens_at(epoch)):
            clock.offset += moment - clock.now()
            await node.call("evm_setNextBlockTimestamp", [int(moment.timestamp())])
            await node.call("evm_mine")
            await node.call("hardhat_mine", [hex(DEPTH + 2), "0x1"])
            async with store.begin() as tx:
                row = {
                    "settlement": str(moment),
                    "amount_raw": 10**8,
                    "settled_at": clock.now(),
                    "credited_at": clock.now(),
                }
                await tx.execute(insert(revenue), row)
            await run_due(deps, clock.now())
        await node.call("evm_setAutomine", [False])
        await node.call("evm_setIntervalMining", [250])
        asks = [
            ClaimAsk(
                address=w.address, epoch=epoch, signature=sign(w.private_key, claim_message(TERMS, epoch, w.address))
            )
            for w in people
        ]
        began = time.perf_counter()
        took = await asyncio.gather(*(_claim(deps, ask, n * ARRIVE_S / CLAIMS) for n, ask in enumerate(asks)))
        while await _confirmed(store) < CLAIMS:
            await clock.sleep(0.2)
        return sorted(took), time.perf_counter() - began


async def _claim(deps: Any, ask: ClaimAsk, after_s: float) -> float:
    await deps.clock.sleep(after_s)
    began = time.perf_counter()
    while True:
        with suppress(UpstreamDown):
            await claim(deps, ask)
            return time.perf_counter() - began


async def _confirmed(store: Store) -> int:
    async with store.read() as tx:
        found = await tx.execute(select(func.count()).where(earn_payout.c.state == "confirmed"))
        return int(found.scalar_one())


async def _stop(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def main(_arguments: list[str]) -> int:
    print(versions())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures = [("shares of 1,000,000 holders", shares(), SHARES_S)]
        figures.append(("snapshot of 100,000 holders, taken and sealed", asyncio.run(snapshot(folder)), SNAPSHOT_S))
        took, ended = asyncio.run(claims(folder))
    figures.append(("1,000 claims in a minute, p50", took[len(took) // 2], CLAIM_P99_S))
    figures.append(("1,000 claims in a minute, p99", took[len(took) * 99 // 100], CLAIM_P99_S))
    figures.append(("the last of them confirmed", ended, 3600.0))
    for what, seconds, goal in figures:
        print(f"{what:48} {seconds:8.2f} s   goal {goal:6.0f} s   {'ok' if seconds <= goal else 'missed'}")
    return int(any(seconds > goal for _, seconds, goal in figures))
