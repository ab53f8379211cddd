"""The operations of the group 'trading'. Written by `python -m tickyard.clientgen`."""

from typing import Literal, cast

from tickyard.client.answers.shared import TradeBuild
from tickyard.client.answers.trading import Depth, ManyStats, Markets, Portfolio, Quote, Quotes, Stats
from tickyard.client.routes import AsyncGroup, Group, Param, Route

ROUTES: dict[str, Route] = {
    "get_quote": Route(
        "GET",
        "/v1/quote",
        Quote,
        params=(
            Param("symbol", str, is_required=True),
            Param("side", Literal["buy", "sell"], is_required=True),
            Param("amount", str, is_required=True),
            Param("denom", Literal["token", "usd"]),
        ),
        is_paid=True,
    ),
    "get_portfolio": Route(
        "GET", "/v1/portfolio/{address}", Portfolio, params=(Param("address", str, is_required=True),), is_paid=True
    ),
    "build_trade": Route(
        "POST",
        "/v1/trade/build",
        TradeBuild,
        params=(
            Param("symbol", str, is_required=True),
            Param("side", Literal["buy", "sell"], is_required=True),
            Param("amount", str, is_required=True),
            Param("recipient", str, is_required=True),
            Param("denom", Literal["token", "usd"]),
            Param("slippageBps", int),
        ),
        is_paid=True,
    ),
    "list_stats": Route("GET", "/v1/stats", ManyStats, params=(Param("symbols", str | None),)),
    "get_stats": Route("GET", "/v1/stats/{symbol}", Stats, params=(Param("symbol", str, is_required=True),)),
    "list_markets": Route(
        "GET",
        "/v1/markets",
        Markets,
        params=(
            Param("venue", Literal["dex-v3"]),
            Param("limit", int),
            Param("offset", int),
        ),
    ),
    "get_depth": Route(
        "GET",
        "/v1/depth/{symbol}",
        Depth,
        params=(
            Param("symbol", str, is_required=True),
            Param("maxImpactBps", int | None),
        ),
    ),
    "get_quotes": Route(
        "POST", "/v1/quotes", Quotes, params=(Param("quotes", list[dict[str, str]], is_required=True),)
    ),
}


class AsyncTradingGroup(AsyncGroup):
    async def get_quote(
        self, *, symbol: str, side: Literal["buy", "sell"], amount: str, denom: Literal["token", "usd"] = "usd"
    ) -> Quote:
        """Price one swap on every fee tier at one block and return the best."""
        return cast(
            Quote,
            await self._call(ROUTES["get_quote"], {"symbol": symbol, "side": side, "amount": amount, "denom": denom}),
        )

    async def get_portfolio(self, *, address: str) -> Portfolio:
        """List a wallet's stock tokens, all read at one block, the most valuable first, each priced by the equity mid
        times the multiplier."""
        return cast(Portfolio, await self._call(ROUTES["get_portfolio"], {"address": address}))

    async def build_trade(
        self,
        *,
        symbol: str,
        side: Literal["buy", "sell"],
        amount: str,
        recipient: str,
        denom: Literal["token", "usd"] = "usd",
        slippage_bps: int = 50,
    ) -> TradeBuild:
        """Quote one swap and build the unsigned transactions for it, to be signed and sent in order by the recipient:
        an approval for exactly what is needed, only if the allowance is short, then the swap with its bound and its
        deadline."""
        return cast(
            TradeBuild,
            await self._call(
                ROUTES["build_trade"],
                {
                    "symbol": symbol,
                    "side": side,
                    "amount": amount,
                    "recipient": recipient,
                    "denom": denom,
                    "slippageBps": slippage_bps,
                },
            ),
        )

    async def list_stats(self, *, symbols: str | None = None) -> ManyStats:
        """Show supply, prices and pools of up to 50 tokens, or of all, read at one block in one call."""
        return cast(ManyStats, await self._call(ROUTES["list_stats"], {"symbols": symbols}))

    async def get_stats(self, *, symbol: str) -> Stats:
        """Show one token's supply, its price in the deepest pool against the equity quote, the 24-hour change of the
        sampled price (null until a day of history exists), and every TOKEN/USDG pool, all read at one block."""
        return cast(Stats, await self._call(ROUTES["get_stats"], {"symbol": symbol}))

    async def list_markets(self, *, venue: Literal["dex-v3"] = "dex-v3", limit: int = 50, offset: int = 0) -> Markets:
        """List every TOKEN/USDG pool, the deepest first, all read at one block."""
        return cast(
            Markets, await self._call(ROUTES["list_markets"], {"venue": venue, "limit": limit, "offset": offset})
        )

    async def get_depth(self, *, symbol: str, max_impact_bps: int | None = None) -> Depth:
        """Show what it takes to move one token's price by 0.1 to 10 %, up and down, in every pool and in all of them
        together, over the liquidity that is really there, exact, all at one block."""
        return cast(Depth, await self._call(ROUTES["get_depth"], {"symbol": symbol, "maxImpactBps": max_impact_bps}))

    async def get_quotes(self, *, quotes: list[dict[str, str]]) -> Quotes:
        """Price up to 50 swaps, all at one block, in the order asked."""
        return cast(Quotes, await self._call(ROUTES["get_quotes"], {"quotes": quotes}))


class TradingGroup(Group):
    def get_quote(
        self, *, symbol: str, side: Literal["buy", "sell"], amount: str, denom: Literal["token", "usd"] = "usd"
    ) -> Quote:
        """Price one swap on every fee tier at one block and return the best."""
        return cast(
            Quote, self._call(ROUTES["get_quote"], {"symbol": symbol, "side": side, "amount": amount, "denom": denom})
        )

    def get_portfolio(self, *, address: str) -> Portfolio:
        """List a wallet's stock tokens, all read at one block, the most valuable first, each priced by the equity mid
        times the multiplier."""
        return cast(Portfolio, self._call(ROUTES["get_portfolio"], {"address": address}))

    def build_trade(
        self,
        *,
        symbol: str,
        side: Literal["buy", "sell"],
        amount: str,
        recipient: str,
        denom: Literal["token", "usd"] = "usd",
        slippage_bps: int = 50,
    ) -> TradeBuild:
        """Quote one swap and build the unsigned transactions for it, to be signed and sent in order by the recipient:
        an approval for exactly what is needed, only if the allowance is short, then the swap with its bound and its
        deadline."""
        return cast(
            TradeBuild,
            self._call(
                ROUTES["build_trade"],
                {
                    "symbol": symbol,
                    "side": side,
                    "amount": amount,
                    "recipient": recipient,
                    "denom": denom,
                    "slippageBps": slippage_bps,
                },
            ),
        )

    def list_stats(self, *, symbols: str | None = None) -> ManyStats:
        """Show supply, prices and pools of up to 50 tokens, or of all, read at one block in one call."""
        return cast(ManyStats, self._call(ROUTES["list_stats"], {"symbols": symbols}))

    def get_stats(self, *, symbol: str) -> Stats:
        """Show one token's supply, its price in the deepest pool against the equity quote, the 24-hour change of the
        sampled price (null until a day of history exists), and every TOKEN/USDG pool, all read at one block."""
        return cast(Stats, self._call(ROUTES["get_stats"], {"symbol": symbol}))

    def list_markets(self, *, venue: Literal["dex-v3"] = "dex-v3", limit: int = 50, offset: int = 0) -> Markets:
        """List every TOKEN/USDG pool, the deepest first, all read at one block."""
        return cast(Markets, self._call(ROUTES["list_markets"], {"venue": venue, "limit": limit, "offset": offset}))

    def get_depth(self, *, symbol: str, max_impact_bps: int | None = None) -> Depth:
        """Show what it takes to move one token's price by 0.1 to 10 %, up and down, in every pool and in all of them
        together, over the liquidity that is really there, exact, all at one block."""
        return cast(Depth, self._call(ROUTES["get_depth"], {"symbol": symbol, "maxImpactBps": max_impact_bps}))

    def get_quotes(self, *, quotes: list[dict[str, str]]) -> Quotes:
        """Price up to 50 swaps, all at one block, in the order asked."""
        return cast(Quotes, self._call(ROUTES["get_quotes"], {"quotes": quotes}))
