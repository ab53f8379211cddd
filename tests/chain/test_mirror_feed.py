"""The mirror on a real node that tells of new logs over its websocket."""

import asyncio

import pytest

from tickyard.chain.rpc.feed import LogFeed
from tickyard.chain.v3.events import TOPICS
from tickyard.config.pinned import MAINNET
from tickyard.kernel.clock import WallClock
from tickyard.market.mirror.follow import FED_STEP_S, LiveMarket
from tickyard.market.reading import ChainReader
from tickyard.market.swaps.fills import Trade
from tickyard.sandbox.world.place import TRADING_DESK
from yards.mirroring import Bustle, Followed, asked
from yards.patience import STUCK_S

pytestmark = pytest.mark.node


def test_a_swap_wakes_the_mirror_before_its_step_is_due(world):
    pool = next(pool for pool in world.world.pools if pool.is_live)
    token, trade = pool.token, Trade.parse("buy", "usd", "1000")

    async def woken():
        bustle, clock = Bustle(world, None, [pool.symbol]), WallClock()
        followed = Followed.over(world.node.url)
        url = world.node.url.replace("http://", "ws://")
        feed = LogFeed([url], chain_id=4663, topics=TOPICS, clock=clock)
        reader = ChainReader(followed.rpc, MAINNET.multicall3, clock)
        live = LiveMarket(followed.mirror, reader, followed.book, MAINNET, clock, feed)
        async with asyncio.timeout(STUCK_S), followed.rpc:
            await followed.book.discover([token])
            tasks = [asyncio.create_task(feed.keep()), asyncio.create_task(live.keep())]
            try:
                while live.offer(followed.book.of(token), trade) is None or not feed.is_on:
                    await clock.sleep(0.01)
                # Quiet steps earn one that is made at once.
                while not live._budget.has_spare:
                    await clock.sleep(0.01)
                before = followed.mirror.block
                while followed.mirror.block is before:
                    await world.node.call("evm_mine", [])
                    await clock.sleep(0.05)
                known = await asked(world.node, followed.book, token, trade)
                root = (await bustle.view(pool.pool, "slot0()"))[0]
                began = clock.monotonic()
                await bustle.call(TRADING_DESK, "trade(address[],uint160[])", [pool.pool], [root * 101 // 100])
                truth = await asked(world.node, followed.book, token, trade)
                assert truth != known
                while (offered := followed.offer(token, trade)) is None or offered[1] != truth:
                    await clock.sleep(0.01)
                assert clock.monotonic() - began < FED_STEP_S / 2
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                await live.close()

    world.run(woken())
