"""What pools in memory would make of a trade: the quoter's answers, without asking it."""

from collections.abc import Iterable

from tickyard.chain.v3.math import swap
from tickyard.chain.v3.quoter import price_limit
from tickyard.market.charts import Chart
from tickyard.market.fills import Fill, Mode, Side, Trade, fill_of
from tickyard.market.gas import pool_gas


def fills_of(charts: Iterable[Chart], trade: Trade) -> list[Fill]:
    """The complete fills. A pool that would reach its limit has none, nor has one that gives nothing."""
    fills = []
    is_exact_in = trade.mode is Mode.EXACT_IN
    sells = trade.side is Side.SELL
    amount = int(trade.fixed) if is_exact_in else -int(trade.fixed)
    for chart in charts:
        spot = chart.spot
        curve = spot.curve
        if curve is None or not spot.liquidity:
            continue
        zero_for_one = spot.pool.token_is_0 == sells
        limit = price_limit(curve.sqrt_price_x96, zero_for_one)
        if limit == curve.sqrt_price_x96:
            continue
        result = swap(curve, zero_for_one=zero_for_one, amount=amount, sqrt_price_limit=limit)
        open_leg = result.amount_out if is_exact_in else result.amount_in
        if open_leg and result.sqrt_price_after != limit:
            fills.append(fill_of(trade, spot, open_leg, pool_gas(trade.side, curve, result)))
    return fills
