"""Who gives up waiting leaves no work behind: a node that is slow stays slow, and does not get stuck."""

import asyncio
import time

import aiohttp
import pytest

from tickyard.kernel.clock import WallClock
from tickyard.sandbox.node.process import Node
from tickyard.sandbox.standins.faults import FaultBoard
from tickyard.sandbox.standins.node_front import NodeFront
from tickyard.sandbox.standins.process import open_port

pytestmark = pytest.mark.node

# Runs in a circle until its gas is used up.
CIRCLE = "0x5b600056"
PLACE = "0x00000000000000000000000000000000000000c1"
GAS = 3_000_000
IMPATIENT = 12


def circle():
    params = [{"to": PLACE, "gas": hex(GAS)}, "latest", {PLACE: {"code": CIRCLE}}]
    return {"jsonrpc": "2.0", "id": 1, "method": "eth_call", "params": params}


async def asked(session, url, call):
    began = time.monotonic()
    async with session.post(url, json=call) as response:
        await response.read()
    return time.monotonic() - began


async def given_up(session, url, patience_s):
    try:
        async with asyncio.timeout(patience_s):
            await asked(session, url, circle())
    except TimeoutError:
        return
    raise AssertionError("it was quicker than this test is impatient")


@pytest.mark.parametrize("through_the_front", [False, True], ids=["node", "front"])
def test_calls_that_nobody_waits_for_any_more_are_not_made(tmp_path, through_the_front):
    asyncio.run(_abandon_many(tmp_path, through_the_front))


async def _abandon_many(run_dir, through_the_front):
    async with await _node(run_dir) as node, aiohttp.ClientSession() as session:
        runner, port = await open_port([NodeFront(FaultBoard(), WallClock(), node.url)])
        url = f"http://127.0.0.1:{port}/rpc" if through_the_front else node.url
        try:
            alone = min([await asked(session, url, circle()) for _ in range(2)])
            await asyncio.gather(*(given_up(session, url, alone / 4) for _ in range(IMPATIENT)))
            number = {"jsonrpc": "2.0", "id": 2, "method": "eth_blockNumber", "params": []}
            # One of them had begun, and a busy machine may be slow: but not all of them.
            assert await asked(session, url, number) < alone * IMPATIENT / 2
        finally:
            await runner.cleanup()


def test_what_changes_the_chain_is_done_whoever_left(tmp_path):
    asyncio.run(_mine_and_leave(tmp_path))


async def _mine_and_leave(run_dir):
    async with await _node(run_dir) as node, aiohttp.ClientSession() as session:
        before = int(await node.call("eth_blockNumber"), 16)
        slow = asyncio.create_task(asked(session, node.url, circle()))
        body = b'{"jsonrpc":"2.0","id":3,"method":"evm_mine","params":[]}'
        _, writer = await asyncio.open_connection(*node.url.removeprefix("http://").split(":"))
        writer.write(b"POST / HTTP/1.1\r\nHost: node\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        await writer.drain()
        writer.close()
        await slow
        assert int(await node.call("eth_blockNumber"), 16) == before + 1


async def _node(run_dir):
    return await Node.start(chain_id=4663, now=WallClock().now(), run_dir=run_dir)


def test_the_node_keeps_a_connection_for_longer_than_whoever_pauses_on_it(tmp_path):
    """A machine that is busy with a first start pauses for seconds, and then sends on what the node is just closing."""

    async def ask():
        async with await _node(tmp_path) as node, aiohttp.ClientSession() as session:
            number = {"jsonrpc": "2.0", "id": 2, "method": "eth_blockNumber", "params": []}
            async with session.post(node.url, json=number) as response:
                return response.headers["Keep-Alive"]

    assert int(asyncio.run(ask()).removeprefix("timeout=")) > 60
