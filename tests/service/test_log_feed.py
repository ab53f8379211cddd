"""The feed of logs over a websocket: what it believes of a node's words, and what it does when they are none."""

import asyncio
import contextlib
import json

import aiohttp
import pytest
from aiohttp import web

from tickyard.chain.rpc.feed import LogFeed
from tickyard.kernel.clock import WallClock
from tickyard.kernel.ids import Address

POOL = Address("0x" + "ab" * 20)
TOPIC = "0x" + "cd" * 32
NEWS = json.dumps({"jsonrpc": "2.0", "method": "eth_subscription", "params": {"subscription": "0x1", "result": {}}})
SUBSCRIBED = {"eth_chainId": hex(4663), "eth_subscribe": "0x1"}


class Node:
    """Answers what it is asked over every connection with what it has for that, then says what it has to say."""

    def __init__(self, answers, *says):
        self.answers, self.says, self.asked = answers, says, []
        self.connections = 0

    async def serve(self, request):
        self.connections += 1
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        for _ in self.answers:
            asked = await socket.receive_json()
            self.asked.append((asked["method"], asked["params"]))
            told = self.answers[asked["method"]]
            ending = {"error": told} if isinstance(told, dict) else {"result": told}
            await socket.send_str(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **ending}))
        for word in self.says:
            await (socket.send_bytes if isinstance(word, bytes) else socket.send_str)(word)
        await socket.receive()
        return socket


@contextlib.asynccontextmanager
async def fed(node):
    app = web.Application()
    app.router.add_get("/", node.serve)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = site._server.sockets[0].getsockname()[1]
    feed = LogFeed([f"ws://127.0.0.1:{port}/"], chain_id=4663, topics=[TOPIC], clock=WallClock())
    feed.follow(frozenset({POOL}))
    keeping = asyncio.create_task(feed.keep())
    try:
        async with asyncio.timeout(20):
            yield feed
    finally:
        keeping.cancel()
        with contextlib.suppress(asyncio.CancelledError, aiohttp.ClientError):
            await keeping
        await runner.cleanup()


def test_the_logs_of_what_is_followed_are_asked_for_and_their_news_wake():
    async def run():
        node = Node(SUBSCRIBED, NEWS)
        async with fed(node) as feed:
            await feed.news.wait()
            assert feed.is_on
        assert node.asked == [
            ("eth_chainId", []),
            ("eth_subscribe", ["logs", {"address": [POOL], "topics": [[TOPIC]]}]),
        ]

    asyncio.run(run())


@pytest.mark.slow
@pytest.mark.parametrize(
    "answers",
    [
        {**SUBSCRIBED, "eth_chainId": "0x1"},
        {**SUBSCRIBED, "eth_chainId": {"code": -32000, "message": "no"}},
        {**SUBSCRIBED, "eth_subscribe": 7},
        {**SUBSCRIBED, "eth_subscribe": {"code": -32601, "message": "notifications not supported"}},
    ],
    ids=["foreign", "refused", "no name", "not supported"],
)
def test_a_node_that_does_not_take_the_call_is_never_on_and_is_tried_again(answers):
    async def run():
        node = Node(answers)
        async with fed(node) as feed:
            while node.connections < 2:
                assert not feed.is_on
                await WallClock().sleep(0.01)
            assert not feed.news.is_set()

    asyncio.run(run())


@pytest.mark.slow
@pytest.mark.parametrize("word", ["<html>", "[1]", '{"method": 7}', "[" * 100_000, b"\x00\x01"])
def test_a_word_that_is_none_ends_the_connection_and_is_no_news(word):
    async def run():
        node = Node(SUBSCRIBED, word)
        async with fed(node) as feed:
            while node.connections < 2:
                await WallClock().sleep(0.01)
            assert not feed.news.is_set()

    asyncio.run(run())


def test_a_word_about_something_else_is_no_news():
    async def run():
        node = Node(SUBSCRIBED, json.dumps({"jsonrpc": "2.0", "id": 9, "result": True}), NEWS)
        async with fed(node) as feed:
            await feed.news.wait()
            assert node.connections == 1

    asyncio.run(run())
