"""A facilitator for one network: the reference one, verifying and settling for real on a local chain.

    python -m tickyard.sandbox.facilitator.process --network eip155:4663 --rpc-url URL --run-dir DIR

Writes `DIR/facilitator-4663.json` when it listens, which is at once: the reference code takes seconds to import, and
who pays meanwhile waits for it. Lives as long as its stdin. A process of its own, because the reference code
blocks while it waits for the chain, and because no other process may hold a relayer's key.
"""

import argparse
import asyncio
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aiohttp import web

from tickyard.config.pinned import CHAIN_ID
from tickyard.kernel.clock import Clock, WallClock
from tickyard.kernel.loop import Loop
from tickyard.kernel.wire import encode
from tickyard.sandbox.clock import CLOCK_FILE, SandboxClock
from tickyard.sandbox.facilitator.front import port_file
from tickyard.sandbox.files import write_whole
from tickyard.sandbox.lifeline import on_parent_gone

if TYPE_CHECKING:
    from tickyard.sandbox.facilitator.reference import ReferenceFacilitator


async def run(network: str, rpc_url: str, run_dir: Path) -> None:
    chain_id = int(network.removeprefix("eip155:"))
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    on_parent_gone(stop.set)
    loading = _load()

    async def reference() -> "ReferenceFacilitator":
        opened = await asyncio.shield(loading)
        return opened(chain_id, rpc_url, _clock(chain_id, run_dir))

    opening = asyncio.create_task(reference())
    app = web.Application()
    for method, name in (("GET", "supported"), ("POST", "verify"), ("POST", "settle")):
        app.router.add_route(method, f"/{name}", _when_open(opening, name))
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        write_whole(run_dir / port_file(chain_id), encode({"port": runner.addresses[0][1]}))
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait({opening, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if opening.done():
            opening.result()
        await stopping
    finally:
        opening.cancel()
        await runner.cleanup()


def _load() -> "asyncio.Future[type[ReferenceFacilitator]]":
    """Import the reference code beside the loop. The thread is a daemon: who stops meanwhile does not wait for it."""
    loop = asyncio.get_running_loop()
    loaded: asyncio.Future[type[ReferenceFacilitator]] = loop.create_future()

    def settle(found: "type[ReferenceFacilitator] | ImportError") -> None:
        if loaded.done():
            return
        if isinstance(found, ImportError):
            loaded.set_exception(found)
        else:
            loaded.set_result(found)

    def work() -> None:
        found: type[ReferenceFacilitator] | ImportError
        try:
            from tickyard.sandbox.facilitator.reference import ReferenceFacilitator as found
        except ImportError as error:
            found = error
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, found)

    threading.Thread(target=work, daemon=True).start()
    return loaded


def _when_open(opening: "asyncio.Task[ReferenceFacilitator]", name: str) -> Any:
    async def serve(request: web.Request) -> web.StreamResponse:
        facilitator = await asyncio.shield(opening)
        answer: web.StreamResponse = await getattr(facilitator, name)(request)
        return answer

    return serve


def _clock(chain_id: int, run_dir: Path) -> Clock:
    """The second network keeps wall time; the first follows the sandbox's clock, where there is one."""
    file = run_dir / CLOCK_FILE
    return SandboxClock(file) if chain_id == CHAIN_ID and file.exists() else WallClock()


def main() -> None:
    parser = argparse.ArgumentParser(prog="tickyard.sandbox.facilitator.process")
    parser.add_argument("--network", required=True, help="such as eip155:4663")
    parser.add_argument("--rpc-url", required=True)
    parser.add_argument("--run-dir", type=Path, required=True)
    asked = parser.parse_args()
    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(run(asked.network, asked.rpc_url, asked.run_dir))


if __name__ == "__main__":
    main()
