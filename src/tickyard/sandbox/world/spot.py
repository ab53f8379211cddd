"""v3 prices in integers: between dollars per token and sqrtPriceX96, and how deep a pool is."""

from math import isqrt

from tickyard.chain.v3.ticks import Q96
from tickyard.kernel.units import Price

# A dollar has 6 decimals and a token 18: a raw ratio of 1 is a price of 10^12.
_RAW = 10**12


def sqrt_price(price: Price, *, token_is_0: bool) -> int:
    """The pool's sqrtPriceX96 at this many dollars per token."""
    if token_is_0:
        return isqrt(price.num * Q96**2 // (price.den * _RAW))
    return isqrt(price.den * _RAW * Q96**2 // price.num)


def price_at(sqrt_x96: int, *, token_is_0: bool) -> Price:
    """Dollars per token, exactly."""
    if token_is_0:
        return Price(sqrt_x96**2 * _RAW, Q96**2)
    return Price(Q96**2 * _RAW, sqrt_x96**2)


def depth_e6(sqrt_x96: int, liquidity: int, *, token_is_0: bool) -> int:
    """Dollars (6 decimals) that lift the price by 1 % if the liquidity in range reaches that far."""
    if not sqrt_x96:
        return 0
    if token_is_0:
        return liquidity * (isqrt(sqrt_x96**2 * 101 // 100) - sqrt_x96) // Q96
    lower = isqrt(sqrt_x96**2 * 100 // 101)
    return liquidity * Q96 * (sqrt_x96 - lower) // (lower * sqrt_x96)


def liquidity_for(depth: int, sqrt_x96: int, *, token_is_0: bool) -> int:
    """The liquidity that gives this depth, the other way round."""
    unit = 10**24
    return depth * unit // max(1, depth_e6(sqrt_x96, unit, token_is_0=token_is_0))
