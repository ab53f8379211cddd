"""Serving until told to stop, and stopping so that nobody notices.

First a lame duck: `/readyz` says 503 while everything else is served as before, each answer asking its caller to come
back on another connection, until proxies have noticed. Then a drain: nothing new is accepted, and what has begun gets
as long as the slowest upstream may take. Whatever is left gets our Error object.
"""

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from typing import Final

import uvicorn

from tickyard.config.settings import Settings, SettingsError
from tickyard.doors.http.edge import Edge
from tickyard.doors.http.fast_path import ReadyProtocol
from tickyard.kernel.clock import Clock
from tickyard.observe.log import log

_LOOK_S: Final = 0.05
_LAST_WORDS_S: Final = 1.0


def bound(settings: Settings) -> socket.socket:
    """The door, not open yet."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    door = socket.socket(family, socket.SOCK_STREAM)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        door.bind((settings.host, settings.port))
    except OSError as error:
        door.close()
        where = f"{settings.host}:{settings.port}"
        raise SettingsError(f"it cannot listen on {where} (TICKYARD_HOST, TICKYARD_PORT): {error.strerror}") from None
    return door


def make_server(settings: Settings, edge: Edge, clock: Clock) -> "Server":
    config = uvicorn.Config(
        edge,
        host=settings.host,
        port=settings.port,
        loop="none",
        http=ReadyProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=settings.keep_alive_s,
    )
    return Server(config, edge, clock, lame_duck_s=settings.lame_duck_s, drain_s=settings.drain_s)


class Server(uvicorn.Server):
    """uvicorn ends the process by its own signal as soon as it has drained; ours has more to put away."""

    def __init__(self, config: uvicorn.Config, edge: Edge, clock: Clock, *, lame_duck_s: float, drain_s: float) -> None:
        super().__init__(config)
        self._edge = edge
        self._clock = clock
        self._lame_duck_s = lame_duck_s
        self._drain_s = drain_s

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def stop(self) -> None:
        """Once: in order. Twice: now."""
        if self._edge.is_leaving:
            self.should_exit = self.force_exit = True
            return
        log.info("stopping", lame_duck_s=self._lame_duck_s, drain_s=self._drain_s)
        self._edge.is_leaving = True
        asyncio.get_running_loop().call_later(self._lame_duck_s, setattr, self, "should_exit", True)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        state = self.server_state
        for listener in self.servers:
            listener.close()
        for sock in sockets or []:
            sock.close()
        for connection in list(state.connections):
            connection.shutdown()
        deadline = self._clock.monotonic() + self._drain_s
        while (state.connections or state.tasks) and not self.force_exit and self._clock.monotonic() < deadline:
            await self._clock.sleep(_LOOK_S)
        if state.tasks:
            log.warning("requests are cut off", requests=len(state.tasks))
            tasks = list(state.tasks)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=_LAST_WORDS_S)
