"""THE TABLE: one row per operation. Routes, index, API description and docs are made from these rows."""

from tickyard.features import assets, markets, portfolio, prices, quotes, stats
from tickyard.features.trades import operations as trades
from tickyard.kernel.errors import BadRequest, NoLiquidity, NotFound, UpstreamDown
from tickyard.kernel.operation import Operation
from tickyard.kernel.units import UsdgAmount

CENT = UsdgAmount(10_000)

CATALOG: tuple[Operation, ...] = (
    Operation(
        name="get_quote",
        method="GET",
        path="/v1/quote",
        run=quotes.get_quote,
        ask=quotes.QuoteAsk,
        answer=quotes.Quote,
        failures=(BadRequest, NotFound, NoLiquidity, UpstreamDown),
        tag="trading",
        price=CENT,
    ),
    Operation(
        name="get_portfolio",
        method="GET",
        path="/v1/portfolio/{address}",
        run=portfolio.get_portfolio,
        ask=portfolio.PortfolioAsk,
        answer=portfolio.Portfolio,
        failures=(BadRequest, UpstreamDown),
        tag="trading",
        price=CENT,
    ),
    Operation(
        name="build_trade",
        method="POST",
        path="/v1/trade/build",
        run=trades.build_trade,
        ask=trades.BuildAsk,
        answer=trades.TradeBuild,
        failures=(BadRequest, NotFound, NoLiquidity, UpstreamDown),
        tag="trading",
        price=UsdgAmount(2 * CENT),
    ),
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
    Operation(
        name="get_stats",
        method="GET",
        path="/v1/stats/{symbol}",
        run=stats.get_stats,
        ask=stats.StatsAsk,
        answer=stats.Stats,
        failures=(BadRequest, NotFound, UpstreamDown),
        tag="trading",
    ),
    Operation(
        name="list_markets",
        method="GET",
        path="/v1/markets",
        run=markets.list_markets,
        ask=markets.MarketsAsk,
        answer=markets.Markets,
        failures=(BadRequest, UpstreamDown),
        tag="trading",
    ),
)
