"""Tokens that do not move, or are not there: the quoter has no answer then, and so there is none from memory."""

import pytest

from tickyard.chain.v3.depth import largest_trade
from tickyard.chain.v3.quoter import price_limit
from tickyard.kernel.units import UsdgAmount
from tickyard.market.swaps.fills import Mode, Side, Trade
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


async def taken(world, token, pool, rest):
    """Who issues a token can take it from anybody: only so much is left to the pool."""
    data = call_data("balanceOf(address)", pool)
    [held] = words(await world.node.call("eth_call", [{"to": token, "data": data}, "latest"]))
    await world.node.call("hardhat_impersonateAccount", [pool])
    await world.node.call("hardhat_setBalance", [pool, hex(10**18)])
    await send(world.node, pool, QueuedCall(token, call_data("transfer(address,uint256)", QUOTER, held - rest)))


def test_a_pool_offers_nothing_that_it_does_not_hold(world):
    its = [pool for pool in world.world.pools if pool.is_live and pool.symbol == "NVDA"]
    token = its[0].token
    large, small = Trade.parse("buy", "usd", "100"), Trade.parse("buy", "token", "0.01")
    rest, dollars = 10**16, 5_000_000
    sells = [Trade.parse("sell", "usd", amount) for amount in ("5", "5.000001")] + [Trade.parse("sell", "token", "1")]
    trades = [large, small, Trade.parse("buy", "token", "0.010000000000000001"), *sells]

    async def follow():
        followed = Followed.over(world.node.url)
        async with followed.rpc:
            await followed.book.discover([token])

            async def offered(trade):
                followed.offer(token, trade)
                await followed.mirror.step()
                _, fills = followed.offer(token, trade)
                assert fills == await asked(world.node, followed.book, token, trade), trade
                return bool(fills)

            assert all([await offered(trade) for trade in trades])
            for pool in its:
                await taken(world, token, pool.pool, rest)
                await taken(world, USDG, pool.pool, dollars)
            # To the last unit it has, and not one more.
            assert [await offered(trade) for trade in trades] == [False, True, False, True, False, False]
            _, charts = followed.mirror.serve(followed.book.of(token))
            for chart in charts:
                is_0, curve = chart.spot.pool.token_is_0, chart.spot.curve
                limit = price_limit(curve.sqrt_price_x96, not is_0)
                most = largest_trade(curve, 5_000, limit, token_is_0=is_0, is_buy=True, payable=chart.tokens)
                assert await offered(Trade(Side.BUY, Mode.EXACT_IN, UsdgAmount(most)))

    world.run(follow())
