"""One node URL: its connections, and how well it has behaved lately.

Every connection proves its chain id before an answer that came over it is believed. To know which
connection an answer came over, each lane is an HTTP session of its own that keeps one connection at most.
A lane whose connection is already proven costs nothing extra. When a node closes its connection right after
an answer, the one opened next is checked in its stead.
"""

import asyncio
import socket
from random import Random
from typing import Final

import aiohttp
from yarl import URL

from tickyard.chain.reply import quantity, read_one
from tickyard.chain.trouble import ForeignChain, Garbage, HungUp, RpcError, Throttled, Trouble, Unreachable

_HEADERS: Final = {"Content-Type": "application/json", "Accept-Encoding": "gzip", "User-Agent": "tickyard"}
_CHECK_ID: Final = 0
_CHECK: Final = b'{"jsonrpc":"2.0","id":0,"method":"eth_chainId","params":[]}'
_KEEP_ALIVE_S: Final = 60.0
_REST_FIRST_S: Final = 0.5
_REST_MOST_S: Final = 30.0
_FOREIGN_REST_S: Final = 30.0


class Lane:
    """One connection at a time to one URL. `opened` counts connections, `proven` is the last one checked."""

    def __init__(self, url: str, max_bytes: int) -> None:
        self.opened = 0
        self.proven = 0
        self.sent = 0
        self._url = URL(url)
        self._max_bytes = max_bytes
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=1, keepalive_timeout=_KEEP_ALIVE_S, socket_factory=self._open),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=_HEADERS,
            timeout=aiohttp.ClientTimeout(total=None),
            trust_env=False,
        )

    def _open(self, address: aiohttp.AddrInfoType) -> socket.socket:
        """Every attempt counts as a connection: one that failed costs a check, one not counted would cost trust."""
        self.opened += 1
        family, kind, protocol, *_ = address
        return socket.socket(family, kind, protocol)

    async def exchange(self, body: bytes) -> bytes:
        """Post one request and read its answer."""
        before = self.opened
        self.sent += 1
        try:
            return await self._exchange(body)
        except (aiohttp.ClientConnectionError, OSError):
            raise HungUp if 0 < before == self.opened else Unreachable from None
        except aiohttp.ClientPayloadError:
            raise Unreachable from None
        except aiohttp.ClientError:
            raise Garbage from None

    async def _exchange(self, body: bytes) -> bytes:
        async with self._session.post(self._url, data=body, allow_redirects=False) as response:
            if response.status == 429:
                raise Throttled(retry_after_s=_retry_after(response))
            # Some nodes answer a refused call with 400 and a proper JSON-RPC error.
            if response.status not in (200, 400):
                raise Unreachable(retry_after_s=_retry_after(response))
            if "json" not in response.content_type:
                raise Garbage
            if (response.content_length or 0) > self._max_bytes:
                raise Garbage
            # Counted after decompression: a small compressed body may hold a very large one.
            chunks, size = [], 0
            while chunk := await response.content.readany():
                size += len(chunk)
                if size > self._max_bytes:
                    raise Garbage
                chunks.append(chunk)
            return b"".join(chunks)

    async def close(self) -> None:
        await self._session.close()


class Endpoint:
    def __init__(self, url: str, index: int, *, chain_id: int, max_bytes: int, max_lanes: int) -> None:
        self.index = index
        self.sent = 0
        self.checks = 0
        self.failures = 0
        self.rests_until = 0.0
        self.is_throttled = False
        self.is_foreign = False
        self._url = url
        self._chain_id = chain_id
        self._max_bytes = max_bytes
        self._idle: list[Lane] = []
        self._is_closed = False
        self._room = asyncio.Semaphore(max_lanes)

    async def post(self, body: bytes) -> bytes:
        """Send one request and return an answer that came over a proven connection."""
        async with self._room:
            lane = self._idle.pop() if self._idle else Lane(self._url, self._max_bytes)
            is_over = False
            try:
                if not lane.opened or lane.opened != lane.proven:
                    await self._prove(lane)
                answer = await self._send(lane, body)
                if lane.opened != lane.proven:
                    await self._prove(lane)
                return answer
            except ForeignChain:
                # Connections that were proven before may lead to the same place by now.
                is_over = True
                raise
            finally:
                self._idle.append(lane)
                if is_over or self._is_closed:
                    await self._drop_idle()

    async def _send(self, lane: Lane, body: bytes) -> bytes:
        self.sent += 1
        try:
            return await lane.exchange(body)
        except HungUp:
            self.sent += 1
            return await lane.exchange(body)

    async def _prove(self, lane: Lane) -> None:
        before = lane.sent
        try:
            answer = await self._send(lane, _CHECK)
        finally:
            self.checks += lane.sent - before
        try:
            raw = read_one(answer, (_CHECK_ID, "eth_chainId"))
        except RpcError:
            raise Garbage from None
        if quantity(raw) != self._chain_id:
            raise ForeignChain
        lane.proven = lane.opened

    def is_resting(self, now: float) -> bool:
        return now < self.rests_until

    def note_well(self) -> None:
        self.failures = 0
        self.rests_until = 0.0
        self.is_throttled = self.is_foreign = False

    def note_trouble(self, trouble: Trouble, now: float, rng: Random, most_s: float) -> None:
        """Rest for a time that grows with each failure in a row; jitter keeps replicas out of step."""
        if self.is_resting(now) and not isinstance(trouble, ForeignChain) and trouble.retry_after_s is None:
            # Many callers failing together are one failure, not many in a row.
            return
        rest_s = min(_REST_FIRST_S * 2 ** min(self.failures, 10), _REST_MOST_S) * rng.uniform(0.5, 1.0)
        self.is_throttled = isinstance(trouble, Throttled)
        self.is_foreign = isinstance(trouble, ForeignChain)
        if self.is_foreign:
            rest_s = _FOREIGN_REST_S
        elif trouble.retry_after_s is not None:
            # A node may ask for any time it likes, we grant what a caller could wait.
            rest_s = min(max(float(trouble.retry_after_s), rest_s / 4), most_s)
        elif self.is_throttled:
            rest_s = min(rest_s, most_s / 2)
        self.failures += 1
        self.rests_until = now + rest_s

    async def close(self) -> None:
        """Requests still under way close their connection when they end."""
        self._is_closed = True
        await self._drop_idle()

    async def _drop_idle(self) -> None:
        idle, self._idle = self._idle, []
        for lane in idle:
            await lane.close()


def _retry_after(response: aiohttp.ClientResponse) -> int | None:
    """Whole seconds only: the date form is rare and would need the node's clock."""
    text = response.headers.get("Retry-After", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else None
