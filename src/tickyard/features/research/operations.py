"""Research: the company behind a token and its audited figures, beside the token and its price."""

import asyncio
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final, Protocol

from tickyard.config.settings import Settings
from tickyard.features.research.answer import Research, Token, TokenQuote, show_company, show_facts
from tickyard.features.research.company.profile import filer_ticker, is_fund
from tickyard.features.research.company.worth import Worth
from tickyard.features.research.explanation import Explanation, show_explanation
from tickyard.features.research.financials import Financials, show_financials
from tickyard.features.research.library import Library, Reading
from tickyard.features.research.portrait import Filer, Portrait, appraise, describe, no_company
from tickyard.features.research.series.series import NO_SERIES, Series, series
from tickyard.features.research.study import Study
from tickyard.kernel.clock import Clock
from tickyard.kernel.ids import Symbol
from tickyard.kernel.operation import Kept
from tickyard.kernel.units import Price
from tickyard.kernel.wire import Ask, SymbolField, iso
from tickyard.market.listing.asset import Asset
from tickyard.market.listing.view import detail_fields
from tickyard.market.market import Market
from tickyard.market.mids import REUSE, NoQuote
from tickyard.sources.issuer.api import IssuerQuote
from tickyard.store.actions import recounts_between
from tickyard.store.engine import Store

_LISTING: Final = "Issuer's asset registry"


class ResearchDeps(Protocol):
    @property
    def settings(self) -> Settings: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def market(self) -> Market: ...
    @property
    def store(self) -> Store: ...
    @property
    def filings(self) -> Library: ...


class ResearchAsk(Ask):
    symbol: SymbolField


async def get_research(deps: ResearchDeps, ask: ResearchAsk) -> Kept[Research]:
    """Look up the company behind a token: who it is, its revenue and net income of the newest whole year, its shares
    and market cap, each from a named filing, beside the token and its price. Figures keep the currency they were
    reported in. One that cannot be trusted is null, and `note` says why. Funds and trusts have no underlying.

    Freshness: filings change about once a quarter; the token's price is at most 15 s old.
    """
    look = await _look(deps, ask.symbol)
    asset, mid = look.asset, look.mid
    research = Research(
        symbol=asset.symbol,
        underlying=show_company(look.portrait.company, asset.symbol, asset.listed.isin),
        facts=show_facts(look.portrait.study, look.worth),
        token=Token(**detail_fields(asset, deps.settings.chain_id, look.now), price=_price(look)),
        sources=[*look.portrait.sources, _LISTING, *([f"Issuer's equity quote of {asset.symbol}"] if mid else [])],
        note=look.note,
    )
    return Kept(research, deps.market.registry.reuse_s(look.seconds, look.now))


async def explain_research(deps: ResearchDeps, ask: ResearchAsk) -> Kept[Explanation]:
    """Explain how the figures of a company were chosen: for revenue, net income, shares and market cap every candidate
    with its filing, which one won, and for each other one sentence why not.

    Freshness: filings change about once a quarter; the price in marketCap is at most 15 s old.
    Advice: For the figures alone use get_research.
    """
    look = await _look(deps, ask.symbol)
    answer = show_explanation(look.asset.symbol, look.now, look.portrait, look.worth, look.note)
    return Kept(answer, deps.market.registry.reuse_s(look.seconds, look.now))


async def get_financials(deps: ResearchDeps, ask: ResearchAsk) -> Kept[Financials]:
    """Look up a company's years and quarters: revenue, net income, diluted profit per share and shares, each from the
    newest filing of its period with what earlier ones said, the trailing twelve months where the quarters truly add up,
    and price to earnings and to sales at the live price. What is not known is null with a reason.

    Freshness: filings change about once a quarter; the price in the ratios is at most 15 s old.
    """
    look = await _look(deps, ask.symbol)
    found = await _series(deps, look)
    no_cap = " ".join(look.worth.notes) or "There is no market cap."
    answer = show_financials(look.asset.symbol, look.now, found, look.worth.market_cap, no_cap, look.note)
    return Kept(answer, deps.market.registry.reuse_s(look.seconds, look.now))


async def _series(deps: ResearchDeps, look: "_Look") -> Series:
    if look.portrait.company is None:
        return NO_SERIES
    year_end, today = look.portrait.company.fiscal_year_end, look.now.date()

    def make(filer: Filer | None) -> Series:
        return series(filer.facts, year_end, today) if filer is not None and filer.facts is not None else NO_SERIES

    return (await deps.filings.read(filer_ticker(look.asset.symbol), today, make, "series")).value


@dataclass(frozen=True, slots=True)
class _Look:
    """One asset, its quote and the company behind it, as of one moment."""

    asset: Asset
    quote: IssuerQuote | None
    seconds: int
    portrait: Portrait
    worth: Worth
    now: datetime
    note: str | None

    @property
    def mid(self) -> Price | None:
        return self.quote.mid if self.quote is not None else None


async def _look(deps: ResearchDeps, symbol: Symbol) -> _Look:
    asset = deps.market.registry.find(symbol)
    today = deps.clock.now().date()
    (quote, seconds), reading = await asyncio.gather(_quote(deps, asset), _portrait(deps, asset, today))
    # Only what can be told by now: waiting for the filings may have taken a while.
    now = deps.clock.now()
    portrait = reading.value
    mid = quote.mid if quote is not None else None
    worth = await _worth(deps, asset, portrait.study, mid, today)
    notes = (*portrait.notes, *_on_age(reading.stale_since), *_on_quote(mid), *worth.notes)
    return _Look(asset, quote, seconds, portrait, worth, now, " ".join(notes) or None)


async def _quote(deps: ResearchDeps, asset: Asset) -> tuple[IssuerQuote | None, int]:
    try:
        return await deps.market.mids.one(asset.symbol)
    except NoQuote:
        return None, int(REUSE.total_seconds())


async def _portrait(deps: ResearchDeps, asset: Asset, today: date) -> Reading[Portrait]:
    symbol = asset.symbol
    if is_fund(symbol):
        return Reading(no_company(symbol), None)
    return await deps.filings.read(filer_ticker(symbol), today, lambda filer: describe(symbol, filer, today))


async def _worth(deps: ResearchDeps, asset: Asset, found: Study | None, mid: Price | None, today: date) -> Worth:
    worth = appraise(found, mid, asset.symbol)
    if worth.market_cap is None or found is None or found.shares is None:
        return worth
    async with deps.store.glance() as tx:
        days = await recounts_between(tx, asset.symbol, found.shares.as_of, today)
    if days:
        reason = f"the shares were split on {days[-1]}, after they were counted ({found.shares.as_of})"
        return Worth(None, (f"marketCap: {reason}.",))
    return worth


def _price(look: _Look) -> TokenQuote | None:
    quote, mid = look.quote, look.mid
    if quote is None or mid is None:
        return None
    return TokenQuote(
        underlying_mid=mid.text(),
        token_mid=mid.times(look.asset.multiplier(look.now)).text(),
        currency=quote.currency,
        as_of=iso(quote.generated_at),
    )


def _on_quote(mid: Price | None) -> tuple[str, ...]:
    return () if mid is not None else ("price: the issuer's quote is not usable at the moment.",)


def _on_age(stale_since: datetime | None) -> tuple[str, ...]:
    if stale_since is None:
        return ()
    return (f"The filings are as of {iso(stale_since)}: the filings database has given no usable answer since.",)
