"""The JSON-RPC client against a node with bad habits, through real sockets."""

import asyncio
import time
from random import Random

import pytest

from tickyard.chain.rpc.client import Rpc, RpcError, TooManyLogs
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from yards import rpcnode
from yards.clocks import SkippingClock
from yards.patience import STUCK_S

Node = rpcnode.Node

TOKEN = Address("0x" + "11" * 20)
BROKEN = [
    "hang", "html", "truncated", "cut-off", "wrong-id", "bad-hex", "huge", "bomb", "reset", "redirect", "500",
    "unauthorised", "429", "rpc-throttle", "lagging",
]  # fmt: skip


def client(*nodes, **options):
    given = {"budget_s": 1.0, "try_s": 0.4, "max_bytes": 2**22, "rng": Random(7)} | options
    return Rpc([node.url for node in nodes], chain_id=4663, clock=SkippingClock(), **given)


def run(scenario):
    """Run `scenario(good, other)` with two nodes, bounded in time."""

    async def bounded():
        async with asyncio.timeout(STUCK_S), Node() as first, Node() as second:
            await scenario(first, second)

    asyncio.run(bounded())


@pytest.mark.parametrize("mode", BROKEN)
def test_a_broken_node_is_passed_over_for_the_next(mode):
    async def scenario(broken, good):
        broken.mode = mode
        outcomes = []
        async with client(broken, good, observe=lambda *seen: outcomes.append(seen[:3])) as rpc:
            started = time.monotonic()
            assert await rpc.block_number() == 16
            assert time.monotonic() - started < 1.0
            assert [outcome[0] for outcome in outcomes] == [0, 1]
            assert outcomes[0][2] != "ok"
            before = len(broken.seen)
            assert await rpc.block_number() == 16
            assert len(broken.seen) == before, "the good one must stay preferred"

    run(scenario)


@pytest.mark.slow
@pytest.mark.parametrize("mode", BROKEN)
def test_when_every_node_is_broken_the_answer_comes_in_time_and_names_no_address(mode):
    async def scenario(first, second):
        first.mode = second.mode = mode
        async with client(first, second) as rpc:
            started = time.monotonic()
            with pytest.raises(UpstreamDown) as failure:
                await rpc.block_number()
            assert time.monotonic() - started < 1.3
            assert "127.0.0.1" not in failure.value.message
            assert "secret" not in repr(failure.value)

    run(scenario)


def test_nobody_listening_is_an_upstream_failure():
    async def scenario(node, _):
        async with client(node) as rpc:
            await node.__aexit__()
            with pytest.raises(UpstreamDown, match="did not answer"):
                await rpc.block_number()

    run(scenario)


def test_a_hanging_node_costs_one_try_and_not_the_budget():
    async def scenario(slow, good):
        slow.mode = "hang"
        async with client(slow, good, budget_s=5.0, try_s=0.3) as rpc:
            started = time.monotonic()
            assert await rpc.block_number() == 16
            assert 0.25 < time.monotonic() - started < 1.0

    run(scenario)


@pytest.mark.parametrize("mode", ["429", "rpc-throttle", "reset", "html", "lagging"])
def test_a_lone_node_is_tried_again_within_the_call(mode):
    async def scenario(node, _):
        node.script = [mode]
        async with client(node, budget_s=3.0) as rpc:
            assert await rpc.block_number() == 16
            assert len(node.seen) == 2
            assert rpc.round_trips == 2

    run(scenario)


def test_a_long_throttle_fails_at_once_and_says_when_to_come_back():
    async def scenario(node, _):
        node.script = ["429-later"]
        async with client(node) as rpc:
            for _ in range(3):
                started = time.monotonic()
                with pytest.raises(UpstreamDown, match="throttling") as failure:
                    await rpc.block_number()
                assert failure.value.retry_after_s == 1, "never longer than a caller could wait"
                assert time.monotonic() - started < 0.3
            assert len(node.seen) == 1, "a throttling node is left alone"

    run(scenario)


def test_a_recovered_lone_node_is_used_at_once():
    async def scenario(node, _):
        async with client(node) as rpc:
            node.mode = "500"
            with pytest.raises(UpstreamDown):
                await rpc.block_number()
            node.mode = "ok"
            started = time.monotonic()
            assert await rpc.block_number() == 16
            assert time.monotonic() - started < 0.2

    run(scenario)


def test_a_revert_is_an_answer_and_is_not_repeated():
    async def scenario(node, other):
        node.mode = "revert"
        async with client(node, other) as rpc:
            with pytest.raises(RpcError) as failure:
                await rpc.eth_call(TOKEN, b"\1\2\3\4")
            assert (failure.value.rpc_code, failure.value.revert_data) == (3, bytes.fromhex("08c379a0"))
            assert failure.value.is_revert
            assert failure.value.message == "the chain node refused the call"
            assert (len(node.seen), len(other.seen)) == (1, 0)

    run(scenario)


def test_too_many_logs_is_told_apart_from_a_throttle_with_the_same_code():
    async def scenario(node, _):
        async with client(node) as rpc:
            query = {"from_block": 1, "to_block": 2, "addresses": [TOKEN]}
            node.script = ["logs-cap"]
            with pytest.raises(TooManyLogs):
                await rpc.get_logs(**query)
            node.script = ["rpc-throttle"]
            node.results["eth_getLogs"] = [{"data": "0x"}]
            assert await rpc.get_logs(**query) == [{"data": "0x"}]
            (asked,) = node.seen[-1]["params"]
            assert (asked["fromBlock"], asked["toBlock"], asked["address"]) == ("0x1", "0x2", [TOKEN])

    run(scenario)


def test_an_eth_call_carries_exactly_what_it_was_given():
    async def scenario(node, _):
        node.results["eth_call"] = "0x00ff"
        async with client(node) as rpc:
            block_hash = "0x" + "ab" * 32
            assert await rpc.eth_call(TOKEN, b"\xca\xfe") == b"\x00\xff"
            assert await rpc.eth_call(TOKEN, b"", block=255, sender=Address("0x" + "22" * 20)) == b"\x00\xff"
            await rpc.eth_call(TOKEN, b"", block=block_hash)
            assert [seen["params"] for seen in node.seen] == [
                [{"to": TOKEN, "data": "0xcafe"}, "latest"],
                [{"from": "0x" + "22" * 20, "to": TOKEN, "data": "0x"}, "0xff"],
                [{"to": TOKEN, "data": "0x"}, {"blockHash": block_hash}],
            ]

    run(scenario)


@pytest.mark.parametrize("mode", ["ok", "reversed"])
def test_a_batch_is_one_round_trip_in_whatever_order_it_comes_back(mode):
    async def scenario(node, _):
        node.mode = mode
        node.results["eth_gasPrice"] = "0x7"
        async with client(node) as rpc:
            assert await rpc.batch([("eth_blockNumber", []), ("eth_gasPrice", [])]) == ["0x10", "0x7"]
            assert rpc.round_trips == 1

    run(scenario)


def test_a_batch_that_answers_one_id_twice_is_not_believed():
    async def scenario(node, _):
        node.mode = "twice"
        async with client(node) as rpc:
            with pytest.raises(UpstreamDown):
                await rpc.batch([("eth_blockNumber", []), ("eth_gasPrice", [])])

    run(scenario)


def test_a_large_batch_is_split_to_what_the_node_takes():
    async def scenario(node, _):
        async with client(node, max_batch=3) as rpc:
            assert await rpc.batch([("eth_blockNumber", [])] * 7) == ["0x10"] * 7
            assert sorted(len(seen) for seen in node.seen) == [1, 3, 3]

    run(scenario)


@pytest.mark.parametrize("mode", rpcnode.BATCH_REFUSALS)
def test_a_batch_refused_for_its_size_is_sent_in_smaller_ones(mode):
    async def scenario(node, _):
        node.mode = mode
        async with client(node) as rpc:
            assert await rpc.batch([("eth_blockNumber", [])] * 7) == ["0x10"] * 7

    run(scenario)


def test_the_size_of_batches_that_a_node_takes_is_learned_once():
    async def scenario(node, _):
        node.mode = "small-batches"
        async with client(node) as rpc:
            assert await rpc.batch([("eth_blockNumber", [])] * 100) == ["0x10"] * 100
            assert node.refused <= 6
            node.refused = 0
            for _ in range(60):
                assert await rpc.batch([("eth_blockNumber", [])] * 30) == ["0x10"] * 30
            # Now and then it is asked whether it takes more by now.
            assert node.refused <= 10

    run(scenario)


@pytest.mark.slow
def test_a_node_that_takes_larger_batches_again_is_found_out():
    async def scenario(node, _):
        node.mode = "small-batches"
        async with client(node, budget_s=10.0, try_s=10.0) as rpc:
            assert await rpc.batch([("eth_blockNumber", [])] * 100) == ["0x10"] * 100
            node.mode = "ok"
            for _ in range(200):
                assert await rpc.batch([("eth_blockNumber", [])] * 100) == ["0x10"] * 100
            assert len(node.seen[-1]) == 100

    run(scenario)


def test_a_throttle_of_a_whole_batch_is_no_word_about_its_size():
    async def scenario(node, _):
        node.script = ["rpc-throttle"]
        async with client(node) as rpc:
            assert await rpc.batch([("eth_blockNumber", [])] * 7) == ["0x10"] * 7
            assert [len(body) for body in node.seen] == [7, 7]
            assert await rpc.batch([]) == []
            assert len(node.seen) == 2

    run(scenario)


def test_concurrent_callers_are_not_serialised():
    async def scenario(node, _):
        node.mode, node.together = "barrier", 20
        async with client(node, budget_s=3.0, try_s=3.0) as rpc:
            # The node answers nobody before all twenty are waiting: in a queue they would wait for ever.
            assert await asyncio.gather(*(rpc.block_number() for _ in range(20))) == [16] * 20
            assert rpc.round_trips == 20

    run(scenario)


def test_a_lagging_node_does_not_turn_the_chain_back():
    async def scenario(fresh, stale):
        header = {"hash": "0x" + "ab" * 32, "timestamp": "0x64"}
        fresh.results["eth_getBlockByNumber"] = header | {"number": "0x1000"}
        stale.results["eth_getBlockByNumber"] = header | {"number": "0x10"}
        async with client(stale, fresh) as rpc:
            assert (await rpc.head()).number == 0x10
            stale.script = ["500"]
            head = await rpc.head()
            assert (head.number, head.timestamp, head.hash) == (0x1000, 100, "0x" + "ab" * 32)
            fresh.script = ["500"]
            assert (await rpc.head()).number == 0x1000
            assert rpc.highest_block == 0x1000

    run(scenario)
