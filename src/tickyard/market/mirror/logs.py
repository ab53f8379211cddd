"""The pools' logs between two blocks, of one branch of the chain."""

from collections.abc import Sequence
from typing import Final

from tickyard.chain.blocks import read_header
from tickyard.chain.rpc.client import Head, Rpc
from tickyard.chain.rpc.trouble import RpcError, TooManyLogs
from tickyard.chain.v3.events import TOPICS, PoolLog, read_log
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address

_ADDRESSES_MAX: Final = 500
"""In one request: nodes limit them, and a real market has far fewer pools."""
_ADDRESSES_MIN: Final = 10
"""A node that refuses so few refuses for another reason."""
_PATIENCE: Final = 64
"""After so many readings in smaller parts one is tried with larger ones: the node may have been busy, or be another."""


class PoolLogReader:
    def __init__(self, rpc: Rpc) -> None:
        self._rpc = rpc
        self._addresses_max = _ADDRESSES_MAX
        """Halved where a node refuses and takes fewer, and remembered: asking in vain at every step would cost as much
        again. Where it takes no number of them, that was not the reason, and nothing was learned."""
        self._read_in_parts = 0

    async def read(self, pools: Sequence[Address], since: Head, head: Head, until: float) -> list[PoolLog] | None:
        """Every log after the one block up to the other, in order. None: they cannot be had, or the first block is not
        on the second's branch."""
        logs: list[PoolLog] = []
        first, at_once = 0, self._at_once(len(pools))
        while first < len(pools):
            part = pools[first : first + at_once]
            found = await self._range(part, since, since.number + 1, head.number, until)
            if isinstance(found, RpcError) and len(part) > _ADDRESSES_MIN:
                at_once = len(part) // 2
                continue
            if found is None or isinstance(found, RpcError):
                return None
            logs += found
            first += len(part)
        self._addresses_max = at_once
        # A node may tell them in any order; told twice, none of them is worth anything.
        logs.sort(key=lambda entry: (entry.block, entry.place))
        places = {(entry.block, entry.place) for entry in logs}
        is_sound = len(places) == len(logs) and all(since.number < entry.block <= head.number for entry in logs)
        if not is_sound or any(entry.block == head.number and entry.block_hash != head.hash for entry in logs):
            return None
        return logs

    def _at_once(self, count: int) -> int:
        """How many addresses the first request has."""
        if self._addresses_max >= count:
            return self._addresses_max
        self._read_in_parts += 1
        is_due = self._read_in_parts % _PATIENCE == 0
        return min(2 * self._addresses_max, _ADDRESSES_MAX) if is_due else self._addresses_max

    async def _range(
        self, pools: Sequence[Address], since: Head, first: int, last: int, until: float
    ) -> list[PoolLog] | RpcError | None:
        """One request for the logs and for the block from which they go on; halves where that is too much."""
        query = {
            "fromBlock": hex(first),
            "toBlock": hex(last),
            "address": list(pools),
            "topics": [list(TOPICS)],
        }
        told, block = await self._rpc.batch(
            [("eth_getLogs", [query]), ("eth_getBlockByNumber", [hex(since.number), False])], deadline=until
        )
        if isinstance(block, RpcError) or read_header(block).hash != since.hash:
            return None
        if isinstance(told, TooManyLogs) and last > first:
            middle = (first + last) // 2
            early = await self._range(pools, since, first, middle, until)
            if not isinstance(early, list):
                return early
            late = await self._range(pools, since, middle + 1, last, until)
            return early + late if isinstance(late, list) else late
        if isinstance(told, RpcError):
            return told
        if not isinstance(told, list):
            raise UpstreamDown("the chain node sent a malformed answer")
        return [read_log(each) for each in told]
