"""The market: one object with all that features read."""

from dataclasses import dataclass

from tickyard.market.mids import Mids
from tickyard.market.registry import Registry


@dataclass(frozen=True, slots=True)
class Market:
    registry: Registry
    mids: Mids
