"""The operations of the group 'history'. Written by `python -m tickyard.clientgen`."""

from typing import Literal, cast

from tickyard.client.answers.history import History
from tickyard.client.routes import AsyncGroup, Group, Param, Route

ROUTES: dict[str, Route] = {
    "get_history": Route(
        "GET",
        "/v1/history/{symbol}",
        History,
        params=(
            Param("symbol", str, is_required=True),
            Param("interval", Literal["15m", "1d", "1h", "4h", "5m"]),
            Param("limit", int),
            Param("before", str | None),
        ),
        is_paid=True,
    ),
}


class AsyncHistoryGroup(AsyncGroup):
    async def get_history(
        self,
        *,
        symbol: str,
        interval: Literal["15m", "1d", "1h", "4h", "5m"] = "1h",
        limit: int = 100,
        before: str | None = None,
    ) -> History:
        """Read price candles of one token, from the samples taken every 5 minutes of its deepest TOKEN/USDG pool."""
        return cast(
            History,
            await self._call(
                ROUTES["get_history"], {"symbol": symbol, "interval": interval, "limit": limit, "before": before}
            ),
        )


class HistoryGroup(Group):
    def get_history(
        self,
        *,
        symbol: str,
        interval: Literal["15m", "1d", "1h", "4h", "5m"] = "1h",
        limit: int = 100,
        before: str | None = None,
    ) -> History:
        """Read price candles of one token, from the samples taken every 5 minutes of its deepest TOKEN/USDG pool."""
        return cast(
            History,
            self._call(
                ROUTES["get_history"], {"symbol": symbol, "interval": interval, "limit": limit, "before": before}
            ),
        )
