"""THE TABLE: one row per operation. Routes, index, API description and docs are made from these rows."""

from tickyard.features import assets, prices
from tickyard.kernel.errors import BadRequest, NotFound, UpstreamDown
from tickyard.kernel.operation import Operation

CATALOG: tuple[Operation, ...] = (
    Operation(
        name="list_assets",
        method="GET",
        path="/v1/assets",
        run=assets.list_assets,
        answer=assets.Assets,
        failures=(UpstreamDown,),
        tag="registry",
    ),
    Operation(
        name="get_asset",
        method="GET",
        path="/v1/assets/{symbol}",
        run=assets.get_asset,
        ask=assets.AssetAsk,
        answer=assets.AssetDetail,
        failures=(BadRequest, NotFound, UpstreamDown),
        tag="registry",
    ),
    Operation(
        name="get_price",
        method="GET",
        path="/v1/prices/{symbol}",
        run=prices.get_price,
        ask=prices.PriceAsk,
        answer=prices.PriceRecord,
        failures=(BadRequest, NotFound, UpstreamDown),
        tag="registry",
    ),
)
