"""Pools that only a manipulator would make: at the end of all prices, dry in the middle, all in one tick."""

from contextlib import AsyncExitStack

import pytest

from tickyard.chain.v3.depth import largest_trade, to_move
from tickyard.chain.v3.quoter import price_limit
from tickyard.chain.v3.ticks import MAX_SQRT_RATIO, MIN_SQRT_RATIO
from tickyard.market.swaps.fills import Trade
from tickyard.sandbox.node.abi import call_data
from tickyard.sandbox.node.process import NodeError
from tickyard.sandbox.node.transact import QueuedCall, send
from tickyard.sandbox.world.place import FACTORY, TICK_SPACINGS, TRADING_DESK, USDG
from tickyard.sandbox.world.wallets import MAKER
from yards.mirroring import Followed, asked

pytestmark = pytest.mark.node

ROOTS = (MIN_SQRT_RATIO, MIN_SQRT_RATIO + 1, MIN_SQRT_RATIO * 3, 2**96, MAX_SQRT_RATIO // 3, MAX_SQRT_RATIO - 1)
SHAPES = (
    [(0, 1, 10**12)],
    [(-3, 3, 10**15)],
    [(1, 9, 10**15)],
    [(-9, -1, 10**15)],
    [(-90, -80, 10**9), (-1, 1, 10**6)],
)
AMOUNTS = ("0.000001", "40", "999999999999")


async def opened(world, token, fee, root):
    """A pool at this price, with whatever liquidity can be put there."""
    signature = "open(address,address,address,uint24,uint160,(int24,int24,uint128)[])"
    for shape in SHAPES:
        data = call_data(signature, FACTORY, token, USDG, fee, root, shape)
        try:
            await send(world.node, MAKER, QueuedCall(TRADING_DESK, data))
        except NodeError:
            continue
        return True
    return False


async def manipulate(world):
    """Two pools at each of the absurd prices; their symbols."""
    there = {(pool.symbol, pool.fee) for pool in world.world.pools}
    free = [(s, fee) for s in world.world.tokens for fee in TICK_SPACINGS if (s, fee) not in there]
    places = free[:: len(free) // (2 * len(ROOTS))][: 2 * len(ROOTS)]
    for index, (symbol, fee) in enumerate(places):
        assert await opened(world, world.world.tokens[symbol], fee, ROOTS[index % len(ROOTS)])
    return [symbol for symbol, _ in places]


def test_absurd_pools_are_quoted_as_the_quoter_quotes_them(world):
    async def follow():
        symbols = await manipulate(world)
        followed = Followed.over(world.node.url)
        async with followed.rpc:
            tokens = sorted({world.world.tokens[symbol] for symbol in symbols})
            await followed.book.discover(tokens)
            for token in tokens:
                followed.offer(token, Trade.parse("buy", "usd", "1"))
            # Building is spread over steps: nobody waits for all of it.
            for _ in range(6):
                await followed.mirror.step()
            for token in tokens:
                for side in ("buy", "sell"):
                    for denom in ("usd", "token"):
                        for amount in AMOUNTS:
                            trade = Trade.parse(side, denom, amount)
                            _, fills = followed.offer(token, trade)
                            assert fills == await asked(world.node, followed.book, token, trade), (token, trade)
                _, charts = followed.mirror.serve(followed.book.of(token))
                for chart in charts:
                    spot = chart.spot
                    if spot.curve is None or not spot.is_usable:
                        continue
                    is_0 = spot.pool.token_is_0
                    for bps in (10, 1_000, -10, -1_000):
                        to_move(spot.curve, bps, token_is_0=is_0)
                    for is_buy in (True, False):
                        limit = price_limit(spot.sqrt_price_x96, is_0 != is_buy)
                        largest_trade(spot.curve, 5_000, limit, token_is_0=is_0, is_buy=is_buy)

    world.run(follow())


@pytest.mark.parametrize("mirror", ["on", "off"])
def test_absurd_pools_break_no_answer(world, open_service, tmp_path, mirror):
    async def ask_for_everything():
        symbols = await manipulate(world)
        async with AsyncExitStack() as stack:
            service = await open_service(stack, world, tmp_path, MIRROR=mirror)
            targets = ["/v1/markets?limit=200"]
            for symbol in symbols:
                quote = f"/v1/quote?symbol={symbol}&amount=40&side="
                targets += [
                    quote + "buy",
                    quote + "sell",
                    f"/v1/depth/{symbol}?maxImpactBps=5000",
                    f"/v1/stats/{symbol}",
                ]
            for _ in range(2):
                for target in targets:
                    answer = await service.ask("GET", target)
                    assert answer.status in (200, 422), (target, answer.body)

    world.run(ask_for_everything())
