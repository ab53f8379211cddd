"""Research: the company behind a token and its audited figures, beside the token and its price."""

import asyncio
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final, Protocol

from tickyard.config.settings import Settings
from tickyard.features.research.answer import (
    Facts,
    Research,
    Token,
    TokenQuote,
    show_fact,
    show_market_cap,
    show_shares,
    show_underlying,
)
from tickyard.features.research.library import Filer, Library, Reading
from tickyard.features.research.profile import filer_ticker, is_fund, is_operating_company
from tickyard.features.research.study import Absence, Study, study
from tickyard.features.research.worth import Worth, market_cap
from tickyard.kernel.clock import Clock
from tickyard.kernel.operation import Kept
from tickyard.kernel.units import Price
from tickyard.kernel.wire import Ask, SymbolField, iso
from tickyard.market.asset import Asset
from tickyard.market.listing_view import detail_fields
from tickyard.market.market import Market
from tickyard.market.mids import REUSE, NoQuote
from tickyard.sources.filings.border import Company
from tickyard.sources.issuer.api import IssuerQuote
from tickyard.store.actions import recounts_between
from tickyard.store.engine import Store

_LISTING: Final = "Issuer's asset registry"
_TICKERS: Final = "SEC EDGAR company tickers"


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


@dataclass(frozen=True, slots=True)
class Profile:
    """What there is to say about the company, whatever the price."""

    company: Company | None
    study: Study | None
    notes: tuple[str, ...]
    sources: tuple[str, ...]


async def get_research(deps: ResearchDeps, ask: ResearchAsk) -> Kept[Research]:
    """Look up the company behind a token: who it is, its revenue and net income of the newest whole year, its shares
    and market cap, each from a named filing, beside the token and its price. Figures keep the currency they were
    reported in. One that cannot be trusted is null, and `note` says why. Funds and trusts have no underlying.

    Freshness: filings change about once a quarter; the token's price is at most 15 s old.
    """
    asset = deps.market.registry.find(ask.symbol)
    today = deps.clock.now().date()
    (quote, seconds), reading = await asyncio.gather(_quote(deps, asset), _profile(deps, asset, today))
    profile = reading.value
    # Only what can be told by now: waiting for the filings may have taken a while.
    now = deps.clock.now()
    mid = quote.mid if quote is not None else None
    worth = await _worth(deps, asset, profile.study, mid, today)
    found = profile.study
    notes = (*profile.notes, *_on_age(reading.stale_since), *_on_quote(mid), *worth.notes)
    research = Research(
        symbol=asset.symbol,
        underlying=show_underlying(profile.company, asset) if profile.company is not None else None,
        facts=Facts(
            revenue=show_fact(found.revenue) if found else None,
            net_income=show_fact(found.net_income) if found else None,
            shares_outstanding=show_shares(found.shares) if found else None,
            market_cap=show_market_cap(worth.market_cap),
        ),
        token=Token(**detail_fields(asset, deps.settings.chain_id, now), price=_price(quote, mid, asset, now)),
        sources=[*profile.sources, _LISTING, *([f"Issuer's equity quote of {asset.symbol}"] if mid else [])],
        note=" ".join(notes) or None,
    )
    return Kept(research, deps.market.registry.reuse_s(seconds, now))


async def _quote(deps: ResearchDeps, asset: Asset) -> tuple[IssuerQuote | None, int]:
    try:
        return await deps.market.mids.one(asset.symbol)
    except NoQuote:
        return None, int(REUSE.total_seconds())


async def _profile(deps: ResearchDeps, asset: Asset, today: date) -> Reading[Profile]:
    symbol = asset.symbol
    if is_fund(symbol):
        return Reading(_no_company(symbol), None)
    return await deps.filings.read(filer_ticker(symbol), today, lambda filer: describe(symbol, filer, today))


def describe(symbol: str, filer: Filer | None, today: date) -> Profile:
    """Everything about a filer that does not depend on a price."""
    if filer is None:
        note = f"No company files with the SEC under {symbol}, so there are no fundamentals."
        return Profile(None, None, (note,), (_TICKERS,))
    absence = Absence.NOT_FILED if filer.is_readable else Absence.UNREADABLE
    if not is_operating_company(filer.company, filer.facts):
        if not filer.is_readable:
            # Neither the codes nor the facts tell what it is.
            return Profile(None, None, (f"Fundamentals are unknown: {absence.value}.",), ())
        return _no_company(symbol)
    found = study(filer.company, filer.facts if filer.facts is not None else absence, today)
    return Profile(filer.company, found, found.notes, found.sources)


def _no_company(symbol: str) -> Profile:
    return Profile(None, None, (f"{symbol} is a fund or trust: no company and no fundamentals of its own.",), ())


async def _worth(deps: ResearchDeps, asset: Asset, found: Study | None, mid: Price | None, today: date) -> Worth:
    if found is None:
        return Worth(None)
    worth = market_cap(
        found.shares,
        mid,
        asset.symbol,
        is_foreign=found.is_foreign,
        tagged_ratio=found.tagged_ratio,
        public_float=found.public_float,
    )
    if worth.market_cap is None or found.shares is None:
        return worth
    async with deps.store.glance() as tx:
        days = await recounts_between(tx, asset.symbol, found.shares.as_of, today)
    if days:
        reason = f"the shares were split on {days[-1]}, after they were counted ({found.shares.as_of})"
        return Worth(None, (f"marketCap: {reason}.",))
    return worth


def _price(quote: IssuerQuote | None, mid: Price | None, asset: Asset, now: datetime) -> TokenQuote | None:
    if quote is None or mid is None:
        return None
    return TokenQuote(
        underlying_mid=mid.text(),
        token_mid=mid.times(asset.multiplier(now)).text(),
        currency=quote.currency,
        as_of=iso(quote.generated_at),
    )


def _on_quote(mid: Price | None) -> tuple[str, ...]:
    return () if mid is not None else ("price: the issuer's quote is not usable at the moment.",)


def _on_age(stale_since: datetime | None) -> tuple[str, ...]:
    if stale_since is None:
        return ()
    return (f"The filings are as of {iso(stale_since)}: the filings database has given no usable answer since.",)
