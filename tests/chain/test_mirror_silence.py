"""A node that falls silent in the middle of a step, and is well again at once: the mirror must not wait for the past."""

import asyncio
import json
import time

import aiohttp
import pytest
from aiohttp import web

from tickyard.kernel.errors import UpstreamDown
from tickyard.market.swaps.fills import Trade
from tickyard.sandbox.standins.process import open_port
from yards.mirroring import Followed

pytestmark = pytest.mark.node
BUY = Trade.parse("buy", "usd", "100")


class Swallower:
    """Between us and the node: one request with this method is never answered, all others are passed on."""

    def __init__(self, behind):
        self.behind = behind
        self.swallows = None
        self.is_over = asyncio.Event()

    def add_to(self, app):
        app.router.add_post("/", self.pass_on)

    async def pass_on(self, request):
        body = await request.read()
        questions = json.loads(body)
        for question in questions if isinstance(questions, list) else [questions]:
            if question["method"] == self.swallows:
                self.swallows = None
                await self.is_over.wait()
        async with aiohttp.ClientSession() as session, session.post(self.behind, data=body) as answer:
            return web.json_response(await answer.json())


@pytest.mark.parametrize("method", ["eth_getBlockByNumber", "eth_getLogs", "eth_call"])
def test_a_request_that_is_never_answered_costs_less_than_three_seconds(world, method):
    token = next(pool.token for pool in world.world.pools if pool.is_live)

    async def silence():
        front = Swallower(world.node.url)
        runner, port = await open_port([front])
        followed = Followed.over(f"http://127.0.0.1:{port}/", fresh_s=1.5, budget_s=5.0, try_s=3.0)
        try:
            async with followed.rpc:
                await followed.book.discover([token])
                followed.offer(token, BUY)
                await followed.mirror.step()
                await world.node.call("evm_mine", [])
                front.swallows, began = method, time.monotonic()
                with pytest.raises(UpstreamDown):
                    await followed.mirror.step()
                assert time.monotonic() - began < 2.8
                assert followed.offer(token, BUY) is None
                await followed.mirror.step()
                assert followed.offer(token, BUY) is not None
        finally:
            front.is_over.set()
            await runner.cleanup()

    world.run(silence())
