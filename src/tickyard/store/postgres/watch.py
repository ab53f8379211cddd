"""Not waiting for ever: a server that is frozen, or a network that swallows, answers nothing and closes nothing.

The server's own time limits end with the server. When an answer takes too long the connection is shut from our side:
the driver then finds it closed, as if the server had done it, and everybody learns it in the usual way. Cancelling
would not do: the driver asks the same silent server to cancel, and waits for that.
"""

import asyncio
import os
import socket
from contextlib import suppress
from typing import Any

import psycopg


class Watch:
    """On one connection, for one step at a time."""

    def __init__(self, driver: "psycopg.AsyncConnection[Any]", limit_s: float) -> None:
        self._driver = driver
        self._limit_s = limit_s
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> None:
        self.disarm()
        self._timer = asyncio.get_running_loop().call_later(self._limit_s, cut, self._driver)

    def __exit__(self, *_: object) -> None:
        self.disarm()

    def disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def cut(driver: "psycopg.AsyncConnection[Any]") -> None:
    """Both directions, so that whoever waits for it sees its end."""
    with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(driver.pgconn.socket)) as line:
        line.shutdown(socket.SHUT_RDWR)
