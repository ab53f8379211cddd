"""Shapes of the answers in more than one group. Written by `python -m tickyard.clientgen`."""

from typing import Literal

from tickyard.client.routes import Answer


class QuoteDetails(Answer):
    side: Literal["buy", "sell"]
    mode: Literal["exactIn", "exactOut"]
    fee_tier: int
    usd_amount: str
    token_amount: str
    effective_price_per_token: str | None
    gas_estimate: str
    venue: Literal["dex-v3"]
    pair: Literal["TOKEN/USDG"]


class TransactionStep(Answer):
    description: str
    to: str
    data: str
    value: str


class TradeBuild(Answer):
    symbol: str
    token_address: str
    chain_id: int
    quote: QuoteDetails
    slippage_bps: int
    deadline: int
    steps: list[TransactionStep]
    note: str


class ErrorDetail(Answer):
    code: str
    message: str
