"""THE TABLE: one row per operation. Routes, index, API description and docs are made from these rows."""

from collections.abc import Mapping
from dataclasses import replace

import msgspec

from tickyard.features import assets, depth, markets, portfolio, prices, quotes, search, stats
from tickyard.features.actions import operations as actions
from tickyard.features.alerts import operations as alerts
from tickyard.features.alerts import payload
from tickyard.features.earn import operations as earn
from tickyard.features.earn.books import public as earn_books
from tickyard.features.earn.books import reserves as earn_reserves
from tickyard.features.history import operations as history
from tickyard.features.history import status
from tickyard.features.history.stream import shapes
from tickyard.features.research import operations as research
from tickyard.features.trades import check as trades_check
from tickyard.features.trades import operations as trades
from tickyard.features.votes import operations as votes
from tickyard.kernel.errors import BadRequest, NoLiquidity, NotFound, UpstreamDown
from tickyard.kernel.operation import Operation, PushedEvent, row
from tickyard.kernel.units import UsdgAmount
from tickyard.kernel.wire import TextAnswer
from tickyard.payments.books import operations as books

CENT = UsdgAmount(10_000)

LOOKUP = (BadRequest, NotFound, UpstreamDown)
READ = (BadRequest, UpstreamDown)
SWAP = (BadRequest, NotFound, NoLiquidity, UpstreamDown)

# Method, path, function, group, ways to fail; a price makes a paid twin. What is asked and answered stands in the
# function's own types, what callers and agents are told in its docstring.
CATALOG: tuple[Operation, ...] = (
    row("GET", "/v1/research/{symbol}", research.get_research, "research", LOOKUP, price=CENT),
    row("GET", "/v1/research/{symbol}/explain", research.explain_research, "research", LOOKUP),
    row("GET", "/v1/research/{symbol}/financials", research.get_financials, "research", LOOKUP),
    row("GET", "/v1/quote", quotes.get_quote, "trading", SWAP, price=CENT, at_once=quotes.remembered_quote),
    row("GET", "/v1/portfolio/{address}", portfolio.get_portfolio, "trading", READ, price=CENT),
    row("GET", "/v1/history/{symbol}", history.get_history, "history", LOOKUP, price=CENT),
    row("POST", "/v1/trade/build", trades.build_trade, "trading", SWAP, price=UsdgAmount(2 * CENT), changes=False),
    row("GET", "/v1/assets", assets.list_assets, "registry", (UpstreamDown,), brief=assets.list_fields),
    row("GET", "/v1/assets/{symbol}", assets.get_asset, "registry", LOOKUP),
    row("GET", "/v1/search", search.search_assets, "registry", READ),
    row("GET", "/v1/prices/{symbol}", prices.get_price, "registry", LOOKUP),
    row("GET", "/v1/prices", prices.list_prices, "registry", READ),
    row("GET", "/v1/stats", stats.list_stats, "trading", READ),
    row("GET", "/v1/stats/{symbol}", stats.get_stats, "trading", LOOKUP),
    row("GET", "/v1/corporate-actions", actions.list_corporate_actions, "registry", LOOKUP),
    row("GET", "/v1/markets", markets.list_markets, "trading", READ),
    row("GET", "/v1/votes", votes.list_votes, "research", ()),
    row("GET", "/v1/votes/power/{address}", votes.get_vote_power, "research", LOOKUP),
    row("POST", "/v1/alerts", alerts.create_alert, "alerts", LOOKUP, status=201, quota_per_minute=30),
    row("GET", "/v1/alerts/{id}", alerts.get_alert, "alerts", LOOKUP),
    row("DELETE", "/v1/alerts/{id}", alerts.cancel_alert, "alerts", LOOKUP),
    row("GET", "/v1/earn", earn.get_earn, "earn", (UpstreamDown,)),
    row("GET", "/v1/earn/status/{address}", earn.get_earn_status, "earn", READ),
    row("POST", "/v1/earn/claim", earn.claim, "earn", LOOKUP, name="claim_earn", is_tool=False),
    row("GET", "/v1/earn/epochs/{id}", earn_books.get_epoch_books, "earn", LOOKUP, is_tool=False),
    row(
        "GET",
        "/v1/earn/epochs/{id}/books.csv.gz",
        earn_books.get_epoch_file,
        "earn",
        LOOKUP,
        answer=TextAnswer,
        is_tool=False,
        is_file=True,
    ),
    row("GET", "/v1/earn/reserves", earn_reserves.get_earn_reserves, "earn", (UpstreamDown,)),
    row("GET", "/v1/payments/{transaction}", books.get_payment, "payments", LOOKUP, is_tool=False),
    row("GET", "/v1/depth/{symbol}", depth.get_depth, "trading", LOOKUP),
    row("POST", "/v1/quotes", quotes.get_quotes, "trading", READ, changes=False),
    row("POST", "/v1/trade/check", trades_check.check_trade, "execution", SWAP, changes=False),
    row("GET", "/v1/status", status.get_status, "registry", (UpstreamDown,)),
)

# What the service tells its callers without being asked.
EVENTS: tuple[PushedEvent, ...] = (PushedEvent("price_alert", "alerts", payload.AlertEvent, payload.HEADER_TEXTS),)
STREAM: Mapping[str, type[msgspec.Struct]] = {**shapes.SHAPES, "action": actions.CorporateAction}


def rows_of(*, has_earn: bool, prices: Mapping[str, UsdgAmount] | None = None) -> tuple[Operation, ...]:
    """The rows that this deployment serves, at its prices: without a reward program its routes do not exist."""
    rows = CATALOG if has_earn else tuple(each for each in CATALOG if each.tag != "earn")
    priced = prices or {}
    return tuple(replace(each, price=priced[each.name]) if each.name in priced else each for each in rows)
