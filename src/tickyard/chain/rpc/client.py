"""A thin JSON-RPC client for one chain over several node URLs. Reads only, so every request may be repeated.

One call, its retries, waits and failovers included, fits into one time budget: the caller can still answer
in time when every node is gone. A caller with several calls to make takes one `deadline()` for all of them.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import count
from random import Random
from typing import Any, Self, TypeVar

import msgspec

from tickyard.chain.rpc.batches import AT_ONCE, BatchSize
from tickyard.chain.rpc.endpoint import NodeUrl
from tickyard.chain.rpc.failover import Failover, Observe
from tickyard.chain.rpc.freshness import BlockAge
from tickyard.chain.rpc.reply import any_value, any_values, hex_bytes, read_one, read_quantity
from tickyard.chain.rpc.seal import Seals
from tickyard.chain.rpc.trouble import Garbage, Lagging, Refused, RpcError, TooManyLogs
from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address

__all__ = ["Block", "Head", "Observe", "Rpc", "RpcError", "TooManyLogs"]

Block = int | str
"""A number, a tag such as `latest`, or a 32-byte hash as hex text."""

T = TypeVar("T")
_encode = msgspec.json.Encoder().encode


class Head(msgspec.Struct, frozen=True):
    number: int
    hash: str
    timestamp: int


class _Header(msgspec.Struct):
    number: msgspec.Raw
    hash: msgspec.Raw
    timestamp: msgspec.Raw


class Rpc:
    def __init__(
        self,
        urls: Sequence[str],
        *,
        chain_id: int,
        clock: Clock,
        budget_s: float = 5.0,
        try_s: float = 3.0,
        max_bytes: int = 64 * 2**20,
        max_batch: int = 100,
        max_lanes: int = 64,
        max_lag: int = 50,
        max_age_s: int | None = None,
        observe: Observe | None = None,
        rng: Random | None = None,
    ) -> None:
        """`max_age_s`: a node whose newest block is older, by our clock, is passed over. None: any age will do."""
        if not urls or not all(url.startswith(("http://", "https://")) for url in urls):
            raise ValueError("every node URL must be http or https, and there must be one")
        self.chain_id = chain_id
        self.clock = clock
        self.highest_block = 0
        self.head_read_at: datetime | None = None
        self._batch_size = BatchSize(max_batch)
        self._max_lag = max_lag
        self._ids = count(1)
        self._seals = Seals()
        self._age = None if max_age_s is None else BlockAge(clock, max_age_s)
        self._nodes = Failover(
            [
                NodeUrl(url, index, chain_id=chain_id, max_bytes=max_bytes, max_lanes=max_lanes)
                for index, url in enumerate(urls)
            ],
            clock=clock,
            rng=rng or Random(),  # noqa: S311 - jitter, not a secret
            budget_s=budget_s,
            try_s=try_s,
            observe=observe,
            age=self._age,
        )

    async def start(self) -> None:
        """Nothing waits for the network here: a connection is opened, and proves its chain, on first use."""

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._nodes.close()

    @property
    def round_trips(self) -> int:
        """Requests sent for callers, retries included. Checks of new connections are counted apart."""
        return sum(endpoint.sent - endpoint.checks for endpoint in self._nodes.endpoints)

    async def look(self) -> list[bool]:
        """Which of the URLs answer."""
        return await self._nodes.look()

    def deadline(self) -> float:
        """The moment by which work begun now must be over, on the clock's monotonic scale."""
        return self._nodes.deadline()

    async def call(self, method: str, params: Sequence[Any], *, deadline: float | None = None) -> Any:
        request_id = next(self._ids)
        body = _encode(_request(request_id, method, params))
        asked = (request_id, method)
        return await self._nodes.ask(method, body, lambda answer: any_value(read_one(answer, asked)), deadline)

    async def batch(
        self, calls: Sequence[tuple[str, Sequence[Any]]], *, deadline: float | None = None
    ) -> list[Any | RpcError]:
        """Several calls in one request. A call the node refused is its RpcError in the list."""
        deadline = deadline or self.deadline()
        room = asyncio.Semaphore(AT_ONCE)

        async def ask(part: Sequence[tuple[str, Sequence[Any]]]) -> list[Any | RpcError]:
            async with room:
                return await self._batch(part, deadline)

        answers = await asyncio.gather(*map(ask, self._batch_size.parts(calls)), return_exceptions=True)
        results: list[Any | RpcError] = []
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
            results += answer
        return results

    async def _batch(self, calls: Sequence[tuple[str, Sequence[Any]]], deadline: float) -> list[Any | RpcError]:
        numbered = [(next(self._ids), method, params) for method, params in calls]
        asked = [(request_id, method) for request_id, method, _ in numbered]

        body = _encode([_request(*each) for each in numbered])
        try:
            answers = await self._nodes.ask("batch", body, lambda answer: any_values(answer, asked), deadline)
        except RpcError as refusal:
            if isinstance(refusal, Refused) and refusal.beside is not None:
                return refusal.beside
            # The batch was refused as one: some nodes take three calls at a time and no more.
            if len(calls) == 1:
                raise
            self._batch_size.note_refused(len(calls))
        else:
            self._batch_size.note_taken(len(calls))
            return answers
        middle = len(calls) // 2
        # What the first half has learned the second need not.
        return await self._batch(calls[:middle], deadline) + await self.batch(calls[middle:], deadline=deadline)

    async def eth_call(
        self,
        to: Address,
        data: bytes | str,
        *,
        block: Block = "latest",
        sender: Address | None = None,
        deadline: float | None = None,
    ) -> bytes:
        """What the contract returned. A revert is an RpcError with `revert_data`. Text data is hex digits, no 0x."""
        request_id, body = self._eth_call(to, data, block, sender)
        asked = (request_id, "eth_call")
        return await self._nodes.ask("eth_call", body, lambda answer: hex_bytes(read_one(answer, asked)), deadline)

    async def dated_call(
        self, to: Address, data: bytes | str, read: Callable[[bytes], tuple[T, int]], *, deadline: float | None = None
    ) -> T:
        """What the contract returned at the newest block, which tells its own time: `read` finds both.

        A node whose answer cannot be read or is too old is passed over for another.
        """
        request_id, body = self._eth_call(to, data, "latest", None)
        asked = (request_id, "eth_call")

        def reading(answer: bytes) -> T:
            returned = hex_bytes(read_one(answer, asked))
            try:
                result, block_time_s = read(returned)
            except UpstreamDown:
                raise Garbage from None
            self._judge_age(block_time_s)
            return result

        return await self._nodes.ask("eth_call", body, reading, deadline, shows_age=True)

    def _judge_age(self, block_time_s: int) -> None:
        if self._age is not None:
            self._age.judge(block_time_s)

    def _eth_call(self, to: Address, data: bytes | str, block: Block, sender: Address | None) -> tuple[int, bytes]:
        request_id = next(self._ids)
        calldata = data if isinstance(data, str) else data.hex()
        whose = f'"from":"{sender}",' if sender else ""
        # The one hot path: a template costs a tenth of building and encoding the nested objects.
        body = (
            f'{{"jsonrpc":"2.0","id":{request_id},"method":"eth_call","params":'
            f'[{{{whose}"to":"{to}","data":"0x{calldata}"}},{_encode(block_param(block)).decode()}]}}'
        ).encode()
        return request_id, body

    async def block_number(self, *, deadline: float | None = None) -> int:
        request_id = next(self._ids)
        asked = (request_id, "eth_blockNumber")
        body = _encode(_request(request_id, "eth_blockNumber", ()))
        with self._not_backwards() as accept:
            return await self._nodes.ask(
                "eth_blockNumber", body, lambda answer: accept(read_quantity(read_one(answer, asked))), deadline
            )

    async def head(self, *, deadline: float | None = None) -> Head:
        """The newest block. A node far behind what we have already seen is passed over for another, and so is, the next
        time, one that has not moved for a while, if another has."""
        request_id = next(self._ids)
        asked = (request_id, "eth_getBlockByNumber")

        def read(answer: bytes, accept: Callable[[int], int]) -> Head:
            raw = read_one(answer, asked)
            try:
                header = msgspec.json.decode(raw, type=_Header)
            except msgspec.MsgspecError:
                raise Garbage from None
            block_hash = hex_bytes(header.hash)
            if len(block_hash) != 32 or self._seals.is_broken(any_value(raw), block_hash):
                raise Garbage
            timestamp = read_quantity(header.timestamp)
            self._judge_age(timestamp)
            return Head(accept(read_quantity(header.number)), "0x" + block_hash.hex(), timestamp)

        body = _encode(_request(request_id, "eth_getBlockByNumber", ("latest", False)))
        with self._not_backwards() as accept:
            head = await self._nodes.ask(
                "eth_getBlockByNumber", body, lambda answer: read(answer, accept), deadline, shows_age=True
            )
        self.head_read_at = self.clock.now()
        self._nodes.seek_newer(head.timestamp)
        return head

    async def get_logs(
        self,
        *,
        from_block: int,
        to_block: int,
        addresses: Sequence[Address],
        topics: Sequence[str | Sequence[str] | None] = (),
        deadline: float | None = None,
    ) -> list[dict[str, Any]]:
        """Raw log objects. TooManyLogs: halve the range. A throttle is waited out, it never splits."""
        query = {
            "fromBlock": hex(from_block),
            "toBlock": hex(to_block),
            "address": list(addresses),
            "topics": list(topics),
        }
        logs = await self.call("eth_getLogs", [query], deadline=deadline)
        if not isinstance(logs, list) or not all(isinstance(log, dict) for log in logs):
            raise UpstreamDown("the chain node sent a malformed answer")
        return logs

    @contextmanager
    def _not_backwards(self) -> Iterator[Callable[[int], int]]:
        """Pass over URLs that are far behind, unless all that answer are: then the chain was rolled back, or one lied
        about its height, and that is not held against the others for ever."""
        behind: list[int] = []

        def accept(number: int) -> int:
            if number < self.highest_block - self._max_lag:
                behind.append(number)
                if len(behind) < len(self._nodes.endpoints):
                    raise Lagging
                self.highest_block = max(behind)
            self.highest_block = max(self.highest_block, number)
            return number

        try:
            yield accept
        except UpstreamDown:
            self.highest_block = max(behind, default=self.highest_block)
            raise


def block_param(block: Block) -> str | Mapping[str, str]:
    if isinstance(block, int):
        return hex(block)
    return {"blockHash": block} if len(block) == 66 else block


def _request(request_id: int, method: str, params: Sequence[Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
