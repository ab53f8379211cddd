"""The operations of the group 'registry'. Written by `python -m tickyard.clientgen`."""

from typing import cast

from tickyard.client.answers.registry import (
    AssetDetail,
    Assets,
    CorporateActions,
    FoundAssets,
    PriceRecord,
    Prices,
    Status,
)
from tickyard.client.routes import AsyncGroup, Group, Param, Route

ROUTES: dict[str, Route] = {
    "list_assets": Route("GET", "/v1/assets", Assets),
    "get_asset": Route("GET", "/v1/assets/{symbol}", AssetDetail, params=(Param("symbol", str, is_required=True),)),
    "search_assets": Route(
        "GET",
        "/v1/search",
        FoundAssets,
        params=(
            Param("q", str, is_required=True),
            Param("limit", int),
        ),
    ),
    "get_price": Route("GET", "/v1/prices/{symbol}", PriceRecord, params=(Param("symbol", str, is_required=True),)),
    "list_prices": Route("GET", "/v1/prices", Prices, params=(Param("symbols", str | None),)),
    "list_corporate_actions": Route(
        "GET",
        "/v1/corporate-actions",
        CorporateActions,
        params=(
            Param("symbol", str | None),
            Param("status", str | None),
        ),
    ),
    "get_status": Route("GET", "/v1/status", Status),
}


class AsyncRegistryGroup(AsyncGroup):
    async def list_assets(self) -> Assets:
        """List every tokenized stock and ETF."""
        return cast(Assets, await self._call(ROUTES["list_assets"], {}))

    async def get_asset(self, *, symbol: str) -> AssetDetail:
        """Look up one asset by its ticker, with a scheduled multiplier change and where it may be traded."""
        return cast(AssetDetail, await self._call(ROUTES["get_asset"], {"symbol": symbol}))

    async def search_assets(self, *, q: str, limit: int = 10) -> FoundAssets:
        """Find assets by ticker, name, ISIN or token address, the best match first."""
        return cast(FoundAssets, await self._call(ROUTES["search_assets"], {"q": q, "limit": limit}))

    async def get_price(self, *, symbol: str) -> PriceRecord:
        """Read the equity quote of one asset: bid, ask and mid per underlying share and, times the multiplier, per
        token."""
        return cast(PriceRecord, await self._call(ROUTES["get_price"], {"symbol": symbol}))

    async def list_prices(self, *, symbols: str | None = None) -> Prices:
        """Read the equity quotes of up to 50 assets, or of all, in one call."""
        return cast(Prices, await self._call(ROUTES["list_prices"], {"symbols": symbols}))

    async def list_corporate_actions(self, *, symbol: str | None = None, status: str | None = None) -> CorporateActions:
        """List splits, dividends, mergers and the like, which change multipliers: every action ever seen, also after
        the issuer has dropped it."""
        return cast(
            CorporateActions, await self._call(ROUTES["list_corporate_actions"], {"symbol": symbol, "status": status})
        )

    async def get_status(self) -> Status:
        """Show how fresh the service is: the newest block and its lag, the age of every upstream's last good answer,
        the newest sampled slot, how many of the day's 288 samples each token has, and which samples of the newest
        round are not to be trusted."""
        return cast(Status, await self._call(ROUTES["get_status"], {}))


class RegistryGroup(Group):
    def list_assets(self) -> Assets:
        """List every tokenized stock and ETF."""
        return cast(Assets, self._call(ROUTES["list_assets"], {}))

    def get_asset(self, *, symbol: str) -> AssetDetail:
        """Look up one asset by its ticker, with a scheduled multiplier change and where it may be traded."""
        return cast(AssetDetail, self._call(ROUTES["get_asset"], {"symbol": symbol}))

    def search_assets(self, *, q: str, limit: int = 10) -> FoundAssets:
        """Find assets by ticker, name, ISIN or token address, the best match first."""
        return cast(FoundAssets, self._call(ROUTES["search_assets"], {"q": q, "limit": limit}))

    def get_price(self, *, symbol: str) -> PriceRecord:
        """Read the equity quote of one asset: bid, ask and mid per underlying share and, times the multiplier, per
        token."""
        return cast(PriceRecord, self._call(ROUTES["get_price"], {"symbol": symbol}))

    def list_prices(self, *, symbols: str | None = None) -> Prices:
        """Read the equity quotes of up to 50 assets, or of all, in one call."""
        return cast(Prices, self._call(ROUTES["list_prices"], {"symbols": symbols}))

    def list_corporate_actions(self, *, symbol: str | None = None, status: str | None = None) -> CorporateActions:
        """List splits, dividends, mergers and the like, which change multipliers: every action ever seen, also after
        the issuer has dropped it."""
        return cast(
            CorporateActions, self._call(ROUTES["list_corporate_actions"], {"symbol": symbol, "status": status})
        )

    def get_status(self) -> Status:
        """Show how fresh the service is: the newest block and its lag, the age of every upstream's last good answer,
        the newest sampled slot, how many of the day's 288 samples each token has, and which samples of the newest
        round are not to be trusted."""
        return cast(Status, self._call(ROUTES["get_status"], {}))
