"""A pool whose first price was in a block that is gone: it has none again, and nothing is lost over it."""

import pytest

from tickyard.sandbox.node.abi import call_data
from tickyard.sandbox.node.transact import QueuedCall, send
from tickyard.sandbox.world.place import FACTORY, TICK_SPACINGS, TRADING_DESK, USDG
from tickyard.sandbox.world.wallets import MAKER
from yards.mirroring import Followed

pytestmark = pytest.mark.node


def test_a_first_price_that_is_taken_back_leaves_no_trace(world):
    pools = world.world.pools
    bare = next(pool for pool in pools if not world.read(pool.pool, "slot0()")[0])

    async def follow():
        followed = Followed.over(world.node.url)
        async with followed.rpc:
            await followed.book.discover([bare.token])
            its = followed.book.of(bare.token)
            snapshot = await world.node.call("evm_snapshot", [])
            await send(world.node, MAKER, QueuedCall(bare.pool, call_data("initialize(uint160)", 2**96)))
            followed.mirror.serve(its)
            await followed.mirror.step()
            assert followed.mirror.serve(its)
            assert followed.book.last_sqrt_price(next(pool for pool in its if pool.address == bare.pool)) == 2**96
            await world.node.call("evm_revert", [snapshot])
            for _ in range(3):
                await world.node.call("evm_mine", [])
            await followed.mirror.step()
            # What looks like a lie is looked into at once, by whoever keeps the book.
            await followed.book.discover([bare.token])
            await followed.mirror.step()
            served = followed.mirror.serve(its)
            assert served
            assert {chart.spot.pool.address: chart.spot.sqrt_price_x96 for chart in served[1]}[bare.pool] == 0

    world.run(follow())


def test_a_pool_that_was_made_on_a_branch_that_never_was_is_forgotten(world):
    there = {(pool.symbol, pool.fee) for pool in world.world.pools}
    symbol, fee = next(
        (pool.symbol, fee)
        for pool in world.world.pools
        for fee in TICK_SPACINGS
        if pool.is_live and (pool.symbol, fee) not in there
    )
    token = world.world.tokens[symbol]

    async def follow():
        followed = Followed.over(world.node.url)
        async with followed.rpc:
            await followed.book.discover([token])
            before = followed.book.of(token)
            snapshot = await world.node.call("evm_snapshot", [])
            signature = "open(address,address,address,uint24,uint160,(int24,int24,uint128)[])"
            data = call_data(signature, FACTORY, token, USDG, fee, 2**96, [(-3, 3, 10**9)])
            await send(world.node, MAKER, QueuedCall(TRADING_DESK, data))
            await followed.book.discover([token])
            assert len(followed.book.of(token)) == len(before) + 1
            followed.mirror.serve(followed.book.of(token))
            await followed.mirror.step()
            await world.node.call("evm_revert", [snapshot])
            for _ in range(3):
                await world.node.call("evm_mine", [])
            await followed.mirror.step()
            await followed.book.discover([token])
            assert followed.book.of(token) == before
            followed.mirror.serve(before)
            await followed.mirror.step()
            assert followed.mirror.serve(before)

    world.run(follow())
