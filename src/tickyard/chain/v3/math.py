"""What a v3 pool would answer to a swap, computed here to the base unit.

The pool walks its curve step by step, and each step rounds. A step ends at the next initialised tick, but
never beyond the edge of one word of the tick bitmap (256 ticks of the pool's spacing): the pool reads one
word per step and stops at its edge even when no tick is initialised there. Those stops move the outcome by
single units, so they are made here too.

A protocol fee, where one is switched on, comes out of the liquidity providers' share of the fee. It changes
no amount for the trader and is not modelled.
"""

from bisect import bisect_left
from dataclasses import dataclass

from tickyard.chain.v3.steps import take_step
from tickyard.chain.v3.ticks import MAX_SQRT_RATIO, MAX_TICK, MIN_SQRT_RATIO, MIN_TICK, sqrt_ratio_at, tick_at

LOWEST_LIMIT = MIN_SQRT_RATIO + 1
HIGHEST_LIMIT = MAX_SQRT_RATIO - 1


@dataclass(frozen=True, slots=True)
class PoolState:
    """All of a pool that decides a swap, as read at one block."""

    sqrt_price_x96: int
    tick: int
    """From slot0, not derived: a price that stands exactly on a crossed tick belongs to the tick below."""
    liquidity: int
    fee: int
    """In millionths."""
    tick_spacing: int
    ticks: tuple[tuple[int, int], ...]
    """Every initialised tick with its net liquidity, ascending."""


@dataclass(frozen=True, slots=True)
class SwapResult:
    amount_in: int
    """Fee included."""
    amount_out: int
    sqrt_price_after: int
    liquidity_after: int
    ticks_crossed: int
    """Initialised ticks. The quoter's figure of this name counts differently and can be higher."""
    steps: int
    """Stretches of the curve, each up to an initialised tick, the edge of a word, or the end."""
    is_complete: bool
    """False: the price limit, or the end of all prices, came before the whole amount."""
    _stopped_at: int | None
    """The tick, where the swap ended just on one."""

    def ends_at(self, tick: int) -> bool:
        """Whether this is the tick at which the swap ended: cheaper to check than to find."""
        if self._stopped_at is not None or not MIN_TICK <= tick < MAX_TICK:
            return tick == self._stopped_at
        return sqrt_ratio_at(tick) <= self.sqrt_price_after < sqrt_ratio_at(tick + 1)

    @property
    def tick_after(self) -> int:
        # Worked out only for those who want it: it takes as long as all the rest of a small swap.
        return tick_at(self.sqrt_price_after) if self._stopped_at is None else self._stopped_at


def swap(pool: PoolState, *, zero_for_one: bool, amount: int, sqrt_price_limit: int | None = None) -> SwapResult:
    """Swap token0 for token1, or the reverse; `amount` is an exact input, or if negative an exact output.

    Without a limit the swap may go to the end of all prices, as the quoter's does.
    The pool refuses an amount of zero and a limit that is not ahead of the price; so does this.
    """
    if not amount:
        raise ValueError("amount must not be zero")
    price, tick, liquidity = pool.sqrt_price_x96, pool.tick, pool.liquidity
    limit = _limit(price, sqrt_price_limit, zero_for_one=zero_for_one)
    if not sqrt_ratio_at(tick) <= price <= sqrt_ratio_at(tick + 1):
        raise ValueError("this tick and this price are not of one block")
    # Ticks up to the current one lie below the price, all others above it.
    split = bisect_left(pool.ticks, (tick + 1,))
    ahead = reversed(pool.ticks[:split]) if zero_for_one else iter(pool.ticks[split:])
    beyond = (MIN_TICK - 1, 0) if zero_for_one else (MAX_TICK + 1, 0)
    goal, net = next(ahead, beyond)
    remaining, total_in, total_out, crossed, steps = amount, 0, 0, 0, 0
    ended_between = False

    while remaining and price != limit:
        if liquidity:
            edge = word_edge(tick, pool.tick_spacing, zero_for_one=zero_for_one)
        else:
            edge = _dry_edge(tick, goal, limit, pool.tick_spacing, zero_for_one=zero_for_one)
        is_goal = goal >= edge if zero_for_one else goal <= edge
        stop = goal if is_goal else edge
        stop_price = sqrt_ratio_at(stop)
        target = max(stop_price, limit) if zero_for_one else min(stop_price, limit)
        step = take_step(price, target, liquidity, remaining, pool.fee)
        steps += 1
        total_in += step.amount_in + step.fee
        total_out += step.amount_out
        remaining = amount - total_in if amount > 0 else amount + total_out
        if step.sqrt_price == stop_price:
            tick = stop - 1 if zero_for_one else stop
            if is_goal:
                liquidity += -net if zero_for_one else net
                if liquidity < 0:
                    raise ValueError("these ticks and this liquidity are not of one block")
                crossed += 1
                goal, net = next(ahead, beyond)
        elif step.sqrt_price != price:
            # Short of its stop, a step is the last one: the amount or the limit has ended it.
            ended_between = True
        price = step.sqrt_price

    stopped_at = None if ended_between else tick
    return SwapResult(total_in, total_out, price, liquidity, crossed, steps, not remaining, stopped_at)


def is_ahead(limit: int, price: int, zero_for_one: bool) -> bool:
    """Whether a swap can go towards this limit. From the very lowest price, at which anybody can open a pool, none can
    go down: the lowest limit is above it."""
    return LOWEST_LIMIT <= limit < price if zero_for_one else price < limit <= HIGHEST_LIMIT


def _limit(price: int, asked: int | None, *, zero_for_one: bool) -> int:
    if not MIN_SQRT_RATIO <= price < MAX_SQRT_RATIO:
        raise ValueError("the pool has no price yet")
    if asked is None:
        # A pool that was drained stands at the end already: there is nothing to swap, and no mistake either.
        return min(price, LOWEST_LIMIT) if zero_for_one else max(price, HIGHEST_LIMIT)
    if not is_ahead(asked, price, zero_for_one):
        raise ValueError("the price limit is not ahead of the price")
    return asked


def word_edge(tick: int, spacing: int, *, zero_for_one: bool) -> int:
    """The furthest tick that one word of the bitmap shows from here: its first going down, its last going up.

    Going down the current tick is itself a candidate; going up the search begins one spacing higher.
    """
    place = tick // spacing
    if zero_for_one:
        return max((place & ~255) * spacing, MIN_TICK)
    return min((place + 1 | 255) * spacing, MAX_TICK)


def _dry_edge(tick: int, goal: int, limit: int, spacing: int, *, zero_for_one: bool) -> int:
    """The same where there is no liquidity: nothing trades, so nothing rounds and whole words can be passed.

    It is the last edge before the word that holds the next initialised tick or the price limit.
    """
    edge = word_edge(tick, spacing, zero_for_one=zero_for_one)
    if zero_for_one:
        word_above = (max(goal, tick_at(limit)) // spacing | 255) + 1
        return min(edge, word_above * spacing)
    word_below = (min(goal, tick_at(limit)) // spacing & ~255) - 1
    return max(edge, word_below * spacing)
