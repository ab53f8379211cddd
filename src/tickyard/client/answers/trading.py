"""Shapes of the answers in the group 'trading'. Written by `python -m tickyard.clientgen`."""

from typing import Literal

from tickyard.client.answers.shared import ErrorDetail
from tickyard.client.routes import Answer


class Quote(Answer):
    side: Literal["buy", "sell"]
    mode: Literal["exactIn", "exactOut"]
    fee_tier: int
    usd_amount: str
    token_amount: str
    effective_price_per_token: str | None
    gas_estimate: str
    venue: Literal["dex-v3"]
    pair: Literal["TOKEN/USDG"]
    symbol: str
    token_address: str
    as_of: str


class Position(Answer):
    symbol: str
    name: str
    address: str
    balance: str
    decimals: int
    usd_price: str | None
    usd_value: str | None


class Portfolio(Answer):
    address: str
    chain_id: int
    positions: list[Position]
    total_usd_value: str
    as_of: str


class Supply(Answer):
    total_tokens: str | None
    value_usd: str | None


class StatsPrice(Answer):
    dex_usd: str | None
    equity_token_usd: str
    underlying_mid_usd: str
    multiplier: str
    dex_premium_pct: str | None
    change24h_pct: str | None


class PoolStats(Answer):
    pool: str
    fee_tier: int
    price: str | None
    usdg_liquidity: str
    token_liquidity: str
    tvl_usd: str


class Stats(Answer):
    symbol: str
    name: str
    token_address: str | None
    chain_id: int
    supply: Supply
    price: StatsPrice
    pools: list[PoolStats]
    as_of: str


class StatsItem(Answer):
    symbol: str
    stats: Stats | None
    error: ErrorDetail | None


class ManyStats(Answer):
    stats: list[StatsItem]
    count: int
    as_of: str


class MarketRow(Answer):
    symbol: str
    pair: Literal["TOKEN/USDG"]
    pool: str
    fee_tier: int
    price: str | None
    usdg_liquidity: str
    token_liquidity: str
    tvl_usd: str
    depth_usd: str


class Markets(Answer):
    venue: Literal["dex-v3"]
    chain_id: int
    count: int
    total: int
    markets: list[MarketRow]
    as_of: str


class PriceMove(Answer):
    move_pct: str
    usdg: str
    tokens: str


class PoolDepth(Answer):
    pool: str
    fee_tier: int
    price: str | None
    depth_usd: str
    up: list[PriceMove]
    down: list[PriceMove]


class AllDepth(Answer):
    up: list[PriceMove]
    down: list[PriceMove]


class LargestTrade(Answer):
    buy_usd: str
    sell_tokens: str


class Depth(Answer):
    symbol: str
    chain_id: int
    block_number: int
    as_of: str
    pools: list[PoolDepth]
    all: AllDepth
    largest: LargestTrade | None


class QuotesItem(Answer):
    quote: Quote | None
    error: ErrorDetail | None


class Quotes(Answer):
    block_number: int
    as_of: str
    count: int
    quotes: list[QuotesItem]
