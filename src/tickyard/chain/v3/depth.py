"""How much it takes to move a pool's price, over the ticks that are really there.

Dollars are USDG, the token is the stock. What must be paid in counts with its fee; what comes out is what comes out.
A target price is rounded by less than one unit of the pool's square-root price.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain, pairwise, takewhile
from math import isqrt
from operator import itemgetter
from typing import Final, NamedTuple

from tickyard.chain.v3.math import HIGHEST_LIMIT, LOWEST_LIMIT, PoolState, SwapResult, is_ahead, swap, word_edge
from tickyard.chain.v3.steps import FEE_UNIT
from tickyard.chain.v3.ticks import MAX_TICK, MIN_TICK, sqrt_ratio_at

BPS: Final = 10_000
DEPTH_BPS: Final = 100
_MOST: Final = 2**255 - 1

Mark = tuple[int, int]
"""A tick and its net liquidity."""


class Move(NamedTuple):
    """What changes hands while the price moves: both legs, base units."""

    usdg: int
    tokens: int


class Stop(NamedTuple):
    paid: int
    """To come here."""
    got: int
    here: PoolState
    """With the next tick and no other."""


_paid: Final = itemgetter(0)


def sqrt_price_moved(sqrt_price: int, bps: int, *, token_is_0: bool) -> int:
    """The square-root price at which the stock costs so many hundredths of a percent more, or less."""
    num, den = (BPS + bps, BPS) if token_is_0 else (BPS, BPS + bps)
    return min(max(isqrt(sqrt_price * sqrt_price * num // den), LOWEST_LIMIT), HIGHEST_LIMIT)


@lru_cache(maxsize=8192)
def to_move(pool: PoolState, bps: int, *, token_is_0: bool) -> Move:
    """What it takes to move the stock's price by this much; negative is down."""
    target = sqrt_price_moved(pool.sqrt_price_x96, bps, token_is_0=token_is_0)
    zero_for_one = token_is_0 == (bps < 0)
    if not is_ahead(target, pool.sqrt_price_x96, zero_for_one):
        return Move(0, 0)
    moved = swap(pool, zero_for_one=zero_for_one, amount=_MOST, sqrt_price_limit=target)
    return _legs(moved, is_up=bps > 0)


def usdg_depth(pool: PoolState, *, token_is_0: bool) -> int:
    """USDG that goes in to move the price up by 1 %, or comes out moving it down by 1 %: the smaller of both."""
    return min(to_move(pool, bps, token_is_0=token_is_0).usdg for bps in (DEPTH_BPS, -DEPTH_BPS))


def largest_trade(
    pool: PoolState, max_impact_bps: int, limit: int, *, token_is_0: bool, is_buy: bool, payable: int = _MOST
) -> int:
    """The most that can be paid in before the average price, fee included, is worse than the spot price by more than
    this, or the pool runs dry before `limit`, or would have to give more than is `payable`. Zero: not even a little.

    What comes out is rounded down and the fee is rounded up. Where their unit is the coarser one, as dollars are for
    shares, an amount may be too large and a larger one fit again, just when another unit comes out, or when the fee is
    a whole one. So all three are tried: the amounts that go in, for each that comes out the most that may have been
    paid for it, and those with a whole fee.
    """
    zero_for_one = token_is_0 != is_buy
    if not is_ahead(limit, pool.sqrt_price_x96, zero_for_one) or not pool.liquidity:
        return 0
    bound = _bound(pool.sqrt_price_x96, max_impact_bps, zero_for_one=zero_for_one, is_buy=is_buy)
    ahead = _ticks_ahead(pool, pool.ticks, zero_for_one=zero_for_one)
    stops = list(_walk(pool, ahead, limit, zero_for_one=zero_for_one))
    paid, got, last = stops[-1]
    everything = swap(last, zero_for_one=zero_for_one, amount=_MOST, sqrt_price_limit=limit)
    all_in, all_out = paid + everything.amount_in, got + everything.amount_out

    def out(amount: int) -> int | None:
        """None: it runs dry."""
        paid, got, stop = stops[_reached(stops, amount)]
        rest = swap(stop, zero_for_one=zero_for_one, amount=amount - paid, sqrt_price_limit=limit)
        return None if rest.sqrt_price_after == limit else got + rest.amount_out

    if all_out > payable:
        all_in, all_out = _last(lambda amount: (got := out(amount)) is not None and got <= payable, all_in), payable

    def fits(amount: int) -> bool:
        got = out(amount)
        return got is not None and bound.is_kept(amount, got)

    def is_worth(got: int) -> bool:
        """Whether the most that may be paid for so much brings it."""
        most = min(bound.most_for(got), all_in)
        told = out(most) if most else None
        return told is not None and told >= got

    by_out = min(bound.most_for(_last(is_worth, all_out)), all_in)
    most = max(_last(fits, all_in), by_out if by_out and fits(by_out) else 0)
    starts = _step_starts(stops[_reached(stops, most)], pool.ticks, limit, zero_for_one=zero_for_one)
    return _last_whole_fee(fits, chain(takewhile(all_in.__gt__, starts), [all_in]), most, pool.fee)


def _reached(stops: Sequence[Stop], amount: int) -> int:
    """Which stop is the last that this amount goes beyond."""
    return max(0, bisect_left(stops, amount, key=_paid) - 1)


def _step_starts(near: Stop, ticks: Sequence[Mark], limit: int, *, zero_for_one: bool) -> Iterator[int]:
    """What has been paid when each step begins, from this stop on."""
    marks = _steps_ahead(near.here, ticks, zero_for_one=zero_for_one)
    return (near.paid + stop.paid for stop in _walk(near.here, marks, limit, zero_for_one=zero_for_one))


def _last_whole_fee(fits: Callable[[int], bool], starts: Iterable[int], known: int, fee: int) -> int:
    """The last amount that fits of those whose last step takes a whole number of units as its fee, or the one that is
    known to. The last of the starts is where all ends."""
    best = known
    for start, end in pairwise(starts):
        if end < known:
            continue
        amount = partial(_with_fee, start, fee)
        units = _last(_of(amount, fits), (end - start) * fee // FEE_UNIT)
        if units:
            best = max(best, amount(units))
        elif start > known:
            # Nothing fits in this step, and so nothing does in those behind it.
            break
    return best


def _with_fee(start: int, fee: int, units: int) -> int:
    """The most that can be paid in a step that begins here and takes so many units as its fee."""
    return start + units * FEE_UNIT // fee


def _of(amount: Callable[[int], int], fits: Callable[[int], bool]) -> Callable[[int], bool]:
    return lambda units: fits(amount(units))


def _last(holds: Callable[[int], bool], most: int) -> int:
    """The last number up to the most for which it holds, as far as it holds for all before."""
    good, bad = 0, most + 1
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    return good


class _Bound(NamedTuple):
    """What must come out for what is paid: at least so many for so many."""

    got: int
    paid: int

    def is_kept(self, paid: int, got: int) -> bool:
        return got * self.paid >= paid * self.got

    def most_for(self, got: int) -> int:
        return got * self.paid // self.got


def _bound(sqrt_price: int, bps: int, *, zero_for_one: bool, is_buy: bool) -> _Bound:
    """A buyer's price in dollars is paid / got and may be up to (1 + x) times the spot; a seller's is got / paid and
    may be down to (1 - x) times it. The spot price of token0 in token1 is s^2 / 2^192."""
    square = sqrt_price * sqrt_price
    # At the spot price, `paid` would buy `paid * num / den`.
    num, den = (square, 1 << 192) if zero_for_one else (1 << 192, square)
    return _Bound(num * BPS, den * (BPS + bps)) if is_buy else _Bound(num * (BPS - bps), den * BPS)


def _walk(pool: PoolState, marks: Iterable[Mark], limit: int, *, zero_for_one: bool) -> Iterator[Stop]:
    """The pool on its way to the limit: where it begins, and after every mark. A swap is the way to the last stop that
    its amount reaches, and one stretch from there, to the base unit: what it pays for a stretch does not depend on
    what it has left. So the way is walked once, and not once for every amount that is tried."""
    paid, got, here = 0, 0, pool
    for tick, net in marks:
        target = sqrt_ratio_at(tick)
        if target <= limit if zero_for_one else target >= limit:
            break
        here = replace(here, ticks=((tick, net),))
        yield Stop(paid, got, here)
        if target == here.sqrt_price_x96:
            # It stands on the tick already, and has yet to cross it: that costs nothing.
            liquidity = here.liquidity + (-net if zero_for_one else net)
            here = replace(here, tick=tick - 1 if zero_for_one else tick, liquidity=liquidity)
            continue
        made = swap(here, zero_for_one=zero_for_one, amount=_MOST, sqrt_price_limit=target)
        paid, got = paid + made.amount_in, got + made.amount_out
        here = replace(here, sqrt_price_x96=target, tick=made.tick_after, liquidity=made.liquidity_after)
    yield Stop(paid, got, replace(here, ticks=()))


def _ticks_ahead(here: PoolState, ticks: Sequence[Mark], *, zero_for_one: bool) -> Sequence[Mark]:
    ahead = [each for each in ticks if (each[0] > here.tick) != zero_for_one]
    return ahead[::-1] if zero_for_one else ahead


def _steps_ahead(here: PoolState, ticks: Sequence[Mark], *, zero_for_one: bool) -> Iterator[Mark]:
    """The same and, between them, the edge of every word of the bitmap: the pool stops there too, and rounds."""
    tick = here.tick
    for mark in (*_ticks_ahead(here, ticks, zero_for_one=zero_for_one), None):
        while MIN_TICK < tick < MAX_TICK:
            edge = word_edge(tick, here.tick_spacing, zero_for_one=zero_for_one)
            if mark is not None and (edge <= mark[0] if zero_for_one else edge >= mark[0]):
                break
            yield edge, 0
            tick = edge - 1 if zero_for_one else edge
        if mark is not None:
            yield mark
            tick = mark[0] - 1 if zero_for_one else mark[0]


def _legs(moved: SwapResult, *, is_up: bool) -> Move:
    if is_up:
        return Move(moved.amount_in, moved.amount_out)
    return Move(moved.amount_out, moved.amount_in)
