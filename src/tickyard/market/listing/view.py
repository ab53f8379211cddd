"""An asset as callers see it: the fields that the registry's routes and research share."""

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from tickyard.kernel.wire import AddressText, Answer, ChainId, MultiplierText, Ticker
from tickyard.market.listing import asset as market

Decimals = Annotated[int, Meta(examples=[18])]
Status = Annotated[str, Meta(examples=["ASSET_STATUS_ACTIVE"])]
LogoUrl = Annotated[str, Meta(examples=["https://cdn.example/logos/aapl.png"], description="Empty when unknown.")]
Isin = Annotated[str, Meta(examples=["US0378331005"], description="ISIN of the underlying.")]
Name = Annotated[str, Meta(examples=["Apple"])]

_NOTHING = msgspec.Raw(b"null")


class Asset(Answer):
    symbol: Ticker
    name: Name
    address: AddressText | None
    chain_id: ChainId
    decimals: Decimals
    multiplier: MultiplierText
    status: Status
    logo_url: LogoUrl
    isin: Isin


class AssetDetail(Asset):
    pending_multiplier: MultiplierText | None
    trading_capabilities: Any
    """The issuer's own object, passed through."""


def asset_fields(asset: market.Asset, chain_id: int, now: datetime) -> dict[str, Any]:
    return {
        "symbol": asset.symbol,
        "name": asset.name,
        "address": asset.shown_address,
        "chain_id": chain_id,
        "decimals": 18,
        "multiplier": market.multiplier_text(asset.multiplier_e18(now)),
        "status": asset.listed.status,
        "logo_url": asset.listed.logo_url,
        "isin": asset.listed.isin,
    }


def detail_fields(asset: market.Asset, chain_id: int, now: datetime) -> dict[str, Any]:
    pending = asset.pending_multiplier_e18(now)
    return {
        **asset_fields(asset, chain_id, now),
        "pending_multiplier": market.multiplier_text(pending) if pending is not None else None,
        "trading_capabilities": asset.listed.trading_capabilities or _NOTHING,
    }
