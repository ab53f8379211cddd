"""Passing over pools that cannot win: the best fill is the same as when every pool is worked through."""

import pytest
from hypothesis import given, settings
from hypothesis.strategies import composite, integers, just, lists, permutations, sampled_from

from proof import count
from tickyard.chain.v3.math import PoolState
from tickyard.chain.v3.ticks import sqrt_ratio_at
from tickyard.kernel.ids import Address
from tickyard.kernel.units import TokenAmount, UsdgAmount
from tickyard.market.mirror.offers import fills_of, winning_fills
from tickyard.market.swaps.charts import Chart
from tickyard.market.swaps.fills import Mode, Side, Trade, tied_best
from tickyard.market.swaps.pools import Pool, PoolSpot
from yards.curves import amounts, pools

TOKEN = Address("0x" + "77" * 20)
near = integers(0, 20).flatmap(lambda bits: integers(1, 2 << bits))


def chart(index, curve, token_is_0, held=2**255):
    pool = Pool(Address(f"0x{index + 1:040x}"), TOKEN, curve.fee, token_is_0, curve.tick_spacing)
    spot = PoolSpot(pool, curve.sqrt_price_x96, curve.liquidity, curve)
    return Chart(spot, range(-10, 10), {}, UsdgAmount(held), TokenAmount(held))


@composite
def tiers(draw):
    """The pools of one token: nearly the same price, other fees, more liquidity or less."""
    first = draw(pools())
    others = []
    for _ in range(draw(integers(1, 3))):
        times = draw(integers(1, 1000))
        low, high = sqrt_ratio_at(first.tick), sqrt_ratio_at(first.tick + 1)
        price = min(max(first.sqrt_price_x96 + draw(integers(-1, 1)), low), high)
        ticks = tuple((tick, net * times) for tick, net in first.ticks)
        fee = draw(sampled_from([100, 500, 3000, 10_000]))
        others.append(PoolState(price, first.tick, first.liquidity * times, fee, first.tick_spacing, ticks))
    return draw(permutations([first, *others]))


@pytest.mark.slow
@settings(max_examples=count(10_000))
@given(
    lists(pools(), min_size=1, max_size=4) | tiers(),
    sampled_from([True, False]),
    sampled_from(list(Side)),
    sampled_from(list(Mode)),
    near | amounts,
    lists(just(2**255) | near | amounts, min_size=4, max_size=4),
)
def test_the_best_is_among_those_that_may_win(curves, token_is_0, side, mode, amount, held):
    charts = [chart(index, curve, token_is_0, held[index]) for index, curve in enumerate(curves)]
    is_usd = (side is Side.BUY) == (mode is Mode.EXACT_IN)
    trade = Trade(side, mode, UsdgAmount(amount) if is_usd else TokenAmount(amount))
    every, some = fills_of(charts, trade), winning_fills(charts, trade)
    assert {fill.before.pool.address for fill in some} <= {fill.before.pool.address for fill in every}
    assert tied_best(trade, some) == tied_best(trade, every)
