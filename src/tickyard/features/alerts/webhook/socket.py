"""The socket under one webhook request, as httpcore wants it.

It dials one address that was checked before and nothing else, counts what it reads, and lets the first byte of
the request out only after it has asked. Name lookup, proxies and redirects do not exist at this level.
"""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable
from ipaddress import IPv6Address
from typing import Any, Final

import httpcore

from tickyard.features.alerts.webhook.addresses import IpAddress
from tickyard.kernel.clock import Clock

CONNECT_S: Final = 3.0
READ_MAX: Final = 4096


class Aborted(Exception):
    """The request was called off before its first byte."""


class CheckedDial(httpcore.AsyncNetworkBackend):
    """Opens one connection, to one address. What became of it stays readable afterwards."""

    def __init__(
        self, address: IpAddress, deadline: float, clock: Clock, before_first_byte: Callable[[], Awaitable[bool]]
    ) -> None:
        self._address = address
        self._deadline = deadline
        self._clock = clock
        self._before_first_byte = before_first_byte
        self.has_written = False
        """Whether a byte of the request may have left. False is a proof, True is not."""
        self._was_asked = False

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  httpcore's signature
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        family = socket.AF_INET6 if isinstance(self._address, IPv6Address) else socket.AF_INET
        link = socket.socket(family, socket.SOCK_STREAM)
        try:
            link.setblocking(False)
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            async with asyncio.timeout(min(CONNECT_S, self.time_left())):
                await asyncio.get_running_loop().sock_connect(link, (str(self._address), port))
        except (OSError, TimeoutError) as error:
            link.close()
            raise httpcore.ConnectError from error
        except BaseException:
            link.close()
            raise
        return _Dialled(self, link)

    def time_left(self) -> float:
        return max(0.0, self._deadline - self._clock.monotonic())

    async def allow_first_byte(self) -> None:
        """Ask once. The answer's own time does not count: it must not be cut in the middle of a commit."""
        if self._was_asked:
            return
        self._was_asked = True
        began = self._clock.monotonic()
        if not await self._before_first_byte():
            raise Aborted
        self._deadline += self._clock.monotonic() - began
        self.has_written = True


class _Dialled(httpcore.AsyncNetworkStream):
    """A bare connection. Only a TLS handshake may follow; there is no way to write to it."""

    def __init__(self, dial: CheckedDial, link: socket.socket) -> None:
        self._dial = dial
        self._link = link

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> httpcore.AsyncNetworkStream:
        try:
            async with asyncio.timeout(self._dial.time_left()):
                reader, writer = await asyncio.open_connection(
                    sock=self._link, ssl=ssl_context, server_hostname=server_hostname, limit=READ_MAX
                )
        except (OSError, TimeoutError) as error:
            # The loop owns the socket by now and closes it. A refused certificate (SSLError) is an OSError.
            raise httpcore.ConnectError from error
        return _Secured(self._dial, reader, writer)

    async def aclose(self) -> None:
        self._link.close()

    def get_extra_info(self, info: str) -> Any:
        return None


class _Secured(httpcore.AsyncNetworkStream):
    def __init__(self, dial: CheckedDial, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._dial = dial
        self._reader = reader
        self._writer = writer
        self._read_left = READ_MAX

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        if not buffer:
            return
        await self._dial.allow_first_byte()
        try:
            async with asyncio.timeout(self._dial.time_left()):
                self._writer.write(buffer)
                await self._writer.drain()
        except (OSError, TimeoutError) as error:
            raise httpcore.WriteError from error

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        if self._read_left == 0:
            raise httpcore.ReadError
        try:
            async with asyncio.timeout(self._dial.time_left()):
                data = await self._reader.read(min(max_bytes, self._read_left))
        except (OSError, TimeoutError) as error:
            raise httpcore.ReadError from error
        self._read_left -= len(data)
        return data

    async def aclose(self) -> None:
        # No farewell: a receiver that does not answer the closing handshake would keep the socket open.
        self._writer.transport.abort()

    def get_extra_info(self, info: str) -> Any:
        return self._writer.get_extra_info(info)
