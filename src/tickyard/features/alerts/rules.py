"""What an alert is: its threshold, when it fires, how long it lives, which states follow which.

active -> fired      a recorded sample crossed the threshold; one delivery follows
       -> expired    30 days passed
       -> cancelled  its owner said so

(none) -> pending -> sending -> delivered   the receiver said 2xx
                             -> failed      it said something else, or could not be reached for an hour
                             -> unknown     the request was written and no clear answer came back
"""

from datetime import datetime, timedelta
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from enum import StrEnum
from typing import Final, Literal

from tickyard.kernel.errors import BadRequest

LIFETIME: Final = timedelta(days=30)
THRESHOLD_MAX: Final = 10**9
PLACES: Final = 9

_NANO: Final = Decimal(1).scaleb(-PLACES)
# More digits than any number the doors let in (100 characters), so that only the quantum rounds.
_DIGITS: Final = 128


Condition = Literal["above", "below"]
"""Which way a price must cross. The one place where they are written: asks, rows, webhooks and clients follow."""


class AlertStatus(StrEnum):
    ACTIVE = "active"
    FIRED = "fired"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


class Delivery(StrEnum):
    PENDING = "pending"
    SENDING = "sending"
    DELIVERED = "delivered"
    FAILED = "failed"
    UNKNOWN = "unknown"

    @property
    def shown(self) -> "Delivery":
        """What the owner sees: that a request is on its way right now is nobody's business."""
        return Delivery.PENDING if self is Delivery.SENDING else self


def read_threshold(value: object) -> int:
    """A caller's threshold in nano-dollars, half even. Takes what a JSON reader makes of a number, nothing else."""
    if isinstance(value, float):
        # A tool's arguments come through other people's readers; the shortest text is the number they were given.
        value = Decimal(repr(value))
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise BadRequest("price must be a number")
    number = Decimal(value)
    if not number.is_finite() or not 0 < number <= THRESHOLD_MAX:
        raise BadRequest(f"price must be above 0 and at most {THRESHOLD_MAX}")
    with localcontext(prec=_DIGITS):
        nanos = int(number.quantize(_NANO, rounding=ROUND_HALF_EVEN).scaleb(PLACES))
    if nanos == 0:
        raise BadRequest(f"price is zero when rounded to {PLACES} decimals")
    return nanos


def crossed_range(previous_e9: int, current_e9: int) -> tuple[Condition, int, int] | None:
    """The thresholds, first and last included, that a move from one sample to the next crosses, and which way.

    Where the price came from does not count as crossed, where it arrived does.
    """
    if current_e9 > previous_e9:
        return "above", previous_e9 + 1, current_e9
    if current_e9 < previous_e9:
        return "below", current_e9, previous_e9 - 1
    return None


def expiry_of(created_at: datetime) -> datetime:
    return created_at + LIFETIME


def has_expired(expires_at: datetime, now: datetime) -> bool:
    """The moment itself is already too late."""
    return expires_at <= now
