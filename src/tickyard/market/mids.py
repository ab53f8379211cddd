"""The issuer's equity quotes, kept for seconds. The mid is the middle of bid and ask, exact."""

from collections.abc import Callable
from datetime import timedelta
from typing import Final

from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address, Symbol
from tickyard.market.short_lived import Copies, Copy
from tickyard.observe.log import log
from tickyard.sources.issuer.api import Issuer, IssuerQuote

REUSE: Final = timedelta(seconds=5)
STALE: Final = timedelta(seconds=15)
"""The issuer's own cache lives 15 s: an older copy than that stands in for nothing."""


class NoQuote(UpstreamDown):
    """The issuer answers, and quotes no price for this symbol."""


class Mids:
    def __init__(self, issuer: Issuer, clock: Clock, symbol_at: Callable[[Address], Symbol | None]) -> None:
        """`symbol_at`: whose token an address is, as far as we know."""
        self._issuer = issuer
        self._symbol_at = symbol_at
        self._one: Copies[Symbol, IssuerQuote] = Copies(self._fetch_one, clock, reuse=REUSE, stale=STALE)
        self._all: Copies[None, dict[Symbol, IssuerQuote]] = Copies(self._fetch_all, clock, reuse=REUSE, stale=STALE)

    async def one(self, symbol: Symbol) -> tuple[IssuerQuote, int]:
        """The quote of one symbol with its day's figures, and for how many seconds it may be reused."""
        copy = await self._one.get(symbol)
        return copy.value, self._one.seconds_left(copy)

    async def all(self) -> Copy[dict[Symbol, IssuerQuote]]:
        """Every symbol's quote, without the day's figures."""
        return await self._all.get(None)

    def at_hand(self) -> Copy[dict[Symbol, IssuerQuote]] | None:
        """Every symbol's quote without asking anybody; None: there are none that may be told."""
        return self._all.held(None)

    def reuse_s(self, copy: Copy[dict[Symbol, IssuerQuote]]) -> int:
        """For how many seconds an answer made from all quotes may be reused."""
        return self._all.seconds_left(copy)

    async def _fetch_one(self, symbol: Symbol) -> IssuerQuote:
        quote = await self._issuer.quote(symbol)
        if quote is None:
            raise NoQuote(f"the issuer has no quote for {symbol}")
        if self._is_of_another(quote):
            raise NoQuote(f"the issuer's quote for {symbol} is of another token")
        return quote

    async def _fetch_all(self, _key: None) -> dict[Symbol, IssuerQuote]:
        quotes = await self._issuer.quotes()
        return {symbol: quote for symbol, quote in quotes.items() if not self._is_of_another(quote)}

    def _is_of_another(self, quote: IssuerQuote) -> bool:
        """Whether it stands beside a token that we know by another name: then nobody can tell whose price it is. One
        at an address that nobody has is no such doubt: what a share costs goes by its name."""
        owner = self._symbol_at(quote.address) if quote.address else None
        if owner is None or owner == quote.symbol:
            return False
        log.error("the issuer quotes a token under another name, it is not believed", symbol=quote.symbol, token=owner)
        return True
