"""The asset registry as callers see it."""

from typing import Annotated, Any, Literal

from msgspec import Meta, field

from tickyard.deps import Deps
from tickyard.kernel.operation import Kept, NoAsk
from tickyard.kernel.wire import Answer, Ask, SymbolField
from tickyard.market.listing.registry import REFRESH_S
from tickyard.market.listing.view import Asset, AssetDetail, asset_fields, detail_fields

__all__ = ["Asset", "AssetAsk", "AssetDetail", "Assets", "get_asset", "list_assets"]


class Assets(Answer):
    assets: list[Asset]
    count: Annotated[int, Meta(examples=[194])]


AssetField = Literal["symbol", "name", "address", "chainId", "decimals", "multiplier", "status", "logoUrl", "isin"]


class AssetAsk(Ask):
    symbol: SymbolField


async def list_assets(deps: Deps, _ask: NoAsk) -> Kept[Assets]:
    """List every tokenized stock and ETF. One token represents `multiplier` underlying shares.

    Freshness: the registry is read every minute.
    """
    now = deps.clock.now()
    assets = [Asset(**asset_fields(asset, deps.settings.chain_id, now)) for asset in deps.market.registry.all()]
    return Kept(Assets(assets=assets, count=len(assets)), deps.market.registry.reuse_s(REFRESH_S, now))


class FieldsAsk(Ask):
    fields: Annotated[
        list[AssetField],
        Meta(
            min_length=1,
            max_length=9,
            description="What to tell of each asset; default symbol and name.",
            examples=[["symbol", "address", "multiplier"]],
            extra={"says": "a list of names of fields"},
        ),
    ] = field(default_factory=lambda: ["symbol", "name"])


class AssetFields(Answer):
    assets: list[dict[AssetField, Any]]
    count: Annotated[int, Meta(examples=[194])]


async def list_fields(deps: Deps, ask: FieldsAsk) -> AssetFields:
    """List every tokenized stock and ETF: symbol and name, or the fields asked for. One token represents `multiplier`
    underlying shares.

    Freshness: the registry is read every minute.
    Advice: To find one by its name, ISIN or address use search_assets; for all that is known of one use get_asset.
    """
    now = deps.clock.now()
    assets = [asset_fields(asset, deps.settings.chain_id, now) for asset in deps.market.registry.all()]
    attributes = dict(zip(Asset.__struct_encode_fields__, Asset.__struct_fields__, strict=True))
    shown = [{name: asset[attributes[name]] for name in ask.fields} for asset in assets]
    return AssetFields(assets=shown, count=len(shown))


async def get_asset(deps: Deps, ask: AssetAsk) -> Kept[AssetDetail]:
    """Look up one asset by its ticker, with a scheduled multiplier change and where it may be traded.

    Freshness: the registry is read every minute.
    """
    now = deps.clock.now()
    asset = deps.market.registry.find(ask.symbol)
    detail = AssetDetail(**detail_fields(asset, deps.settings.chain_id, now))
    return Kept(detail, deps.market.registry.reuse_s(REFRESH_S, now))
