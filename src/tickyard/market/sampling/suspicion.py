"""Samples that are recorded and not believed: far from the equity quote while the market is open."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from tickyard.kernel.ids import Address
from tickyard.kernel.units import Price
from tickyard.sources.issuer.api import IssuerQuote

FARTHEST_PERCENT: Final = 25
OPEN_WITHIN: Final = timedelta(minutes=15)
"""The quote of a closed market stands still: one that was made lately belongs to an open one."""


def equity_e9(quote: IssuerQuote, multiplier: Price, now: datetime) -> int | None:
    """What the token is worth by the equity quote, nano-dollars. None while the market is shut, or without a quote."""
    if quote.mid is None or quote.is_halted or now - quote.generated_at > OPEN_WITHIN:
        return None
    worth = quote.mid.times(multiplier)
    return worth.num * 10**9 // worth.den


def is_suspect(price_e9: int, worth_e9: int) -> bool:
    return abs(price_e9 - worth_e9) * 100 > FARTHEST_PERCENT * worth_e9


def suspects(prices: Mapping[Address, int], worth: Mapping[Address, int]) -> dict[Address, int]:
    """Of the prices those that are too far off, each with what the equity quote says."""
    return {key: worth[key] for key, price in prices.items() if key in worth and is_suspect(price, worth[key])}
