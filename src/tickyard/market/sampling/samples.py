"""The newest samples of every token, in memory: what the 24-hour change is made of."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from tickyard.kernel.clock import SLOT_S
from tickyard.kernel.ids import Address
from tickyard.market.sampling.rounds import slot_number

DAY_SLOTS: Final = 24 * 3600 // SLOT_S
SLACK_SLOTS: Final = 15 * 60 // SLOT_S
"""A sample may be this much too old, at both ends of the day."""


@dataclass(frozen=True, slots=True)
class DayChange:
    """A token's newest sample, and the one a day before it."""

    slot: int
    price_e9: int
    day_ago_e9: int | None


class LatestSamples:
    """Filled by whoever follows the rounds; empty until the first one."""

    def __init__(self) -> None:
        self._by_token: dict[Address, DayChange] = {}

    def replace(self, by_token: dict[Address, DayChange]) -> None:
        self._by_token = by_token

    def change_24h(self, token: Address, now: datetime) -> tuple[int, int] | None:
        """The change over a day as a ratio (difference, price then). None: not known well enough."""
        newest = self._by_token.get(token)
        if newest is None or newest.day_ago_e9 is None or newest.slot < slot_number(now) - SLACK_SLOTS:
            return None
        return newest.price_e9 - newest.day_ago_e9, newest.day_ago_e9
