"""THE TABLE: one row per operation. Routes, index, API description and docs are made from these rows."""

from collections.abc import Mapping
from dataclasses import replace

from tickyard.features import assets, markets, portfolio, prices, quotes, stats
from tickyard.features.actions import operations as actions
from tickyard.features.alerts import operations as alerts
from tickyard.features.earn import books as earn_books
from tickyard.features.earn import operations as earn
from tickyard.features.earn import wire as earn_wire
from tickyard.features.history import operations as history
from tickyard.features.history import status
from tickyard.features.research import operations as research
from tickyard.features.research.answer import Research
from tickyard.features.trades import operations as trades
from tickyard.features.votes import operations as votes
from tickyard.kernel.errors import BadRequest, NoLiquidity, NotFound, UpstreamDown
from tickyard.kernel.operation import Operation
from tickyard.kernel.units import UsdgAmount
from tickyard.payments import books

CENT = UsdgAmount(10_000)

CATALOG: tuple[Operation, ...] = (
    Operation(
        name="get_research",
        method="GET",
        path="/v1/research/{symbol}",
        run=research.get_research,
        ask=research.ResearchAsk,
        answer=Research,
        failures=(BadRequest, NotFound, UpstreamDown),
        tag="research",
        price=CENT,
    ),
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
        name="get_history",
        method="GET",
        path="/v1/history/{symbol}",
        run=history.get_history,
        ask=history.HistoryAsk,
        answer=history.History,
        failures=(BadRequest, NotFound, UpstreamDown),
        tag="history",
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
        changes=False,
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
        name="list_prices",
        method="GET",
        path="/v1/prices",
        run=prices.list_prices,
        ask=prices.PricesAsk,
        answer=prices.Prices,
        failures=(BadRequest, UpstreamDown),
        tag="registry",
    ),
    Operation(
        name="list_stats",
        method="GET",
        path="/v1/stats",
        run=stats.list_stats,
        ask=stats.ManyStatsAsk,
        answer=stats.ManyStats,
        failures=(BadRequest, UpstreamDown),
        tag="trading",
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
        name="list_corporate_actions",
        method="GET",
        path="/v1/corporate-actions",
        run=actions.list_corporate_actions,
        ask=actions.ActionsAsk,
        answer=actions.CorporateActions,
        failures=(BadRequest, NotFound, UpstreamDown),
        tag="registry",
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
    Operation(
        name="list_votes",
        method="GET",
        path="/v1/votes",
        run=votes.list_votes,
        answer=votes.VoteList,
        failures=(),
        tag="research",
    ),
    Operation(
        name="get_vote_power",
        method="GET",
        path="/v1/votes/power/{address}",
        run=votes.get_vote_power,
        ask=votes.VotePowerAsk,
        answer=votes.VotePower,
        failures=(BadRequest, NotFound, UpstreamDown),
        tag="research",
    ),
    Operation(
        name="create_alert",
        method="POST",
        path="/v1/alerts",
        run=alerts.create_alert,
        ask=alerts.CreateAlertAsk,
        answer=alerts.CreatedAlert,
        failures=(BadRequest, NotFound, UpstreamDown),
        tag="alerts",
        status=201,
        quota_per_minute=30,
    ),
    Operation(
        name="get_alert",
        method="GET",
        path="/v1/alerts/{id}",
        run=alerts.get_alert,
        ask=alerts.AlertAsk,
        answer=alerts.AlertRecord,
        failures=(BadRequest, NotFound, UpstreamDown),
        tag="alerts",
    ),
    Operation(
        name="cancel_alert",
        method="DELETE",
        path="/v1/alerts/{id}",
        run=alerts.cancel_alert,
        ask=alerts.AlertAsk,
        answer=alerts.AlertRecord,
        failures=(BadRequest, NotFound, UpstreamDown),
        tag="alerts",
    ),
    Operation(
        name="get_earn",
        method="GET",
        path="/v1/earn",
        run=earn.get_earn,
        answer=earn_wire.Earn,
        failures=(UpstreamDown,),
        tag="earn",
    ),
    Operation(
        name="get_earn_status",
        method="GET",
        path="/v1/earn/status/{address}",
        run=earn.get_earn_status,
        ask=earn.StatusAsk,
        answer=earn_wire.WalletStatus,
        failures=(BadRequest, UpstreamDown),
        tag="earn",
    ),
    Operation(
        name="claim_earn",
        method="POST",
        path="/v1/earn/claim",
        run=earn.claim,
        ask=earn.ClaimAsk,
        answer=earn_wire.Claimed,
        failures=(BadRequest, NotFound, UpstreamDown),
        tag="earn",
        is_tool=False,
    ),
    Operation(
        name="get_epoch_books",
        method="GET",
        path="/v1/earn/epochs/{id}",
        run=earn_books.get_epoch_books,
        ask=earn_books.BooksAsk,
        answer=earn_books.EpochBooks,
        failures=(BadRequest, NotFound, UpstreamDown),
        tag="earn",
        is_tool=False,
    ),
    Operation(
        name="get_payment",
        method="GET",
        path="/v1/payments/{transaction}",
        run=books.get_payment,
        ask=books.PaymentAsk,
        answer=books.SettledPayment,
        failures=(BadRequest, NotFound, UpstreamDown),
        tag="payments",
        is_tool=False,
    ),
    Operation(
        name="get_status",
        method="GET",
        path="/v1/status",
        run=status.get_status,
        answer=status.Status,
        failures=(UpstreamDown,),
        tag="registry",
    ),
)


def rows_of(*, has_earn: bool, prices: Mapping[str, UsdgAmount] | None = None) -> tuple[Operation, ...]:
    """The rows that this deployment serves, at its prices: without a reward program its routes do not exist."""
    rows = CATALOG if has_earn else tuple(row for row in CATALOG if row.tag != "earn")
    priced = prices or {}
    return tuple(replace(row, price=priced[row.name]) if row.name in priced else row for row in rows)
