"""Pools that leave the chain with the block that made them."""

import asyncio

import pytest

from tickyard.kernel.errors import UpstreamDown
from yards import paperyard
from yards.patience import STUCK_S

GETTERS = ("0dfe1681", "d21220a7", "ddca3f43", "3850c7bd", "1a686502")


def take_away(chain, pool):
    """As if it had never been: the factory knows none, and at its address is no contract."""
    del chain.by_pair[pool.token, pool.fee]
    chain.says |= {(pool.address, getter): b"" for getter in GETTERS}


@pytest.mark.slow
@pytest.mark.parametrize("is_asked_about", [False, True])
def test_a_pool_that_never_had_a_price_and_is_gone_keeps_no_new_one_from_joining(tmp_path, is_asked_about):
    async def run():
        chain = paperyard.LyingChain()
        late = next(pool for pool, (_, root, _) in chain.pools.items() if root)
        market = chain.pools[late][0]
        chain.by_pair.pop((market.token, market.fee))
        async with asyncio.timeout(STUCK_S), paperyard.open_yard(tmp_path, chain=chain) as yard:
            book = yard.deps.market.pools
            tokens = sorted({market.token, *(pool.token for pool in book.every())})
            bare = next(pool for pool in book.every() if book.last_sqrt_price(pool) is None)
            assert (market.token, market.fee) not in {(pool.token, pool.fee) for pool in book.every()}
            take_away(chain, bare)
            chain.by_pair[market.token, market.fee] = late
            if is_asked_about:
                with pytest.raises(UpstreamDown):
                    book.read_state(bare, b"", b"")
            await book.discover(tokens)
            await book.discover(tokens)
            known = {pool.address for pool in book.every()}
            assert bare.address not in known
            assert late in known
            assert all(bare.address != pool.address for pool in book.of(bare.token))

    asyncio.run(run())


@pytest.mark.slow
def test_a_pool_that_the_factory_names_and_nobody_finds_is_the_nodes_failure(tmp_path):
    async def run():
        chain = paperyard.LyingChain()
        new = next(iter(chain.pools))
        market = chain.pools[new][0]
        chain.by_pair.pop((market.token, market.fee))
        async with asyncio.timeout(STUCK_S), paperyard.open_yard(tmp_path, chain=chain) as yard:
            chain.by_pair[market.token, market.fee] = new
            chain.says |= {(new, getter): b"" for getter in GETTERS}
            with pytest.raises(UpstreamDown):
                await yard.deps.market.pools.discover([market.token])

    asyncio.run(run())
