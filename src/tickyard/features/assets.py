"""The asset registry as callers see it."""

from typing import Annotated

from msgspec import Meta

from tickyard.deps import Deps
from tickyard.kernel.operation import Kept, NoAsk
from tickyard.kernel.wire import Answer, Ask, SymbolField
from tickyard.market.listing_view import Asset, AssetDetail, asset_fields, detail_fields
from tickyard.market.registry import REFRESH_S

__all__ = ["Asset", "AssetAsk", "AssetDetail", "Assets", "get_asset", "list_assets"]


class Assets(Answer):
    assets: list[Asset]
    count: Annotated[int, Meta(examples=[194])]


class AssetAsk(Ask):
    symbol: SymbolField


async def list_assets(deps: Deps, _ask: NoAsk) -> Kept[Assets]:
    """List every tokenized stock and ETF. One token represents `multiplier` underlying shares.

    Freshness: the registry is read every minute.
    """
    now = deps.clock.now()
    assets = [Asset(**asset_fields(asset, deps.settings.chain_id, now)) for asset in deps.market.registry.all()]
    return Kept(Assets(assets=assets, count=len(assets)), deps.market.registry.reuse_s(REFRESH_S, now))


async def get_asset(deps: Deps, ask: AssetAsk) -> Kept[AssetDetail]:
    """Look up one asset by its ticker, with a scheduled multiplier change and where it may be traded.

    Freshness: the registry is read every minute.
    """
    now = deps.clock.now()
    asset = deps.market.registry.find(ask.symbol)
    detail = AssetDetail(**detail_fields(asset, deps.settings.chain_id, now))
    return Kept(detail, deps.market.registry.reuse_s(REFRESH_S, now))
