"""The asset registry as callers see it."""

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from tickyard.deps import Deps
from tickyard.kernel.operation import Kept, NoAsk
from tickyard.kernel.wire import AddressText, Answer, Ask, ChainId, MultiplierText, SymbolField, Ticker
from tickyard.market import asset as market
from tickyard.market.registry import REFRESH_S

Decimals = Annotated[int, Meta(examples=[18])]
Status = Annotated[str, Meta(examples=["ASSET_STATUS_ACTIVE"])]
LogoUrl = Annotated[str, Meta(examples=["https://cdn.example/logos/aapl.png"], description="Empty when unknown.")]
Isin = Annotated[str, Meta(examples=["US0378331005"], description="ISIN of the underlying.")]
Name = Annotated[str, Meta(examples=["Apple"])]


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


class Assets(Answer):
    assets: list[Asset]
    count: Annotated[int, Meta(examples=[194])]


class AssetAsk(Ask):
    symbol: SymbolField


async def list_assets(deps: Deps, _ask: NoAsk) -> Kept[Assets]:
    """List every tokenized stock and ETF. One token represents `multiplier` underlying shares."""
    now = deps.clock.now()
    assets = [Asset(**asset_fields(deps, asset, now)) for asset in deps.market.registry.all()]
    return Kept(Assets(assets=assets, count=len(assets)), deps.market.registry.reuse_s(REFRESH_S, now))


async def get_asset(deps: Deps, ask: AssetAsk) -> Kept[AssetDetail]:
    """Look up one asset by its ticker, with a scheduled multiplier change and where it may be traded."""
    now = deps.clock.now()
    asset = deps.market.registry.find(ask.symbol)
    pending = asset.pending_multiplier_e18(now)
    detail = AssetDetail(
        **asset_fields(deps, asset, now),
        pending_multiplier=market.multiplier_text(pending) if pending is not None else None,
        trading_capabilities=asset.listed.trading_capabilities or msgspec.Raw(b"null"),
    )
    return Kept(detail, deps.market.registry.reuse_s(REFRESH_S, now))


def asset_fields(deps: Deps, asset: market.Asset, now: datetime) -> dict[str, Any]:
    return {
        "symbol": asset.symbol,
        "name": asset.name,
        "address": asset.shown_address,
        "chain_id": deps.settings.chain_id,
        "decimals": 18,
        "multiplier": market.multiplier_text(asset.multiplier_e18(now)),
        "status": asset.listed.status,
        "logo_url": asset.listed.logo_url,
        "isin": asset.listed.isin,
    }
