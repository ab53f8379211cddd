"""The parts of a sandbox, in the order in which they can start."""

import asyncio
import contextlib
import os
import secrets
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from tickyard.config.pinned import CHAIN_ID, SECOND_CHAIN_ID
from tickyard.config.settings import HISTORY_START
from tickyard.kernel.clock import WallClock
from tickyard.kernel.wire import encode
from tickyard.sandbox.children import Child
from tickyard.sandbox.clock import CLOCK_FILE, SandboxClock
from tickyard.sandbox.commands.panel import Progress
from tickyard.sandbox.controls.attached import NODE_FILE, WORLD_FILE
from tickyard.sandbox.facilitator.front import port_file
from tickyard.sandbox.files import write_whole
from tickyard.sandbox.node.abi import derived_address
from tickyard.sandbox.node.process import Node
from tickyard.sandbox.standins.process import PORT_FILE
from tickyard.sandbox.world import second_chain
from tickyard.sandbox.world.holders import DESK, settle_holders, write_payout_keystore
from tickyard.sandbox.world.place import CONTRACTS
from tickyard.sandbox.world.world import World, build_world
from tickyard.store.migrate import migrate
from tickyard.store.opening import open_store

_BLOCK_MS: Final = 2000
_LISTEN_S: Final = 60
# The node keeps every instruction of a call until it has answered: 5,000 figures would be a gigabyte and a half. Calls
# that are small find room in what the one before has left, and take two thirds of the time.
_CALLS_MAX: Final = 250
_EXTERNAL_NODE: Final = "TICKYARD_SANDBOX_RPC_URL"
_STAND_INS: Final = "stand-ins"
SETTINGS_FILE: Final = "settings.json"
_KEY_FILE: Final = "alert.key"
TREASURY: Final = derived_address("tickyard sandbox treasury")
"""Where payments go."""


class Parts:
    """Starts what can start together; the stack stops it all, what stands on the rest first."""

    world: World
    stand_ins_port: int

    def __init__(self, port: int, run_dir: Path, stack: AsyncExitStack, progress: Progress) -> None:
        self._port = port
        self._run_dir = run_dir
        self._stack = stack
        self._progress = progress
        self.children: list[Child] = []

    async def build(self, demo_days: int) -> None:
        """The chain first; then, beside the market that is built on it, whatever does not need that."""
        self._progress.begin("starting a chain")
        start = datetime.fromisoformat(HISTORY_START) + timedelta(days=demo_days)
        self._clock = SandboxClock.create(self._run_dir / CLOCK_FILE, start)
        self._began = self._clock.now()
        # What the service stands on is stopped after it.
        self._ground = await self._stack.enter_async_context(AsyncExitStack())
        self._stack.push_async_callback(self._stop_service)
        self._node = await self._ground.enter_async_context(await self._open_node())
        (self._run_dir / NODE_FILE).write_bytes(encode({"url": self._node.url}))
        self._progress.begin("building a market of 194 assets on it, and all around it")
        await _together(self._build_market(), self._prepare_store(demo_days), self._start_api())
        # For this the API has been waiting.
        write_whole(self._run_dir / WORLD_FILE, self.world.to_json())

    async def _open_node(self) -> Node:
        if url := os.environ.get(_EXTERNAL_NODE):
            return Node.attach(url)
        now = self._clock.now()
        return await Node.start(chain_id=CHAIN_ID, now=now, run_dir=self._run_dir, interval_ms=_BLOCK_MS)

    async def _build_market(self) -> None:
        self.world = await build_world(self._node, self._began)
        await settle_holders(self._node)

    async def _start_stand_ins(self) -> None:
        began_s = str(int(self._began.timestamp()))
        options = ("--run-dir", str(self._run_dir), "--node-url", self._node.url, "--began", began_s)
        stand_ins = await self._child(_STAND_INS, "tickyard.sandbox.standins.process", *options)
        self._ground.push_async_callback(stand_ins.stop)
        self.stand_ins_port = await stand_ins.announced(self._run_dir / PORT_FILE)

    async def _start_second_chain(self) -> None:
        second = await second_chain.start_second_chain(self._run_dir, WallClock())
        self._second = await self._ground.enter_async_context(second)
        (self._run_dir / second_chain.NODE_FILE).write_bytes(encode({"url": self._second.url}))

    async def _prepare_store(self, demo_days: int) -> None:
        (self._run_dir / _KEY_FILE).touch(mode=0o600)
        (self._run_dir / _KEY_FILE).write_text(f"1 {secrets.token_hex(32)}\n")
        store = open_store(self._store_url, self._clock)
        try:
            await migrate(store)
        finally:
            await store.close()
        if demo_days:
            await self._fill_history(demo_days)

    async def _fill_history(self, days: int) -> None:
        module, now = "tickyard.sandbox.world.demo_history", self._clock.now().isoformat()
        environ = {**os.environ, "TICKYARD_DATABASE_URL": self._store_url}
        filling = await Child.start("demo-history", self._run_dir, module, now, str(days), environ=environ)
        try:
            await filling.finished()
        finally:
            await filling.stop()

    @property
    def _store_url(self) -> str:
        return os.environ.get("TICKYARD_DATABASE_URL") or str(self._run_dir / "tickyard.db")

    async def _start_api(self) -> None:
        """As soon as it can know its settings: what it imports is there when the market is."""
        await _together(self._start_stand_ins(), self._start_second_chain())
        self._environ = self._service_environ()
        ours = {name: value for name, value in self._environ.items() if name.startswith("TICKYARD_")}
        # For whoever wants one more process on this world: the settings of the others.
        (self._run_dir / SETTINGS_FILE).write_bytes(encode(ours))
        await self._child("api", "tickyard", "serve", environ=self._environ)

    async def start_service(self) -> None:
        self._progress.begin("starting the API and the worker")
        await self._api_listens()
        environ = self._environ
        await self._child("worker", "tickyard", "work", environ=environ)
        keystore, password = write_payout_keystore(self._run_dir)
        # The key's files are named to the agent alone.
        key = {"TICKYARD_PAYOUT_KEYSTORE": str(keystore), "TICKYARD_PAYOUT_PASSWORD_FILE": str(password)}
        await self._child("payout", "tickyard", "payout", environ=environ | key)
        facilitators = [
            await self._start_facilitator(CHAIN_ID, self._node.url),
            await self._start_facilitator(SECOND_CHAIN_ID, self._second.url),
        ]
        for chain_id, facilitator in zip((CHAIN_ID, SECOND_CHAIN_ID), facilitators, strict=True):
            await facilitator.announced(self._run_dir / port_file(chain_id))

    async def _api_listens(self) -> None:
        """It goes first: with all of them at once on two cores, people would wait longer for their first answer."""
        clock = WallClock()
        async with asyncio.timeout(_LISTEN_S):
            while True:
                for child in self.children:
                    child.must_live()
                with contextlib.suppress(OSError):
                    _, writer = await asyncio.open_connection("127.0.0.1", self._port)
                    writer.close()
                    return
                await clock.sleep(0.02)

    async def _stop_service(self) -> None:
        """All at once, while what they stand on still runs."""
        await asyncio.gather(*(child.stop() for child in self.children if child.name != _STAND_INS))

    async def _start_facilitator(self, chain_id: int, rpc_url: str) -> Child:
        options = ("--network", f"eip155:{chain_id}", "--rpc-url", rpc_url, "--run-dir", str(self._run_dir))
        return await self._child(f"facilitator-{chain_id}", "tickyard.sandbox.facilitator.process", *options)

    async def _child(self, name: str, module: str, *arguments: str, environ: dict[str, str] | None = None) -> Child:
        child = await Child.start(name, self._run_dir, module, *arguments, environ=environ)
        self.children.append(child)
        return child

    def _service_environ(self) -> dict[str, str]:
        far = f"http://127.0.0.1:{self.stand_ins_port}"
        return {
            # A sandbox is for trying things out: no limit unless somebody wants to try that too.
            "TICKYARD_RATE_LIMIT": "0",
            # And for stopping at once: no proxy stands in front of it.
            "TICKYARD_LAME_DUCK_S": "0",
            "TICKYARD_DRAIN_S": "2",
            "TICKYARD_MULTICALL_MAX": str(_CALLS_MAX),
            "TICKYARD_WORKER_METRICS_PORT": str(worker_metrics_port(self._port)),
            **os.environ,
            "TICKYARD_PROFILE": "sandbox",
            "TICKYARD_HOST": "127.0.0.1",
            "TICKYARD_PORT": str(self._port),
            "TICKYARD_BASE_URL": f"http://127.0.0.1:{self._port}",
            "TICKYARD_DATA_DIR": str(self._run_dir),
            "TICKYARD_RPC_URLS": f"{far}/rpc",
            "TICKYARD_RPC_URLS_8453": self._second.url,
            "TICKYARD_ISSUER_URL": f"{far}/issuer",
            "TICKYARD_FILINGS_URL": f"{far}/filings",
            "TICKYARD_FILINGS_FILES_URL": f"{far}/filings/files",
            "TICKYARD_FILINGS_CONTACT": "sandbox@tickyard.example",
            "TICKYARD_FACILITATOR_4663": f"{far}/facilitator-4663",
            "TICKYARD_FACILITATOR_8453": f"{far}/facilitator-8453",
            "TICKYARD_PAY_TO": TREASURY,
            "TICKYARD_FINALITY": "4",
            "TICKYARD_SERVICE_TOKEN": CONTRACTS["serviceToken"],
            "TICKYARD_PAYOUT_DESK": DESK,
            "TICKYARD_SECRET_KEY_FILE": str(self._run_dir / _KEY_FILE),
        }


def worker_metrics_port(port: int) -> int:
    """Far from the API's own, a thousand above its port: a world on the next port has its API's there. Two for each
    world: the payout agent's is the next one."""
    return 10_000 + 2 * port % 55_000


async def _together(*parts: Coroutine[Any, Any, None]) -> None:
    """Side by side; when one fails, the others are stopped before its failure is told."""
    try:
        async with asyncio.TaskGroup() as group:
            for part in parts:
                group.create_task(part)
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
