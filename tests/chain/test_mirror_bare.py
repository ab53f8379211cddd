"""A pool whose first price was in a block that is gone: it has none again, and nothing is lost over it."""

import pytest

from tickyard.sandbox.node.abi import call_data
from tickyard.sandbox.node.transact import QueuedCall, send
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
