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
import resource
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import AsyncExitStack
from pathlib import Path

from sqlalchemy import insert

from bench.paper import DEPTH, EPOCH, HEAD, DatedClock, PaperChain, address, balance, deps_of, serve
from bench.payouts import payouts
from bench.report import versions
from tickyard.features.earn import rules
from tickyard.features.earn.books.public import BooksAsk, FileAsk, get_epoch_books, get_epoch_file
from tickyard.features.earn.books.reserves import get_earn_reserves
from tickyard.features.earn.days.epochs import run_due
from tickyard.features.earn.operations import StatusAsk, get_earn, get_earn_status
from tickyard.features.earn.tables import holder_balance, holder_mark
from tickyard.kernel.operation import NoAsk
from tickyard.payout import ledger
from tickyard.store.migrate import migrate
from tickyard.store.opening import open_store
from tickyard.store.revenue import revenue
from tickyard.store.statement import Bulk

SIZES = (10_000, 100_000, 1_000_000)
GOALS = {
    "snapshot to sealed, s": 60.0,
    "longest write transaction, s": 0.2,
    "API loop blocked, s": 0.02,
    "memory of the worker, MB": 250.0,
    "memory of the API, MB": 250.0,
    "memory of the agent, MB": 250.0,
    "shares when all claim, s": 10.0,
}


async def chain_process(holders: int) -> None:
    async with AsyncExitStack() as stack:
        print(await serve(PaperChain(holders), stack), flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


def write_waits(path: Path) -> None:
    """Another process that wants to write now and then: its longest wait is our longest transaction."""
    raw = sqlite3.connect(path, isolation_level=None, timeout=0)
    worst_s = 0.0
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    print("ready", flush=True)
    while not ended.wait(0.01):
        began = time.perf_counter()
        while True:
            try:
                raw.execute("BEGIN IMMEDIATE")
                break
            except sqlite3.OperationalError:
                time.sleep(0.001)
        worst_s = max(worst_s, time.perf_counter() - began)
        raw.rollback()
    print(worst_s)


def megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def worker(folder: Path, url: str, holders: int) -> dict[str, float]:
    """From an index that stands at the final block to a sealed pool."""
    clock = DatedClock(rules.starts_at(EPOCH))
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
    pipe = asyncio.subprocess.PIPE
    command = [sys.executable, "-m", "bench.earn", "waits", str(folder), "-", "0"]
    other = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
    assert other.stdout is not None
    await other.stdout.readline()
    began = time.perf_counter()
    done = await run_due(deps, clock.now())
    took = time.perf_counter() - began
    waited_s = float((await other.communicate(b""))[0])
    assert (done.taken, done.sealed) == ([EPOCH], [EPOCH]), done
    return {
        "snapshot to sealed, s": took,
        "longest write transaction, s": waited_s,
        "memory of the worker, MB": megabytes(),
    }


async def api(folder: Path, url: str, holders: int) -> dict[str, float]:
    """Every request of the program, and how long the loop was away from everybody else."""
    deps = deps_of(folder, url, DatedClock(rules.opens_at(EPOCH)))
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
    packed = []
    async for part in file.parts:
        # All of a million at once would be in the figure of memory.
        packed = [*packed, part] if holders <= SIZES[0] else [part]
    watching.cancel()
    # Unpacked after the watch: that is the reader's work.
    assert holders > SIZES[0] or gzip.decompress(b"".join(packed)).count(b"\n") > 1
    return {"API loop blocked, s": worst, "memory of the API, MB": megabytes()}


async def agent(folder: Path, url: str, holders: int) -> dict[str, float]:
    """The agent reads and checks the books; then everybody's share is looked up."""
    deps = deps_of(folder, url, DatedClock(rules.opens_at(EPOCH)))
    books, digest = await ledger.read_books(deps.store, EPOCH)
    assert (books.digest, books.is_whole) == (digest, True)
    owners = [address(n) for n in range(min(holders, 100_000))]
    began = time.perf_counter()
    total = sum(books.share_of(each) for each in owners)
    took = (time.perf_counter() - began) * holders / len(owners)
    assert total > 0
    return {"shares when all claim, s": took, "memory of the agent, MB": megabytes()}


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
    elif which == "waits":
        write_waits(Path(folder_) / "earn.db")
    else:
        work = {"worker": worker, "api": api, "agent": agent}[which]
        print(json.dumps(asyncio.run(work(Path(folder_), url_, int(holders_)))))
