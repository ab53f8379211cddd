"""`tickyard up`: a whole service on a world of its own, in one terminal.

Tells what it is doing, shows a panel, and takes everything down with it. Each world lives in a folder of its own
and is gone after a clean stop.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import sys
from pathlib import Path
from typing import Final

import aiohttp

from tickyard.kernel.clock import WallClock
from tickyard.observe.log import configure_logging
from tickyard.sandbox.children import Child, ChildDied
from tickyard.sandbox.commands.panel import Progress, panel
from tickyard.sandbox.commands.parts import Parts
from tickyard.sandbox.node.process import NodeError, find_root

_READY_S: Final = 60


class CannotStart(Exception):
    """One sentence for the terminal."""


async def run_up(port: int, demo_days: int) -> int:
    """Run until a signal; 0 after a clean stop."""
    if not _is_free(port):
        print(f"port {port} is taken; try: make up PORT={port + 100}", file=sys.stderr)
        return 1
    run_dir = find_root() / ".run" / f"{port}-{os.getpid()}"
    run_dir.mkdir(parents=True)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    living = asyncio.create_task(_live(port, run_dir, demo_days))
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({living, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    living.cancel()
    try:
        await living
    except asyncio.CancelledError:
        pass
    except (CannotStart, ChildDied, NodeError, TimeoutError) as trouble:
        print(f"\ntickyard up failed: {str(trouble) or 'a part did not start in time'}", file=sys.stderr)
        print(f"what the parts had to say is in .run/{run_dir.name}", file=sys.stderr)
        return 1
    shutil.rmtree(run_dir)
    print("stopped; the sandbox world is gone")
    return 0


async def _live(port: int, run_dir: Path, demo_days: int) -> None:
    """Start everything, say so, and wait for something to die."""
    progress = Progress(WallClock())
    async with contextlib.AsyncExitStack() as stack:
        # The terminal is for people; what the parts log goes into the run's folder.
        configure_logging(stack.enter_context((run_dir / "up.log").open("w")))
        parts = Parts(port, run_dir, stack, progress)
        await parts.build(demo_days)
        await parts.start_service()
        await _ready(port, parts.children)
        progress.end()
        print(panel(port, parts.stand_ins_port, parts.world))
        sys.stdout.flush()
        watched = [asyncio.create_task(child.died()) for child in parts.children]
        for task in watched:
            stack.callback(task.cancel)
        done, _ = await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()


async def _ready(port: int, children: list[Child]) -> None:
    """Wait until the API can serve and the first sample is taken, or a part has died."""
    clock = WallClock()
    deadline = clock.monotonic() + _READY_S
    base = f"http://127.0.0.1:{port}"
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as session:
        while clock.monotonic() < deadline:
            for child in children:
                child.must_live()
            with contextlib.suppress(aiohttp.ClientError, TimeoutError):
                async with session.get(f"{base}/readyz") as response:
                    is_ready = response.status == 200
                async with session.get(f"{base}/v1/status") as response:
                    status = await response.json() if is_ready and response.status == 200 else {}
                if status.get("lastSlot"):
                    return
            await clock.sleep(0.05)
    raise CannotStart(f"the service did not become ready within {_READY_S} s")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
