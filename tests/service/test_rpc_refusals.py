"""A node that answers some questions and refuses others that every node can answer, through real sockets."""

import asyncio

import pytest

from tickyard.chain.boot import WrongChain, check_contracts
from tickyard.chain.rpc.client import Rpc, RpcError
from tickyard.chain.v3.pools import FACTORY
from tickyard.config.pinned import MAINNET
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from yards import rpcnode
from yards.clocks import SkippingClock
from yards.patience import STUCK_S

TOKEN = Address("0x" + "11" * 20)
CALL = ("eth_call", [{"to": TOKEN, "data": "0x"}, "latest"])
CODE = ("eth_getCode", [TOKEN, "latest"])


def refuse(code, reason):
    def result(_):
        raise rpcnode.Refused(code, reason)

    return result


def run(scenario):
    async def bounded():
        async with asyncio.timeout(STUCK_S), rpcnode.Node() as first, rpcnode.Node() as second:
            urls = [first.url, second.url]
            async with Rpc(urls, chain_id=4663, clock=SkippingClock(), budget_s=1.0, try_s=0.4) as rpc:
                await scenario(first, second, rpc)

    asyncio.run(bounded())


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (-32601, "the method eth_call does not exist/is not available"),
        (-32011, "no backend is currently healthy to serve traffic"),
        (-32000, "node is syncing"),
        (-32000, "missing trie node 5c2f (path )"),
        (-32603, "no available nodes found"),
        (-32000, "Service temporarily unavailable"),
    ],
)
def test_what_one_node_refuses_is_asked_of_the_next_alone_and_in_a_batch(code, reason):
    async def scenario(first, second, rpc):
        first.results["eth_call"] = refuse(code, reason)
        first.results["eth_getCode"] = "0x01"
        second.results |= {"eth_call": "0x02", "eth_getCode": "0x02"}
        assert await rpc.eth_call(TOKEN, b"") == b"\x02"
        rpc._nodes._preferred = 0
        # One answer of one node: what the other said beside its refusal is not mixed in.
        assert await rpc.batch([CODE, CALL]) == ["0x02", "0x02"]
        assert len(first.seen) == len(second.seen) == 2

    run(scenario)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (3, "execution reverted"),
        (-32000, "invalid opcode: INVALID"),
        (-32000, "insufficient funds for gas * price + value"),
        (-32015, "VM execution error"),
        (-32602, "too many arguments, want at most 2"),
        (-32000, "execution aborted (timeout = 5s)"),
    ],
)
def test_what_the_call_itself_brings_about_is_an_answer(code, reason):
    async def scenario(first, second, rpc):
        first.results["eth_call"] = refuse(code, reason)
        with pytest.raises(RpcError):
            await rpc.eth_call(TOKEN, b"")
        assert not second.seen

    run(scenario)


def test_what_only_some_nodes_can_is_asked_of_one():
    async def scenario(first, second, rpc):
        first.results["eth_simulateV1"] = refuse(-32601, "the method eth_simulateV1 does not exist/is not available")
        with pytest.raises(RpcError):
            await rpc.call("eth_simulateV1", [])
        assert not second.seen

    run(scenario)


def test_what_all_refuse_leaves_the_rest_of_the_batch_answered():
    async def scenario(first, second, rpc):
        for node in (first, second):
            node.results |= {"eth_call": refuse(-32000, "missing trie node"), "eth_getCode": "0x01"}
        code, refused = await rpc.batch([CODE, CALL])
        assert code == "0x01"
        assert isinstance(refused, RpcError)
        with pytest.raises(UpstreamDown):
            await rpc.eth_call(TOKEN, b"")

    run(scenario)


def test_a_node_that_runs_no_calls_accuses_no_contract():
    async def scenario(first, second, rpc):
        for node in (first, second):
            node.results |= {"eth_getCode": "0x01", "eth_call": refuse(-32000, "node is syncing")}
        with pytest.raises(UpstreamDown):
            await check_contracts(rpc, MAINNET)
        second.results["eth_call"] = lambda params: (
            "0x" + MAINNET.factory[2:].rjust(64, "0")
            if params[0]["data"] == "0x" + FACTORY.hex()
            else "0x" + "6".rjust(64, "0")
        )
        await check_contracts(rpc, MAINNET)
        second.results["eth_call"] = refuse(3, "execution reverted")
        with pytest.raises(WrongChain):
            await check_contracts(rpc, MAINNET)

    run(scenario)
