"""`tickyard up`: a whole service on a world of its own, in one terminal.

Starts every part as a process, tells what it is doing, and takes them all down with it. Each world lives in a
folder of its own and is gone after a clean stop.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import sys
from datetime import datetime
from pathlib import Path
from typing import Final

import aiohttp

from tickyard.config.settings import SettingsError, read_settings
from tickyard.kernel.clock import WallClock
from tickyard.kernel.wire import encode
from tickyard.sandbox.children import Child, ChildDied
from tickyard.sandbox.clock import CLOCK_FILE, SandboxClock
from tickyard.sandbox.inside import NODE_FILE, WORLD_FILE
from tickyard.sandbox.node import Node, NodeError, find_root
from tickyard.sandbox.panel import Progress, panel
from tickyard.sandbox.standins import PORT_FILE
from tickyard.sandbox.world import build_world

CHAIN_ID: Final = 4663
_BLOCK_MS: Final = 2000
_EXTERNAL_NODE: Final = "TICKYARD_SANDBOX_RPC_URL"


class CannotStart(Exception):
    """One sentence for the terminal."""


async def run_up(port: int) -> int:
    """Run until a signal; 0 after a clean stop."""
    _must_be_free(port)
    run_dir = find_root() / ".run" / f"{port}-{os.getpid()}"
    run_dir.mkdir(parents=True)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    living = asyncio.create_task(_live(port, run_dir, stop))
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({living, stopping}, return_when=asyncio.FIRST_COMPLETED)
    if not living.done():
        living.cancel()
    try:
        await living
    except asyncio.CancelledError:
        pass
    except (CannotStart, ChildDied, NodeError, SettingsError) as trouble:
        print(f"tickyard up failed: {trouble}", file=sys.stderr)
        print(f"what the parts had to say is in {run_dir.name} below .run", file=sys.stderr)
        return 1
    finally:
        stopping.cancel()
    shutil.rmtree(run_dir)
    print("stopped; the sandbox world is gone")
    return 0


async def _live(port: int, run_dir: Path, stop: asyncio.Event) -> None:
    progress = Progress(WallClock())
    start = read_settings({"TICKYARD_RPC_URLS": "http://127.0.0.1"}).history_start_at
    clock = SandboxClock.create(run_dir / CLOCK_FILE, start)
    async with contextlib.AsyncExitStack() as stack:
        progress.begin("starting the chain")
        node = await stack.enter_async_context(await _node(run_dir, clock.now()))
        (run_dir / NODE_FILE).write_bytes(encode({"url": node.url}))
        progress.begin("starting the stand-ins for the issuer and the filings")
        began = clock.now()
        options = ("--run-dir", str(run_dir), "--node-url", node.url, "--began", str(int(began.timestamp())))
        stand_ins = await Child.start("stand-ins", run_dir, "tickyard.sandbox.standins", *options)
        stack.push_async_callback(stand_ins.stop)
        progress.begin("building a market of 194 assets")
        world = await build_world(node, began)
        (run_dir / WORLD_FILE).write_bytes(world.to_json())
        stand_ins_port = await stand_ins.announced(run_dir / PORT_FILE)
        progress.begin("starting the API")
        environ = _api_environ(port, run_dir, f"http://127.0.0.1:{stand_ins_port}")
        api = await Child.start("api", run_dir, "tickyard", "serve", environ=environ)
        stack.push_async_callback(api.stop)
        await _ready(port, api)
        progress.end()
        print(panel(port, stand_ins_port, world))
        sys.stdout.flush()
        watched = [asyncio.create_task(child.died()) for child in (stand_ins, api)]
        for task in watched:
            stack.callback(task.cancel)
        await asyncio.wait({*watched, asyncio.create_task(stop.wait())}, return_when=asyncio.FIRST_COMPLETED)
        for task in watched:
            if task.done():
                task.result()


async def _node(run_dir: Path, now: datetime) -> Node:
    if url := os.environ.get(_EXTERNAL_NODE):
        return Node.attach(url)
    return await Node.start(chain_id=CHAIN_ID, now=now, run_dir=run_dir, interval_ms=_BLOCK_MS)


def _api_environ(port: int, run_dir: Path, stand_ins_url: str) -> dict[str, str]:
    return {
        # A sandbox is for trying things out: no limit unless somebody wants to try that too.
        "TICKYARD_RATE_LIMIT": "0",
        **os.environ,
        "TICKYARD_PROFILE": "sandbox",
        "TICKYARD_HOST": "127.0.0.1",
        "TICKYARD_PORT": str(port),
        "TICKYARD_BASE_URL": f"http://127.0.0.1:{port}",
        "TICKYARD_DATA_DIR": str(run_dir),
        "TICKYARD_RPC_URLS": f"{stand_ins_url}/rpc",
        "TICKYARD_ISSUER_URL": f"{stand_ins_url}/issuer",
    }


async def _ready(port: int, api: Child) -> None:
    """Wait until the API says that it can serve, or has died."""
    clock = WallClock()
    deadline = clock.monotonic() + 30
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=2)) as session:
        while clock.monotonic() < deadline:
            api.must_live()
            with contextlib.suppress(aiohttp.ClientError, TimeoutError):
                async with session.get(f"http://127.0.0.1:{port}/readyz") as response:
                    if response.status == 200:
                        return
            await clock.sleep(0.05)
    raise CannotStart("the API did not become ready within 30 s")


def _must_be_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            print(f"port {port} is taken; try: make up PORT={port + 100}", file=sys.stderr)
            sys.exit(1)
