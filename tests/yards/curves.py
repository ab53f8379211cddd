"""Pools as hypothesis draws them."""

from hypothesis.strategies import booleans, composite, integers, lists, sampled_from

from tickyard.chain.v3.math import PoolState
from tickyard.chain.v3.ticks import MAX_TICK, sqrt_ratio_at

SPACINGS = {100: 1, 500: 10, 3000: 60, 10_000: 200}
liquidities = integers(0, 127).flatmap(lambda bits: integers(1, 2 << bits))
amounts = integers(0, 254).flatmap(lambda bits: integers(1, (2 << bits) - 1))


@composite
def pools(draw):
    """Up to six overlapping positions around a price, gaps and all."""
    fee = draw(sampled_from(sorted(SPACINGS)))
    spacing = SPACINGS[fee]
    reach = draw(sampled_from([3, 40, 600, 5000]))
    centre = draw(integers(-4000, 4000))
    last = MAX_TICK // spacing
    places = integers(max(-last, centre - reach), min(last, centre + reach))
    net: dict[int, int] = {}
    for low, high in draw(lists(lists(places, min_size=2, max_size=2, unique=True).map(sorted), max_size=6)):
        size = draw(liquidities)
        net[low * spacing] = net.get(low * spacing, 0) + size
        net[high * spacing] = net.get(high * spacing, 0) - size
    ticks = tuple(sorted(net.items()))
    tick = min(draw(places) * spacing + draw(integers(0, spacing - 1)), MAX_TICK - 1)
    is_crossed = draw(booleans()) and tick % spacing == spacing - 1
    price = sqrt_ratio_at(tick + 1) if is_crossed else draw(integers(sqrt_ratio_at(tick), sqrt_ratio_at(tick + 1) - 1))
    liquidity = sum(n for t, n in ticks if t <= tick)
    return PoolState(price, tick, liquidity, fee, spacing, ticks)
