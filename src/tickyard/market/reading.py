"""Reading the chain: many calls at one block, with the block's own time.

The time travels with the calls (Multicall3 tells it), so an answer knows how old it is without another round
trip, and a node that has fallen behind what we have already seen is caught before its figures are used.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from tickyard.chain import aggregate3
from tickyard.chain.abi import read_uint
from tickyard.chain.multicall import LIGHT_CALLS, Call, aggregate
from tickyard.chain.quantity import bytes_of
from tickyard.chain.rpc.client import Block, Head, Rpc, RpcError, block_param
from tickyard.chain.rpc.trouble import Stale
from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address

BLOCK_TIME: Final = bytes.fromhex("0f28c97d")  # getCurrentBlockTimestamp()
_CODE: Final = re.compile(r"0x(?:[0-9a-fA-F]{2}){1,24576}")
_LAG_MAX_S: Final = 30
"""Nodes behind one address may differ by a few blocks; more than this is a node that is stuck or lies."""
_AHEAD_MAX_S: Final = 600
"""Clocks differ by seconds. A time further ahead, once believed, would make every honest node look stuck."""


@dataclass(frozen=True, slots=True)
class ChainReading:
    results: list[bytes | None]
    at: datetime
    """The block's time."""


Gap = Address | int


class CallTemplate:
    """Calls that are asked again and again with only a few values different: encoded once, with gaps for them.

    `gaps` tells by example what goes into each: an address, or a number that fills a word.
    """

    def __init__(self, multicall: Address, calls: Callable[..., Sequence[Call]], gaps: Sequence[Gap]) -> None:
        self._head = Call(multicall, BLOCK_TIME)
        self._calls = calls
        # Any values that no call mentions will do to mark the gaps.
        marks = [_mark(example, index) for index, example in enumerate(gaps)]
        marked = self.calls(*marks)
        self.count = len(marked)
        texts = [_text(mark) for mark in marks]
        self._pieces = re.split(f"({'|'.join(texts)})", aggregate3.encode(marked))
        self._order = [texts.index(piece) for piece in self._pieces[1::2]]

    def calls(self, *values: Gap) -> list[Call]:
        return [self._head, *self._calls(*values)]

    def fill(self, values: Sequence[Gap]) -> str:
        texts = [_text(value) for value in values]
        pieces = self._pieces.copy()
        pieces[1::2] = [texts[index] for index in self._order]
        return "".join(pieces)


def _mark(example: Gap, index: int) -> Gap:
    digits = f"{'6d61726b' * 4}{index:08x}"
    return int(digits.ljust(64, "6"), 16) if isinstance(example, int) else Address("0x" + digits)


def _text(value: Gap) -> str:
    return f"{value:064x}" if isinstance(value, int) else value[2:]


class ChainReader:
    def __init__(self, rpc: Rpc, multicall: Address, clock: Clock, *, calls_max: int = LIGHT_CALLS) -> None:
        self._rpc = rpc
        self._multicall = multicall
        self._clock = clock
        self._calls_max = calls_max
        self._newest_s = 0
        self._code: str | None = None

    def deadline(self) -> float:
        """The moment by which work begun now must be over: one for all readings that an answer takes."""
        return self._rpc.deadline()

    async def read(
        self,
        calls: Sequence[Call],
        *,
        block: Block = "latest",
        max_calls_per_chunk: int | None = None,
        deadline: float | None = None,
    ) -> ChainReading:
        """Return data per call, None where one failed. UpstreamDown when the node is silent, lies or lags."""
        asked = [Call(self._multicall, BLOCK_TIME), *calls]
        at_once = max_calls_per_chunk or self._calls_max
        if block == "latest" and len(asked) <= at_once:
            return await self._read_whole(aggregate3.encode(asked), len(asked), lambda: asked, deadline)
        results = await aggregate(
            self._rpc, self._multicall, asked, block=block, max_calls_per_chunk=at_once, deadline=deadline
        )
        return self._judge(results, is_latest=block == "latest")

    async def read_unmoved(
        self, calls: Sequence[Call], block: str, *, deadline: float | None = None
    ) -> list[bytes | None] | None:
        """What light calls return at a block known by its hash. None: at the newest block they return something else.
        One request for both."""
        asked = {"to": self._multicall, "data": "0x" + aggregate3.encode(calls)}
        then, now = await self._rpc.batch(
            [("eth_call", [asked, block_param(each)]) for each in (block, "latest")], deadline=deadline
        )
        if isinstance(then, RpcError) or isinstance(now, RpcError):
            raise UpstreamDown("the chain node could not run the call")
        results = aggregate3.decode(bytes_of(then), len(calls))
        return results if results == aggregate3.decode(bytes_of(now), len(calls)) else None

    async def head(self, *, deadline: float | None = None) -> Head:
        """The newest block, by its number, hash and time."""
        head = await self._rpc.head(deadline=deadline)
        if head.timestamp > self._clock.seconds() + _AHEAD_MAX_S:
            raise UpstreamDown("the chain node tells a time that has not come")
        if head.timestamp < self._newest_s - _LAG_MAX_S:
            raise UpstreamDown("the chain node is behind what it has shown before")
        return head

    async def multicall_code(self, *, deadline: float | None = None) -> str | None:
        """Multicall3's own code, read once and kept. None: the node has none to tell."""
        if self._code is None:
            code = await self._rpc.call("eth_getCode", [self._multicall, "latest"], deadline=deadline)
            if isinstance(code, str) and _CODE.fullmatch(code):
                self._code = code
        return self._code

    def forget_code(self) -> None:
        """It did not do what Multicall3 does: perhaps it was not its code."""
        self._code = None

    async def newest(self, *, deadline: float | None = None) -> str:
        """The newest block's hash, for readings that take several requests."""
        return (await self._rpc.head(deadline=deadline)).hash

    async def read_form(
        self, form: CallTemplate, values: Sequence[Gap], *, deadline: float | None = None
    ) -> ChainReading:
        """The same for a form."""
        return await self._read_whole(form.fill(values), form.count, lambda: form.calls(*values), deadline)

    async def _read_whole(
        self, data: str, count: int, calls: Callable[[], Sequence[Call]], deadline: float | None
    ) -> ChainReading:
        """The way of nearly every reading: one request. What is too much in one piece is read the careful way."""
        deadline = deadline or self._rpc.deadline()
        try:
            results = await self._rpc.dated_call(
                self._multicall, data, lambda returned: self._dated(returned, count), deadline=deadline
            )
        except RpcError:
            results = await aggregate(self._rpc, self._multicall, calls(), deadline=deadline)
        return self._judge(results, is_latest=True)

    def _dated(self, returned: bytes, count: int) -> tuple[list[bytes | None], int]:
        """The results and their block's time. Behind what another node has shown is as bad as too old."""
        results = aggregate3.decode(returned, count)
        seconds = 0 if results[0] is None else read_uint(results[0])
        if 0 < seconds < self._newest_s - _LAG_MAX_S:
            raise Stale
        # A node that fails even to tell its time fails every call: that is told apart below.
        return results, seconds or self._clock.seconds()

    def _judge(self, results: list[bytes | None], *, is_latest: bool) -> ChainReading:
        time_word, *rest = results
        if time_word is None or (rest and rest.count(None) == len(rest)):
            raise UpstreamDown("the chain node failed every call")
        seconds = read_uint(time_word)
        if seconds > self._clock.seconds() + _AHEAD_MAX_S:
            raise UpstreamDown("the chain node tells a time that has not come")
        if is_latest:
            if seconds < self._newest_s - _LAG_MAX_S:
                raise UpstreamDown("the chain node is behind what it has shown before")
            # No later than our own time: one answer that is ahead would make every honest one look old for minutes.
            self._newest_s = max(self._newest_s, min(seconds, self._clock.seconds()))
        return ChainReading(rest, datetime.fromtimestamp(seconds, UTC))
