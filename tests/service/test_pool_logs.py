"""Reading the logs of many pools from a node that takes few addresses at a time, or fails for another reason."""

import asyncio

from tickyard.chain.rpc.client import Head, Rpc
from tickyard.kernel.clock import WallClock
from tickyard.kernel.ids import Address
from tickyard.market.mirror.logs import PoolLogReader
from yards import rpcnode

SINCE = Head(100, "0x" + "11" * 32, 1_800_000_000)
HEAD = Head(101, "0x" + "22" * 32, 1_800_000_001)
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
            node.results["eth_getBlockByNumber"] = {"number": "0x64", "hash": SINCE.hash, "timestamp": "0x6b49d200"}
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


def test_trying_again_with_more_addresses_costs_a_request_now_and_then():
    async def scenario(logs, read):
        logs.most = 100
        assert await read() == []
        logs.taken()
        for _ in range(200):
            assert await read() == []
        assert len([count for count in logs.taken() if count > 100]) <= 4

    run(scenario)
