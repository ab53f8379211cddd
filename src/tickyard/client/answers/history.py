"""Shapes of the answers in the group 'history'. Written by `python -m tickyard.clientgen`."""

from datetime import datetime
from typing import Literal

from tickyard.client.routes import Answer


class Candle(Answer):
    t: datetime
    open: float
    high: float
    low: float
    close: float
    ticks: int


class History(Answer):
    symbol: str
    interval: Literal["15m", "1d", "1h", "4h", "5m"]
    source: str
    history_since: str | None
    candles: list[Candle]
