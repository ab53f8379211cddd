"""Answers that are ready when a request arrives, or made without waiting: the protocol writes them to the socket.

A scope, a task, two messages and the checks of their headers are most of what a kept answer costs, and a third of a
quote from memory. The application tells what it has (`Edge.ready`); whatever is not the plainest of requests goes the
long way, with the same result.
"""

import resource
import sys
from asyncio import Transport
from collections.abc import Callable
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from tickyard.doors.http.answers import Headers
from tickyard.doors.http.cache import head_lines
from tickyard.doors.http.protocol import LimitedProtocol
from tickyard.doors.http.refusal import CROWDED

Ask = Callable[[str, bytes, Headers, tuple[str, int] | None], tuple[bytes, bytes] | None]
_METHODS: Final = {b"GET": "GET", b"HEAD": "HEAD"}


def callers_most(files: int) -> int:
    """How many connections a process that may open so many files takes in. The rest is for what answers them: nodes,
    the store, code that is loaded when it is first needed."""
    if files == resource.RLIM_INFINITY:
        return sys.maxsize
    return max(files - max(files // 8, 48), 8)


def lingering_most(files: int) -> int:
    """How many more, who were turned away, may take their time to hear it: an eighth of that rest."""
    return sys.maxsize if files == resource.RLIM_INFINITY else max((files - callers_most(files)) // 8, 1)


class ReadyProtocol(LimitedProtocol):
    MOST = callers_most(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    LINGERING = lingering_most(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    _dated: tuple[Headers, bytes] = ([], b"\r\n")
    """The headers that the server adds to every answer, and how they travel, with the end of the head."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._ready: Ask = self.app.ready

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        too_many = len(self.connections) - self.MOST
        if too_many > 0:
            self._refuse(CROWDED)
        if too_many > self.LINGERING:
            # It may destroy the answer, but whoever stays deaf would keep a file that calls of others need.
            transport.close()

    def _is_answered_at_once(self) -> bool:
        parser = self.parser
        method = _METHODS.get(parser.get_method())
        earlier: RequestResponseCycle | None = self.cycle
        # Answers keep their order, and nobody is sent more than they read.
        if method is None or (earlier is not None and not earlier.response_complete) or self.flow.write_paused:
            return False
        if self.expect_100_continue or not parser.should_keep_alive() or parser.get_http_version() != "1.1":
            return False
        ready = self._ready(method, self.url, self.headers, self.client)
        if ready is None:
            return False
        head, body = ready
        dated = ReadyProtocol._dated
        if dated[0] is not self.server_state.default_headers:
            # A new list each second, the same for all connections.
            ours = self.server_state.default_headers
            dated = ReadyProtocol._dated = (ours, head_lines(ours) + b"\r\n")
        self.transport.writelines((head, dated[1], body))
        return True
