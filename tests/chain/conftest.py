"""One chain with a whole market for all tests of this folder; each test gives it back as it found it."""

import asyncio
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest

from tickyard.kernel.clock import WallClock
from tickyard.sandbox.node import Node
from tickyard.sandbox.words import call_data, words
from tickyard.sandbox.world import World, build_world


@dataclass
class Yard:
    """The node, what stands on it, and the loop its connection belongs to."""

    runner: asyncio.Runner
    node: Node
    world: World
    now: datetime
    start_s: float
    build_s: float

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.runner.run(work)

    def rpc(self, method: str, *params: Any) -> Any:
        return self.run(self.node.call(method, params))

    def read(self, to: str, signature: str, *values: Any) -> list[int]:
        """The words that a view answers."""
        return words(self.rpc("eth_call", {"to": to, "data": call_data(signature, *values)}, "latest"))


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    clock = WallClock()
    with asyncio.Runner() as runner:
        now, began = clock.now(), clock.monotonic()
        node = runner.run(Node.start(chain_id=4663, now=now, run_dir=tmp_path_factory.mktemp("run")))
        try:
            started = clock.monotonic()
            world = runner.run(build_world(node, now))
            yield Yard(runner, node, world, now, started - began, clock.monotonic() - started)
        finally:
            runner.run(node.stop())


@pytest.fixture
def world(built: Yard) -> Iterator[Yard]:
    """The shared chain, put back afterwards."""
    snapshot = built.rpc("evm_snapshot")
    yield built
    built.world.held.clear()
    assert built.rpc("evm_revert", snapshot)
