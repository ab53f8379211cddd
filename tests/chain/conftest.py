"""One chain with a whole market for all tests of this folder; each test gives it back as it found it."""

import asyncio
import json
import random
import re
import subprocess
from collections.abc import Coroutine, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.types import ASGIApp

from proof import SEED, count
from tickyard.catalog import CATALOG
from tickyard.deps import Deps
from tickyard.doors.app import Plan, build_app
from tickyard.kernel.clock import WallClock
from tickyard.sandbox.contracts.build import compiled
from tickyard.sandbox.node.abi import call_data, derived_address, words
from tickyard.sandbox.node.process import Node, NodeError
from tickyard.sandbox.node.transact import QueuedCall, send, send_all
from tickyard.sandbox.standins.faults import FaultBoard
from tickyard.sandbox.standins.issuer import IssuerStandIn
from tickyard.sandbox.standins.process import open_port
from tickyard.sandbox.world.listing import load
from tickyard.sandbox.world.place import ROUTER, TRADING_DESK, mint_step
from tickyard.sandbox.world.wallets import MAKER
from tickyard.sandbox.world.world import World, build_world
from yards import paperyard as _paperyard


@dataclass
class Yard:
    """The node, what stands on it, and the loop its connection belongs to."""

    runner: asyncio.Runner
    node: Node
    world: World
    now: datetime
    start_s: float
    build_s: float
    resident_kb: int
    """The node's memory when the world stood."""

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.runner.run(work)

    def rpc(self, method: str, *params: Any) -> Any:
        return self.run(self.node.call(method, params))

    def read(self, to: str, signature: str, *values: Any) -> list[int]:
        """The words that a view answers."""
        return words(self.rpc("eth_call", {"to": to, "data": call_data(signature, *values)}, "latest"))

    @contextmanager
    def undone(self) -> Iterator[None]:
        """What is done inside did not happen. Only time goes on: a chain that falls back would look stuck."""
        snapshot = self.rpc("evm_snapshot")
        try:
            yield
        finally:
            assert self.rpc("evm_revert", snapshot)
            self.rpc("evm_mine")

    def push_price(self, pool: str, sqrt_x96: int) -> None:
        """Trade one pool to a price."""
        self.run(
            send(
                self.node, MAKER, QueuedCall(TRADING_DESK, call_data("trade(address[],uint160[])", [pool], [sqrt_x96]))
            )
        )


def resident_kb(pid: int) -> int:
    status = Path(f"/proc/{pid}/status")
    if status.exists():
        return int(re.search(r"VmRSS:\s+(\d+)", status.read_text())[1])
    shown = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, check=True, text=True)
    return int(shown.stdout)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    clock = WallClock()
    # Compiling happens once per source, not once per world: it is no part of the time to build one.
    for name in ("stock_token", "dollar", "service_token", "weth", "trading_desk"):
        compiled(name)
    with asyncio.Runner() as runner:
        now, began = clock.now(), clock.monotonic()
        node = runner.run(Node.start(chain_id=4663, now=now, run_dir=tmp_path_factory.mktemp("run")))
        try:
            started = clock.monotonic()
            world = runner.run(build_world(node, now))
            took = clock.monotonic() - started
            yield Yard(runner, node, world, now, started - began, took, resident_kb(node.pid))
        finally:
            runner.run(node.stop())


@pytest.fixture
def world(built: Yard) -> Iterator[Yard]:
    """The shared chain, put back afterwards."""
    snapshot = built.rpc("evm_snapshot")
    yield built
    built.world.held.clear()
    assert built.rpc("evm_revert", snapshot)


class QuietClock(WallClock):
    """Wall time, on which nothing that is done every few seconds comes round again: round trips are counted."""

    async def sleep(self, seconds: float) -> None:
        if seconds > 5:
            await asyncio.Event().wait()
        await super().sleep(seconds)


@dataclass
class StandingClock(WallClock):
    """The issuer's: its quotes do not move between one request of a test and the next."""

    moment: datetime

    def now(self) -> datetime:
        return self.moment


@dataclass
class Service:
    """The real service over the shared chain, asked through its door."""

    yard: Yard
    deps: Deps
    app: ASGIApp

    async def ask(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        target = f"{path}?{urlencode(query)}" if query else path
        headers = {} if body is None else {"Content-Type": "application/json"}
        chunks = (b"" if body is None else json.dumps(body).encode(),)
        return await _paperyard.asgi.ask_app(self.app, method, target, headers=headers, chunks=chunks)

    def get(self, path: str, **query: Any) -> Any:
        return self.yard.run(self.ask("GET", path, **query))

    def build(self, **body: Any) -> Any:
        return self.yard.run(self.ask("POST", "/v1/trade/build", body))


async def _open(stack: AsyncExitStack, yard: Yard, folder: Path, **more: str) -> Service:
    clock = QuietClock()
    runner, port = await open_port([IssuerStandIn(FaultBoard(), StandingClock(yard.now), load(), began=yard.now)])
    stack.push_async_callback(runner.cleanup)
    issuer_url = f"http://127.0.0.1:{port}/issuer"
    # The shared chain stands still between two tests: its age says nothing here.
    house = _paperyard.house.open_house(folder, yard.node.url, issuer_url, clock, HEAD_AGE_MAX_S="3600", **more)
    deps = await stack.enter_async_context(house)
    return Service(yard, deps, build_app(Plan(CATALOG, deps), access_log=None).edge)


@pytest.fixture
def open_service() -> Any:
    """`await open_service(stack, yard, folder, **settings)`: a service with settings of its own."""
    return _open


@pytest.fixture(scope="module")
def opened(built: Yard, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    stack = AsyncExitStack()
    try:
        yield built.run(_open(stack, built, tmp_path_factory.mktemp("data")))
    finally:
        built.run(stack.aclose())


@pytest.fixture
def service(world: Yard, opened: Service) -> Service:
    """The service on the shared chain, which is put back after each test."""
    world.rpc("evm_mine")
    return opened


_TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"


@dataclass
class Wallet:
    """Somebody on the shared chain who sends what a build says."""

    yard: Yard
    address: str

    def fund(self, *grants: tuple[str, int]) -> None:
        """Mint (token, amount) to this wallet."""
        steps = [mint_step(token, self.address, amount) for token, amount in grants]
        self.yard.run(send_all(self.yard.node, MAKER, steps, per_block=20))

    def approve(self, token: str, amount: int) -> None:
        self.send(token, call_data("approve(address,uint256)", ROUTER, amount))

    def send(self, to: str, data: str) -> dict[str, Any]:
        return self.yard.run(send(self.yard.node, self.address, QueuedCall(to, data)))

    def refusal(self, to: str, data: str) -> str | None:
        """What the chain says against a transaction that is only called; None: nothing."""
        try:
            self.yard.rpc("eth_call", {"from": self.address, "to": to, "data": data}, "latest")
        except NodeError as error:
            return str(error)
        return None

    def moved(self, receipt: dict[str, Any], token: str) -> int:
        """By how much a transaction changed this wallet's balance, as its Transfer events tell."""
        own, change = self.address[2:].rjust(64, "0"), 0
        for log in receipt["logs"]:
            if log["address"] == token and log["topics"][0] == _TRANSFER:
                amount = int(log["data"], 16)
                change += amount * ((log["topics"][2][2:] == own) - (log["topics"][1][2:] == own))
        return change

    def holds(self, token: str) -> int:
        return self.yard.read(token, "balanceOf(address)", self.address)[0]


@pytest.fixture
def wallet(world: Yard) -> Wallet:
    address = derived_address("somebody who tests")
    world.rpc("hardhat_impersonateAccount", address)
    return Wallet(world, address)


@dataclass
class Proof:
    """How often a large proof is repeated, and with which luck."""

    seed: int

    def count(self, full: int) -> int:
        return count(full)

    def rng(self, *parts: Any) -> random.Random:
        return random.Random(f"{self.seed}/{'/'.join(map(str, parts))}")


@pytest.fixture
def proof() -> Proof:
    """TICKYARD_PROVE=full for the full counts; TICKYARD_SEED=number repeats a run."""
    return Proof(SEED)
