"""Shapes of the answers in webhooks. Written by `python -m tickyard.clientgen`."""

from typing import Literal

from tickyard.client.routes import Answer


class AlertEvent(Answer):
    type: Literal["price_alert"]
    id: str
    symbol: str
    condition: Literal["above", "below"]
    threshold: float
    price: float
    source: str
    fired_at: str
