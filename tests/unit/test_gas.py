"""The gas of a swap, from how it goes through the pool."""

from types import SimpleNamespace

import pytest

from tickyard.chain.v3.math import PoolState
from tickyard.chain.v3.wear import Wear, read_wear
from tickyard.kernel.ids import Address
from tickyard.kernel.units import TokenAmount, UsdgAmount
from tickyard.market.mirror.offers import fills_of
from tickyard.market.swaps.charts import Chart
from tickyard.market.swaps.fills import Mode, Side, Trade
from tickyard.market.swaps.gas import pool_gas, swap_gas
from tickyard.market.swaps.pools import Pool, PoolSpot


def went(ticks_crossed, steps):
    return SimpleNamespace(ticks_crossed=ticks_crossed, steps=steps)


@pytest.mark.parametrize(("side", "least"), [(Side.BUY, 93_000), (Side.SELL, 87_300)])
def test_every_tick_and_every_further_word_of_the_bitmap_costs_its_own(side, least):
    assert pool_gas(side, went(0, 1), 0) == least
    assert pool_gas(side, went(0, 0), 7) == least + 7
    assert pool_gas(side, went(2, 3), 0) == least + 8_000 + 2 * 18_300
    assert pool_gas(side, went(2, 6), 7) == least + 8_000 + 2 * 18_300 + 3 * 7_400 + 7


def told(own0, own1):
    return b"".join(value.to_bytes(32, "big") for value in (1, 1, own0, own1, 0, 0, 0, 1))


@pytest.mark.parametrize(
    ("all0", "all1", "own0", "own1", "expected"),
    [
        (0, 0, 0, 0, (19_900, 19_900)),
        (9, 0, 0, 0, (19_900, 39_800)),
        (9, 9, 0, 0, (39_800, 39_800)),
        (9, 9, 5, 0, (22_700, 22_700)),
        (9, 9, 5, 5, (5_600, 5_600)),
        # What was earned until now, and nothing since: crossing makes it zero, and that is refunded.
        (9, 9, 9, 9, (800, 800)),
        (9, 9, 5, 9, (800, 5_600)),
    ],
)
def test_a_word_costs_most_when_it_is_written_first_and_least_when_it_stays(all0, all1, own0, own1, expected):
    wear = read_wear((all0.to_bytes(32, "big"), all1.to_bytes(32, "big")), {60: told(own0, own1)})
    assert wear.ticks == {60: expected}
    assert wear.swap == (0 if all0 else 17_100, 0 if all1 else 17_100)


@pytest.mark.parametrize(
    ("side", "dollars", "ticks"), [(Side.SELL, 1, ()), (Side.SELL, 120_000, (-60,)), (Side.BUY, 180_000, (60, 120))]
)
def test_a_swap_pays_for_the_ticks_it_crosses_and_for_no_other(side, dollars, ticks):
    """A token that is token0: selling goes down."""
    pool = Pool(Address("0x" + "aa" * 20), Address("0x" + "bb" * 20), 3000, token_is_0=True, spacing=60)
    size = 10**13
    nets = ((-240, size), (-120, size), (-60, size), (60, -size), (120, -size), (240, -size))
    spot = PoolSpot(pool, 2**96, 3 * size, PoolState(2**96, 0, 3 * size, 3000, 60, nets))
    wear = Wear((1, 2), {tick: (10 * abs(tick), 1000 * abs(tick)) for tick, _ in nets})
    chart = Chart(spot, range(-300, 301), {}, UsdgAmount(2**200), TokenAmount(2**200), wear)
    bare = Chart(
        spot,
        range(-300, 301),
        {},
        UsdgAmount(2**200),
        TokenAmount(2**200),
        Wear((0, 0), dict.fromkeys(wear.ticks, (0, 0))),
    )
    trade = Trade(side, Mode.EXACT_IN, (UsdgAmount if side is Side.BUY else TokenAmount)(dollars * 10**6))
    [worn], [new] = fills_of([chart], trade), fills_of([bare], trade)
    way = side is Side.BUY
    assert worn.pool_gas - new.pool_gas == wear.swap[way] + sum(wear.ticks[tick][way] for tick in ticks)


@pytest.mark.parametrize(
    ("side", "mode", "around"),
    [
        (Side.BUY, Mode.EXACT_IN, 33_600),
        (Side.BUY, Mode.EXACT_OUT, 38_700),
        (Side.SELL, Mode.EXACT_IN, 40_400),
        (Side.SELL, Mode.EXACT_OUT, 45_600),
    ],
)
def test_the_transaction_adds_what_is_around_the_pool(side, mode, around):
    assert swap_gas(SimpleNamespace(side=side, mode=mode), SimpleNamespace(pool_gas=7)) == 7 + around
