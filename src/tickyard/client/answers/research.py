"""Shapes of the answers in the group 'research'. Written by `python -m tickyard.clientgen`."""

from typing import Any, Literal

from tickyard.client.routes import Answer


class Underlying(Answer):
    ticker: str
    company_name: str
    cik: str
    exchange: str | None
    industry: str | None
    sic: str | None
    state_of_incorporation: str | None
    fiscal_year_end: str | None
    isin: str


class ReportedFact(Answer):
    value: float
    unit: str
    period_start: str | None
    period_end: str
    fiscal_year: int | None
    form: str | None


class SharesOutstanding(Answer):
    value: int
    unit: Literal["shares"]
    as_of: str


class MarketCapitalization(Answer):
    value: int
    unit: Literal["USD"]
    basis: str


class Facts(Answer):
    revenue: ReportedFact | None
    net_income: ReportedFact | None
    shares_outstanding: SharesOutstanding | None
    market_cap: MarketCapitalization | None


class TokenQuote(Answer):
    underlying_mid: str
    token_mid: str
    currency: str
    as_of: str


class Token(Answer):
    symbol: str
    name: str
    address: str | None
    chain_id: int
    decimals: int
    multiplier: str
    status: str
    logo_url: str
    isin: str
    pending_multiplier: str | None
    trading_capabilities: Any
    price: TokenQuote | None


class Research(Answer):
    symbol: str
    underlying: Underlying | None
    facts: Facts
    token: Token
    sources: list[str]
    note: str | None


class ExplainedCandidate(Answer):
    concept: str
    value: float | None
    unit: str
    period_start: str | None
    period_end: str
    form: str
    accession: str
    filed: str
    filing_url: str
    verdict: Literal["chosen", "rejected"]
    reason: str


class ExplainedFact(Answer):
    chosen: ExplainedCandidate | None
    candidates: list[ExplainedCandidate]


class ExplainedFacts(Answer):
    revenue: ExplainedFact
    net_income: ExplainedFact
    shares_outstanding: ExplainedFact
    market_cap: ExplainedFact


class Explanation(Answer):
    symbol: str
    as_of: str
    company_name: str | None
    incorporated_in: str | None
    facts: ExplainedFacts
    note: str | None


class EarlierFigure(Answer):
    value: float
    form: str
    accession: str
    filed: str


class SeriesFigure(Answer):
    value: float | None
    unit: str | None
    concept: str | None
    form: str | None
    accession: str | None
    filed: str | None
    reason: str | None
    earlier: list[EarlierFigure]


class FinancialPeriod(Answer):
    period_start: str
    period_end: str
    fiscal_year: int | None
    revenue: SeriesFigure
    net_income: SeriesFigure
    diluted_eps: SeriesFigure
    shares: SeriesFigure


class TrailingYear(Answer):
    period_start: str | None
    period_end: str | None
    revenue: SeriesFigure
    net_income: SeriesFigure


class Ratio(Answer):
    value: str | None
    reason: str | None


class Ratios(Answer):
    price_to_earnings: Ratio
    price_to_sales: Ratio


class Financials(Answer):
    symbol: str
    as_of: str
    annual: list[FinancialPeriod]
    quarterly: list[FinancialPeriod]
    trailing: TrailingYear
    ratios: Ratios
    note: str | None


class Event(Answer):
    id: str
    source: str
    symbol: str
    type: str | None
    status: str | None
    process_date: str | None
    details: dict[str, Any]


class VotingState(Answer):
    live: bool
    status: str


class VoteList(Answer):
    events: list[Event]
    upstream_votes: Any
    voting: VotingState


class VotePosition(Answer):
    symbol: str
    token_balance: str
    multiplier: str
    share_equivalent: str


class VotePower(Answer):
    address: str
    chain_id: int
    positions: list[VotePosition]
    total_share_equivalent: str
