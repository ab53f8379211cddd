"""A node that tells of new logs over a websocket, and one that does it badly."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest
from aiohttp import WSMsgType, web

from tickyard.chain.rpc.feed import LogFeed
from tickyard.kernel.clock import WallClock
from tickyard.kernel.ids import Address
from tickyard.sandbox.standins.process import open_port
from yards.patience import STUCK_S

POOLS = frozenset({Address("0x" + "11" * 20), Address("0x" + "22" * 20)})
NEWS = '{"jsonrpc": "2.0", "method": "eth_subscription", "params": {"subscription": "0x1", "result": {}}}'


class Hasty(WallClock):
    """Pauses are remembered and cut short."""

    def __init__(self):
        self.pauses = []

    async def sleep(self, seconds):
        self.pauses.append(seconds)
        await super().sleep(0)


class Teller:
    def __init__(self, habit="ok"):
        self.habit = habit
        self.asked, self.open = [], set()
        self.came = 0

    def add_to(self, app):
        app.router.add_get("/key", self.serve)

    async def serve(self, request):
        self.came += 1
        if self.habit == "refuse":
            return web.Response(status=403)
        if self.habit == "silent":
            await asyncio.Event().wait()
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self.open.add(socket)
        async for message in socket:
            if message.type is not WSMsgType.TEXT:
                break
            asked = json.loads(message.data)
            self.asked.append(asked)
            if self.habit == "garbage":
                await socket.send_str("<html>")
                continue
            if self.habit == "binary":
                await socket.send_bytes(b"\0")
                continue
            if self.habit == "mute":
                continue
            if self.habit == "hang up":
                break
            assert asked["jsonrpc"] == "2.0"
            if self.habit == "refuse logs" and asked["method"] == "eth_subscribe":
                error = {"code": -32601, "message": "no such method"}
                await socket.send_str(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}))
                continue
            chain = "0x1" if self.habit == "foreign" else hex(4663)
            name = 7 if self.habit == "nameless" else "0x1"
            result = chain if asked["method"] == "eth_chainId" else name
            await socket.send_str(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}))
        self.open.discard(socket)
        return socket

    async def tell(self, word=NEWS):
        for socket in self.open:
            await (socket.send_bytes if isinstance(word, bytes) else socket.send_str)(word)

    async def drop(self):
        for socket in list(self.open):
            await socket.close()


@asynccontextmanager
async def fed(*tellers):
    ports = [await open_port([teller]) for teller in tellers]
    feed = LogFeed(
        [f"ws://127.0.0.1:{port}/key" for _, port in ports], chain_id=4663, topics=["0x" + "ab" * 32], clock=Hasty()
    )
    keeping = asyncio.create_task(feed.keep())
    try:
        async with asyncio.timeout(STUCK_S):
            yield feed
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        for runner, _ in ports:
            await runner.cleanup()


async def until(is_so):
    while not is_so():
        await WallClock().sleep(0.005)


def test_news_of_the_pools_that_are_followed_arrive():
    async def go():
        teller = Teller()
        async with fed(teller) as feed:
            assert teller.came == 0, "nobody follows yet"
            feed.follow(POOLS)
            await until(lambda: feed.is_on)
            kind, query = teller.asked[-1]["params"]
            assert (kind, query["address"], query["topics"]) == ("logs", sorted(POOLS), [["0x" + "ab" * 32]])
            assert not feed.news.is_set()
            await teller.tell()
            await feed.news.wait()

    asyncio.run(go())


def test_other_pools_are_another_subscription_and_none_is_no_connection():
    async def go():
        teller = Teller()
        async with fed(teller) as feed:
            feed.follow(POOLS)
            await until(lambda: feed.is_on)
            one = frozenset({min(POOLS)})
            feed.follow(one)
            await until(lambda: len(teller.asked) == 4 and feed.is_on)
            assert teller.asked[-1]["params"][1]["address"] == [*one]
            feed.follow(frozenset())
            await until(lambda: not teller.open)
            assert not feed.is_on
            assert feed._clock.pauses == [], "none of it was trouble"

    asyncio.run(go())


@pytest.mark.slow
@pytest.mark.parametrize(
    "habit", ["refuse", "garbage", "binary", "hang up", "refuse logs", "foreign", "nameless", "silent", "mute"]
)
def test_a_node_with_a_bad_habit_is_left_for_the_next(habit):
    async def go():
        bad, good = Teller(habit), Teller()
        async with fed(bad, good) as feed:
            feed.follow(POOLS)
            await until(lambda: feed.is_on)
            assert bad.came == 1
            await good.tell()
            await feed.news.wait()

    asyncio.run(go())


@pytest.mark.parametrize("word", ["<html>", "[1]", '{"method": 7}', "[" * 100_000, b"\0\1"])
def test_a_word_that_is_none_ends_the_connection_and_is_no_news(word):
    async def go():
        teller = Teller()
        async with fed(teller) as feed:
            feed.follow(POOLS)
            await until(lambda: feed.is_on)
            await teller.tell(word)
            await until(lambda: teller.came == 2)
            assert not feed.news.is_set()

    asyncio.run(go())


def test_a_word_about_something_else_is_no_news_and_no_trouble():
    async def go():
        teller = Teller()
        async with fed(teller) as feed:
            feed.follow(POOLS)
            await until(lambda: feed.is_on)
            await teller.tell(json.dumps({"jsonrpc": "2.0", "id": 9, "result": True}))
            await teller.tell()
            await feed.news.wait()
            assert teller.came == 1

    asyncio.run(go())


def test_a_feed_that_is_lost_comes_back_and_is_off_meanwhile():
    async def go():
        teller = Teller()
        async with fed(teller) as feed:
            feed.follow(POOLS)
            await until(lambda: feed.is_on)
            teller.habit = "refuse"
            await teller.drop()
            await until(lambda: len(feed._clock.pauses) > 7)
            assert not feed.is_on
            teller.habit = "ok"
            await until(lambda: feed.is_on)
            assert feed._clock.pauses == [min(60.0, 2.0**n) for n in range(len(feed._clock.pauses))]

    asyncio.run(go())
