"""Reading the logs of many pools from a node that takes few addresses at a time, or fails for another reason."""

import asyncio
from itertools import pairwise

import pytest
from eth_abi import encode
from eth_utils import keccak

from tickyard.chain.rpc.client import Head, Rpc
from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.market.mirror.logs import PoolLogReader
from yards import rpcnode

SINCE = Head(100, "0x" + "11" * 32, 1_800_000_000)
HEAD = Head(101, "0x" + "22" * 32, 1_800_000_001)
COLLECT = "0x" + keccak(text="Collect(address,address,int24,int24,uint128,uint128)").hex()
BLOCK = {"number": "0x64", "hash": SINCE.hash, "timestamp": "0x6b49d200"}
POOLS = [Address(f"0x{number:040x}") for number in range(1, 310)]


class LogNode:
    """No logs; refuses a request with more addresses than `most`."""

    def __init__(self):
        self.most = 500
        self.asked = []

    def logs(self, params):
        count = len(params[0]["address"])
        self.asked.append(count)
        if count > self.most:
            raise rpcnode.Refused(-32000, "One of the blocks specified in filter cannot be found")
        return []

    def taken(self):
        asked, self.asked = self.asked, []
        return asked


def run(scenario):
    async def main():
        clock, logs = WallClock(), LogNode()
        async with rpcnode.Node() as node:
            node.results["eth_getLogs"] = logs.logs
            node.results["eth_getBlockByNumber"] = BLOCK
            async with Rpc([node.url], chain_id=4663, clock=clock) as rpc:
                reader = PoolLogReader(rpc)

                async def read():
                    return await reader.read(POOLS, SINCE, HEAD, clock.monotonic() + 5)

                return await scenario(logs, read)

    return asyncio.run(main())


def test_a_node_that_failed_for_a_moment_is_asked_for_all_pools_at_once_again():
    async def scenario(logs, read):
        logs.most = 0
        assert await read() is None
        logs.most = 500
        logs.taken()
        assert await read() == []
        assert logs.taken() == [309]

    run(scenario)


def test_how_many_addresses_a_node_takes_is_found_once_and_remembered():
    async def scenario(logs, read):
        logs.most = 100
        assert await read() == []
        logs.taken()
        for _ in range(10):
            assert await read() == []
        assert {*logs.taken()} == {77, 1}

    run(scenario)


@pytest.mark.slow
def test_a_node_that_took_few_addresses_while_it_was_busy_is_tried_with_more_after_a_while():
    async def scenario(logs, read):
        logs.most = 20
        assert await read() == []
        logs.most = 500
        for _ in range(400):
            assert await read() == []
        logs.taken()
        assert await read() == []
        assert logs.taken() == [309]

    run(scenario)


@pytest.mark.slow
def test_trying_again_with_more_addresses_costs_a_request_now_and_then():
    async def scenario(logs, read):
        logs.most = 100
        assert await read() == []
        logs.taken()
        for _ in range(200):
            assert await read() == []
        assert len([count for count in logs.taken() if count > 100]) <= 4

    run(scenario)


FAR = Head(163, "0x" + "33" * 32, 1_800_000_063)


def moved(block, place=0, block_hash="0x" + "44" * 32):
    """A log of a pool whose tokens were collected."""
    return {
        "address": POOLS[0],
        "topics": [COLLECT, *("0x" + "00" * 32 for _ in range(3))],
        "data": "0x" + encode(["address", "uint128", "uint128"], ["0x" + "00" * 20, block, place]).hex(),
        "blockNumber": hex(block),
        "logIndex": hex(place),
        "blockHash": FAR.hash if block == FAR.number else block_hash,
    }


def read_range(told, most=10_000, *, is_honest=True, since=BLOCK, queries=None):
    """What is read up to FAR from a node that has these logs, and tells so many at once."""
    asked = []

    def logs(params):
        first, last = (int(params[0][name], 16) for name in ("fromBlock", "toBlock"))
        asked.append((first, last))
        if queries is not None:
            queries.append(params[0])
        if not isinstance(told, list):
            return told
        found = [each for each in told if not is_honest or first <= int(each["blockNumber"], 16) <= last]
        if len(found) > most:
            raise rpcnode.Refused(-32005, f"query returned more than {most} results")
        return found

    async def main():
        clock = WallClock()
        async with rpcnode.Node() as node:
            node.results["eth_getLogs"] = logs
            node.results["eth_getBlockByNumber"] = since
            async with Rpc([node.url], chain_id=4663, clock=clock) as rpc:
                found = await PoolLogReader(rpc).read(POOLS[:1], SINCE, FAR, clock.monotonic() + 5)
                return None if found is None else [(each.block, each.place) for each in found]

    return asyncio.run(main()), asked


def test_a_range_with_too_many_logs_is_read_in_halves_without_a_gap_or_a_repetition():
    told = [moved(block, place) for block in range(101, 164) for place in (0, 1)]
    found, asked = read_range(told, most=20)
    assert found == [(block, place) for block in range(101, 164) for place in (0, 1)]
    assert asked[0] == (101, 163)
    leaves = sorted((first, last) for first, last in asked if (last - first + 1) * 2 <= 20)
    assert leaves[0][0] == 101
    assert leaves[-1][1] == 163
    assert all(after[0] == before[1] + 1 for before, after in pairwise(leaves))


def test_one_block_with_more_logs_than_a_node_tells_cannot_be_had():
    assert read_range([moved(120, place) for place in range(5)], most=3)[0] is None


def test_logs_come_in_any_order_and_are_told_in_theirs():
    assert read_range([moved(163), moved(101, 7), moved(101, 2)])[0] == [(101, 2), (101, 7), (163, 0)]


@pytest.mark.parametrize(
    "told",
    [
        [moved(120), moved(120)],
        [moved(163) | {"blockHash": "0x" + "55" * 32}],
    ],
    ids=["twice", "another branch"],
)
def test_logs_that_contradict_themselves_are_none(told):
    assert read_range(told)[0] is None


@pytest.mark.parametrize("outside", [100, 164])
def test_logs_of_blocks_that_were_not_asked_for_are_none(outside):
    assert read_range([moved(outside)], is_honest=False)[0] is None


@pytest.mark.parametrize("told", [{}, {"logs": []}, "", None])
def test_what_is_no_list_is_the_nodes_failure(told):
    with pytest.raises(UpstreamDown):
        read_range(told)


def refuse(_params):
    raise rpcnode.Refused(-32602, "invalid params")


@pytest.mark.parametrize("since", [BLOCK | {"hash": "0x" + "12" * 32}, refuse], ids=["another", "refused"])
def test_logs_that_do_not_go_on_from_our_block_are_none(since):
    assert read_range([], since=since)[0] is None


WORDS = (
    "Initialize(uint160,int24)", "Swap(address,address,int256,int256,uint160,uint128,int24)",
    "Mint(address,address,int24,int24,uint128,uint256,uint256)", "Burn(address,int24,int24,uint128,uint256,uint256)",
    "Collect(address,address,int24,int24,uint128,uint128)", "CollectProtocol(address,address,uint128,uint128)",
    "Flash(address,address,uint256,uint256,uint256,uint256)",
)  # fmt: skip


def test_only_what_moves_a_pool_is_asked_for():
    queries = []
    assert read_range([], queries=queries)[0] == []
    (query,) = queries
    assert {*query.pop("topics")[0]} == {"0x" + keccak(text=word).hex() for word in WORDS}
    assert query == {"fromBlock": "0x65", "toBlock": "0xa3", "address": POOLS[:1]}
