"""The far ends of the sandbox in one process behind one loopback port, each under a path of its own.

    python -m tickyard.sandbox.standins.process --run-dir DIR --node-url URL [--began SECONDS]

Writes `DIR/standins.json` when it is ready. Lives as long as its stdin: a parent that dies leaves no orphan.
"""

import argparse
import asyncio
import signal
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import msgspec
from aiohttp import web

from tickyard.kernel.clock import Clock, WallClock
from tickyard.kernel.errors import BadRequest
from tickyard.kernel.loop import Loop
from tickyard.kernel.wire import encode, error_body
from tickyard.sandbox.clock import CLOCK_FILE, SandboxClock
from tickyard.sandbox.facilitator.front import FacilitatorFront
from tickyard.sandbox.files import write_whole
from tickyard.sandbox.filings.server import FilingsStandIn
from tickyard.sandbox.lifeline import on_parent_gone
from tickyard.sandbox.standins.faults import FaultBoard
from tickyard.sandbox.standins.inbox import PORT_FILE as INBOX_FILE
from tickyard.sandbox.standins.inbox import Inbox
from tickyard.sandbox.standins.issuer import IssuerStandIn
from tickyard.sandbox.standins.node_front import NodeFront
from tickyard.sandbox.world import listing

PORT_FILE = "standins.json"
# As much as one batch of the world's building transactions may take.
_BODY_MAX_BYTES = 64 * 1024 * 1024


class StandIn(Protocol):
    def add_to(self, app: web.Application) -> None:
        """Add routes, and what must be opened and closed with them."""
        ...


class _Fault(msgspec.Struct, forbid_unknown_fields=True):
    target: str
    mode: str


class Controls:
    """Where the sandbox itself turns the faults on and off."""

    def __init__(self, board: FaultBoard) -> None:
        self._board = board

    def add_to(self, app: web.Application) -> None:
        app.router.add_get("/control/faults", self.show)
        app.router.add_post("/control/fault", self.set)

    async def show(self, _request: web.Request) -> web.Response:
        return web.Response(body=encode(self._board.modes()), content_type="application/json")

    async def set(self, request: web.Request) -> web.Response:
        try:
            fault = msgspec.json.decode(await request.read(), type=_Fault)
            self._board.set(fault.target, fault.mode)
        except msgspec.DecodeError:
            return _refusal(BadRequest("the body must be an object with target and mode"))
        except BadRequest as failure:
            return _refusal(failure)
        return web.Response(body=encode(fault), content_type="application/json")


def _refusal(failure: BadRequest) -> web.Response:
    body = error_body(failure.code, failure.message)
    return web.Response(status=failure.status, body=body, content_type="application/json")


def far_ends(
    board: FaultBoard, clock: Clock, node_url: str, began: datetime, run_dir: Path | None = None
) -> list[StandIn]:
    """Everything behind the one port. The facilitators' fronts need the run's folder to find the real ones."""
    fronts = [FacilitatorFront(board, clock, run_dir, chain_id) for chain_id in (4663, 8453)] if run_dir else []
    return [
        *fronts,
        Controls(board),
        IssuerStandIn(board, clock, listing.load(), began=began),
        FilingsStandIn(board, clock),
        NodeFront(board, clock, node_url),
    ]


async def open_port(stand_ins: Iterable[StandIn]) -> tuple[web.AppRunner, int]:
    """Serve them on a loopback port of the system's choice. Clean up the runner to stop."""
    app = web.Application(client_max_size=_BODY_MAX_BYTES)
    for stand_in in stand_ins:
        stand_in.add_to(app)
    # Who hangs up is waited for no longer: the node must hear of it, or it works for nobody.
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return runner, runner.addresses[0][1]


async def run(run_dir: Path, node_url: str, began_s: int | None) -> None:
    clock_file = run_dir / CLOCK_FILE
    clock: Clock = SandboxClock(clock_file) if clock_file.exists() else WallClock()
    began = datetime.fromtimestamp(began_s, UTC) if began_s is not None else clock.now()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    on_parent_gone(stop.set)
    inbox = Inbox(clock)
    receiving, inbox_port = await inbox.open(run_dir)
    runner, port = await open_port([*far_ends(FaultBoard(), clock, node_url, began, run_dir), inbox])
    try:
        write_whole(run_dir / INBOX_FILE, encode({"port": inbox_port}))
        write_whole(run_dir / PORT_FILE, encode({"port": port}))
        await stop.wait()
    finally:
        await runner.cleanup()
        await receiving.cleanup()


def main() -> None:
    parser = argparse.ArgumentParser(prog="tickyard.sandbox.standins.process")
    parser.add_argument("--run-dir", type=Path, required=True)
    parser.add_argument("--node-url", required=True)
    parser.add_argument("--began", type=int, help="when the world began, in Unix seconds (now)")
    asked = parser.parse_args()
    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(run(asked.run_dir, asked.node_url, asked.began))


if __name__ == "__main__":
    main()
