"""The operations of the group 'alerts'. Written by `python -m tickyard.clientgen`."""

# ruff: noqa: A002

from typing import Literal, cast

from tickyard.client.answers.alerts import AlertRecord, CreatedAlert
from tickyard.client.routes import AsyncGroup, Group, Param, Route

ROUTES: dict[str, Route] = {
    "create_alert": Route(
        "POST",
        "/v1/alerts",
        CreatedAlert,
        params=(
            Param("symbol", str, is_required=True),
            Param("condition", Literal["above", "below"], is_required=True),
            Param("price", float, is_required=True),
            Param("webhookUrl", str, is_required=True),
        ),
        is_read_only=False,
    ),
    "get_alert": Route(
        "GET",
        "/v1/alerts/{id}",
        AlertRecord,
        params=(
            Param("id", str, is_required=True),
            Param("secret", str | None),
        ),
    ),
    "cancel_alert": Route(
        "DELETE",
        "/v1/alerts/{id}",
        AlertRecord,
        params=(
            Param("id", str, is_required=True),
            Param("secret", str | None),
        ),
        is_read_only=False,
    ),
}


class AsyncAlertsGroup(AsyncGroup):
    async def create_alert(
        self, *, symbol: str, condition: Literal["above", "below"], price: float, webhook_url: str
    ) -> CreatedAlert:
        """Watch the on-chain price of one asset and POST to a webhook once, when it crosses a threshold."""
        return cast(
            CreatedAlert,
            await self._call(
                ROUTES["create_alert"],
                {"symbol": symbol, "condition": condition, "price": price, "webhookUrl": webhook_url},
            ),
        )

    async def get_alert(self, *, id: str, secret: str | None = None) -> AlertRecord:
        """Read one alert with the secret that came with it: its state, and what became of its delivery."""
        return cast(AlertRecord, await self._call(ROUTES["get_alert"], {"id": id, "secret": secret}))

    async def cancel_alert(self, *, id: str, secret: str | None = None) -> AlertRecord:
        """Cancel one alert with the secret that came with it."""
        return cast(AlertRecord, await self._call(ROUTES["cancel_alert"], {"id": id, "secret": secret}))


class AlertsGroup(Group):
    def create_alert(
        self, *, symbol: str, condition: Literal["above", "below"], price: float, webhook_url: str
    ) -> CreatedAlert:
        """Watch the on-chain price of one asset and POST to a webhook once, when it crosses a threshold."""
        return cast(
            CreatedAlert,
            self._call(
                ROUTES["create_alert"],
                {"symbol": symbol, "condition": condition, "price": price, "webhookUrl": webhook_url},
            ),
        )

    def get_alert(self, *, id: str, secret: str | None = None) -> AlertRecord:
        """Read one alert with the secret that came with it: its state, and what became of its delivery."""
        return cast(AlertRecord, self._call(ROUTES["get_alert"], {"id": id, "secret": secret}))

    def cancel_alert(self, *, id: str, secret: str | None = None) -> AlertRecord:
        """Cancel one alert with the secret that came with it."""
        return cast(AlertRecord, self._call(ROUTES["cancel_alert"], {"id": id, "secret": secret}))
