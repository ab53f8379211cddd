"""The v3 curve against exact rationals, and the swap against a walk that takes no short cuts."""

from bisect import bisect_left
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate

from hypothesis import assume, given
from hypothesis.strategies import booleans, integers, one_of, sampled_from

from tickyard.chain.v3.math import HIGHEST_LIMIT, LOWEST_LIMIT, swap
from tickyard.chain.v3.steps import (
    amount0_owed,
    amount0_paid,
    amount1_owed,
    amount1_paid,
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
from yards.curves import SPACINGS, amounts, liquidities, pools

all_ticks = integers(MIN_TICK, MAX_TICK)
prices = one_of(
    integers(MIN_SQRT_RATIO, MAX_SQRT_RATIO - 1),
    integers(MIN_TICK, MAX_TICK - 1).map(sqrt_ratio_at),
    integers(-300_000, 300_000).flatmap(lambda t: integers(sqrt_ratio_at(t), sqrt_ratio_at(t + 1))),
)
fees = one_of(sampled_from(sorted(SPACINGS)), integers(0, 999_999))


def patient_swap(pool, zero_for_one, amount, limit):
    """Read a real bitmap, word after word, with no thought for speed."""
    words: dict[int, int] = {}
    for tick, _ in pool.ticks:
        place = tick // pool.tick_spacing
        words[place >> 8] = words.get(place >> 8, 0) | 1 << (place & 255)
    net = dict(pool.ticks)
    price, tick, liquidity, left, paid, got, crossed = (
        pool.sqrt_price_x96,
        pool.tick,
        pool.liquidity,
        amount,
        0,
        0,
        0,
    )
    while left != 0 and price != limit:
        place = tick // pool.tick_spacing + (0 if zero_for_one else 1)
        bit, word = place & 255, words.get(place >> 8, 0)
        if zero_for_one:
            seen = word & ((2 << bit) - 1)
            stop = place - bit + max(seen.bit_length() - 1, 0)
        else:
            seen = word >> bit
            stop = place + ((seen & -seen).bit_length() - 1 if seen else 255 - bit)
        stop = min(max(stop * pool.tick_spacing, MIN_TICK), MAX_TICK)
        goal = sqrt_ratio_at(stop)
        step = take_step(price, max(goal, limit) if zero_for_one else min(goal, limit), liquidity, left, pool.fee)
        paid, got = paid + step.amount_in + step.fee, got + step.amount_out
        left = left - step.amount_in - step.fee if amount > 0 else left + step.amount_out
        if step.sqrt_price == goal:
            if seen:
                liquidity, crossed = liquidity + (-net[stop] if zero_for_one else net[stop]), crossed + 1
            tick = stop - 1 if zero_for_one else stop
        elif step.sqrt_price != price:
            tick = tick_at(step.sqrt_price)
        price = step.sqrt_price
    return paid, got, price, tick, liquidity, crossed, left == 0


@given(all_ticks)
def test_a_ratio_errs_by_a_few_truncations_and_one_unit_at_most(tick):
    # Compared by squares, 1.0001^t, so that everything stays rational.
    power = _wide_power(abs(tick))
    exact = Fraction(power, 1 << 400) if tick >= 0 else Fraction(1 << 400, power)
    square = Fraction(sqrt_ratio_at(tick), Q96) ** 2
    # The chain multiplies downwards in Q128, at most 20 times, before it inverts for ticks above zero.
    smallest = sqrt_ratio_at(-abs(tick)) << 32
    error = Fraction(24, smallest) + Fraction(1, sqrt_ratio_at(tick))
    assert exact * (1 - 3 * error) < square < exact * (1 + 3 * error)


def _wide_power(exponent: int) -> int:
    """1.0001^exponent in Q400, good to more than 350 places."""
    result, square = 1 << 400, (10_001 << 400) // 10_000
    while exponent:
        if exponent & 1:
            result = result * square >> 400
        square = square * square >> 400
        exponent >>= 1
    return result


@given(integers(MIN_TICK, MAX_TICK - 1))
def test_ratios_rise_with_ticks(tick):
    assert sqrt_ratio_at(tick) < sqrt_ratio_at(tick + 1)


@given(prices)
def test_a_price_lies_between_its_tick_and_the_next(price):
    tick = tick_at(price)
    assert sqrt_ratio_at(tick) <= price < sqrt_ratio_at(tick + 1)


@given(prices, prices, liquidities)
def test_amounts_are_the_exact_ones_rounded_for_the_pool(a, b, liquidity):
    low, high = sorted((a, b))
    exact0 = Fraction(liquidity * Q96 * (high - low), low * high)
    exact1 = Fraction(liquidity * (high - low), Q96)
    for exact, owed, paid in ((exact0, amount0_owed, amount0_paid), (exact1, amount1_owed, amount1_paid)):
        assert paid(a, b, liquidity) == paid(b, a, liquidity) == exact.__floor__()
        assert owed(a, b, liquidity) == owed(b, a, liquidity) == exact.__ceil__()


@given(prices, liquidities, amounts, booleans())
def test_an_input_never_moves_the_price_further_than_it_pays_for(price, liquidity, amount, zero_for_one):
    after = price_after_input(price, liquidity, amount, zero_for_one=zero_for_one)
    if zero_for_one:
        assert 0 < after <= price
        exact = Fraction(liquidity * Q96 * price, liquidity * Q96 + amount * price)
        assert after >= exact
        if amount * price + liquidity * Q96 < 2**256:
            assert after < exact + 1
        assert amount0_owed(price, after, liquidity) <= amount
    else:
        exact = price + Fraction(amount * Q96, liquidity)
        assert exact - 1 < after <= exact
        assert amount1_owed(price, after, liquidity) <= amount


@given(prices, liquidities, amounts, booleans())
def test_an_output_always_moves_the_price_far_enough(price, liquidity, amount, zero_for_one):
    held = amount1_paid(0, price, liquidity) if zero_for_one else (liquidity << 96) // price
    assume(amount < held)
    after = price_after_output(price, liquidity, amount, zero_for_one=zero_for_one)
    if zero_for_one:
        assert 0 < after <= price
        assert amount1_paid(price, after, liquidity) >= amount
        assert amount1_paid(price, after + 1, liquidity) < amount or after == price
    else:
        assert after >= price
        assert amount0_paid(price, after, liquidity) >= amount


@given(prices, prices, liquidities, amounts, fees, booleans())
def test_a_step_keeps_what_it_promises(price, target, liquidity, amount, fee, is_input):
    remaining = amount if is_input else -amount
    step = take_step(price, target, liquidity, remaining, fee)
    low, high = sorted((price, step.sqrt_price))
    exact0, exact1 = (
        Fraction(liquidity * Q96 * (high - low), low * high),
        Fraction(liquidity * (high - low), Q96),
    )
    exact_in, exact_out = (exact0, exact1) if price >= target else (exact1, exact0)
    assert min(price, target) <= step.sqrt_price <= max(price, target)
    assert exact_in <= step.amount_in < exact_in + 1
    assert step.amount_out <= exact_out
    assert step.fee * (1_000_000 - fee) >= step.amount_in * fee
    if is_input:
        assert step.amount_in + step.fee <= amount
        assert step.sqrt_price == target or step.amount_in + step.fee == amount
    else:
        assert step.amount_out <= amount
        assert step.sqrt_price == target or step.amount_out == amount


@given(prices, prices, prices, liquidities, fees)
def test_two_steps_cost_what_one_costs_or_a_few_units_more(a, b, c, liquidity, fee):
    start, middle, end = sorted((a, b, c))
    plenty = 2**255 - 1
    one = take_step(start, end, liquidity, plenty, fee)
    two = [take_step(start, middle, liquidity, plenty, fee), take_step(middle, end, liquidity, plenty, fee)]
    assert 0 <= sum(step.amount_in for step in two) - one.amount_in <= 1
    assert 0 <= one.amount_out - sum(step.amount_out for step in two) <= 1
    assert sum(step.fee for step in two) >= one.fee


@given(pools(), booleans(), booleans(), amounts, prices)
def test_a_swap_equals_the_patient_walk(pool, zero_for_one, is_input, amount, somewhere):
    limit = LOWEST_LIMIT if zero_for_one else HIGHEST_LIMIT
    if (LOWEST_LIMIT < somewhere < pool.sqrt_price_x96) is zero_for_one and somewhere % 2:
        limit = somewhere
    assume(limit < pool.sqrt_price_x96 if zero_for_one else pool.sqrt_price_x96 < limit <= HIGHEST_LIMIT)
    signed = amount if is_input else -amount
    result = swap(pool, zero_for_one=zero_for_one, amount=signed, sqrt_price_limit=limit)
    assert patient_swap(pool, zero_for_one, signed, limit) == (
        result.amount_in,
        result.amount_out,
        result.sqrt_price_after,
        result.tick_after,
        result.liquidity_after,
        result.ticks_crossed,
        result.is_complete,
    )


@given(pools(), booleans(), booleans(), amounts, integers(-9000, 9000))
def test_a_limit_on_any_tick_of_the_grid_equals_the_patient_walk(pool, zero_for_one, is_input, amount, place):
    tick = place * pool.tick_spacing
    assume(MIN_TICK < tick < MAX_TICK)
    limit = sqrt_ratio_at(tick)
    assume(limit < pool.sqrt_price_x96 if zero_for_one else limit > pool.sqrt_price_x96)
    signed = amount if is_input else -amount
    result = swap(pool, zero_for_one=zero_for_one, amount=signed, sqrt_price_limit=limit)
    assert patient_swap(pool, zero_for_one, signed, limit)[:6] == (
        result.amount_in,
        result.amount_out,
        result.sqrt_price_after,
        result.tick_after,
        result.liquidity_after,
        result.ticks_crossed,
    )


@given(pools(), booleans(), amounts)
def test_a_swap_takes_no_more_than_it_was_given_and_leaves_a_state_that_fits(pool, zero_for_one, amount):
    result = swap(pool, zero_for_one=zero_for_one, amount=amount)
    assert result.amount_in <= amount
    assert result.is_complete is (result.amount_in == amount)
    assert result.liquidity_after == liquidity_at(pool, result.tick_after)
    tick, price = result.tick_after, result.sqrt_price_after
    assert tick == tick_at(price) or (tick + 1 == tick_at(price) and price == sqrt_ratio_at(tick + 1))


@given(pools(), booleans(), amounts)
def test_asking_for_what_a_sale_gave_costs_what_was_sold_but_for_rounding(pool, zero_for_one, amount):
    sold = swap(pool, zero_for_one=zero_for_one, amount=amount)
    # Every range that is walked rounds against the trader, in units of what goes in and of what comes out.
    ranges = sold.ticks_crossed + 1
    assume(sold.amount_out > ranges)
    bought = swap(pool, zero_for_one=zero_for_one, amount=ranges - sold.amount_out)
    assert bought.is_complete
    assert bought.amount_out == sold.amount_out - ranges
    assert bought.amount_in <= sold.amount_in + 2 * ranges


@given(pools(), booleans(), amounts)
def test_there_and_back_never_makes_money(pool, zero_for_one, amount):
    there = swap(pool, zero_for_one=zero_for_one, amount=amount)
    assume(there.amount_out)
    moved = replace(pool, sqrt_price_x96=there.sqrt_price_after, tick=there.tick_after, liquidity=there.liquidity_after)
    assert swap(moved, zero_for_one=not zero_for_one, amount=there.amount_out).amount_out <= there.amount_in


@given(pools(), prices)
def test_the_input_to_reach_a_price_reaches_it(pool, target):
    assume(LOWEST_LIMIT <= target <= HIGHEST_LIMIT)
    assume(target != pool.sqrt_price_x96 and pool.liquidity)
    active = replace(pool, ticks=())
    down = target < pool.sqrt_price_x96
    needed = swap(active, zero_for_one=down, amount=2**255 - 1, sqrt_price_limit=target).amount_in
    assert needed > 0
    result = swap(active, zero_for_one=down, amount=needed, sqrt_price_limit=target)
    assert (result.sqrt_price_after, result.is_complete) == (target, True)
    # Without the limit, what was rounded up may carry it a little past.
    free = swap(active, zero_for_one=down, amount=needed).sqrt_price_after
    assert free <= target if down else free >= target


def liquidity_at(pool, tick):
    sums = [0, *accumulate(net for _, net in pool.ticks)]
    return sums[bisect_left(pool.ticks, (tick + 1,))]
