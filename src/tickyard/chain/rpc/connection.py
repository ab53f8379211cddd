"""One connection to one node URL, and the exchange of a request for an answer over it.

The connection comes from aiohttp: names, TLS, parsing and decompression are its work. The request is written to it
from a template, because building a request and a response object for each call cost twice the rest of the exchange.
"""

import asyncio
import socket
from typing import Final

import aiohttp
from aiohttp.connector import Connection
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.http_parser import RawResponseMessage
from yarl import URL

from tickyard.chain.rpc.trouble import Garbage, HungUp, NodeUnreachable, RpcError, Throttled

_HEADERS: Final = {
    "Content-Type": "application/json",
    "Accept": "application/json",
    "Accept-Encoding": "gzip",
    "User-Agent": "tickyard",
}
_KEEP_ALIVE_S: Final = 60.0
_NO_LIMIT: Final = aiohttp.ClientTimeout(total=None)
"""Whoever calls sets the limits."""


class Lane:
    """One connection at a time. `opened` counts connections, `proven` is the last one checked."""

    def __init__(self, url: str, max_bytes: int) -> None:
        self.opened = 0
        self.proven = 0
        self.sent = 0
        self._max_bytes = max_bytes
        self._loop = asyncio.get_running_loop()
        self._connector = aiohttp.TCPConnector(limit=1, force_close=True, socket_factory=self._open)
        self._request = aiohttp.ClientRequest("POST", URL(url), headers=_HEADERS, loop=self._loop)
        self._head = _head(self._request)
        self._connection: Connection | None = None
        self._is_whole = False
        self._used_at = 0.0

    def _open(self, address: aiohttp.AddrInfoType) -> socket.socket:
        """Every attempt counts as a connection: one that failed costs a check, one not counted would cost trust."""
        self.opened += 1
        family, kind, protocol, *_ = address
        return socket.socket(family, kind, protocol)

    async def exchange(self, body: bytes) -> bytes:
        """Post one request and read its answer."""
        self.sent += 1
        before = self.opened
        self._is_whole = False
        try:
            return await self._exchange(await self._connected(), body)
        except (aiohttp.ClientConnectionError, aiohttp.EofStream, OSError, UnicodeError):
            raise HungUp if 0 < before == self.opened else NodeUnreachable from None
        except aiohttp.ClientPayloadError:
            raise NodeUnreachable from None
        except (aiohttp.ClientError, HttpProcessingError):
            raise Garbage from None
        finally:
            # What is left of an answer that did not come to its end must not be taken for the next one.
            if not self._is_whole:
                self.hang_up()

    async def _connected(self) -> Connection:
        connection = self._connection
        if connection is not None:
            protocol = connection.protocol
            is_fresh = self._loop.time() - self._used_at < _KEEP_ALIVE_S
            if is_fresh and protocol is not None and protocol.is_connected() and not protocol.should_close:
                return connection
            self.hang_up()
        self._connection = await self._connector.connect(self._request, traces=[], timeout=_NO_LIMIT)
        return self._connection

    async def _exchange(self, connection: Connection, body: bytes) -> bytes:
        protocol, transport = connection.protocol, connection.transport
        if protocol is None or transport is None:
            raise aiohttp.ServerDisconnectedError
        protocol.set_response_params(read_until_eof=True)
        transport.write(b"%s%d\r\n\r\n%s" % (self._head, len(body), body))
        message, content = await protocol.read()
        while 100 <= message.code < 200 and message.code != 101:
            message, content = await protocol.read()
        # A refusal is short: mostly all of it is here by now, and the connection stays good.
        self._is_whole = content.is_eof()
        self._used_at = self._loop.time()
        self._judge(message)
        self._is_whole = False
        # Counted after decompression: a small compressed body may hold a very large one.
        chunks, size = [], 0
        while chunk := await content.readany():
            size += len(chunk)
            if size > self._max_bytes:
                raise Garbage
            chunks.append(chunk)
        self._is_whole = True
        return b"".join(chunks)

    def _judge(self, message: RawResponseMessage) -> None:
        if message.code == 429:
            raise Throttled(retry_after_s=_whole_number(message.headers.get("Retry-After")))
        if message.code == 413:
            # It would be as large for the next node: it must be sent in parts.
            raise RpcError(413, "request entity too large")
        # Some nodes answer a refused call with 400 and a proper JSON-RPC error.
        if message.code not in (200, 400):
            raise NodeUnreachable(retry_after_s=_whole_number(message.headers.get("Retry-After")))
        if "json" not in message.headers.get("Content-Type", "").partition(";")[0].lower():
            raise Garbage
        if (_whole_number(message.headers.get("Content-Length")) or 0) > self._max_bytes:
            raise Garbage

    def hang_up(self) -> None:
        """The next exchange opens a connection of its own."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    async def close(self) -> None:
        self.hang_up()
        await self._connector.close()


def _head(request: aiohttp.ClientRequest) -> bytes:
    """All of a request but its length and its body."""
    lines = [f"{name}: {value}" for name, value in request.headers.items() if name != "Content-Length"]
    return "\r\n".join([f"POST {request.url.raw_path_qs} HTTP/1.1", *lines, "Content-Length: "]).encode()


def _whole_number(text: str | None) -> int | None:
    """Of Retry-After whole seconds only: the date form is rare and would need the node's clock."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) <= 12 else None
