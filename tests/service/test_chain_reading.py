"""Blocks, transfers and pinned contracts, read from a node that may say anything."""

import asyncio
from dataclasses import dataclass
from random import Random

import pytest

from tickyard.chain.blocks import final_header, header, last_before
from tickyard.chain.boot import WrongChain, check_contracts
from tickyard.chain.rpc.client import Rpc, TooManyLogs
from tickyard.chain.transfers import TRANSFER, ChainMoved, Transfer, read_chunk
from tickyard.config.pinned import MAINNET
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from yards import rpcnode
from yards.clocks import SkippingClock
from yards.patience import STUCK_S

TOKEN, ALICE, BOB = (Address("0x" + digit * 40) for digit in "abc")


def with_node(results, work):
    async def run():
        async with asyncio.timeout(STUCK_S), rpcnode.Node() as node:
            node.results = results
            rpc = Rpc([node.url], chain_id=4663, clock=SkippingClock(), budget_s=2.0, try_s=1.0, rng=Random(7))
            async with rpc:
                return await work(rpc, node)

    return asyncio.run(run())


def block_hash(number):
    return f"0x{number:064x}"


@dataclass
class Blocks:
    """A chain as a list of timestamps."""

    times: list

    def __call__(self, params):
        number = len(self.times) - 1 if params[0] == "finalized" else int(params[0], 16)
        if number >= len(self.times):
            return None
        return {"number": hex(number), "hash": block_hash(number), "timestamp": hex(self.times[number])}


def on(times, work):
    async def go(rpc, _node):
        return await work(rpc, await header(rpc, len(times) - 1))

    return with_node({"eth_getBlockByNumber": Blocks(times), "eth_blockNumber": hex(len(times) - 1)}, go)


# Several blocks in one second, gaps, and more blocks than one stride of the search.
LONG = [1000 + 3 * (n // 4) + (50 if n > 5000 else 0) for n in range(12_000)]


@pytest.mark.parametrize("times", [LONG, [10, 10, 10, 20], [10, 20, 30, 40, 50]], ids=["long", "one second", "short"])
def test_the_last_block_before_a_moment_is_the_one_a_walk_would_find(times):
    moments = sorted({times[0], times[0] + 1, times[len(times) // 2], times[-1] - 1, times[-1]})

    async def work(rpc, head):
        for moment in moments:
            found = await last_before(rpc, moment, head)
            walked = max((n for n, at in enumerate(times) if at < moment), default=None)
            assert (found and found.number) == walked
        with pytest.raises(ValueError, match="at or after"):
            await last_before(rpc, times[-1] + 1, head)

    on(times, work)


def test_a_long_chain_is_searched_in_few_steps():
    async def go(rpc, node):
        head = await header(rpc, len(LONG) - 1)
        before = len(node.seen)
        await last_before(rpc, LONG[3], head)
        return len(node.seen) - before

    assert with_node({"eth_getBlockByNumber": Blocks(LONG)}, go) < 20


def test_final_is_a_number_of_blocks_behind_the_newest_or_what_the_node_says():
    async def work(rpc, _head):
        assert (await final_header(rpc, 2)).number == 2
        assert (await final_header(rpc, 0)).number == 4
        assert (await final_header(rpc, 9)).number == 0
        assert (await final_header(rpc, "finalized")).number == 4

    on([10, 20, 30, 40, 50], work)


@pytest.mark.parametrize(
    "lie",
    [
        None,
        "0x1",
        {"number": "0x1", "hash": "0x12", "timestamp": "0x1"},
        {"number": "-0x1", "hash": block_hash(1), "timestamp": "0x1"},
        {"number": "0x1", "hash": block_hash(1)},
        {"number": 1, "hash": block_hash(1), "timestamp": "0x1"},
        {"number": "0x1_0", "hash": block_hash(1), "timestamp": "0x1"},
    ],
)
def test_a_block_that_is_none_is_the_nodes_failure(lie):
    async def work(rpc, _node):
        with pytest.raises(UpstreamDown):
            await header(rpc, 1)

    with_node({"eth_getBlockByNumber": lambda _: lie}, work)


def log(block=12, index=0, **changes):
    topics = [TRANSFER, "0x" + "0" * 24 + ALICE[2:], "0x" + "0" * 24 + BOB[2:]]
    return {
        "address": TOKEN,
        "topics": topics,
        "data": f"0x{7:064x}",
        "blockNumber": hex(block),
        "blockHash": block_hash(block),
        "logIndex": hex(index),
        **changes,
    }


def chunk(logs, first=10, last=12, blocks=None):
    async def work(rpc, _node):
        return await read_chunk(rpc, TOKEN, first, last)

    return with_node({"eth_getBlockByNumber": blocks or Blocks([10] * 20), "eth_getLogs": lambda _: logs}, work)


def test_transfers_come_in_the_order_of_the_chain_with_the_hashes_around_them():
    read = chunk([log(12, 3), log(10, 0), log(12, 1, address=TOKEN.upper().replace("X", "x"))])
    assert read.transfers == [
        Transfer(10, 0, ALICE, BOB, 7),
        Transfer(12, 1, ALICE, BOB, 7),
        Transfer(12, 3, ALICE, BOB, 7),
    ]
    assert (read.parent_hash, read.last_hash) == (block_hash(9), block_hash(12))
    assert chunk([], first=0, last=0).parent_hash is None


@pytest.mark.parametrize(
    "logs",
    [
        {},
        [log(9)],
        [log(13)],
        [log(address=ALICE)],
        [log(topics=[TRANSFER])],
        [log(topics=None)],
        [log(topics=[block_hash(1), *log()["topics"][1:]])],
        [log(topics=[TRANSFER, "0x" + "1" * 64, log()["topics"][2]])],
        [log(data="0x07")],
        [log(data=None)],
        [log(data="0x" + "g" * 64)],
        [log(logIndex=None)],
        [log(12, 1), log(12, 1)],
    ],
)
def test_a_log_that_was_not_asked_for_is_the_nodes_failure(logs):
    with pytest.raises(UpstreamDown) as caught:
        chunk(logs)
    assert not isinstance(caught.value, ChainMoved)


@pytest.mark.parametrize("logs", [[log(removed=True)], [None], [log(12, blockHash=block_hash(99))]])
def test_a_log_of_another_chain_of_blocks_means_that_the_chain_moved(logs):
    with pytest.raises(ChainMoved):
        chunk(logs)


def test_a_log_before_the_last_block_is_not_held_against_its_hash():
    assert len(chunk([log(11, blockHash=block_hash(99)), log(12, removed=False)]).transfers) == 2


def test_a_chain_that_moves_between_the_two_looks_is_noticed():
    seen = []

    def blocks(params):
        seen.append(params)
        return Blocks([10] * 20)(params) | ({"hash": block_hash(77)} if len(seen) == 3 else {})

    with pytest.raises(ChainMoved):
        chunk([], blocks=blocks)


@pytest.mark.parametrize(
    ("message", "failure"),
    [("query returned more than 10000 results", TooManyLogs), ("no such method", UpstreamDown)],
)
def test_a_range_too_large_is_told_from_a_refusal(message, failure):
    def refuse(_params):
        raise rpcnode.Refused(-32005 if failure is TooManyLogs else -32601, message)

    async def work(rpc, _node):
        with pytest.raises(failure):
            await read_chunk(rpc, TOKEN, 10, 12)

    with_node({"eth_getBlockByNumber": Blocks([10] * 20), "eth_getLogs": refuse}, work)


FACTORY_WORD, SIX = "0x" + "0" * 24 + MAINNET.factory[2:], f"0x{6:064x}"


def boot(code="0x6001", factory=FACTORY_WORD, decimals=SIX):
    def call(params):
        answer = factory if params[0]["to"] == MAINNET.router else decimals
        if answer is None:
            raise rpcnode.Refused(3, "execution reverted")
        return answer

    def get_code(params):
        return code(params) if callable(code) else code

    async def work(rpc, _node):
        await check_contracts(rpc, MAINNET)

    with_node({"eth_getCode": get_code, "eth_call": call}, work)


def test_the_pinned_contracts_are_what_they_should_be():
    boot()


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"code": "0x"}, "there is no contract at the pinned"),
        ({"code": None}, "there is no contract at the pinned"),
        ({"code": lambda params: "0x" if params[0] == MAINNET.quoter else "0x60"}, "the pinned quoter address"),
        ({"factory": "0x" + "0" * 24 + ALICE[2:]}, "belongs to another factory, 0xbBbB"),
        ({"factory": None}, "the pinned router address .* is something else"),
        ({"factory": "0x"}, "the pinned router address .* is something else"),
        ({"decimals": f"0x{18:064x}"}, "the pinned USDG has 18 decimals, not 6"),
        ({"decimals": None}, "the pinned usdg address .* is something else"),
    ],
)
def test_another_chain_is_recognised_in_one_sentence(wrong, sentence):
    with pytest.raises(WrongChain, match=sentence):
        boot(**wrong)


def test_a_node_that_shows_no_code_is_down_and_not_another_chain():
    def refuse(_params):
        raise rpcnode.Refused(-32601, "no such method")

    with pytest.raises(UpstreamDown):
        boot(code=refuse)
