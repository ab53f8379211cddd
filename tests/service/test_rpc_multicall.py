"""Many calls in one, against a node that runs aggregate3 in Python."""

import asyncio

import pytest
from eth_abi import decode, encode

from tickyard.chain.aggregate3 import piece_of
from tickyard.chain.multicall import Call, aggregate, aggregate_pieces
from tickyard.chain.rpc.client import Rpc
from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from yards import rpcnode
from yards.patience import STUCK_S

MULTICALL = Address("0xca11bde05977b3631167028862be2a173976ca11")


class Contracts:
    """Every contract returns its own address as a number; those in `failing` revert."""

    def __init__(self, most=10_000, failing=()):
        self.most = most
        self.failing = failing
        self.blocks = []
        self.sizes = []

    def __call__(self, params):
        self.blocks.append(params[1])
        calls = decode(["(address,bool,bytes)[]"], bytes.fromhex(params[0]["data"][10:]))[0]
        self.sizes.append(len(calls))
        if len(calls) > self.most:
            raise rpcnode.Refused(-32000, "out of gas")
        results = [(to not in self.failing, bytes.fromhex(to[2:]).rjust(32, b"\0")) for to, _, _ in calls]
        return "0x" + encode(["(bool,bytes)[]"], [results]).hex()


def address(number):
    return Address(f"0x{number:040x}")


def calls(count):
    return [Call(address(number), b"\1\2\3\4") for number in range(1, count + 1)]


def numbers(results):
    return [result and int.from_bytes(result, "big") for result in results]


def run(contracts, scenario):
    async def bounded():
        async with asyncio.timeout(STUCK_S), rpcnode.Node() as node:
            node.results["eth_call"] = contracts
            async with Rpc([node.url], chain_id=4663, clock=WallClock(), budget_s=2.0) as rpc:
                await scenario(rpc)

    asyncio.run(bounded())


def test_one_chunk_is_one_round_trip_at_latest():
    contracts = Contracts(failing=[address(2)])

    async def scenario(rpc):
        assert numbers(await aggregate(rpc, MULTICALL, calls(4))) == [1, None, 3, 4]
        assert (rpc.round_trips, contracts.blocks) == (1, ["latest"])

    run(contracts, scenario)


def test_several_chunks_agree_on_one_named_block():
    contracts = Contracts()

    async def scenario(rpc):
        results = await aggregate(rpc, MULTICALL, calls(25), max_calls_per_chunk=10)
        assert numbers(results) == list(range(1, 26))
        assert contracts.blocks == ["0x10"] * 3
        assert sorted(contracts.sizes) == [8, 8, 9], "no tiny last chunk"
        assert rpc.round_trips == 4

    run(contracts, scenario)


def test_a_block_given_by_the_caller_is_kept():
    contracts = Contracts()

    async def scenario(rpc):
        await aggregate(rpc, MULTICALL, calls(4), block=99, max_calls_per_chunk=2)
        assert contracts.blocks == ["0x63"] * 2
        assert rpc.round_trips == 2

    run(contracts, scenario)


def test_no_calls_ask_nothing():
    async def scenario(rpc):
        assert await aggregate(rpc, MULTICALL, []) == []
        assert rpc.round_trips == 0

    run(Contracts(), scenario)


def test_when_every_call_failed_the_node_is_in_trouble():
    async def scenario(rpc):
        with pytest.raises(UpstreamDown, match="every call"):
            await aggregate(rpc, MULTICALL, calls(3))
        assert await aggregate(rpc, MULTICALL, calls(3), all_may_fail=True) == [None] * 3

    run(Contracts(failing=[address(number) for number in range(1, 4)]), scenario)


def test_one_chunk_of_failures_is_trouble_although_another_succeeded():
    async def scenario(rpc):
        with pytest.raises(UpstreamDown, match="every call"):
            await aggregate(rpc, MULTICALL, calls(4), max_calls_per_chunk=2)

    run(Contracts(failing=[address(3), address(4)]), scenario)


def test_a_request_too_heavy_for_the_node_is_halved_at_one_block():
    contracts = Contracts(most=3, failing=[address(1)])

    async def scenario(rpc):
        results = await aggregate(rpc, MULTICALL, calls(10))
        assert numbers(results) == [None, *range(2, 11)]
        assert {block for block, size in zip(contracts.blocks, contracts.sizes, strict=True) if size <= 3} == {"0x10"}

    run(contracts, scenario)


@pytest.mark.parametrize("all_may_fail", [False, True])
def test_a_single_call_too_heavy_for_the_node_is_no_answer(all_may_fail):
    async def scenario(rpc):
        with pytest.raises(UpstreamDown, match="could not run"):
            await aggregate(rpc, MULTICALL, calls(2), all_may_fail=all_may_fail)

    run(Contracts(most=0), scenario)


@pytest.mark.parametrize("answer", ["0x", "0x00", "0x" + "00" * 64, "0x" + "ff" * 640])
def test_a_malformed_answer_is_the_nodes_failure(answer):
    async def scenario(rpc):
        with pytest.raises(UpstreamDown, match="malformed"):
            await aggregate(rpc, MULTICALL, calls(2))

    run(lambda _: answer, scenario)


PIECES = [calls(3), calls(12)[3:], calls(14)[12:], calls(30)[14:], calls(31)[30:]]


@pytest.mark.parametrize(("most", "sizes"), [(12, [1, 2, 12, 16]), (100, [31]), (1, [1, 2, 3, 9, 16])])
def test_pieces_go_in_requests_of_so_many_calls_and_none_is_cut(most, sizes):
    contracts = Contracts()

    async def scenario(rpc):
        pieces = [piece_of(part) for part in PIECES]
        told = await aggregate_pieces(rpc, address(1), pieces, block=7, calls_max=most)
        assert [numbers(part.results()) for part in told] == [[int(call.to, 16) for call in part] for part in PIECES]

    run(contracts, scenario)
    assert sorted(contracts.sizes) == sizes
    assert set(contracts.blocks) == {"0x7"}


def test_no_pieces_ask_nothing():
    contracts = Contracts()

    async def scenario(rpc):
        assert await aggregate_pieces(rpc, address(1), [], block=7, calls_max=10) == []

    run(contracts, scenario)
    assert contracts.sizes == []


def test_pieces_too_heavy_for_the_node_are_halved_and_come_back_in_their_order():
    contracts = Contracts(most=16)

    async def scenario(rpc):
        pieces = [piece_of(part) for part in PIECES]
        told = await aggregate_pieces(rpc, address(1), pieces, block=7, calls_max=100)
        assert [numbers(part.results()) for part in told] == [[int(call.to, 16) for call in part] for part in PIECES]

    run(contracts, scenario)
    # All, the first half, and the second in halves again.
    assert sorted(contracts.sizes) == [1, 2, 12, 16, 17, 19, 31]
    assert set(contracts.blocks) == {"0x7"}


@pytest.mark.parametrize("word", ["out of gas", "some other trouble"])
def test_a_piece_that_the_node_cannot_run_is_no_answer(word):
    asked = []

    def refuse(params):
        asked.append(params)
        raise rpcnode.Refused(-32000, word)

    async def scenario(rpc):
        with pytest.raises(UpstreamDown, match="could not run"):
            await aggregate_pieces(rpc, address(1), [piece_of(part) for part in PIECES[:2]], block=7, calls_max=100)

    run(refuse, scenario)
    # What is no question of weight is not asked again in smaller parts.
    assert len(asked) == (2 if word == "out of gas" else 1)
