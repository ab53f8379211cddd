"""Shapes of the answers in the group 'alerts'. Written by `python -m tickyard.clientgen`."""

from typing import Literal

from tickyard.client.routes import Answer


class CreatedAlert(Answer):
    id: str
    symbol: str
    condition: Literal["above", "below"]
    price: float
    status: Literal["active", "cancelled", "expired", "fired"]
    expires_at: str
    secret: str


class AlertRecord(Answer):
    id: str
    symbol: str
    condition: Literal["above", "below"]
    price: float
    status: Literal["active", "cancelled", "expired", "fired"]
    expires_at: str
    webhook_url: str
    created_at: str
    fired_at: str | None
    fired_price: float | None
    delivery: Literal["delivered", "failed", "pending", "unknown"] | None
