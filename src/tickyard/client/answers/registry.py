"""Shapes of the answers in the group 'registry'. Written by `python -m tickyard.clientgen`."""

from typing import Any, Literal

from tickyard.client.answers.shared import ErrorDetail
from tickyard.client.routes import Answer


class Asset(Answer):
    symbol: str
    name: str
    address: str | None
    chain_id: int
    decimals: int
    multiplier: str
    status: str
    logo_url: str
    isin: str


class Assets(Answer):
    assets: list[Asset]
    count: int


class AssetDetail(Answer):
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


class FoundAsset(Answer):
    symbol: str
    name: str
    address: str | None
    isin: str
    match: Literal["address", "isin", "name", "symbol"]


class FoundAssets(Answer):
    query: str
    count: int
    assets: list[FoundAsset]


class UnderlyingPrice(Answer):
    bid: str
    ask: str
    mid: str


class TokenPrice(Answer):
    bid: str
    ask: str
    mid: str
    multiplier: str


class PriceRecord(Answer):
    symbol: str
    currency: str
    underlying: UnderlyingPrice
    token: TokenPrice
    halted: bool
    as_of: str
    daily_high: str | None
    daily_low: str | None
    daily_trading_volume: str | None


class PlainPrice(Answer):
    symbol: str
    currency: str
    underlying: UnderlyingPrice
    token: TokenPrice
    halted: bool
    as_of: str


class PriceItem(Answer):
    symbol: str
    price: PlainPrice | None
    error: ErrorDetail | None


class Prices(Answer):
    prices: list[PriceItem]
    count: int


class CorporateAction(Answer):
    id: str
    symbol: str
    type: str
    status: str
    process_date: str | None
    details: dict[str, Any]
    first_seen_at: str
    updated_at: str


class CorporateActions(Answer):
    corp_actions: list[CorporateAction]
    count: int
    as_of: str | None


class BlockStatus(Answer):
    number: int
    at: str
    lag_seconds: int


class Upstream(Answer):
    name: str
    last_ok_at: str | None
    age_seconds: int | None


class Coverage(Answer):
    symbol: str
    samples: int


class SuspectSample(Answer):
    symbol: str
    price: str
    equity_token_usd: str


class Status(Answer):
    chain_id: int
    as_of: str
    block: BlockStatus | None
    upstreams: list[Upstream]
    last_slot: str | None
    slots_per_day: int
    coverage24h: list[Coverage]
    suspect: list[SuspectSample]
