"""Pools with the ticks around their price, exact, in one round trip wherever we remember where the ticks are.

Which words of the bitmap and which ticks to ask for depends on the answer. So what we remember of a pool is asked for
again, and the answer says whether it was all: the bitmap shows every tick. Only a pool that has changed its ticks, or
whose price has left the words that were asked for, costs another trip, at the same block.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Final

from tickyard.chain import erc20
from tickyard.chain.multicall import Call
from tickyard.chain.rpc.client import Block
from tickyard.chain.v3.bitmap import (
    TickLiquidity,
    read_bitmap,
    read_tick,
    tick_bitmap,
    tick_info,
    ticks_in,
    words_around,
)
from tickyard.chain.v3.math import PoolState
from tickyard.chain.v3.pools import Slot0, read_liquidity, read_slot0
from tickyard.chain.v3.ticks import MAX_TICK, MIN_TICK, sqrt_ratio_at, tick_at
from tickyard.chain.v3.wear import UNKNOWN, Wear, read_wear
from tickyard.config.pinned import Contracts
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.units import TokenAmount, UsdgAmount
from tickyard.market.reading import ChainReader
from tickyard.market.swaps.pools import Pool, PoolBook, PoolSpot, fee_calls, state_calls
from tickyard.observe.log import log

NEAR: Final = 128
"""Ticks that hold a move of 1 % either way."""
TENTH: Final = 1_100
"""Ticks that hold a move of 10 % either way."""
FAR: Final = 27_740
"""Ticks that hold sixteen times the price and a sixteenth of it: no quote goes further."""
_SPARE: Final = 8
"""One part in so many more is looked at, so that a price which moves a little stays inside; 160 ticks at least."""
TICKS_MAX: Final = 5_000
"""Of one pool, that are read for one answer. Anybody can make tens of thousands for a few dollars."""
_ROUNDS_MAX: Final = 5
_WARMED_AT_ONCE: Final = 80

Ticks = dict[int, TickLiquidity]


class Crowded(UpstreamDown):
    """A pool with more ticks than are worth reading."""

    def __init__(self, pool: Pool) -> None:
        super().__init__("a pool has too many ticks to be read")
        self.pool = pool


@dataclass(frozen=True, slots=True)
class Chart:
    """One pool as it stands at one block."""

    spot: PoolSpot
    span: range
    """The ticks that were looked at; the curve knows nothing beyond them."""
    ticks: Ticks
    usdg: UsdgAmount
    tokens: TokenAmount
    wear: Wear = UNKNOWN
    """What its fees cost whoever swaps there; known where what it holds is."""

    @property
    def tvl(self) -> UsdgAmount:
        """USDG held plus tokens at the pool's own price. Information, never a ranking: balances can be faked."""
        price = self.spot.price
        return UsdgAmount(self.usdg + (price.value_of(self.tokens) if price is not None else 0))


@dataclass(frozen=True, slots=True)
class ChartReading:
    charts: list[Chart]
    extra: list[bytes | None]
    at: datetime
    """The block's time."""
    block: int | None = None
    """Its number, where it was named."""


@dataclass(frozen=True, slots=True)
class _Guess:
    """What to ask a pool for: the words that hold a span, and the ticks that we believe to be all in it."""

    span: range
    ticks: tuple[int, ...]

    def words(self, pool: Pool) -> range:
        return words_around(self.span[0], self.span[-1], pool.spacing) if self.span else range(0)

    def calls(self, pool: Pool, contracts: Contracts, *, with_balances: bool) -> list[Call]:
        held = erc20.balance_of(pool.address)
        balances = [Call(contracts.usdg, held), Call(pool.token, held), *fee_calls(pool)] if with_balances else []
        return [
            *state_calls(pool),
            *balances,
            *(Call(pool.address, tick_bitmap(word)) for word in self.words(pool)),
            *(Call(pool.address, tick_info(tick)) for tick in self.ticks),
        ]


_ZERO: Final = bytes(32)
_NOTHING: Final = _Guess(range(0), ())


class ChartReader:
    def __init__(self, reader: ChainReader, book: PoolBook, contracts: Contracts) -> None:
        self._reader = reader
        self._book = book
        self._contracts = contracts
        self._guesses: dict[tuple[Pool, int], _Guess] = {}

    async def read(
        self,
        pools: Sequence[Pool],
        *,
        reach: int = NEAR,
        block: Block = "latest",
        extra: Sequence[Call] = (),
        deadline: float | None = None,
    ) -> ChartReading:
        """Every pool with its ticks for so far on both sides, and the extra calls, all at one block."""
        charts, words, at = await self.read_each(pools, reach=reach, block=block, extra=extra, deadline=deadline)
        for chart in charts:
            if isinstance(chart, UpstreamDown):
                raise chart
        return ChartReading([chart for chart in charts if isinstance(chart, Chart)], words, at)

    async def read_each(
        self,
        pools: Sequence[Pool],
        *,
        reach: int = NEAR,
        block: Block = "latest",
        extra: Sequence[Call] = (),
        with_balances: bool = True,
        ticks_max: int = TICKS_MAX,
        deadline: float | None = None,
    ) -> tuple[list[Chart | UpstreamDown], list[bytes | None], datetime]:
        """The same, where a pool of which the node makes no sense does not cost the others their reading.

        Without a deadline each trip has the time of its own."""
        for _ in range(_ROUNDS_MAX):
            guesses = [self._guesses.get((pool, reach)) or self._first_guess(pool, reach) for pool in pools]
            asked = [
                guess.calls(pool, self._contracts, with_balances=with_balances)
                for pool, guess in zip(pools, guesses, strict=True)
            ]
            calls = [call for its in asked for call in its]
            reading = await self._reader.read([*calls, *extra], block=block, deadline=deadline)
            words = iter(reading.results)
            charts = [
                self._try_chart(pool, reach, guess, _split(list(islice(words, len(its))), with_balances), ticks_max)
                for pool, guess, its in zip(pools, guesses, asked, strict=True)
            ]
            whole = [chart for chart in charts if chart is not None]
            if len(whole) == len(pools):
                return whole, list(words), reading.at
            if block == "latest":
                # What is asked now depends on what was answered: both must be of one block.
                block = await self._reader.newest(deadline=deadline)
        raise UpstreamDown("the chain node contradicts itself about a pool's ticks")

    async def warm(self, pools: Sequence[Pool]) -> None:
        """Learn where the ticks of new pools are, a few at a time: nobody waits for it. Who asks first finds out."""
        for first in range(0, len(pools), _WARMED_AT_ONCE):
            part = pools[first : first + _WARMED_AT_ONCE]
            try:
                await self.read_each(part, block=await self._reader.newest(), with_balances=False)
            except UpstreamDown as failure:
                log.warning("the ticks of new pools were not read", reason=failure.message)
                return

    def forget(self, pools: Iterable[Pool]) -> None:
        for pool in pools:
            for reach in (NEAR, TENTH, FAR):
                self._guesses.pop((pool, reach), None)

    def _first_guess(self, pool: Pool, reach: int) -> _Guess:
        """Where the price was when somebody last looked; which ticks are there the bitmap will say."""
        price = self._book.last_sqrt_price(pool)
        return _NOTHING if price is None else _Guess(_span(tick_at(price), reach), ())

    def _try_chart(
        self, pool: Pool, reach: int, guess: _Guess, results: Sequence[bytes | None], ticks_max: int
    ) -> Chart | UpstreamDown | None:
        try:
            return self._chart(pool, reach, guess, results, ticks_max)
        except UpstreamDown as failure:
            return failure

    def _chart(
        self, pool: Pool, reach: int, guess: _Guess, results: Sequence[bytes | None], ticks_max: int
    ) -> Chart | None:
        """The pool, or None when we did not ask for all of it; then the next guess is better."""
        if None in results:
            raise UpstreamDown("the chain node failed to read a pool")
        words = iter([data for data in results if data is not None])
        slot0, liquidity, usdg, tokens, *grown = (next(words) for _ in range(6))
        spot = self._book.read_state(pool, slot0, liquidity)
        bitmap = {word: read_bitmap(next(words)) for word in guess.words(pool)}
        told = {tick: next(words) for tick in guess.ticks}
        ticks = {tick: read_tick(data) for tick, data in told.items()}
        held = (UsdgAmount(erc20.read_amount(usdg)), TokenAmount(erc20.read_amount(tokens)))
        if not spot.sqrt_price_x96:
            return Chart(spot, range(0), {}, *held)
        state = read_slot0(slot0)
        there = [tick for word, bits in bitmap.items() for tick in ticks_in(word, bits, pool.spacing)]
        is_inside = state.tick - reach in guess.span and state.tick + reach in guess.span
        if is_inside and [tick for tick in there if tick in guess.span] == list(guess.ticks):
            curve = curve_of(pool, state, read_liquidity(liquidity), ticks)
            self._guesses[pool, reach] = guess
            wear = read_wear((grown[0], grown[1]), told)
            return Chart(replace(spot, curve=curve), guess.span, ticks, *held, wear)
        span = _span(state.tick, reach)
        ticks_there = tuple(tick for tick in there if tick in span)
        if len(ticks_there) > ticks_max:
            # Where they are is all that is kept: how much lies on each is not asked for.
            self._guesses[pool, reach] = _Guess(span, ())
            raise Crowded(pool)
        self._guesses[pool, reach] = _Guess(span, ticks_there)
        return None


def _span(tick: int, reach: int) -> range:
    far = reach + max(160, reach // _SPARE)
    return range(tick - far, tick + far + 1)


def _split(results: list[bytes | None], with_balances: bool) -> list[bytes | None]:
    """Where nobody asked what a pool holds, it holds nothing."""
    return results if with_balances else [*results[:2], *[_ZERO] * 4, *results[2:]]


def curve_of(pool: Pool, state: Slot0, liquidity: int, ticks: Ticks) -> PoolState:
    """What decides a swap, unless no pool could stand so: an upstream lies, or its answers are not of one block."""
    ordered = tuple([(tick, ticks[tick].net) for tick in sorted(ticks)])
    if not MIN_TICK <= state.tick < MAX_TICK:
        raise _impossible()
    if not sqrt_ratio_at(state.tick) <= state.sqrt_price_x96 <= sqrt_ratio_at(state.tick + 1):
        raise _impossible()
    if any(not each.gross for each in ticks.values()):
        raise _impossible()
    above, below = liquidity, liquidity
    for tick, net in ordered:
        if tick > state.tick:
            above += net
            if above < 0:
                raise _impossible()
    for tick, net in reversed(ordered):
        if tick <= state.tick:
            below -= net
            if below < 0:
                raise _impossible()
    return PoolState(state.sqrt_price_x96, state.tick, liquidity, pool.fee, pool.spacing, ordered)


def _impossible() -> UpstreamDown:
    return UpstreamDown("the chain node tells of a pool that cannot be")
