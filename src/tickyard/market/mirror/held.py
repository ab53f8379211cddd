"""One pool in memory, and how its own logs move it.

A log must follow from what is held: a swap is made again here and must end where the log says, a position must cost
what the log says. A log that does not fit is not argued with, the pool is read anew.
"""

from dataclasses import dataclass, replace

from tickyard.chain import erc20
from tickyard.chain.abi import read_uint
from tickyard.chain.aggregate3 import CallPart, Piece, piece_of
from tickyard.chain.multicall import Call
from tickyard.chain.v3.bitmap import (
    TickLiquidity,
    read_bitmap,
    read_tick,
    tick_bitmap,
    tick_info,
    ticks_in,
    words_around,
)
from tickyard.chain.v3.events import Initialized, PoolEvent, Resized, Swapped, TokensMoved
from tickyard.chain.v3.math import HIGHEST_LIMIT, LOWEST_LIMIT, PoolState, SwapResult, swap
from tickyard.chain.v3.pools import read_liquidity, read_slot0
from tickyard.chain.v3.steps import amount0_owed, amount0_paid, amount1_owed, amount1_paid
from tickyard.chain.v3.ticks import MAX_TICK, MIN_TICK, sqrt_ratio_at
from tickyard.chain.v3.wear import read_wear
from tickyard.config.pinned import Contracts
from tickyard.kernel.units import TokenAmount, UsdgAmount
from tickyard.market.swaps.charts import Chart, Ticks
from tickyard.market.swaps.pools import Pool, PoolSpot, fee_calls, moving_calls, state_calls

_MOST = 2**255 - 1
_EMPTY = TickLiquidity(0, 0)


_MOVES = slice(4, 6)
"""Where the answers to `moving_calls` are among a witness's."""
_FEES = slice(6, 8)
"""And those to `fee_calls`; the ticks follow."""


class Misfit(Exception):
    """A log that cannot follow from what we hold."""


@dataclass(frozen=True, slots=True)
class Held:
    """A pool as it stands at a block. Never changed: a log makes a new one."""

    chart: Chart
    block: str
    """The hash of the block at which the node's own state was last seen to be this."""
    gone: frozenset[int] = frozenset()
    """Ticks that logs have taken away since then: that they are empty is to be proven like all else."""
    seen: tuple[Piece, bytes] | None = None
    """What the node was asked then, and what it said: the same bytes say the same again."""
    moves: bool = False
    """Whether both tokens left the pool when that was last tried: of a pool that they do not leave the quoter says
    nothing, whatever its curve."""

    def proven(self, block: str, asked: Piece, told: CallPart) -> "Held":
        if self.seen is not None and self.seen[1] == told.raw:
            return Held(self.chart, block, seen=self.seen, moves=self.moves)
        results = told.results()
        all0, all1, *ticks = [data or b"" for data in results[_FEES.start :]]
        wear = read_wear((all0, all1), dict(zip(self.chart.ticks, ticks, strict=False)))
        moves = None not in results[_MOVES]
        return Held(replace(self.chart, wear=wear), block, seen=(asked, told.raw), moves=moves)

    @property
    def pool(self) -> Pool:
        return self.chart.spot.pool

    @property
    def balances(self) -> tuple[int, int]:
        """(token0, token1)."""
        held = (self.chart.tokens, self.chart.usdg)
        return held if self.pool.token_is_0 else (held[1], held[0])

    def after(self, event: PoolEvent) -> "Held":
        """The pool after this log. Raises Misfit."""
        curve = self.chart.spot.curve
        if curve is None or isinstance(event, Initialized):
            raise Misfit("a pool got its price")
        ticks, gone = self.chart.ticks, self.gone
        if isinstance(event, Swapped):
            result = remade(curve, event)
            if result is None or event.tick not in self.chart.span:
                raise Misfit("a swap does not end where it should")
            price, liquidity = result.sqrt_price_after, result.liquidity_after
            curve = PoolState(price, event.tick, liquidity, curve.fee, curve.tick_spacing, curve.ticks)
        elif isinstance(event, Resized):
            curve, ticks = resized(curve, ticks, self.chart.span, event)
            gone = (gone | self.chart.ticks.keys()) - ticks.keys()
        return self._with(curve, ticks, gone, event)

    def _with(
        self, curve: PoolState, ticks: Ticks, gone: frozenset[int], event: Swapped | Resized | TokensMoved
    ) -> "Held":
        # What is burned is owed to its owner, and leaves the pool when it is collected.
        is_burn = isinstance(event, Resized) and event.liquidity <= 0
        in0, in1 = (0, 0) if is_burn else (event.amount0, event.amount1)
        balance0, balance1 = self.balances[0] + in0, self.balances[1] + in1
        if balance0 < 0 or balance1 < 0:
            raise Misfit("a pool gave more than it had")
        tokens, usdg = (balance0, balance1) if self.pool.token_is_0 else (balance1, balance0)
        spot = PoolSpot(self.pool, curve.sqrt_price_x96, curve.liquidity, curve)
        # What the fees cost by now the node will say.
        return Held(Chart(spot, self.chart.span, ticks, UsdgAmount(usdg), TokenAmount(tokens)), self.block, gone)

    def covers(self, reach: int) -> bool:
        """Whether the ticks are known for so far on both sides of the price."""
        curve = self.chart.spot.curve
        if curve is None:
            return True
        low, high = max(curve.tick - reach, MIN_TICK), min(curve.tick + reach, MAX_TICK)
        return low >= self.chart.span[0] and high <= self.chart.span[-1]

    def witness(self, contracts: Contracts) -> Piece:
        """What the node must say of the pool if it stands as we believe.

        New ticks come with a position, a position with tokens: the balances betray a log that was kept from us. Ticks
        that went with a position take nothing along, so those are asked for by name.
        """
        if self.seen is not None:
            return self.seen[0]
        own = erc20.balance_of(self.pool.address)
        ticks = [Call(self.pool.address, tick_info(tick)) for tick in (*self.chart.ticks, *sorted(self.gone))]
        balances = [Call(contracts.usdg, own), Call(self.pool.token, own)]
        around = [*balances, *moving_calls(self.pool, contracts), *fee_calls(self.pool)]
        return piece_of([*state_calls(self.pool), *around, *ticks])

    def is_borne_out(self, part: CallPart) -> bool:
        """Whether the node says just that. Raises UpstreamDown where it makes no sense."""
        if self.seen is not None and self.seen[1] == part.raw:
            return True
        results = part.results()
        del results[_MOVES]
        told = [data for data in results if data is not None]
        if len(told) != len(results):
            return False
        slot0, spot, curve = read_slot0(told[0]), self.chart.spot, self.chart.spot.curve
        if (slot0.sqrt_price_x96, read_liquidity(told[1])) != (spot.sqrt_price_x96, spot.liquidity):
            return False
        if curve is not None and slot0.tick != curve.tick:
            return False
        if tuple(map(erc20.read_amount, told[2:4])) != (self.chart.usdg, self.chart.tokens):
            return False
        for grown in told[4:6]:
            read_uint(grown)
        expected = [*self.chart.ticks.values(), *[_EMPTY] * len(self.gone)]
        return all(read_tick(data) == known for data, known in zip(told[6:], expected, strict=True))

    @property
    def map_words(self) -> range:
        """The words of the bitmap that say which ticks there are."""
        span = self.chart.span
        return words_around(span[0], span[-1], self.pool.spacing) if span else range(0)

    def map_piece(self) -> Piece:
        return piece_of([Call(self.pool.address, tick_bitmap(word)) for word in self.map_words])

    def is_mapped(self, part: CallPart) -> bool:
        """Whether the pool's own bitmap has the ticks that we hold, and no other. Raises UpstreamDown."""
        there: list[int] = []
        for word, data in zip(self.map_words, part.results(), strict=True):
            if data is None:
                return False
            there += ticks_in(word, read_bitmap(data), self.pool.spacing)
        return [tick for tick in there if tick in self.chart.span] == [*self.chart.ticks]


def remade(curve: PoolState, event: Swapped) -> SwapResult | None:
    """The swap that the log tells of, made here. None: no swap from this state ends so.

    The log does not say what was asked for: an exact input, an exact output, or whatever goes up to a price.
    """
    price = curve.sqrt_price_x96
    is_paid = event.amount0 > 0 or event.amount1 > 0
    zero_for_one = event.amount0 > 0 if is_paid else event.sqrt_price_x96 < price
    paid, got = (event.amount0, event.amount1) if zero_for_one else (event.amount1, event.amount0)
    told = (paid, -got, event.sqrt_price_x96, event.liquidity)
    end = event.sqrt_price_x96
    # No further than a little beyond the end: a lie must not send us through all prices.
    beyond = max(end - end // 64, LOWEST_LIMIT) if zero_for_one else min(end + end // 64, HIGHEST_LIMIT)
    for amount, limit in ((paid, beyond), (got, beyond), (_MOST, end)):
        try:
            made = swap(curve, zero_for_one=zero_for_one, amount=amount, sqrt_price_limit=limit)
        except ValueError:
            # Nothing asked for, or a limit that is not ahead: a pool makes no such swap.
            continue
        ends = (made.amount_in, made.amount_out, made.sqrt_price_after, made.liquidity_after)
        if ends == told and made.ends_at(event.tick):
            return made
    return None


def resized(curve: PoolState, ticks: Ticks, span: range, event: Resized) -> tuple[PoolState, Ticks]:
    lower, upper, size = event.lower, event.upper, event.liquidity
    if not MIN_TICK <= lower < upper <= MAX_TICK or lower % curve.tick_spacing or upper % curve.tick_spacing:
        raise Misfit("a position lies where none can")
    if (event.amount0, event.amount1) != _worth(curve, event):
        raise Misfit("a position does not cost what it should")
    if not size:
        return curve, ticks
    changed = dict(ticks)
    for tick, net in ((lower, size), (upper, -size)):
        if tick not in span:
            continue
        old = changed.pop(tick, _EMPTY)
        new = TickLiquidity(old.gross + size, old.net + net)
        if new.gross < 0 or abs(new.net) > new.gross:
            raise Misfit("more liquidity was taken than was there")
        if new.gross:
            changed[tick] = new
    ordered = {tick: changed[tick] for tick in sorted(changed)}
    inside = size if lower <= curve.tick < upper else 0
    if curve.liquidity + inside < 0:
        raise Misfit("more liquidity was taken than was there")
    nets = tuple([(tick, each.net) for tick, each in ordered.items()])
    return replace(curve, liquidity=curve.liquidity + inside, ticks=nets), ordered


def _worth(curve: PoolState, event: Resized) -> tuple[int, int]:
    """What such a position costs, or gives back, at the present price; signed like the event."""
    size, is_mint = abs(event.liquidity), event.liquidity > 0
    low, high = sqrt_ratio_at(event.lower), sqrt_ratio_at(event.upper)
    zero, one = (amount0_owed, amount1_owed) if is_mint else (amount0_paid, amount1_paid)
    sign = 1 if is_mint else -1
    if curve.tick < event.lower:
        return sign * zero(low, high, size), 0
    if curve.tick >= event.upper:
        return 0, sign * one(low, high, size)
    price = curve.sqrt_price_x96
    return sign * zero(price, high, size), sign * one(low, price, size)
