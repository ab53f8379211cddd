"""A pool in memory follows its own logs and no others. What a position costs is worked out here with fractions."""

from dataclasses import replace
from fractions import Fraction
from math import ceil, floor

import pytest
from hypothesis import assume, example, given
from hypothesis.strategies import booleans, integers, sampled_from

from tickyard.chain.v3.bitmap import TickLiquidity
from tickyard.chain.v3.events import Initialized, Resized, Swapped, TokensMoved
from tickyard.chain.v3.math import PoolState, swap
from tickyard.chain.v3.ticks import sqrt_ratio_at
from tickyard.kernel.ids import Address
from tickyard.kernel.units import TokenAmount, UsdgAmount
from tickyard.market.mirror.held import Held, Misfit
from tickyard.market.swaps.charts import Chart
from tickyard.market.swaps.pools import Pool, PoolSpot

POOL = Pool(Address("0x" + "aa" * 20), Address("0x" + "bb" * 20), 3000, token_is_0=True, spacing=60)
SIZE = 10**18
Q96 = 2**96
BLOCK = "0x" + "01" * 32


def held(tick=30, *, token_is_0=True, tokens=10**18, usdg=10**18):
    """One position from -600 to 600, and as many ticks known on both sides again."""
    price = sqrt_ratio_at(tick) + 12_345
    curve = PoolState(price, tick, SIZE, 3000, 60, ((-600, SIZE), (600, -SIZE)))
    ticks = {-600: TickLiquidity(SIZE, SIZE), 600: TickLiquidity(SIZE, -SIZE)}
    pool = replace(POOL, token_is_0=token_is_0)
    spot = PoolSpot(pool, price, SIZE, curve)
    return Held(Chart(spot, range(-1200, 1201), ticks, UsdgAmount(usdg), TokenAmount(tokens)), BLOCK)


def worth(pool, lower, upper, size):
    """What `size` between two ticks costs, rounded against whoever mints or burns."""
    price = Fraction(pool.chart.spot.curve.sqrt_price_x96, Q96)
    low, high = (Fraction(sqrt_ratio_at(tick), Q96) for tick in (lower, upper))
    inside = min(max(price, low), high)
    zero, one = size * (1 / inside - 1 / high), size * (inside - low)
    return (ceil(zero), ceil(one)) if size > 0 else (-floor(-zero), -floor(-one))


def resize(pool, lower, upper, size):
    return Resized(lower, upper, size, *worth(pool, lower, upper, size))


@example(tick=0, lower=-3, width=9, size=10**18 + 7)
@example(tick=0, lower=3, width=4, size=10**18 + 7)
@example(tick=0, lower=-9, width=4, size=10**18 + 7)
@given(
    tick=sampled_from([-599, -61, -60, 0, 59, 60, 599]),
    lower=integers(-19, 18),
    width=integers(1, 20),
    size=integers(1, 2**90),
)
def test_a_new_position_costs_what_it_should_and_stands_at_its_ticks(tick, lower, width, size):
    assume(lower + width <= 20)
    before = held(tick)
    low, high = lower * 60, (lower + width) * 60
    event = resize(before, low, high, size)
    after = before.after(event)
    assert after.balances == (10**18 + event.amount0, 10**18 + event.amount1)
    assert after.chart.spot.liquidity == SIZE + (size if low <= tick < high else 0)
    assert after.chart.spot.curve.liquidity == after.chart.spot.liquidity
    wanted = {-600: [SIZE, SIZE], 600: [SIZE, -SIZE]}
    for at, net in ((low, size), (high, -size)):
        old = wanted.setdefault(at, [0, 0])
        old[0] += size
        old[1] += net
    assert {at: [each.gross, each.net] for at, each in after.chart.ticks.items()} == wanted
    assert after.chart.spot.curve.ticks == tuple((at, wanted[at][1]) for at in sorted(wanted))
    assert after.gone == frozenset()
    # And back again: what is owed stays in the pool until it is collected.
    burnt = after.after(resize(after, low, high, -size))
    assert burnt.balances == after.balances
    assert burnt.chart.ticks == before.chart.ticks
    assert burnt.chart.spot.curve == before.chart.spot.curve
    assert burnt.gone == {low, high} - {-600, 600}


@pytest.mark.parametrize("tick", [-700, 30, 700])
@pytest.mark.parametrize("wrong", [(1, 0), (0, 1), (-1, 0), (0, -1)])
@pytest.mark.parametrize("size", [10**6, -(10**6)])
def test_a_position_that_costs_one_unit_more_or_less_does_not_fit(tick, wrong, size):
    # The price is below the position, inside, or above.
    before = held(min(max(tick, -600), 599))
    lower, upper = {-700: (0, 600), 30: (-600, 600), 700: (-600, 0)}[tick]
    if size < 0:
        before = before.after(resize(before, lower, upper, -size))
    event = resize(before, lower, upper, size)
    with pytest.raises(Misfit, match="cost"):
        before.after(event._replace(amount0=event.amount0 + wrong[0], amount1=event.amount1 + wrong[1]))


@pytest.mark.parametrize(
    ("lower", "upper"), [(60, 60), (120, 60), (-61, 60), (-60, 61), (-887_280, 60), (-60, 887_280)]
)
def test_no_position_lies_where_none_can(lower, upper):
    with pytest.raises(Misfit, match="where none can"):
        held().after(Resized(lower, upper, 1, 0, 0))


def test_nobody_takes_more_than_is_there():
    before = held()
    for lower, upper, size in (
        (-600, 600, SIZE + 1),
        (-600, 0, SIZE + 1),
        (-60, 60, 1),
        (600, 1260, 1),
        (-1260, -600, 1),
    ):
        with pytest.raises(Misfit, match="more liquidity"):
            before.after(resize(before, lower, upper, -size))
    assert before.after(resize(before, -600, 600, -SIZE)).chart.spot.liquidity == 0


def test_ticks_beyond_what_was_looked_at_are_not_held_but_their_liquidity_counts():
    before = held()
    after = before.after(resize(before, -1260, 1260, 7))
    assert (after.chart.ticks, after.chart.spot.liquidity) == (before.chart.ticks, SIZE + 7)
    for lower, upper, known in ((-1260, 60, 60), (-60, 1260, -60)):
        assert before.after(resize(before, lower, upper, 7)).chart.ticks.keys() == {-600, 600, known}
    assert before.after(resize(before, -1260, 1260, -SIZE)).chart.spot.liquidity == 0
    with pytest.raises(Misfit, match="more liquidity"):
        before.after(resize(before, -1260, 1260, -SIZE - 1))


@pytest.mark.parametrize(
    ("lower", "upper", "is_inside"), [(60, 120, True), (0, 60, False), (0, 120, True), (120, 180, False)]
)
def test_a_position_counts_from_its_lower_tick_on_and_up_to_its_upper_one(lower, upper, is_inside):
    before = held(60)
    assert before.after(resize(before, lower, upper, 7)).chart.spot.liquidity == SIZE + 7 * is_inside


def test_a_position_of_nothing_changes_nothing():
    before = held()
    after = before.after(Resized(-60, 60, 0, 0, 0))
    assert (after.chart, after.gone) == (before.chart, frozenset())


@given(down=booleans(), amount=integers(10**9, 10**16), is_exact_in=booleans(), token_is_0=booleans())
def test_a_swap_ends_where_the_same_swap_here_ends(down, amount, is_exact_in, token_is_0):
    before = held(token_is_0=token_is_0)
    curve = before.chart.spot.curve
    limit = sqrt_ratio_at(-1100) if down else sqrt_ratio_at(1100)
    made = swap(curve, zero_for_one=down, amount=amount if is_exact_in else -amount, sqrt_price_limit=limit)
    moved = (made.amount_in, -made.amount_out) if down else (-made.amount_out, made.amount_in)
    tick = next(at for at in range(-1200, 1200) if sqrt_ratio_at(at) <= made.sqrt_price_after < sqrt_ratio_at(at + 1))
    event = Swapped(*moved, made.sqrt_price_after, made.liquidity_after, tick)
    after = before.after(event)
    assert after.chart.spot.sqrt_price_x96 == made.sqrt_price_after
    assert (after.chart.spot.curve.tick, after.chart.spot.liquidity) == (tick, made.liquidity_after)
    in0, in1 = moved
    assert (after.balances[0] - before.balances[0], after.balances[1] - before.balances[1]) == (in0, in1)
    assert (after.chart.tokens, after.chart.usdg) == (after.balances if token_is_0 else after.balances[::-1])
    # One unit more may be another swap with the same end; a thousandth more is none.
    for name in ("sqrt_price_x96", "liquidity", "amount0", "amount1", "tick"):
        change = 1 if name in ("liquidity", "tick") else abs(getattr(event, name)) // 1000
        with pytest.raises(Misfit):
            before.after(event._replace(**{name: getattr(event, name) + change}))


def test_tokens_come_and_go_and_no_more_than_there_are():
    before = held()
    assert before.after(TokensMoved(5, -(10**18))).balances == (10**18 + 5, 0)
    for too_much in (TokensMoved(-(10**18) - 1, 0), TokensMoved(0, -(10**18) - 1)):
        with pytest.raises(Misfit, match="more than it had"):
            before.after(too_much)


def test_a_pool_that_gets_its_price_is_read_anew():
    with pytest.raises(Misfit, match="price"):
        held().after(Initialized(Q96, 0))
    bare = held()
    unpriced = replace(bare, chart=replace(bare.chart, spot=replace(bare.chart.spot, curve=None)))
    with pytest.raises(Misfit, match="price"):
        unpriced.after(TokensMoved(1, 0))


@pytest.mark.parametrize(
    ("tick", "reach", "covers"),
    [(0, 1200, True), (0, 1201, False), (100, 1100, True), (100, 1101, False), (-100, 1101, False)],
)
def test_what_is_known_reaches_so_far(tick, reach, covers):
    assert held(tick).covers(reach) is covers


def test_a_pool_without_a_price_is_known_as_far_as_anybody_asks_and_another_to_the_edge_of_its_ticks():
    pool = held(tick=0)
    unpriced = Held(replace(pool.chart, spot=replace(pool.chart.spot, curve=None)), BLOCK)
    assert unpriced.covers(10**6)
    assert [pool.covers(reach) for reach in (0, 1200, 1201)] == [True, True, False]
    assert [held(tick=-5).covers(reach) for reach in (1195, 1196)] == [True, False]
    assert [held(tick=5).covers(reach) for reach in (1195, 1196)] == [True, False]
