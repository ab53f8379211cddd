"""Research as callers see it."""

from decimal import Decimal
from typing import Annotated, Literal, cast

import msgspec
from msgspec import Meta

from tickyard.features.research.company.profile import cik_text, company_name, exchange_of, filer_ticker
from tickyard.features.research.company.worth import MarketCap, Worth
from tickyard.features.research.filed.facts import Fact
from tickyard.features.research.shares.choice import Shares
from tickyard.features.research.study import Study
from tickyard.kernel.wire import Answer, Moment, PriceText, Ticker
from tickyard.market.listing.view import AssetDetail, Isin
from tickyard.sources.filings.border import Company

Day = Annotated[str, Meta(examples=["2025-09-27"], extra_json_schema={"format": "date"})]
Number = Annotated[float, Meta(examples=[391035000000], description="Exact, in units.")]
Form = Annotated[str, Meta(examples=["10-K"], description="Type of the filing that reports it.")]


class TokenQuote(Answer):
    underlying_mid: Annotated[PriceText, Meta(description="USD mid of the equity quote.")]
    token_mid: Annotated[PriceText, Meta(description="Underlying mid times the multiplier: USD per token.")]
    currency: Annotated[str, Meta(examples=["USD"])]
    as_of: Moment


class Token(AssetDetail):
    price: TokenQuote | None


class Underlying(Answer):
    ticker: Ticker
    company_name: Annotated[str, Meta(examples=["Apple Inc."])]
    cik: Annotated[str, Meta(examples=["0000320193"], pattern="^[0-9]{10}$")]
    exchange: Annotated[str, Meta(examples=["Nasdaq"])] | None
    industry: Annotated[str, Meta(examples=["Electronic Computers"], description="SIC description.")] | None
    sic: Annotated[str, Meta(examples=["3571"])] | None
    state_of_incorporation: Annotated[str, Meta(examples=["CA"])] | None
    fiscal_year_end: Annotated[str, Meta(examples=["0927"], description="MMDD.")] | None
    isin: Isin


class ReportedFact(Answer):
    value: Number
    unit: Annotated[str, Meta(examples=["USD"], description="The currency as reported; never converted.")]
    period_start: Day | None
    period_end: Day
    fiscal_year: Annotated[int, Meta(examples=[2025])] | None
    form: Form | None


class SharesOutstanding(Answer):
    value: Annotated[int, Meta(examples=[14840390000])]
    unit: Literal["shares"]
    as_of: Day


class MarketCapitalization(Answer):
    value: Annotated[int, Meta(examples=[3450000000000], description="Whole dollars, rounded down.")]
    unit: Literal["USD"]
    basis: Annotated[str, Meta(description="Which share count, times which quote.")]


class Facts(Answer):
    revenue: ReportedFact | None
    net_income: ReportedFact | None
    shares_outstanding: SharesOutstanding | None
    market_cap: MarketCapitalization | None


class Research(Answer):
    symbol: Ticker
    underlying: Annotated[Underlying, Meta(description="Null when no company files under the ticker.")] | None
    facts: Facts
    token: Token
    sources: Annotated[list[str], Meta(examples=[["10-K filed 2025-10-31, accession number 0000320193-25-000079"]])]
    note: Annotated[str, Meta(description="Why a figure is missing, or what to know about one.")] | None


def show_fact(fact: Fact | None) -> ReportedFact | None:
    if fact is None:
        return None
    return ReportedFact(
        value=exact_number(fact.value),
        unit=fact.unit,
        period_start=fact.period_start.isoformat(),
        period_end=fact.period_end.isoformat(),
        fiscal_year=fact.fiscal_year,
        form=fact.form,
    )


def exact_number(value: int | Decimal) -> float:
    """A JSON number with every digit that was filed. The wire writes Decimals as text, so the digits go out raw."""
    exact = value if isinstance(value, int) else msgspec.Raw(format(value, "f").encode())
    return cast(float, exact)


def show_shares(shares: Shares | None) -> SharesOutstanding | None:
    if shares is None:
        return None
    return SharesOutstanding(value=shares.value, unit="shares", as_of=shares.as_of.isoformat())


def show_market_cap(cap: MarketCap | None) -> MarketCapitalization | None:
    return MarketCapitalization(value=cap.value, unit="USD", basis=cap.basis) if cap is not None else None


def show_company(company: Company | None, symbol: str, isin: str) -> Underlying | None:
    if company is None:
        return None
    return Underlying(
        ticker=filer_ticker(symbol),
        company_name=company_name(company),
        cik=cik_text(company.cik),
        exchange=exchange_of(company, symbol),
        industry=company.sic_description,
        sic=company.sic,
        state_of_incorporation=company.state,
        fiscal_year_end=company.fiscal_year_end,
        isin=isin,
    )


def show_facts(found: Study | None, worth: Worth) -> Facts:
    return Facts(
        revenue=show_fact(found.revenue) if found else None,
        net_income=show_fact(found.net_income) if found else None,
        shares_outstanding=show_shares(found.shares) if found else None,
        market_cap=show_market_cap(worth.market_cap),
    )
