"""Tokens that do not move: the quoter has no answer then, and so there is none from memory."""

import pytest

from tickyard.market.swaps.fills import Trade
from tickyard.sandbox.node.abi import call_data, words
from tickyard.sandbox.node.transact import QueuedCall, send
from tickyard.sandbox.world.place import QUOTER, USDG
from yards.mirroring import Followed, asked

pytestmark = pytest.mark.node

BUY, SELL = Trade.parse("buy", "usd", "10"), Trade.parse("sell", "token", "0.01")


async def as_admin(world, token, signature, *values):
    [word] = words(await world.node.call("eth_call", [{"to": token, "data": call_data("admin()")}, "latest"]))
    admin = f"0x{word:040x}"
    await world.node.call("hardhat_impersonateAccount", [admin])
    await send(world.node, admin, QueuedCall(token, call_data(signature, *values)))


@pytest.mark.parametrize("who", ["token", "pool", "quoter", "dollar", "pool's dollars"])
def test_where_a_token_does_not_move_memory_is_as_silent_as_the_quoter(world, who):
    pool = next(pool for pool in world.world.pools if pool.is_live and pool.symbol == "NVDA")
    other = next(pool for pool in world.world.pools if pool.is_live and pool.symbol == "AAPL")
    stop, go = {
        "token": ((pool.token, "setPaused(bool)", True), (pool.token, "setPaused(bool)", False)),
        "pool": tuple((pool.token, "setBlocked(address,bool)", pool.pool, is_so) for is_so in (True, False)),
        "quoter": tuple((pool.token, "setBlocked(address,bool)", QUOTER, is_so) for is_so in (True, False)),
        "dollar": ((USDG, "pause()"), (USDG, "unpause()")),
        "pool's dollars": ((USDG, "freeze(address)", pool.pool), (USDG, "unfreeze(address)", pool.pool)),
    }[who]

    async def follow():
        followed = Followed.over(world.node.url)
        async with followed.rpc:
            await followed.book.discover([pool.token, other.token])

            async def offered():
                for token in (pool.token, other.token):
                    followed.offer(token, BUY)
                await followed.mirror.step()
                told = [followed.offer(pool.token, trade) for trade in (BUY, SELL)]
                for trade, each in zip((BUY, SELL), told, strict=True):
                    assert each is None or each[1] == await asked(world.node, followed.book, pool.token, trade)
                assert followed.mirror.serve(followed.book.of(pool.token)), "its price is known all the same"
                return [each is not None for each in told]

            assert await offered() == [True, True]
            await as_admin(world, *stop)
            assert await offered() == [False, False]
            if who != "dollar":
                assert followed.offer(other.token, BUY), "the others are as before"
            # Nor when it is met like that for the first time.
            followed.mirror.drop("test")
            assert await offered() == [False, False]
            await as_admin(world, *go)
            assert await offered() == [True, True]

    world.run(follow())
