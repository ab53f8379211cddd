"""The pools that are passed over could not have won: every fill worked out, against those that are."""

from fractions import Fraction
from random import Random

import pytest

from proof import SEED
from tickyard.chain.v3.math import PoolState
from tickyard.chain.v3.ticks import tick_at
from tickyard.kernel.ids import Address
from tickyard.kernel.units import TokenAmount, UsdgAmount
from tickyard.market.mirror.offers import _hope, fills_of, winning_fills
from tickyard.market.swaps.charts import Chart
from tickyard.market.swaps.fills import Mode, Side, Trade, tied_best
from tickyard.market.swaps.pools import Pool, PoolSpot

TOKEN = Address("0x" + "1" * 40)
CASES = [(side, mode, is_0) for side in Side for mode in Mode for is_0 in (True, False)]


def chart(number, root, liquidity, fee, *, token_is_0):
    pool = Pool(Address(f"0x{number:040x}"), TOKEN, fee, token_is_0, 10)
    spot = PoolSpot(pool, root, liquidity, PoolState(root, tick_at(root), liquidity, fee, 10, ()))
    return Chart(spot, range(0), {}, UsdgAmount(2**200), TokenAmount(2**200))


def trade(side, mode, amount):
    is_usd = (side is Side.BUY) == (mode is Mode.EXACT_IN)
    return Trade(side, mode, UsdgAmount(amount) if is_usd else TokenAmount(amount))


@pytest.mark.parametrize(("side", "mode", "token_is_0"), CASES)
def test_a_hope_is_the_open_leg_at_a_price_that_does_not_move(side, mode, token_is_0):
    """Exactly, but for one rounding down: no fill can be better."""
    root, fee, amount = 3 * 2**95 + 12_345, 3000, 10**15 + 7
    one = chart(1, root, 10**30, fee, token_is_0=token_is_0)
    hope = _hope(one, one.spot.curve, trade(side, mode, amount))
    price = Fraction(root, 2**96) ** 2  # of token0 in token1
    if token_is_0 != (side is Side.SELL):
        price = 1 / price
    keeps = Fraction(10**6 - fee, 10**6)
    exact = amount * keeps * price if mode is Mode.EXACT_IN else amount / keeps / price
    assert hope == exact.__floor__()


@pytest.mark.parametrize(("side", "mode", "token_is_0"), CASES)
def test_the_best_fills_are_among_those_that_are_worked_out(side, mode, token_is_0):
    rng = Random(SEED)
    fewer = 0
    for _ in range(40):
        charts = [
            chart(
                number + 1,
                2**96 + rng.choice([0, 0, rng.randint(-(2**90), 2**90)]),
                10 ** rng.randint(15, 24),
                rng.choice([100, 500, 3000, 10_000]),
                token_is_0=token_is_0,
            )
            for number in range(rng.randint(2, 4))
        ]
        wants = trade(side, mode, rng.randint(1, 10 ** rng.randint(1, 20)))
        every, some = fills_of(charts, wants), winning_fills(charts, wants)
        assert tied_best(wants, some) == tied_best(wants, every)
        assert [fill for fill in every if fill in some] == some, "in the order of the pools"
        fewer += len(some) < len(every)
    assert fewer, "and they are not all of them"
