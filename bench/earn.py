"""The reward program under load, from ten thousand holders up.

    python -m bench earn             10,000 and 100,000 holders
    FULL=1 python -m bench earn      and 1,000,000

Worker, API and agent each run in a process of their own, as they do for real, on one SQLite file, so that each one's
memory is its own. The chain is another process that answers over a socket: every balance is proven against it. Payouts
are measured on 20,000 claims with real signatures, with blocks every 0.1 s and finality 15 minutes later.
"""

import asyncio
import gzip
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from aiohttp import web
from coincurve import PrivateKey
from sqlalchemy import insert

from bench.report import versions
from tickyard.chain.keccak import keccak256
from tickyard.chain.rpc.client import Rpc
from tickyard.features.earn import rules
from tickyard.features.earn.books import BooksAsk, FileAsk, get_epoch_books, get_epoch_file
from tickyard.features.earn.epochs import run_due
from tickyard.features.earn.message import EarnTerms, claim_message, message_digest
from tickyard.features.earn.operations import StatusAsk, get_earn, get_earn_status
from tickyard.features.earn.reserves import get_earn_reserves
from tickyard.features.earn.room import EarnRoom
from tickyard.features.earn.tables import earn_claim, holder_balance, holder_mark
from tickyard.kernel.clock import WallClock
from tickyard.kernel.operation import NoAsk
from tickyard.payout import ledger
from tickyard.payout.accepted import AcceptedBooks
from tickyard.payout.agent import Agent
from tickyard.payout.judge import PayoutCaps
from tickyard.payout.signer import LocalSigner
from tickyard.store.leases import take
from tickyard.store.migrate import migrate
from tickyard.store.opening import open_store
from tickyard.store.revenue import revenue
from tickyard.store.sqlite.engine import SqliteStore
from tickyard.store.statement import Bulk

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "simulation"))
from simulated.chain import Chain
from simulated.process import Faults
from simulated.words import DESK, MULTICALL, TOKEN, USDG, account_at, raw

TERMS = EarnTerms(4663, TOKEN, USDG)
EPOCH = 20261114
HEAD, DEPTH = 24 * 3600 + 10, 4
SIZES = (10_000, 100_000, 1_000_000)
PAID, FINAL_S = 20_000, 900
KEY = b"\x07" * 32
CAPS = PayoutCaps(10**15, 10**15, 10**15)
GOALS = {
    "snapshot to sealed, s": 60.0,
    "longest write transaction, s": 0.2,
    "API loop blocked, s": 0.02,
    "memory of the worker, MB": 250.0,
    "memory of the API, MB": 250.0,
    "memory of the agent, MB": 250.0,
    "shares when all claim, s": 10.0,
}


class MovedClock(WallClock):
    def __init__(self, start: Any = None) -> None:
        self.offset = start - super().now() if start else timedelta(0)
        self.ahead_s = 0.0

    def now(self) -> Any:
        return super().now() + self.offset

    def timestamp(self) -> float:
        return self.now().timestamp()

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead_s


def address(n: int) -> str:
    return "0x" + keccak256(n.to_bytes(8, "big"))[:20].hex()


def balance(owner: str) -> int:
    """Follows from the address, so that nobody has to remember a million of them."""
    return 10**24 + int(owner[2:14], 16) * 10**12


class PaperChain(Chain):
    """The simulated chain, with holders that nobody minted and blocks of one second that nobody mined."""

    def __init__(self, holders: int) -> None:
        super().__init__(MovedClock(rules.starts_at(EPOCH)), random.Random(1), Faults())
        self._supply = sum(balance(address(n)) for n in range(holders))
        self.state.payer = LocalSigner(KEY).address
        self.state.usdg[self.state.payer] = 10**15
        self.state.allowances[self.state.payer] = 10**30

    def eth_chainId(self) -> str:
        return hex(4663)

    def eth_blockNumber(self) -> str:
        return hex(HEAD)

    def eth_getBlockByNumber(self, which: str, _full: bool) -> Any:
        number = HEAD if which == "latest" else int(which, 16)
        time_ = hex(int(rules.starts_at(EPOCH).timestamp()) + number)
        return {"number": hex(number), "hash": f"0x{number:064x}", "timestamp": time_, "baseFeePerGas": "0x5f5e100"}

    def eth_getLogs(self, _query: Any) -> list[Any]:
        return []

    def _state_at(self, _where: Any) -> Any:
        return self.state

    def _view_call(self, to: str, data: bytes, state: Any) -> bytes:
        if to == TOKEN and data[:4].hex() == "70a08231":
            return raw(balance(account_at(data[4:], 0)))
        return (
            raw(self._supply) if to == TOKEN and data[:4].hex() == "18160ddd" else super()._view_call(to, data, state)
        )

    def tick_open(self, digest: str, pool: int) -> None:
        self.state.books[EPOCH], self.state.pools[EPOCH] = digest, pool


async def serve(chain: Chain, stack: AsyncExitStack) -> str:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=chain.handle(await request.read()), content_type="application/json")

    async def control(request: web.Request) -> web.Response:
        asked = json.loads(await request.read())
        for _ in range(asked.get("mine", 0)):
            chain.mine()
        if "open" in asked:
            chain.state.books[EPOCH], chain.state.pools[EPOCH] = asked["open"]
        return web.json_response({"calls": chain.calls, "paid": len(chain.state.paid)})

    app = web.Application(client_max_size=2**28)
    app.router.add_post("/", answer)
    app.router.add_post("/control", control)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return f"http://127.0.0.1:{runner.addresses[0][1]}/"


async def chain_process(holders: int) -> None:
    async with AsyncExitStack() as stack:
        print(await serve(PaperChain(holders), stack), flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


class TimedStore(SqliteStore):
    """Knows how long its longest write transaction took."""

    worst_s = 0.0

    @asynccontextmanager
    async def begin(self, **options: Any) -> AsyncIterator[Any]:
        async with super().begin(**options) as tx:
            began = time.perf_counter()
            yield tx
        self.worst_s = max(self.worst_s, time.perf_counter() - began)


def deps_of(folder: Path, url: str, clock: MovedClock) -> Any:
    store = TimedStore(folder / "earn.db", clock, random.Random(1))
    rpc = Rpc([url], chain_id=4663, clock=clock)
    return SimpleNamespace(store=store, rpc=rpc, clock=clock, earn=EarnRoom(TERMS, DEPTH, DESK, MULTICALL))


def megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def worker(folder: Path, url: str, holders: int) -> dict[str, float]:
    """From an index that stands at the final block to a sealed pool."""
    clock = MovedClock(rules.starts_at(EPOCH))
    store = open_store(folder / "earn.db", clock)
    await migrate(store)
    mark = {"block_number": HEAD - DEPTH, "block_hash": f"0x{HEAD - DEPTH:064x}"}
    for start in range(0, holders, 5_000):
        owners = [address(n) for n in range(start, min(start + 5_000, holders))]
        async with store.begin() as tx:
            await Bulk(holder_balance).run(tx, [{"address": each, "balance": balance(each)} for each in owners])
    async with store.begin() as tx:
        await tx.execute(insert(holder_mark), mark)
        settled = {"settled_at": clock.now(), "credited_at": clock.now()}
        await tx.execute(insert(revenue), {"settlement": "eip155:4663/0x0/0", "amount_raw": 10**12, **settled})
    await store.close()
    deps = deps_of(folder, url, clock)
    await run_due(deps, clock.now())
    clock.offset += rules.opens_at(EPOCH) - clock.now()
    deps.store.worst_s = 0.0
    began = time.perf_counter()
    done = await run_due(deps, clock.now())
    took = time.perf_counter() - began
    assert (done.taken, done.sealed) == ([EPOCH], [EPOCH]), done
    return {
        "snapshot to sealed, s": took,
        "longest write transaction, s": deps.store.worst_s,
        "memory of the worker, MB": megabytes(),
    }


async def api(folder: Path, url: str, holders: int) -> dict[str, float]:
    """Every request of the program, and how long the loop was away from everybody else."""
    deps = deps_of(folder, url, MovedClock(rules.opens_at(EPOCH)))
    someone = address(holders // 2)
    worst = 0.0

    async def watch() -> None:
        nonlocal worst
        while True:
            # In time of this process: what its neighbours on the machine take from it is not its own doing.
            before = time.process_time()
            await asyncio.sleep(0)
            worst = max(worst, time.process_time() - before)

    async def ask() -> None:
        await get_earn(deps, NoAsk())
        await get_earn_status(deps, StatusAsk(address=someone))
        await get_earn_reserves(deps, NoAsk())
        await get_epoch_books(deps, BooksAsk(id=EPOCH))
        await get_epoch_books(deps, BooksAsk(id=EPOCH, cursor=someone))

    # What is made on first use is no part of a request.
    await ask()
    watching = asyncio.create_task(watch())
    for _ in range(5):
        await ask()
    file = await get_epoch_file(deps, FileAsk(id=EPOCH))
    lines = 0
    async for part in file.parts:
        lines += gzip.decompress(part).count(b"\n") if holders <= SIZES[0] else 1
    watching.cancel()
    assert lines > 1
    return {"API loop blocked, s": worst, "memory of the API, MB": megabytes()}


async def agent(folder: Path, url: str, holders: int) -> dict[str, float]:
    """The agent reads and checks the books; then everybody's share is looked up."""
    deps = deps_of(folder, url, MovedClock(rules.opens_at(EPOCH)))
    books, digest = await ledger.read_books(deps.store, EPOCH)
    assert (books.digest, books.is_whole) == (digest, True)
    owners = [address(n) for n in range(min(holders, 100_000))]
    began = time.perf_counter()
    total = sum(books.share_of(each) for each in owners)
    took = (time.perf_counter() - began) * holders / len(owners)
    assert total > 0
    return {"shares when all claim, s": took, "memory of the agent, MB": megabytes()}


class QuickChain(Chain):
    """Blocks as soon as something is sent."""

    def eth_chainId(self) -> str:
        return hex(4663)

    def eth_sendRawTransaction(self, text: str) -> str:
        hash_ = super().eth_sendRawTransaction(text)
        self.mine()
        return str(hash_)


async def payouts() -> dict[str, float]:
    """20,000 claims, from reserved to final."""
    keys = [PrivateKey((n + 1).to_bytes(32, "big")) for n in range(PAID)]
    owners = ["0x" + keccak256(key.public_key.format(compressed=False)[1:])[12:].hex() for key in keys]
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        clock = MovedClock(rules.starts_at(EPOCH) + timedelta(hours=22))
        chain = QuickChain(clock, random.Random(1), Faults())
        signer = LocalSigner(KEY)
        chain.state.payer = signer.address
        chain.state.usdg[signer.address] = 10**15
        chain.state.allowances[signer.address] = 10**30
        for owner in owners:
            chain.state.token[owner] = 10**24
        chain.mine()
        url = await serve(chain, stack)
        deps = deps_of(folder, url, clock)
        await migrate(deps.store)
        await run_due(deps, clock.now())
        async with deps.store.begin() as tx:
            await Bulk(holder_balance).run(tx, [{"address": each, "balance": 10**24} for each in owners])
            settled = {"settled_at": clock.now(), "credited_at": clock.now()}
            await tx.execute(insert(revenue), {"settlement": "eip155:4663/0x0/0", "amount_raw": 10**12, **settled})
            newest = chain.blocks[-1]
            await tx.execute(insert(holder_mark), {"block_number": newest.number, "block_hash": newest.hash})
        payer = Agent(deps.store, deps.rpc, signer, TERMS, DESK, MULTICALL, CAPS, AcceptedBooks(folder / "a"), 9_000)
        payer.final_every_s = 10.0
        lease = await take(deps.store, "payout", "bench")
        assert lease is not None
        for moment in (rules.snapshot_at(EPOCH), rules.opens_at(EPOCH)):
            clock.offset += moment - clock.now()
            for _ in range(DEPTH + 2):
                chain.mine()
            await run_due(deps, clock.now())
        await payer.run_once(lease)
        await run_due(deps, clock.now())
        now = clock.now()
        async with deps.store.begin() as tx:
            rows = [
                {
                    "epoch": EPOCH,
                    "address": owner,
                    "attempt": 0,
                    "signature": _signature(key, owner),
                    "reserved_at": now,
                }
                for key, owner in zip(keys, owners, strict=True)
            ]
            await tx.execute(insert(earn_claim), rows)
        before, began = chain.calls, time.perf_counter()
        while len(chain.state.paid) < PAID:
            await payer.run_once(lease)
        took = time.perf_counter() - began
        # Fifteen minutes of waiting, at the agent's own pace.
        confirmed = 0
        for _ in range(FINAL_S // 10 + 2):
            for _ in range(100):
                chain.mine()
            clock.ahead_s += 10
            confirmed += (await payer.run_once(lease)).confirmed
        assert confirmed == PAID, confirmed
        return {"payouts per hour": PAID / took * 3600, "node calls per payout": (chain.calls - before) / PAID}


def _signature(key: PrivateKey, owner: Any) -> str:
    digest = message_digest(claim_message(TERMS, EPOCH, owner))
    return "0x" + key.sign_recoverable(digest, hasher=None).hex()


def phase(name: str, folder: str, url: str, holders: int) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.earn", name, folder, url, str(holders)]
    shown = subprocess.run(command, capture_output=True, text=True, check=False)
    if shown.returncode:
        raise RuntimeError(shown.stderr[-2000:])
    figures: dict[str, float] = json.loads(shown.stdout.splitlines()[-1])
    return figures


def measure(holders: int) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.earn", "chain", "-", "-", str(holders)]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as chain,
    ):
        assert chain.stdin is not None
        assert chain.stdout is not None
        url = chain.stdout.readline().strip()
        figures = {}
        for name in ("worker", "api", "agent"):
            figures |= phase(name, folder, url, holders)
        chain.stdin.close()
    return figures


def main(_arguments: list[str]) -> int:
    print(versions())
    sizes = SIZES if os.environ.get("FULL") else SIZES[:2]
    found = [measure(size) for size in sizes]
    print(f"{'':34}" + "".join(f"{size:>12,}" for size in sizes) + "   goal")
    is_missed = False
    for name, goal in GOALS.items():
        shown = "".join(f"{each[name]:12.3f}" for each in found)
        is_missed |= found[-1][name] > goal
        print(f"{name:34}{shown}   {goal:g} {'ok' if found[-1][name] <= goal else 'missed'}")
    paid = asyncio.run(payouts())
    for name, goal, is_enough in (
        ("payouts per hour", 100_000, paid["payouts per hour"] >= 100_000),
        ("node calls per payout", 0.1, paid["node calls per payout"] <= 0.1),
    ):
        is_missed |= not is_enough
        print(f"{name:34}{paid[name]:12.3f}   {goal:g} {'ok' if is_enough else 'missed'}")
    return int(is_missed)


if __name__ == "__main__":
    which, folder_, url_, holders_ = sys.argv[1:]
    if which == "chain":
        asyncio.run(chain_process(int(holders_)))
    else:
        work = {"worker": worker, "api": api, "agent": agent}[which]
        print(json.dumps(asyncio.run(work(Path(folder_), url_, int(holders_)))))
