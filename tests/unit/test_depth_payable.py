"""The largest trade of a pool that does not hold all that its curve would give: to the unit, over several ticks."""

import pytest

from tickyard.chain.v3.depth import largest_trade
from tickyard.chain.v3.math import PoolState, swap
from tickyard.chain.v3.quoter import price_limit
from tickyard.chain.v3.ticks import sqrt_ratio_at

SIZE = 10**15
TICKS = ((-40_000, SIZE), (-300, SIZE), (-100, 2 * SIZE), (120, -2 * SIZE), (310, -SIZE), (40_000, -SIZE))
POOL = PoolState(sqrt_ratio_at(7), 7, 4 * SIZE, 500, 10, TICKS)


@pytest.mark.slow
@pytest.mark.parametrize("token_is_0", [True, False])
@pytest.mark.parametrize("is_buy", [True, False])
@pytest.mark.parametrize("part", [1, 40, 60, 90, 99])
def test_no_more_comes_out_than_is_payable_and_one_unit_more_would(token_is_0, is_buy, part):
    down = token_is_0 != is_buy
    limit = price_limit(POOL.sqrt_price_x96, down)

    def out(amount):
        return swap(POOL, zero_for_one=down, amount=amount, sqrt_price_limit=limit).amount_out

    payable = out(2**200) * part // 100
    # Half of the price, or twice: no bound here but what is held.
    most = largest_trade(POOL, 9_900, limit, token_is_0=token_is_0, is_buy=is_buy, payable=payable)
    within = largest_trade(POOL, 9_900, limit, token_is_0=token_is_0, is_buy=is_buy)
    assert out(most) <= payable
    assert most == within or out(most + 1) > payable
    assert part > 50 or most < within


@pytest.mark.parametrize("is_buy", [True, False])
def test_a_dry_pool_and_one_at_its_limit_trade_nothing(is_buy):
    down = not is_buy
    limit = price_limit(POOL.sqrt_price_x96, down)
    dry = PoolState(POOL.sqrt_price_x96, 7, 0, 500, 10, ())
    assert largest_trade(dry, 100, limit, token_is_0=True, is_buy=is_buy) == 0
    assert largest_trade(POOL, 100, POOL.sqrt_price_x96, token_is_0=True, is_buy=is_buy) == 0
    assert largest_trade(POOL, 100, limit, token_is_0=True, is_buy=is_buy, payable=0) == 0
