"""A trade, and what each pool would make of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache, partial
from typing import Self

from tickyard.chain.multicall import Call
from tickyard.chain.v3.quoter import Quoted, is_partial, price_limit, quote_exact_input, quote_exact_output, read_quote
from tickyard.config.pinned import Contracts
from tickyard.kernel.errors import NoLiquidity, UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.kernel.units import AMOUNT_MAX_RAW, Price, TokenAmount, UsdgAmount
from tickyard.market.reading import CallTemplate
from tickyard.market.swaps.pools import Pool, PoolBook, PoolSpot, moving_calls, state_calls


class Side(StrEnum):
    BUY = "buy"
    SELL = "sell"

    def tokens(self, token: Address, usdg: Address) -> tuple[Address, Address]:
        """(token in, token out)."""
        return (usdg, token) if self is Side.BUY else (token, usdg)


class Mode(StrEnum):
    EXACT_IN = "exactIn"
    EXACT_OUT = "exactOut"


@dataclass(frozen=True, slots=True)
class Trade:
    """What the caller wants: one leg fixed, the other for the pools to say."""

    side: Side
    mode: Mode
    fixed: TokenAmount | UsdgAmount

    @classmethod
    def parse(cls, side: str, denom: str, amount: str) -> Self:
        """Dollars spent and tokens sold are exact going in; tokens bought and dollars raised exact coming out."""
        is_usd = denom == "usd"
        fixed = UsdgAmount.parse(amount) if is_usd else TokenAmount.parse(amount)
        mode = Mode.EXACT_IN if (side == Side.BUY) == is_usd else Mode.EXACT_OUT
        return cls(Side(side), mode, fixed)

    def open_leg(self, fill: "Fill") -> int:
        """The leg that the pool decided."""
        return fill.token if isinstance(self.fixed, UsdgAmount) else fill.usdg


@dataclass(frozen=True, slots=True)
class Fill:
    """One pool's offer."""

    before: PoolSpot
    usdg: UsdgAmount
    token: TokenAmount
    pool_gas: int
    """Gas of the pool's part alone, as the quoter measured it."""

    @property
    def price(self) -> Price | None:
        """Dollars per token as traded, fee included. None when no token moves."""
        return Price(self.usdg * 10**12, self.token) if self.token else None

    def amounts(self, side: Side) -> tuple[int, int]:
        """(amount in, amount out), base units."""
        return (self.usdg, self.token) if side is Side.BUY else (self.token, self.usdg)


def best_fill(trade: Trade, fills: Iterable[Fill]) -> Fill:
    """The fill that leaves the caller richest; of equal ones, that of the deeper pool.

    One leg is the same in every fill, so the best has the most coming in
    (exactIn) or the least going out (exactOut) on the other.
    """
    best = tied_best(trade, fills)
    if not best:
        raise NoLiquidity("no pool can fill this trade")
    return best[0] if len(best) == 1 else max(best, key=lambda fill: fill.before.depth)


def tied_best(trade: Trade, fills: Iterable[Fill]) -> list[Fill]:
    """The fills that are equally the best: nearly always one."""
    fills = list(fills)
    if len(fills) < 2:
        return fills
    choose = max if trade.mode is Mode.EXACT_IN else min
    leg = choose(trade.open_leg(fill) for fill in fills)
    return [fill for fill in fills if trade.open_leg(fill) == leg]


@dataclass(frozen=True, slots=True)
class Question:
    """One trade, put to every pool that ever had a price, each with the limit at which it counts as dry."""

    trade: Trade
    asked: tuple[tuple[Pool, int], ...]

    @classmethod
    def to(cls, pools: Iterable[Pool], trade: Trade, book: PoolBook) -> Self:
        priced = [(pool, price) for pool in pools if (price := book.last_sqrt_price(pool)) is not None]
        sells = trade.side is Side.SELL
        return cls(trade, tuple((pool, price_limit(price, pool.token_is_0 == sells)) for pool, price in priced))

    def at(self, prices: Mapping[Pool, int]) -> "Question":
        """The same, with limits for pools that stand at these square-root prices; those without one are left out."""
        sells = self.trade.side is Side.SELL
        priced = [(pool, price) for pool, price in prices.items() if price]
        return Question(
            self.trade, tuple((pool, price_limit(price, pool.token_is_0 == sells)) for pool, price in priced)
        )

    @property
    def pools(self) -> tuple[Pool, ...]:
        return tuple([pool for pool, _ in self.asked])

    @property
    def values(self) -> tuple[int, ...]:
        """What goes into the gaps of the form."""
        return (self.trade.fixed, *[limit for _, limit in self.asked])

    def calls(self, contracts: Contracts) -> list[Call]:
        return _calls(contracts, self.trade.side, self.trade.mode, self.pools, *self.values)

    def form(self, contracts: Contracts) -> CallTemplate:
        """The same calls, all but written."""
        return _form(contracts, self.trade.side, self.trade.mode, self.pools)

    def fills(self, book: PoolBook, results: Sequence[bytes | None]) -> list[Fill]:
        """The complete fills among the results of `calls`. A pool that would run dry has none, nor has one that its
        tokens do not leave: what goes in the quoter never tries."""
        fills = []
        for index, (pool, limit) in enumerate(self.asked):
            at = len(self.asked) + 2 * index
            state = book.read_state(pool, results[at], results[at + 1])
            data = results[index]
            if data is None or not state.is_usable or not self._moves(index, results):
                continue
            quoted = read_quote(data)
            # What moves nothing on the open leg is no fill either: nobody sends dollars for no tokens.
            is_nothing = not quoted.amount and self.trade.mode is Mode.EXACT_IN
            if not is_nothing and not is_partial(quoted, limit):
                fills.append(_believable(self.trade, state, quoted, limit))
        return fills

    def is_stuck(self, results: Sequence[bytes | None]) -> bool:
        """Whether it is not the amount: nothing moves in or out of any of these pools."""
        return not any(self._moves(index, results) for index in range(len(self.asked)))

    def _moves(self, index: int, results: Sequence[bytes | None]) -> bool:
        at = 3 * len(self.asked) + 2 * index
        return None not in results[at : at + 2]

    def is_outdated(self, book: PoolBook, fills: Iterable[Fill]) -> bool:
        """Whether a pool without a fill has moved so far since we set its limit that the limit may be the reason."""
        filled = {fill.before.pool for fill in fills}
        return any(
            pool not in filled and _is_near(book.last_sqrt_price(pool) or limit, limit) for pool, limit in self.asked
        )


def _calls(
    contracts: Contracts, side: Side, mode: Mode, pools: Sequence[Pool], amount: int, *limits: int
) -> list[Call]:
    """Every tier quoted, then every pool's state, then whether its tokens move. The quotes go first: a pool whose
    storage was read before in the same call would seem to need less gas than it does."""
    encode = quote_exact_input if mode is Mode.EXACT_IN else quote_exact_output
    quotes, states, moves = [], [], []
    for pool, limit in zip(pools, limits, strict=True):
        token_in, token_out = side.tokens(pool.token, contracts.usdg)
        quotes.append(Call(contracts.quoter, encode(token_in, token_out, amount, pool.fee, limit)))
        states += state_calls(pool)
        moves += moving_calls(pool, contracts)
    return quotes + states + moves


@lru_cache(maxsize=1024)
def _form(contracts: Contracts, side: Side, mode: Mode, pools: tuple[Pool, ...]) -> CallTemplate:
    """Kept, because a token's pools are asked again and again about other amounts."""
    gaps = (0,) * (1 + len(pools))
    return CallTemplate(contracts.multicall3, partial(_calls, contracts, side, mode, pools), gaps)


def _is_near(sqrt_price: int, limit: int) -> bool:
    """A limit is set at four times the square-root price or a quarter of it; half of that is too near to judge by."""
    return max(sqrt_price, limit) < 2 * min(sqrt_price, limit)


def _believable(trade: Trade, state: PoolSpot, quoted: Quoted, limit: int) -> Fill:
    """The fill, unless no pool could have given it: the price goes towards its limit, and nobody gets more than
    the price before the trade."""
    fill = fill_of(trade, state, quoted.amount, quoted.gas)
    spot, is_up = state.price, limit > state.sqrt_price_x96
    assert spot is not None
    at_spot, paid = spot.num * fill.token, fill.usdg * 10**12 * spot.den
    is_too_good = paid < at_spot if trade.side is Side.BUY else paid > at_spot
    low, high = (state.sqrt_price_x96, limit) if is_up else (limit, state.sqrt_price_x96)
    if is_too_good or quoted.amount > AMOUNT_MAX_RAW or not low <= quoted.sqrt_price_x96_after <= high:
        raise UpstreamDown("the chain node tells a fill that no pool could give")
    return fill


def fill_of(trade: Trade, state: PoolSpot, amount: int, gas: int) -> Fill:
    """The offer of a pool that gives, or takes, so much on the open leg."""
    if isinstance(trade.fixed, UsdgAmount):
        return Fill(state, trade.fixed, TokenAmount(amount), gas)
    return Fill(state, UsdgAmount(amount), trade.fixed, gas)
