"""What pools in memory would make of a trade: the quoter's answers, without asking it."""

from bisect import bisect_left
from collections.abc import Iterable

from tickyard.chain.v3.math import PoolState, SwapResult, is_ahead, swap
from tickyard.chain.v3.quoter import price_limit
from tickyard.chain.v3.steps import FEE_UNIT
from tickyard.chain.v3.wear import UNKNOWN_TICK
from tickyard.market.swaps.charts import Chart
from tickyard.market.swaps.fills import Fill, Mode, Side, Trade, fill_of
from tickyard.market.swaps.gas import pool_gas


def fills_of(charts: Iterable[Chart], trade: Trade) -> list[Fill]:
    """The complete fills. A pool that would reach its limit has none, nor has one that gives nothing or does not hold
    what it would have to give: who issues a token can take it from anybody, and no curve shows that."""
    fills = [_fill(chart, chart.spot.curve, trade) for chart in charts if chart.spot.curve is not None]
    return [fill for fill in fills if fill is not None]


def winning_fills(charts: Iterable[Chart], trade: Trade) -> list[Fill]:
    """Those of them among which the best must be: pools whose price is too bad even for the first unit are passed over.

    For all but large trades one pool is worked through instead of every one.
    """
    curves = [(chart, chart.spot.curve) for chart in charts if chart.spot.curve is not None]
    if len(curves) < 2:
        return fills_of([chart for chart, _ in curves], trade)
    is_in = trade.mode is Mode.EXACT_IN
    hopes = [_hope(chart, curve, trade) for chart, curve in curves]
    fills: dict[int, Fill] = {}
    best: int | None = None
    for index in sorted(range(len(curves)), key=hopes.__getitem__, reverse=is_in):
        if best is not None and (hopes[index] < best if is_in else hopes[index] > best):
            break
        fill = _fill(*curves[index], trade)
        if fill is not None:
            fills[index] = fill
            leg = trade.open_leg(fill)
            best = leg if best is None else max(best, leg) if is_in else min(best, leg)
    # In the order of the pools: of two that are equal in everything the first is taken, whoever works it out.
    return [fills[index] for index in sorted(fills)]


def _hope(chart: Chart, curve: PoolState, trade: Trade) -> int:
    """The open leg if the price did not move and nothing were rounded: no fill is better than this."""
    square, keeps = curve.sqrt_price_x96 * curve.sqrt_price_x96, FEE_UNIT - curve.fee
    zero_for_one = chart.spot.pool.token_is_0 == (trade.side is Side.SELL)
    if trade.mode is Mode.EXACT_IN:
        net = int(trade.fixed) * keeps
        return net * square // (FEE_UNIT << 192) if zero_for_one else (net << 192) // (square * FEE_UNIT)
    gross = int(trade.fixed) * FEE_UNIT
    return (gross << 192) // (square * keeps) if zero_for_one else gross * square // (keeps << 192)


def _fill(chart: Chart, curve: PoolState, trade: Trade) -> Fill | None:
    spot = chart.spot
    if not spot.liquidity:
        return None
    is_exact_in = trade.mode is Mode.EXACT_IN
    zero_for_one = spot.pool.token_is_0 == (trade.side is Side.SELL)
    limit = price_limit(curve.sqrt_price_x96, zero_for_one)
    if not is_ahead(limit, curve.sqrt_price_x96, zero_for_one):
        return None
    amount = int(trade.fixed) if is_exact_in else -int(trade.fixed)
    result = swap(curve, zero_for_one=zero_for_one, amount=amount, sqrt_price_limit=limit)
    open_leg = result.amount_out if is_exact_in else result.amount_in
    held = chart.tokens if trade.side is Side.BUY else chart.usdg
    if not open_leg or result.sqrt_price_after == limit or result.amount_out > held:
        return None
    return fill_of(trade, spot, open_leg, pool_gas(trade.side, result, _worn(chart, curve, result, zero_for_one)))


def _worn(chart: Chart, curve: PoolState, result: SwapResult, zero_for_one: bool) -> int:
    """What the pool's fees add to the gas of this swap."""
    way, count, wear = 0 if zero_for_one else 1, result.ticks_crossed, chart.wear
    if not count:
        return wear.swap[way]
    split = bisect_left(curve.ticks, (curve.tick + 1,))
    crossed = curve.ticks[split - count : split] if zero_for_one else curve.ticks[split : split + count]
    return wear.swap[way] + sum([wear.ticks.get(tick, UNKNOWN_TICK)[way] for tick, _ in crossed])
