"""Somebody who makes ticks by the thousand: it costs a few dollars, and must cost us no more than that pool."""

import pytest

from tickyard.sandbox.node.abi import call_data
from tickyard.sandbox.node.transact import QueuedCall, send_all
from tickyard.sandbox.world.place import TRADING_DESK
from tickyard.sandbox.world.wallets import MAKER
from yards.mirroring import Followed

pytestmark = pytest.mark.node


async def crowd(world, pool, first, count):
    """So many ticks beside the price, two for each position of next to nothing."""
    spread = "add(address,(int24,int24,uint128)[])"
    steps = [
        QueuedCall(TRADING_DESK, call_data(spread, pool.pool, [(at + 2 * k, at + 2 * k + 1, 1000) for k in range(8)]))
        for at in range(first, first + count, 16)
    ]
    await send_all(world.node, MAKER, steps, per_block=4)


def test_a_pool_with_thousands_of_ticks_costs_no_other_its_place(world):
    crowded = next(pool for pool in world.world.pools if pool.is_live and pool.fee == 100)
    other = next(pool for pool in world.world.pools if pool.is_live and pool.symbol != crowded.symbol)
    tokens = [crowded.token, other.token]

    async def follow():
        followed = Followed.over(world.node.url)
        async with followed.rpc:
            await followed.book.discover(tokens)
            its, others = (followed.book.of(token) for token in tokens)

            async def step():
                for pools in (its, others):
                    followed.mirror.serve(pools)
                asked = followed.rpc.round_trips
                await followed.mirror.step()
                return followed.rpc.round_trips - asked

            await crowd(world, crowded, 100, 960)
            await step()
            assert followed.mirror.serve(its)
            # Between two steps it becomes too much: what is held grows by logs, and is let go.
            await crowd(world, crowded, 1_100, 192)
            await step()
            assert followed.mirror.serve(its) is None
            assert followed.mirror.serve(others)
            # From then on nothing of it is asked for.
            await world.node.call("evm_mine", [])
            assert await step() <= 3
            assert followed.mirror.serve(its) is None
            assert followed.mirror.serve([pool for pool in its if pool.address != crowded.pool])
            assert followed.mirror.serve(others)

    world.run(follow())
