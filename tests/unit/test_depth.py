"""How deep a pool is: over the ticks that are there, the smaller of both directions, and what an impact allows."""

import itertools
import time
from dataclasses import replace
from fractions import Fraction
from math import floor, isqrt
from random import Random

import pytest

from proof import SEED
from tickyard.chain.v3.depth import _Bound, _steps_ahead, largest_trade, to_move, usdg_depth
from tickyard.chain.v3.math import PoolState, swap, word_edge
from tickyard.chain.v3.quoter import price_limit
from tickyard.chain.v3.ticks import sqrt_ratio_at, tick_at
from tickyard.kernel.ids import Address
from tickyard.market.swaps.pools import Pool, PoolSpot, deepest

Q96 = 2**96
DOLLAR = 10**6
# A stock of 200 dollars, as token0 and as token1.
ROOTS = {True: isqrt(200 * 2**192 // 10**12), False: isqrt(10**12 * 2**192 // 200)}


def flat(depth_usd, *, token_is_0, reach=20_000, spacing=10, fee=500):
    """A pool whose liquidity reaches far, and takes so many dollars to move by 1 %."""
    root = ROOTS[token_is_0]
    tick = tick_at(root)
    share = Fraction(isqrt(101 * 10**60), 10**31) - 1
    unit = share * (Fraction(root, Q96) if token_is_0 else Fraction(Q96, root))
    liquidity = int(depth_usd * DOLLAR / unit)
    low, high = ((tick + side * reach) // spacing * spacing for side in (-1, 1))
    return PoolState(root, tick, liquidity, fee, spacing, ((low, liquidity), (high, -liquidity)))


def one_tick(usd, *, token_is_0, spacing=1, fee=100):
    """So many dollars, all of it in the one interval that holds the price: half in USDG, half in the stock."""
    root = ROOTS[token_is_0]
    tick = tick_at(root)
    low = tick // spacing * spacing
    a, b, s = (Fraction(each, Q96) for each in (sqrt_ratio_at(low), sqrt_ratio_at(low + spacing), root))
    # Dollars per unit of liquidity: what lies below the price and what lies above it, at the price.
    worth = (s - a) + s * s * (1 / s - 1 / b) if token_is_0 else (1 / s - 1 / b) + (s - a) / (s * s)
    liquidity = int(usd * DOLLAR / worth)
    return PoolState(root, tick, liquidity, fee, spacing, ((low, liquidity), (low + spacing, -liquidity)))


@pytest.mark.parametrize("token_is_0", [True, False])
def test_a_thousand_dollars_in_one_tick_are_no_hundred_thousand(token_is_0):
    narrow = one_tick(1_000, token_is_0=token_is_0)
    endless = replace(narrow, ticks=())
    assert usdg_depth(endless, token_is_0=token_is_0) > 50_000 * DOLLAR, "what it used to be taken for"
    assert usdg_depth(narrow, token_is_0=token_is_0) < 1_000 * DOLLAR
    honest = flat(5_000, token_is_0=token_is_0)
    assert usdg_depth(honest, token_is_0=token_is_0) > 4_900 * DOLLAR


@pytest.mark.parametrize("token_is_0", [True, False])
def test_a_price_at_the_end_of_all_prices_moves_no_further(token_is_0):
    highest, lowest = 1461446703485210103287273052203988822378723970342 - 1, 4295128739 + 1
    for root, up in ((highest, token_is_0), (lowest, not token_is_0)):
        pool = PoolState(root, tick_at(root), 10**18, 500, 10, ((-887_270, 10**18), (887_270, -(10**18))))
        further, back = (to_move(pool, bps, token_is_0=token_is_0) for bps in ((100, -100) if up else (-100, 100)))
        assert further == (0, 0)
        assert usdg_depth(pool, token_is_0=token_is_0) == 0
        assert back != (0, 0)


@pytest.mark.parametrize("token_is_0", [True, False])
def test_a_wall_on_one_side_does_not_make_a_pool_deep(token_is_0):
    """Cheap to push the other way: the smaller of both directions counts."""
    walled = one_tick(1_000_000, token_is_0=token_is_0)
    tick = walled.tick
    above = replace(walled, liquidity=0, ticks=((tick + 20, 10**20), (tick + 60, -(10**20))))
    assert max(to_move(above, bps, token_is_0=token_is_0).usdg for bps in (100, -100)) > 0
    assert usdg_depth(above, token_is_0=token_is_0) == 0


def test_the_sample_is_taken_where_it_is_dear_to_move():
    pools = [Pool(Address(f"0x{n:040x}"), Address("0x" + "1" * 40), 500, True, 10) for n in (1, 2)]
    narrow, honest = one_tick(1_000, token_is_0=True), flat(5_000, token_is_0=True)
    spots = [
        PoolSpot(pool, curve.sqrt_price_x96, curve.liquidity, curve)
        for pool, curve in zip(pools, (narrow, honest), strict=True)
    ]
    assert deepest(spots).pool == pools[1]
    assert deepest(spots[:1]).pool == pools[0], "shallow, and there is no other"
    assert deepest([]) is None


def random_pool(rng):
    token_is_0 = rng.random() < 0.5
    spacing = rng.choice([1, 10, 60, 200])
    root = int(ROOTS[token_is_0] * rng.uniform(0.2, 5))
    tick = tick_at(root)
    nets = {}
    for _ in range(rng.randint(1, 6)):
        low, high = sorted(rng.sample(range(-40, 41), 2))
        middle = tick // spacing
        size = rng.randint(1, 10 ** rng.choice([12, 16, 20]))
        nets[(middle + low) * spacing] = nets.get((middle + low) * spacing, 0) + size
        nets[(middle + high) * spacing] = nets.get((middle + high) * spacing, 0) - size
    liquidity = sum(net for at, net in nets.items() if at <= tick)
    return PoolState(root, tick, liquidity, 500, spacing, tuple(sorted(nets.items()))), token_is_0


def by_area(pool, target):
    """(token0, token1) between two prices, summed over the stretches between ticks, without fee and rounding."""
    low, high = sorted((pool.sqrt_price_x96, target))
    edges = sorted({low, high, *(sqrt_ratio_at(t) for t, _ in pool.ticks if low < sqrt_ratio_at(t) < high)})
    zero = one = Fraction(0)
    for a, b in itertools.pairwise(edges):
        liquidity = sum(net for t, net in pool.ticks if sqrt_ratio_at(t) <= a)
        zero += liquidity * (Fraction(Q96, a) - Fraction(Q96, b))
        one += liquidity * Fraction(b - a, Q96)
    return zero, one


@pytest.mark.parametrize("case", range(60))
def test_what_moves_the_price_is_the_area_between_the_prices(case):
    pool, token_is_0 = random_pool(Random(f"{SEED}/area/{case}"))
    for bps in (10, 100, 1000, -10, -100, -1000):
        num, den = (10_000 + bps, 10_000) if token_is_0 else (10_000, 10_000 + bps)
        target = isqrt(pool.sqrt_price_x96**2 * num // den)
        zero, one = by_area(pool, target)
        usdg, tokens = (one, zero) if token_is_0 else (zero, one)
        move = to_move(pool, bps, token_is_0=token_is_0)
        # Each step rounds by a unit, and what goes in pays the fee of 0.05 %.
        steps = 3 * (len(pool.ticks) + 2 + 1_100 // (256 * pool.tick_spacing) * 2) + 9
        fee = Fraction(10_000, 9_995)
        given, got = (usdg, tokens) if bps > 0 else (tokens, usdg)
        paid, out = (move.usdg, move.tokens) if bps > 0 else (move.tokens, move.usdg)
        assert given * fee <= paid <= given * fee + steps
        assert got - steps <= out <= got


@pytest.mark.parametrize("case", range(30))
def test_the_largest_trade_is_within_the_impact_and_one_unit_more_is_not(case):
    rng = Random(f"{SEED}/largest/{case}")
    pool, token_is_0 = random_pool(rng)
    bps = rng.choice([1, 10, 50, 100, 500, 2_000])
    for is_buy in (True, False):
        zero_for_one = token_is_0 != is_buy
        limit = price_limit(pool.sqrt_price_x96, zero_for_one)
        most = largest_trade(pool, bps, limit, token_is_0=token_is_0, is_buy=is_buy)
        assert not most or impact(pool, most, limit, zero_for_one, is_buy) <= Fraction(bps, 10_000)
        if pool.liquidity > 10**10:
            after = swap(pool, zero_for_one=zero_for_one, amount=most + 1, sqrt_price_limit=limit)
            is_dry = after.sqrt_price_after == limit
            assert is_dry or impact(pool, most + 1, limit, zero_for_one, is_buy) > Fraction(bps, 10_000)


@pytest.mark.slow
@pytest.mark.parametrize("case", range(30))
def test_the_largest_trade_takes_no_more_than_the_pool_can_pay(case):
    rng = Random(f"{SEED}/payable/{case}")
    pool, token_is_0 = random_pool(rng)
    for is_buy in (True, False):
        zero_for_one = token_is_0 != is_buy
        limit = price_limit(pool.sqrt_price_x96, zero_for_one)

        def got(amount, zero_for_one=zero_for_one, limit=limit):
            return swap(pool, zero_for_one=zero_for_one, amount=amount, sqrt_price_limit=limit).amount_out

        most = largest_trade(pool, 2_000, limit, token_is_0=token_is_0, is_buy=is_buy)
        for payable in (0, 1, got(most) // 2, got(most) - 1, got(most)) if most else ():
            less = largest_trade(pool, 2_000, limit, token_is_0=token_is_0, is_buy=is_buy, payable=payable)
            assert not less or got(less) <= payable
            assert less == most if payable == got(most) else less < most
            if payable > 10**6:
                # One more is too much: for the pool, or for the impact where rounding costs most.
                assert got(less + 1) > payable or not fits(pool, less + 1, 2_000, limit, zero_for_one, is_buy)


def fits(pool, amount, bps, limit, zero_for_one, is_buy):
    after = swap(pool, zero_for_one=zero_for_one, amount=amount, sqrt_price_limit=limit).sqrt_price_after
    return after != limit and impact(pool, amount, limit, zero_for_one, is_buy) <= Fraction(bps, 10_000)


@pytest.mark.slow
@pytest.mark.parametrize("fee", [100, 500, 3_000, 10_000])
@pytest.mark.parametrize("token_is_0", [True, False])
def test_no_larger_trade_fits_just_because_its_fee_is_a_whole_one(fee, token_is_0):
    """Where little is allowed beyond the fee, the rounding of the fee is worth thousands of amounts."""
    rng = Random(f"{SEED}/fee/{fee}/{token_is_0}")
    for over in (1, 3, 20):
        spacing = {100: 1, 500: 10, 3_000: 60, 10_000: 200}[fee]
        depth_usd = 10 ** rng.uniform(0, 6)
        pool = flat(depth_usd, token_is_0=token_is_0, fee=fee, spacing=spacing, reach=rng.choice([700, 20_000]))
        bps, limit = fee // 100 + over, price_limit(pool.sqrt_price_x96, not token_is_0)
        most = largest_trade(pool, bps, limit, token_is_0=token_is_0, is_buy=True)
        assert not most or fits(pool, most, bps, limit, not token_is_0, True)
        further = range(most + 1, most + 10**6 // fee + 2)
        larger = [amount for amount in further if fits(pool, amount, bps, limit, not token_is_0, True)]
        assert larger == [], f"{over} over the fee, {depth_usd} deep"


@pytest.mark.slow
@pytest.mark.parametrize("short_by", range(10_000, 50_000, 7_919))
def test_the_fee_is_whole_from_the_edge_of_a_word_on(short_by):
    """There is no tick, and the pool rounds there all the same."""
    base = flat(3_000, token_is_0=True, fee=500, spacing=10)
    edge = word_edge(base.tick, 10, zero_for_one=False)
    root = sqrt_ratio_at(edge) - sqrt_ratio_at(edge) // 10**9 * short_by // 10
    pool = replace(base, sqrt_price_x96=root, tick=edge - 1)
    limit = price_limit(root, False)
    to_edge = swap(pool, zero_for_one=False, amount=2**255 - 1, sqrt_price_limit=sqrt_ratio_at(edge)).amount_in
    most = largest_trade(pool, 6, limit, token_is_0=True, is_buy=True)
    assert most > to_edge
    assert (most - to_edge) % 2_000 == 0
    assert not any(fits(pool, amount, 6, limit, False, True) for amount in range(most + 1, most + 2_001))


def by_whole_swaps(pool, bps, limit, zero_for_one, is_buy):
    """One that fits by asking for every amount from the start; a larger one may fit again where outputs are rounded."""
    good, bad = 0, swap(pool, zero_for_one=zero_for_one, amount=2**255 - 1, sqrt_price_limit=limit).amount_in + 1
    while bad - good > 1:
        amount = (good + bad) // 2
        good, bad = (amount, bad) if fits(pool, amount, bps, limit, zero_for_one, is_buy) else (good, amount)
    return good


@pytest.mark.slow
@pytest.mark.parametrize("case", range(60))
def test_no_larger_trade_fits_than_the_one_found_by_walking_once(case):
    rng = Random(f"{SEED}/walk/{case}")
    pool, token_is_0 = random_pool(rng)
    if rng.random() < 0.5 and any(at <= pool.tick for at, _ in pool.ticks):
        # Just on a tick: below it, or on it and not yet across.
        at = rng.choice([tick for tick, _ in pool.ticks])
        below = rng.randint(0, 1)
        liquidity = sum(net for tick, net in pool.ticks if tick <= at - below)
        pool = replace(pool, sqrt_price_x96=sqrt_ratio_at(at), tick=at - below, liquidity=liquidity)
    for is_buy in (True, False):
        bps, zero_for_one = rng.choice([1, 10, 100, 1_000, 5_000]), token_is_0 != is_buy
        limit = price_limit(pool.sqrt_price_x96, zero_for_one)
        most = largest_trade(pool, bps, limit, token_is_0=token_is_0, is_buy=is_buy)
        if not pool.liquidity:
            assert most == 0
            continue
        assert most >= by_whole_swaps(pool, bps, limit, zero_for_one, is_buy)
        assert not most or fits(pool, most, bps, limit, zero_for_one, is_buy)
        # None that is larger fits: not the next ones, and not those that are just paid for by another unit that comes out.
        square = Fraction(pool.sqrt_price_x96**2, 2**192)
        rate = square if zero_for_one else 1 / square
        worst = rate / (1 + Fraction(bps, 10_000)) if is_buy else rate * (1 - Fraction(bps, 10_000))
        got = swap(pool, zero_for_one=zero_for_one, amount=most or 1, sqrt_price_limit=limit).amount_out
        beyond = {most + step for step in range(1, 30)} | {floor((got + step) / worst) for step in range(60)}
        larger = [more for more in sorted(beyond) if more > most]
        assert [more for more in larger if fits(pool, more, bps, limit, zero_for_one, is_buy)] == []


@pytest.mark.slow
def test_a_pool_with_thousands_of_ticks_does_not_hold_up_everybody():
    """A hundred amounts are tried, and the way is walked once."""
    pool = flat(10**6, token_is_0=True)
    middle = pool.tick // 10 * 10
    dust = [(middle + 10 * k, (-1) ** k * 1000) for k in range(1, 2_001)]
    pool = replace(pool, ticks=tuple(sorted([*pool.ticks, *[(at, -net) for at, net in dust]])))
    limit = price_limit(pool.sqrt_price_x96, False)

    def took(work):
        times = []
        for _ in range(5):
            began = time.process_time()
            work()
            times.append(time.process_time() - began)
        return min(times)

    once = took(lambda: swap(pool, zero_for_one=False, amount=2**255 - 1, sqrt_price_limit=limit))
    found = took(lambda: largest_trade(pool, 5_000, limit, token_is_0=True, is_buy=True))
    assert found < 10 * once


def impact(pool, amount, limit, zero_for_one, is_buy):
    filled = swap(pool, zero_for_one=zero_for_one, amount=amount, sqrt_price_limit=limit)
    if not filled.amount_out:
        return Fraction(10**9)
    spot = Fraction(pool.sqrt_price_x96, Q96) ** 2
    out_at_spot = amount * (spot if zero_for_one else 1 / spot)
    return out_at_spot / filled.amount_out - 1 if is_buy else 1 - filled.amount_out / out_at_spot


def test_a_trade_at_exactly_the_worst_price_allowed_is_allowed():
    assert [_Bound(got=1, paid=3).is_kept(paid, 5) for paid in (14, 15, 16)] == [True, True, False]


@pytest.mark.parametrize("zero_for_one", [True, False])
def test_a_pool_stops_at_every_tick_and_at_every_edge_of_a_word(zero_for_one):
    dice = Random(f"{SEED}/steps")
    for spacing in (1, 10, 60, 200):
        places = {*(dice.randrange(-1200, 1200) for _ in range(12)), -256, 0, 255, 256, 511}
        ticks = tuple((place * spacing, dice.randrange(1, 9)) for place in sorted(places))
        tick = dice.choice([0, -1, spacing, 255 * spacing, -256 * spacing, dice.randrange(-900, 900) * spacing + 1])
        here = PoolState(sqrt_ratio_at(tick), tick, 1, 500, spacing, ticks)
        # Of the bitmap's words, 256 places each: the first place going down, the last one going up.
        edges = range(-1280 * spacing, 1280 * spacing, 256 * spacing)
        stops = {edge if zero_for_one else edge + 255 * spacing: 0 for edge in edges} | dict(ticks)
        ahead = sorted(stop for stop in stops if (stop <= tick) is zero_for_one)
        expected = [(stop, stops[stop]) for stop in (reversed(ahead) if zero_for_one else ahead)]
        found = itertools.islice(_steps_ahead(here, ticks, zero_for_one=zero_for_one), len(expected))
        assert list(found) == expected
