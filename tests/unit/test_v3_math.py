"""Known values of the v3 curve, and the corners of a swap that a pool treats in its own way."""

from itertools import pairwise

import pytest

from tickyard.chain.v3.math import HIGHEST_LIMIT, LOWEST_LIMIT, PoolState, swap
from tickyard.chain.v3.steps import (
    amount0_owed,
    amount0_paid,
    price_after_input,
    price_after_output,
    take_step,
)
from tickyard.chain.v3.ticks import (
    MAX_SQRT_RATIO,
    MAX_TICK,
    MIN_SQRT_RATIO,
    MIN_TICK,
    Q96,
    sqrt_ratio_at,
    tick_at,
)

ONE = 10**18
FULL_RANGE_60 = ((-887220, 2 * ONE), (887220, -2 * ONE))


def pool(*, tick=0, liquidity=2 * ONE, fee=3000, spacing=60, ticks=FULL_RANGE_60, price=None):
    return PoolState(sqrt_ratio_at(tick) if price is None else price, tick, liquidity, fee, spacing, ticks)


@pytest.mark.parametrize(
    ("tick", "ratio"),
    [
        (MIN_TICK, MIN_SQRT_RATIO),
        (MIN_TICK + 1, 4295343490),
        (-1, 79224201403219477170569942574),
        (0, Q96),
        (1, 79232123823359799118286999568),
        (50, 79426470787362580746886972461),
        (-50, 79030349367926598376800521322),
        (MAX_TICK - 1, 1461373636630004318706518188784493106690254656249),
        (MAX_TICK, MAX_SQRT_RATIO),
    ],
)
def test_a_tick_has_the_ratio_that_the_contracts_know(tick, ratio):
    assert sqrt_ratio_at(tick) == ratio


def test_a_ratio_finds_its_tick_and_one_less_finds_the_tick_below():
    for tick in range(MIN_TICK + 1, MAX_TICK, 1009):
        assert tick_at(sqrt_ratio_at(tick)) == tick
        assert tick_at(sqrt_ratio_at(tick) - 1) == tick - 1


def test_the_ends_of_all_prices_have_their_ticks():
    assert tick_at(MIN_SQRT_RATIO) == MIN_TICK
    assert tick_at(MAX_SQRT_RATIO - 1) == MAX_TICK - 1


@pytest.mark.parametrize("tick", [MIN_TICK - 1, MAX_TICK + 1])
def test_a_tick_beyond_the_ends_is_refused(tick):
    with pytest.raises(ValueError, match="out of range"):
        sqrt_ratio_at(tick)


@pytest.mark.parametrize("ratio", [0, MIN_SQRT_RATIO - 1, MAX_SQRT_RATIO])
def test_a_ratio_beyond_the_ends_is_refused(ratio):
    with pytest.raises(ValueError, match="out of range"):
        tick_at(ratio)


def test_token0_between_price_1_and_1_21_is_rounded_for_the_pool():
    up = 87150978765690771352898345369  # the square root of 1.21 in Q96
    assert amount0_owed(Q96, up, ONE) == 90909090909090910
    assert amount0_paid(Q96, up, ONE) == 90909090909090909


def test_a_tenth_of_token1_in_moves_price_1_up_to_1_21():
    assert price_after_input(Q96, ONE, ONE // 10, zero_for_one=False) == 87150978765690771352898345369


def test_a_tenth_of_token0_in_moves_price_1_down_by_the_exact_rule():
    assert price_after_input(Q96, ONE, ONE // 10, zero_for_one=True) == 72025602285694852357767227579


def test_an_input_that_overflows_256_bits_takes_the_coarse_formula():
    assert price_after_input(Q96, 1, 2**255, zero_for_one=True) == 1
    # Exact arithmetic would give another price here; the contract rounds the reserve down first.
    price, liquidity, amount = 2**159 + 12345, 2**100 + 1, 2**100
    reserve = liquidity << 96
    assert price_after_input(price, liquidity, amount, zero_for_one=True) == -(-reserve // (reserve // price + amount))


def test_a_sum_of_exactly_two_to_the_256_has_overflown():
    """The contract's sum wraps to zero there. The exact formula would give 3."""
    liquidity, price = 2**66, 3 * 2**94
    amount = (2**256 - (liquidity << 96)) // price
    assert (liquidity << 96) + amount * price == 2**256
    assert price_after_input(price, liquidity, amount, zero_for_one=True) == 4


@pytest.mark.parametrize("zero_for_one", [True, False])
def test_more_than_the_liquidity_holds_cannot_come_out(zero_for_one):
    with pytest.raises(ValueError, match="than this liquidity holds"):
        price_after_output(Q96, ONE, ONE, zero_for_one=zero_for_one)


def test_a_single_unit_in_is_all_fee():
    assert take_step(Q96, Q96 // 2, ONE, 1, 3000) == (Q96, 0, 0, 1)


def test_a_step_that_reaches_its_target_pays_the_fee_on_top():
    step = take_step(Q96, sqrt_ratio_at(60), 2 * ONE, ONE, 600)
    assert step.sqrt_price == sqrt_ratio_at(60)
    assert step.fee == -(-step.amount_in * 600 // 999_400)
    assert step.amount_in + step.fee < ONE


def test_an_exact_output_is_never_exceeded_by_rounding():
    step = take_step(
        417332158212080721273783715441582, 1452870262520218020823638996, 159344665391607089467575320103, -1, 1
    )
    assert step == (417332158212080721273783715441581, 1, 1, 1)


def test_a_swap_stops_at_the_edge_of_each_bitmap_word_and_rounds_there():
    start = pool(tick=30_000, liquidity=3, fee=10_000, ticks=())
    limit = sqrt_ratio_at(-1)
    walked = swap(start, zero_for_one=True, amount=10**30, sqrt_price_limit=limit)
    # Words of 256 x 60 ticks begin at 15360 and 0: three pieces, each rounded up by itself.
    edges = [start.sqrt_price_x96, sqrt_ratio_at(15_360), sqrt_ratio_at(0), limit]
    pieces = [take_step(a, b, 3, 10**30, 10_000) for a, b in pairwise(edges)]
    assert walked.amount_in == sum(piece.amount_in + piece.fee for piece in pieces)
    assert walked.amount_out == sum(piece.amount_out for piece in pieces)
    whole = take_step(start.sqrt_price_x96, limit, 3, 10**30, 10_000)
    assert walked.amount_in > whole.amount_in + whole.fee


def test_words_going_up_end_at_their_last_tick():
    start = pool(tick=0, liquidity=7, ticks=())
    limit = sqrt_ratio_at(255 * 60 + 1)
    edges = [start.sqrt_price_x96, sqrt_ratio_at(255 * 60), limit]
    pieces = [take_step(a, b, 7, 10**30, 3000) for a, b in pairwise(edges)]
    walked = swap(start, zero_for_one=False, amount=10**30, sqrt_price_limit=limit)
    assert walked.amount_in == sum(piece.amount_in + piece.fee for piece in pieces)
    assert walked.tick_after == 255 * 60 + 1


def test_a_swap_that_ends_exactly_on_a_crossed_tick_belongs_to_the_tick_below():
    start = pool(tick=10, ticks=((-60, 2 * ONE), (60, -2 * ONE)))
    down = swap(start, zero_for_one=True, amount=ONE, sqrt_price_limit=sqrt_ratio_at(-60))
    assert (down.sqrt_price_after, down.tick_after) == (sqrt_ratio_at(-60), -61)
    assert (down.liquidity_after, down.ticks_crossed, down.is_complete) == (0, 1, False)
    up = swap(start, zero_for_one=False, amount=ONE, sqrt_price_limit=sqrt_ratio_at(60))
    assert (up.tick_after, up.liquidity_after, up.ticks_crossed) == (60, 0, 1)


def test_a_limit_on_an_empty_word_edge_also_belongs_to_the_tick_below():
    for liquidity in (0, ONE):
        start = pool(tick=40_000, liquidity=liquidity, ticks=())
        assert swap(start, zero_for_one=True, amount=10**40, sqrt_price_limit=sqrt_ratio_at(0)).tick_after == -1
        assert swap(start, zero_for_one=True, amount=10**40, sqrt_price_limit=sqrt_ratio_at(60)).tick_after == 60


def test_a_price_on_a_crossed_tick_crosses_it_again_on_the_way_up():
    gone = PoolState(sqrt_ratio_at(-60), -61, 0, 3000, 60, ((-60, ONE), (60, -ONE)))
    back = swap(gone, zero_for_one=False, amount=1000)
    assert back.ticks_crossed == 1
    assert back.is_complete
    assert back.amount_out > 0


def test_a_gap_without_liquidity_is_crossed_for_nothing():
    two = ((-120_000, ONE), (-60_000, -ONE), (60_000, ONE), (120_000, -ONE))
    start = pool(tick=70_000, liquidity=ONE, ticks=two)
    rest = swap(start, zero_for_one=True, amount=10**17, sqrt_price_limit=sqrt_ratio_at(60_000))
    beyond = swap(start, zero_for_one=True, amount=10**17)
    assert not rest.is_complete
    assert beyond.is_complete
    assert beyond.ticks_crossed == 2
    assert beyond.tick_after < -60_000
    assert beyond.amount_in == 10**17


def test_more_than_all_liquidity_is_a_partial_fill_at_the_end_of_all_prices():
    start = pool(ticks=((-60, 2 * ONE), (60, -2 * ONE)))
    for direction, end in ((True, LOWEST_LIMIT), (False, HIGHEST_LIMIT)):
        drained = swap(start, zero_for_one=direction, amount=10**30)
        assert (drained.sqrt_price_after, drained.is_complete, drained.liquidity_after) == (end, False, 0)
        assert drained.amount_in < 10**17
        assert not swap(start, zero_for_one=direction, amount=-ONE).is_complete


def test_a_drained_pool_fills_nothing_and_is_no_mistake():
    empty = pool(price=LOWEST_LIMIT, tick=MIN_TICK, liquidity=0, ticks=())
    result = swap(empty, zero_for_one=True, amount=5)
    assert (result.amount_in, result.amount_out, result.is_complete) == (0, 0, False)


@pytest.mark.parametrize(
    ("zero_for_one", "limit"),
    [
        (True, Q96),
        (True, Q96 + 1),
        (True, MIN_SQRT_RATIO),
        (False, Q96),
        (False, Q96 - 1),
        (False, MAX_SQRT_RATIO),
    ],
)
def test_a_limit_that_is_not_ahead_of_the_price_is_refused(zero_for_one, limit):
    with pytest.raises(ValueError, match="not ahead"):
        swap(pool(), zero_for_one=zero_for_one, amount=1, sqrt_price_limit=limit)


def test_nothing_to_swap_and_no_price_are_refused():
    with pytest.raises(ValueError, match="zero"):
        swap(pool(), zero_for_one=True, amount=0)
    with pytest.raises(ValueError, match="no price"):
        swap(pool(price=0), zero_for_one=True, amount=1)


def test_a_tick_of_another_block_is_noticed():
    with pytest.raises(ValueError, match="one block"):
        swap(pool(tick=-2, price=Q96), zero_for_one=True, amount=ONE)


def test_net_liquidity_of_another_block_is_noticed():
    stale = pool(liquidity=1, ticks=((-60, ONE), (60, -ONE)))
    with pytest.raises(ValueError, match="one block"):
        swap(stale, zero_for_one=True, amount=ONE)


@pytest.mark.parametrize("zero_for_one", [True, False])
def test_a_swap_tells_in_how_many_steps_it_went_and_which_ticks_it_crossed(zero_for_one):
    """By them its gas is told."""
    ticks = ((660, ONE // 2), (960, ONE // 2), (1080, -ONE // 2), (1380, -ONE // 2))
    pool = PoolState(sqrt_ratio_at(1_000), 1_000, ONE, 3000, 60, ticks)
    within, across = (swap(pool, zero_for_one=zero_for_one, amount=amount) for amount in (ONE // 10_000, ONE // 200))
    assert (within.steps, within.ticks_crossed) == (1, 0)
    assert (across.steps, across.ticks_crossed) == (2, 1)
