"""The sandbox as the API process sees it: the world around it, and the hands to move it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

import aiohttp
import msgspec

from tickyard.config.settings import Settings
from tickyard.kernel.clock import Clock, slot_of
from tickyard.kernel.errors import BadRequest, UpstreamDown
from tickyard.kernel.operation import Operation
from tickyard.observe.log import log
from tickyard.sandbox import trader
from tickyard.sandbox.clock import SandboxClock
from tickyard.sandbox.node import Node, NodeError
from tickyard.sandbox.standins import PORT_FILE
from tickyard.sandbox.world import World

WORLD_FILE: Final = "world.json"
NODE_FILE: Final = "node.json"
_LOOK_S: Final = 1.0


@dataclass(slots=True)
class Sandbox:
    """What the controls work with."""

    clock: SandboxClock
    node: Node
    world: World
    stand_ins_url: str
    http: aiohttp.ClientSession
    traded_slot: datetime
    moving: asyncio.Lock = field(default_factory=asyncio.Lock)
    """One hand on the world at a time: two trades in the same block would not end where either meant to."""

    async def trade(self) -> None:
        """The trader's round of the present slot, once. Prices set by hand are left alone until it is over."""
        slot = slot_of(self.clock.now())
        if slot > self.traded_slot:
            self.traded_slot = slot
            await trader.follow_clock(self.node, self.clock.now())
            await trader.trade_round(self.node, self.world, slot, int(slot.timestamp()))
            self.world.held.clear()

    async def set_fault(self, target: str, mode: str) -> None:
        body = msgspec.json.encode({"target": target, "mode": mode})
        async with self.http.post(f"{self.stand_ins_url}/control/fault", data=body) as response:
            answer = msgspec.json.decode(await response.read())
            if response.status == 400:
                raise BadRequest(answer["error"]["message"])
            if response.status != 200:
                raise UpstreamDown("the stand-ins did not take the fault")


@contextlib.asynccontextmanager
async def open_sandbox(settings: Settings, clock: Clock) -> AsyncIterator[tuple[tuple[Operation, ...], Sandbox]]:
    """The rows of the sandbox's controls, and what they work with."""
    from tickyard.sandbox.catalog import SANDBOX_CATALOG

    assert isinstance(clock, SandboxClock)
    run_dir = settings.data_path
    world = World.from_json((run_dir / WORLD_FILE).read_bytes())
    async with (
        Node.attach(_read(run_dir / NODE_FILE)["url"]) as node,
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10)) as http,
    ):
        port = _read(run_dir / PORT_FILE)["port"]
        sandbox = Sandbox(clock, node, world, f"http://127.0.0.1:{port}", http, slot_of(clock.now()))
        trading = asyncio.create_task(_trade_every_slot(sandbox), name="trader")
        try:
            yield SANDBOX_CATALOG, sandbox
        finally:
            trading.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await trading


def _read(path: Path) -> dict[str, str]:
    found: dict[str, str] = msgspec.json.decode(path.read_bytes())
    return found


async def _trade_every_slot(sandbox: Sandbox) -> None:
    while True:
        await sandbox.clock.sleep(_LOOK_S)
        async with sandbox.moving:
            try:
                await sandbox.trade()
            except NodeError as error:
                log.warning("the trader's round failed", reason=str(error))
