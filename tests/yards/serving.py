"""An ASGI application on a real socket of loopback, for clients that bring their own HTTP."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import uvicorn
from starlette.types import ASGIApp

from tickyard.doors.http.fast_path import ReadyProtocol
from tickyard.kernel.clock import WallClock
from yards.patience import STUCK_S


class PromptServer(uvicorn.Server):
    """Stops when it is told to. The usual one looks around ten times a second, at its end too."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        # The tests own the signals.
        self.capture_signals = contextlib.nullcontext
        self._stop = asyncio.Event()

    def stop(self) -> None:
        self.should_exit = True
        self._stop.set()

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await self._stop.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        while self.server_state.connections or self.server_state.tasks:
            await WallClock().sleep(0.001)


@contextlib.asynccontextmanager
async def running(config: uvicorn.Config, sock: socket.socket) -> AsyncIterator[None]:
    server = PromptServer(config)
    task = asyncio.create_task(server.serve([sock]))
    try:
        yield
    finally:
        server.stop()
        await asyncio.wait_for(task, STUCK_S)
        sock.close()


@contextlib.asynccontextmanager
async def serving(app: ASGIApp, sock: socket.socket | None = None, *, keep_alive_s: float = 5) -> AsyncIterator[str]:
    """Serve until the end of the block; yields the base URL."""
    sock = sock or socket.create_server(("127.0.0.1", 0))
    # As `tickyard serve` does; an application of somebody else has nothing ready.
    protocol = ReadyProtocol if hasattr(app, "ready") else "httptools"
    config = uvicorn.Config(
        app,
        loop="none",
        http=protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        timeout_keep_alive=keep_alive_s,  # type: ignore[arg-type]  a timer takes parts of a second
    )
    async with running(config, sock):
        yield f"http://127.0.0.1:{sock.getsockname()[1]}"
