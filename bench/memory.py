"""The memory of the sandbox's node under mixed use: below the limit after the start, and flat from then on.

    python -m bench memory                  20 minutes
    MINUTES=120 python -m bench memory      the whole proof
    MINUTES=3 PACE=20 python -m bench memory      the same work in less time, to compare settings

Linux only: what a process holds is read from /proc.
"""

import asyncio
import contextlib
import os
import random
import tempfile
import time
import urllib.request
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from eth_account import Account

from bench.report import Verdict
from bench.world import get_json, sandbox
from tickyard.client import Client, Order, TickyardError

START_MB = 800
GROWTH_MOST = 0.20
WINDOW_S = 1200
# How often a person with a page open does each, in seconds.
EVERY_S = {"quote": 5, "check": 30, "trade": 80, "tick": 360}
SYMBOLS = ("AAPL", "MSFT", "NVDA", "TSLA", "AMZN", "META", "GOOGL", "AMD", "SPY", "QQQ", "COIN", "NFLX")


@dataclass
class Watched:
    """What the node held each second, and what it was asked for meanwhile."""

    pid: int
    held_mb: list[float] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    def look(self) -> None:
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                self.held_mb.append(int(line.split()[1]) / 1024)

    def cpu_s(self) -> float:
        user, system = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def find_node(chain_id: int, base: str) -> int:
    """The node that this sandbox has started: its folder carries the sandbox's port."""
    marks = [f"/{base.rsplit(':', 1)[1]}-".encode(), f"/node-{chain_id}".encode(), b"TICKYARD_NODE="]
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit() and all(mark in (folder / "environ").read_bytes() for mark in marks):
                return int(folder.name)
    raise SystemExit("the sandbox's node is not to be found")


def use(client: Client, base: str, work: str, dice: random.Random, where: dict) -> None:
    """One thing that a person does."""
    account = Account.from_key(where["wallets"][0]["privateKey"])
    order = Order(dice.choice(SYMBOLS), "buy", str(dice.randrange(5, 60)))
    if work == "quote":
        client.get_quote(symbol=order.symbol, side=order.side, amount=order.amount)
    elif work == "tick":
        headers = {"content-type": "application/json"}
        asked = urllib.request.Request(f"{base}/sandbox/tick", b"{}", headers, method="POST")
        urllib.request.urlopen(asked, timeout=60).close()
    else:
        check = client.check_trade(symbol=order.symbol, side=order.side, amount=order.amount, recipient=account.address)
        if work == "trade":
            client.send(check.build, account, order=order, rpc_url=where["rpcUrl"])


def live(base: str, where: dict, watched: Watched, until: float, pace: float) -> None:
    """What is due is done, one thing after another, until the time is over."""
    dice = random.Random(4663)
    due = {work: time.monotonic() + every / pace for work, every in EVERY_S.items()}
    with Client(base) as client:
        while (now := time.monotonic()) < until:
            work = min(due, key=lambda each: due[each])
            time.sleep(max(0.0, min(due[work], until) - now))
            if time.monotonic() >= until:
                return
            due[work] = max(due[work], time.monotonic() - 60) + EVERY_S[work] / pace
            try:
                use(client, base, work, dice, where)
                watched.done[work] += 1
            except (TickyardError, OSError) as error:
                watched.refused[f"{work}: {error}"] += 1


async def run(minutes: float, pace: float) -> int:
    with tempfile.TemporaryDirectory() as folder:
        async with sandbox(Path(folder), history_days=3) as base:
            where = await get_json(base + "/sandbox")
            watched = Watched(find_node(4663, base))
            watched.look()
            [start_mb] = watched.held_mb
            began_cpu, until = watched.cpu_s(), time.monotonic() + 60 * minutes
            print(f"after the start: {start_mb:.0f} MB (limit {START_MB})", flush=True)
            living = asyncio.create_task(asyncio.to_thread(live, base, where, watched, until, pace))
            window: list[float] = []
            middles: list[float] = []
            while not living.done():
                await asyncio.sleep(1)
                watched.look()
                window.append(watched.held_mb[-1])
                if len(window) >= WINDOW_S / max(1.0, pace):
                    middles.append(median(window))
                    print(f"{time.monotonic() - until + 60 * minutes:6.0f} s: {_said(window)}", flush=True)
                    window.clear()
            await living
            cpu_s = watched.cpu_s() - began_cpu
    print("done: " + ", ".join(f"{count} x {work}" for work, count in sorted(watched.done.items())))
    for sentence, count in watched.refused.items():
        print(f"refused {count} x {sentence}")
    print(f"CPU of the node {cpu_s:.1f} s")
    if len(middles) < 2:
        print("Too short for a verdict on growth: it takes two windows of 20 minutes.")
        return 1 if start_mb > START_MB else Verdict.TOO_NOISY.value
    growth = max(middles) / min(middles) - 1
    print(f"the windows' medians differ by {growth:.0%} (limit {GROWTH_MOST:.0%})")
    return 0 if start_mb <= START_MB and growth <= GROWTH_MOST else 1


def _said(window: list[float]) -> str:
    return f"median {median(window):.0f} MB, lowest {min(window):.0f}, highest {max(window):.0f}"


def main(_arguments: list[str]) -> int:
    return asyncio.run(run(float(os.environ.get("MINUTES", "20")), float(os.environ.get("PACE", "1"))))
