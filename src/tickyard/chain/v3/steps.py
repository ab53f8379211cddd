"""One step of a swap: a stretch of the curve on which liquidity is constant.

Prices are square roots in Q96, amounts are base units. Every division rounds in the pool's favour:
what a trader pays goes up, what a trader gets goes down, and the price stops short of where an exact
curve would put it. Where the contract computes in 256 bits and falls back to a coarser formula when
they overflow, so does this.
"""

from typing import NamedTuple

FEE_UNIT = 1_000_000
"""Fees are counted in millionths of the amount paid in."""

_UINT256 = 1 << 256


class Step(NamedTuple):
    sqrt_price: int
    amount_in: int
    amount_out: int
    fee: int


def amount0_owed(price_a: int, price_b: int, liquidity: int) -> int:
    """Token0 that goes in between two prices, rounded up."""
    low, high = (price_a, price_b) if price_a < price_b else (price_b, price_a)
    return -(-(liquidity * (high - low) << 96) // (high * low))


def amount0_paid(price_a: int, price_b: int, liquidity: int) -> int:
    """Token0 that comes out between two prices, rounded down."""
    low, high = (price_a, price_b) if price_a < price_b else (price_b, price_a)
    return (liquidity * (high - low) << 96) // (high * low)


def amount1_owed(price_a: int, price_b: int, liquidity: int) -> int:
    """Token1 that goes in between two prices, rounded up."""
    return -(-liquidity * abs(price_b - price_a) >> 96)


def amount1_paid(price_a: int, price_b: int, liquidity: int) -> int:
    """Token1 that comes out between two prices, rounded down."""
    return liquidity * abs(price_b - price_a) >> 96


def price_after_input(price: int, liquidity: int, amount: int, *, zero_for_one: bool) -> int:
    """Where the price stands after this much came in. It never goes further than was paid for."""
    if not zero_for_one:
        return price + (amount << 96) // liquidity
    if not amount:
        # The coarse formula below would not give the price back.
        return price
    reserve = liquidity << 96
    product = amount * price
    if product < _UINT256 and reserve + product < _UINT256:
        return -(-reserve * price // (reserve + product))
    return -(-reserve // (reserve // price + amount))


def price_after_output(price: int, liquidity: int, amount: int, *, zero_for_one: bool) -> int:
    """Where the price stands after this much went out. It always goes far enough to have paid for it."""
    if zero_for_one:
        drop = -(-(amount << 96) // liquidity)
        if drop >= price:
            raise ValueError("more token1 than this liquidity holds")
        return price - drop
    reserve = liquidity << 96
    left = reserve - amount * price
    if left <= 0:
        raise ValueError("more token0 than this liquidity holds")
    return -(-reserve * price // left)


def take_step(price: int, target: int, liquidity: int, remaining: int, fee: int) -> Step:
    """Swap from `price` towards `target`, which is reached unless `remaining` runs out first.

    `remaining` is positive for an exact input, fee included, and negative for an exact output.
    """
    zero_for_one = price >= target
    owed, paid = (amount0_owed, amount1_paid) if zero_for_one else (amount1_owed, amount0_paid)
    reached = target
    if remaining >= 0:
        net = remaining * (FEE_UNIT - fee) // FEE_UNIT
        amount_in = owed(price, target, liquidity)
        if net < amount_in:
            # Rounded towards the start, so this is short of the target.
            reached = price_after_input(price, liquidity, net, zero_for_one=zero_for_one)
            amount_in = owed(price, reached, liquidity)
            # The last step of an exact input keeps as fee whatever did not move the price.
            return Step(reached, amount_in, paid(price, reached, liquidity), remaining - amount_in)
        amount_out = paid(price, target, liquidity)
    else:
        amount_out = paid(price, target, liquidity)
        if -remaining < amount_out:
            reached = price_after_output(price, liquidity, -remaining, zero_for_one=zero_for_one)
            # Rounded away from the start: the curve may now yield more than was asked for.
            amount_out = min(-remaining, paid(price, reached, liquidity))
        amount_in = owed(price, reached, liquidity)
    return Step(reached, amount_in, amount_out, -(-amount_in * fee // (FEE_UNIT - fee)))
