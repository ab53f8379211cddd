"""An ASGI application on a real socket of loopback, for clients that bring their own HTTP."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import uvicorn
from starlette.types import ASGIApp

from tickyard.doors.ready import ReadyProtocol


@contextlib.asynccontextmanager
async def serving(app: ASGIApp, sock: socket.socket | None = None) -> AsyncIterator[str]:
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
    )
    server = uvicorn.Server(config)
    # The tests own the signals.
    server.capture_signals = contextlib.nullcontext
    task = asyncio.create_task(server.serve([sock]))
    try:
        yield f"http://127.0.0.1:{sock.getsockname()[1]}"
    finally:
        server.should_exit = True
        await asyncio.wait_for(task, 10)
        sock.close()
