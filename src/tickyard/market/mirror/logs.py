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


async def read_logs(rpc: Rpc, pools: Sequence[Address], since: Head, head: Head) -> list[PoolLog] | None:
    """Every log after the one block up to the other, in order. None: the first is not on the second's branch."""
    logs: list[PoolLog] = []
    for first in range(0, len(pools), _ADDRESSES_MAX):
        part = pools[first : first + _ADDRESSES_MAX]
        found = await _range(rpc, part, since, since.number + 1, head.number)
        if found is None:
            return None
        logs += found
    # A node may tell them in any order; told twice, none of them is worth anything.
    logs.sort(key=lambda entry: (entry.block, entry.place))
    places = {(entry.block, entry.place) for entry in logs}
    is_sound = len(places) == len(logs) and all(since.number < entry.block <= head.number for entry in logs)
    if not is_sound or any(entry.block == head.number and entry.block_hash != head.hash for entry in logs):
        return None
    return logs


async def _range(rpc: Rpc, pools: Sequence[Address], since: Head, first: int, last: int) -> list[PoolLog] | None:
    """One request for the logs and for the block from which they go on; halves where that is too much."""
    query = {
        "fromBlock": hex(first),
        "toBlock": hex(last),
        "address": list(pools),
        "topics": [list(TOPICS)],
    }
    told, block = await rpc.batch([("eth_getLogs", [query]), ("eth_getBlockByNumber", [hex(since.number), False])])
    if isinstance(block, RpcError) or read_header(block).hash != since.hash:
        return None
    if isinstance(told, TooManyLogs) and last > first:
        middle = (first + last) // 2
        early = await _range(rpc, pools, since, first, middle)
        late = await _range(rpc, pools, since, middle + 1, last)
        return None if early is None or late is None else early + late
    if isinstance(told, RpcError):
        # A node that refuses such ranges: the pools themselves will say what has changed.
        return []
    if not isinstance(told, list):
        raise UpstreamDown("the chain node sent a malformed answer")
    return [read_log(each) for each in told]
