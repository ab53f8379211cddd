"""Every connection proves its chain before an answer over it is believed."""

import asyncio

import pytest

from tickyard.chain.rpc.client import Rpc
from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import UpstreamDown
from yards import rpcnode
from yards.patience import STUCK_S

Node = rpcnode.Node


def client(*nodes, **options):
    return Rpc([node.url for node in nodes], chain_id=4663, clock=WallClock(), budget_s=1.0, **options)


def run(scenario):
    async def bounded():
        async with asyncio.timeout(STUCK_S), Node() as first, Node() as second:
            await scenario(first, second)

    asyncio.run(bounded())


def test_a_kept_connection_is_checked_once_and_then_costs_nothing():
    async def scenario(node, _):
        async with client(node) as rpc:
            for _ in range(10):
                await rpc.block_number()
            assert (node.connections, node.checks) == (1, 1)
            assert (rpc.round_trips, len(node.seen)) == (10, 10)

    run(scenario)


def test_each_of_many_connections_is_checked():
    async def scenario(node, _):
        node.mode, node.together = "barrier", 8
        async with client(node) as rpc:
            await asyncio.gather(*(rpc.block_number() for _ in range(8)))
            assert node.connections == node.checks == 8

    run(scenario)


def test_a_reopened_connection_is_checked_again():
    async def scenario(node, _):
        async with client(node) as rpc:
            for _ in range(3):
                assert await rpc.block_number() == 16
                node.drop_connections()
            assert node.connections == node.checks == 3

    run(scenario)


def test_a_node_that_closes_after_each_answer_is_still_usable_and_checked_all_along():
    async def scenario(node, _):
        node.mode = "closing"
        async with client(node) as rpc:
            for _ in range(3):
                assert await rpc.block_number() == 16
            assert node.checks >= 2

    run(scenario)


def test_a_node_of_another_chain_is_kept_out():
    async def scenario(foreign, good):
        foreign.chain_id = 1
        outcomes = []
        async with client(foreign, good, observe=lambda *seen: outcomes.append((seen[0], seen[2]))) as rpc:
            for _ in range(3):
                assert await rpc.block_number() == 16
            assert outcomes == [(0, "wrong_chain"), (1, "ok"), (1, "ok"), (1, "ok")]
            assert foreign.seen == [], "it was never asked anything else"

    run(scenario)


def test_only_nodes_of_another_chain_is_an_upstream_failure():
    async def scenario(first, second):
        first.chain_id = second.chain_id = 1
        async with client(first, second) as rpc:
            for _ in range(2):
                with pytest.raises(UpstreamDown, match="another chain"):
                    await rpc.block_number()
            assert first.checks == second.checks == 1

    run(scenario)


def test_an_answer_over_a_connection_that_turned_to_another_chain_is_not_believed():
    async def scenario(node, good):
        good.results["eth_blockNumber"] = "0x20"
        async with client(node, good) as rpc:
            assert await rpc.block_number() == 16
            node.chain_id = 1
            node.drop_connections()
            assert await rpc.block_number() == 32

    run(scenario)
