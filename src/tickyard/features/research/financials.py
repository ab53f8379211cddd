"""Financials as callers see them: years, quarters, trailing twelve months and what they cost at the live price."""

from datetime import date, datetime
from fractions import Fraction
from typing import Annotated

from msgspec import Meta

from tickyard.features.research.answer import Day, Form, Number, exact_number
from tickyard.features.research.company.worth import MarketCap
from tickyard.features.research.series.series import Item, Period, Said, Series, Trailing
from tickyard.kernel.wire import Answer, Moment, Ticker, iso

Accession = Annotated[str, Meta(examples=["0000320193-25-000079"], description="Number of the filing.")]


class EarlierFigure(Answer):
    value: Number
    form: Form
    accession: Accession
    filed: Day


class SeriesFigure(Answer):
    value: Annotated[Number, Meta(description="Null when it is not known; `reason` says why.")] | None
    unit: Annotated[str, Meta(examples=["USD"])] | None
    concept: Annotated[str, Meta(examples=["us-gaap:Revenues"])] | None
    form: Form | None
    accession: Accession | None
    filed: Day | None
    reason: Annotated[str, Meta(description="Why there is no value, or what to know about it.")] | None
    earlier: Annotated[list[EarlierFigure], Meta(description="What earlier filings of the period said otherwise.")]


class FinancialPeriod(Answer):
    period_start: Day
    period_end: Day
    fiscal_year: Annotated[int, Meta(examples=[2025], description="Of a year; null for a quarter.")] | None
    revenue: SeriesFigure
    net_income: SeriesFigure
    diluted_eps: SeriesFigure
    shares: Annotated[SeriesFigure, Meta(description="The average number of the period, diluted where it is tagged.")]


class TrailingYear(Answer):
    period_start: Day | None
    period_end: Day | None
    revenue: SeriesFigure
    net_income: SeriesFigure


class Ratio(Answer):
    value: Annotated[str, Meta(examples=["31.2045"], description="Four decimals, rounded down.")] | None
    reason: Annotated[str, Meta(description="Why there is none.")] | None


class Ratios(Answer):
    price_to_earnings: Annotated[Ratio, Meta(description="Market cap over trailing net income.")]
    price_to_sales: Annotated[Ratio, Meta(description="Market cap over trailing revenue.")]


class Financials(Answer):
    symbol: Ticker
    as_of: Moment
    annual: Annotated[list[FinancialPeriod], Meta(description="Newest first.")]
    quarterly: Annotated[list[FinancialPeriod], Meta(description="Newest first.")]
    trailing: TrailingYear
    ratios: Ratios
    note: Annotated[str, Meta(description="As in research.")] | None


def show_financials(
    symbol: str, now: datetime, found: Series, cap: MarketCap | None, no_cap: str, note: str | None
) -> Financials:
    return Financials(
        symbol=symbol,
        as_of=iso(now),
        annual=[_period(each) for each in found.annual],
        quarterly=[_period(each) for each in found.quarterly],
        trailing=_trailing(found.trailing),
        ratios=Ratios(
            price_to_earnings=ratio(cap, found.trailing.net_income, no_cap),
            price_to_sales=ratio(cap, found.trailing.revenue, no_cap),
        ),
        note=note,
    )


def ratio(cap: MarketCap | None, item: Item, no_cap: str) -> Ratio:
    """What a dollar of it costs. Null with a reason rather than a guess."""
    if item.value is None:
        return Ratio(value=None, reason=item.reason or "Not known for the trailing twelve months.")
    if cap is None:
        return Ratio(value=None, reason=no_cap)
    if item.unit != "USD":
        return Ratio(value=None, reason=f"The figure is in {item.unit}, the price in USD.")
    if item.value <= 0:
        return Ratio(value=None, reason="The figure of the trailing twelve months is not positive.")
    # Exact: a quotient may have more digits than a decimal keeps.
    tenthousandths = cap.value * 10_000 // Fraction(item.value)
    return Ratio(value=f"{tenthousandths // 10_000}.{tenthousandths % 10_000:04d}", reason=None)


def _period(period: Period) -> FinancialPeriod:
    return FinancialPeriod(
        period_start=period.start.isoformat(),
        period_end=period.end.isoformat(),
        fiscal_year=period.fiscal_year,
        revenue=_figure(period.revenue),
        net_income=_figure(period.net_income),
        diluted_eps=_figure(period.diluted_eps),
        shares=_figure(period.shares),
    )


def _trailing(trailing: Trailing) -> TrailingYear:
    return TrailingYear(
        period_start=_day(trailing.start),
        period_end=_day(trailing.end),
        revenue=_figure(trailing.revenue),
        net_income=_figure(trailing.net_income),
    )


def _figure(item: Item) -> SeriesFigure:
    return SeriesFigure(
        value=exact_number(item.value) if item.value is not None else None,
        unit=item.unit or None,
        concept=item.concept,
        form=item.form,
        accession=item.accession,
        filed=_day(item.filed),
        reason=item.reason,
        earlier=[_said(each) for each in item.earlier],
    )


def _said(said: Said) -> EarlierFigure:
    return EarlierFigure(
        value=exact_number(said.value), form=said.form, accession=said.accession, filed=said.filed.isoformat()
    )


def _day(day: date | None) -> str | None:
    return day.isoformat() if day is not None else None
