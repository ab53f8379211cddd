"""One node URL: its connections, and how well it has behaved lately.

Every connection proves its chain id before an answer that came over it is believed. To know which
connection an answer came over, each lane keeps one connection at most.
A lane whose connection is already proven costs nothing extra. When a node closes its connection right after
an answer, the one opened next is checked in its stead.
"""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Final, TypeVar

from tickyard.chain.rpc.connection import Lane
from tickyard.chain.rpc.reply import read_one, read_quantity
from tickyard.chain.rpc.trouble import ForeignChain, Garbage, HungUp, RpcError, Throttled, Trouble

T = TypeVar("T")

_CHECK_ID: Final = 0
_CHECK: Final = b'{"jsonrpc":"2.0","id":0,"method":"eth_chainId","params":[]}'
_REST_FIRST_S: Final = 0.5
_REST_MOST_S: Final = 30.0
_FOREIGN_REST_S: Final = 5.0
"""A node that serves garbage may tell any chain id: it must be found again within seconds of its recovery."""


class NodeUrl:
    def __init__(self, url: str, index: int, *, chain_id: int, max_bytes: int, max_lanes: int) -> None:
        self.index = index
        self.sent = 0
        self.checks = 0
        self.failures = 0
        self.rests_until = 0.0
        self.is_throttled = False
        self.is_foreign = False
        self.is_fresh_until = 0.0
        """Until then its newest block need not be looked at again."""
        self._url = url
        self._chain_id = chain_id
        self._max_bytes = max_bytes
        self._idle: list[Lane] = []
        self._is_closed = False
        self._room = asyncio.Semaphore(max_lanes)

    async def post(self, body: bytes, read: Callable[[bytes], T], *, is_check: bool = False) -> T:
        """Send one request and read the answer, which came over a proven connection."""
        async with self._room:
            lane = self._idle.pop() if self._idle else Lane(self._url, self._max_bytes)
            is_over = False
            try:
                if not lane.opened or lane.opened != lane.proven:
                    await self._prove(lane)
                before = lane.sent
                answer = await self._send(lane, body)
                if is_check:
                    self.checks += lane.sent - before
                if lane.opened != lane.proven:
                    await self._prove(lane)
                return read(answer)
            except Garbage:
                # The answer to another question (a wrong id), or none at all: what comes next would be no better.
                lane.hang_up()
                raise
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
        if read_quantity(raw) != self._chain_id:
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
