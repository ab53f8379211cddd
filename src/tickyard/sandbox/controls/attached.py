"""The sandbox as the API process sees it: the world around it, and the hands to move it."""

import asyncio
import contextlib
import fcntl
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import aiohttp
import msgspec

from tickyard.config.settings import Settings, SettingsError
from tickyard.deps import Deps
from tickyard.kernel.clock import slot_of
from tickyard.kernel.errors import BadRequest, UpstreamDown
from tickyard.observe.log import log
from tickyard.sandbox.clock import SandboxClock
from tickyard.sandbox.controls.slots import DueDeps
from tickyard.sandbox.files import appears
from tickyard.sandbox.node.process import Node, NodeError
from tickyard.sandbox.standins import inbox
from tickyard.sandbox.standins.inbox import read_port
from tickyard.sandbox.standins.process import PORT_FILE
from tickyard.sandbox.world import trader
from tickyard.sandbox.world.second_chain import NODE_FILE as SECOND_NODE_FILE
from tickyard.sandbox.world.world import World

WORLD_FILE: Final = "world.json"
TRADER_FILE: Final = "trader.lock"
NODE_FILE: Final = "node.json"
_LOOK_S: Final = 1.0


@dataclass(slots=True)
class Sandbox:
    """What the controls work with."""

    deps: Deps
    rooms: DueDeps
    """The same, seen as what single rooms need."""
    clock: SandboxClock
    node: Node
    second_node: Node
    world: World
    stand_ins_url: str
    inbox_url: str
    http: aiohttp.ClientSession
    traded_slot: datetime
    moving: asyncio.Lock = field(default_factory=asyncio.Lock)
    """One hand on the world at a time: two trades in the same block would not end where either meant to."""

    async def trade(self, slot: datetime) -> None:
        """The trader's round of a slot, once. Prices set by hand are left alone until it is over."""
        if slot > self.traded_slot:
            self.traded_slot = slot
            await trader.trade_round(self.node, self.world, slot, int(slot.timestamp()))
            self.world.held.clear()

    async def deliveries(self, alert_id: str | None) -> list[dict[str, Any]]:
        """What the inbox has received."""
        query = {"id": alert_id} if alert_id is not None else {}
        async with self.http.get(f"{self.stand_ins_url}/control/inbox", params=query) as response:
            return msgspec.json.decode(await response.read(), type=dict[str, list[dict[str, Any]]])["deliveries"]

    async def faults(self) -> dict[str, str]:
        """The present mode of every far end."""
        async with self.http.get(f"{self.stand_ins_url}/control/faults") as response:
            return msgspec.json.decode(await response.read(), type=dict[str, str])

    async def set_fault(self, target: str, mode: str) -> None:
        body = msgspec.json.encode({"target": target, "mode": mode})
        async with self.http.post(f"{self.stand_ins_url}/control/fault", data=body) as response:
            answer = msgspec.json.decode(await response.read())
            if response.status == 400:
                raise BadRequest(answer["error"]["message"])
            if response.status != 200:
                raise UpstreamDown("the stand-ins did not take the fault")


async def world_is_built(settings: Settings) -> None:
    """The API is started while its world is still in the making; without one nobody would ever make it."""
    if not _is_begun(settings.data_path):
        raise SettingsError(
            f"there is no sandbox in {settings.data_path.absolute()}: `tickyard up` makes one and starts its processes"
        )
    await appears(settings.data_path / WORLD_FILE)


def _is_begun(run_dir: Path) -> bool:
    return (run_dir / NODE_FILE).exists()


@contextlib.asynccontextmanager
async def open_sandbox(deps: Deps, rooms: DueDeps) -> AsyncIterator[Sandbox]:
    """What the controls of this world work with."""
    clock, run_dir = deps.clock, deps.settings.data_path
    assert isinstance(clock, SandboxClock)
    world = World.from_json((run_dir / WORLD_FILE).read_bytes())
    async with (
        Node.attach(msgspec.json.decode((run_dir / NODE_FILE).read_bytes())["url"]) as node,
        Node.attach(msgspec.json.decode((run_dir / SECOND_NODE_FILE).read_bytes())["url"]) as second_node,
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10)) as http,
    ):
        sandbox = Sandbox(
            deps,
            rooms,
            clock,
            node,
            second_node,
            world,
            f"http://127.0.0.1:{read_port(run_dir / PORT_FILE)}",
            f"https://{inbox.HOST}:{read_port(run_dir / inbox.PORT_FILE)}",
            http,
            slot_of(clock.now()),
        )
        with _only_one(run_dir / TRADER_FILE) as is_first:
            if is_first:
                deps.tasks.start("trader", partial(_trade_every_slot, sandbox))
            try:
                yield sandbox
            finally:
                await deps.tasks.stop("trader")


@contextlib.contextmanager
def _only_one(file: Path) -> Iterator[bool]:
    """Whether we are the first API process of this world: a second trader would undo what the controls set."""
    with file.open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True


async def _trade_every_slot(sandbox: Sandbox) -> None:
    while True:
        await sandbox.clock.sleep(_LOOK_S)
        async with sandbox.moving:
            try:
                await sandbox.trade(slot_of(sandbox.clock.now()))
            except NodeError as error:
                log.warning("the trader's round failed", reason=str(error))
