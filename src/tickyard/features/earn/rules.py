"""The rules of the reward program as functions of plain values: days, windows, shares.

An epoch is one UTC day, named by its date as the integer YYYYMMDD.

    D 00:00 ......... D 23:00 ....... D+1 00:00 ....... D+1 01:00
    revenue accrues   who holds       pool sealed,      window closed, what
                      is frozen       claims open       is left rolls over
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from tickyard.kernel.errors import NotFound
from tickyard.kernel.wire import iso

THRESHOLD_TOKENS: Final = 1_000_000
"""Whole service tokens that a wallet must hold at the snapshot, inclusive."""

SNAPSHOT: Final = timedelta(hours=23)
OPEN: Final = timedelta(hours=24)
CLOSE: Final = timedelta(hours=25)
_DAY: Final = timedelta(days=1)


def epoch_of(day: date) -> int:
    return day.year * 10_000 + day.month * 100 + day.day


def day_of(epoch: int) -> date | None:
    """The date that an epoch is named after; None for a number that is no date."""
    try:
        return date(epoch // 10_000, epoch // 100 % 100, epoch % 100)
    except (ValueError, OverflowError):
        return None


def accruing_epoch(now: datetime) -> int:
    """The epoch whose day it is."""
    return epoch_of(now.astimezone(UTC).date())


def next_epoch(epoch: int) -> int:
    return epoch_of(_day(epoch) + _DAY)


def epochs_between(after: int, until: int) -> Iterator[int]:
    """Every epoch later than the first and not later than the second."""
    while after < until:
        after = next_epoch(after)
        yield after


def starts_at(epoch: int) -> datetime:
    return datetime.combine(_day(epoch), time(), UTC)


def snapshot_at(epoch: int) -> datetime:
    return starts_at(epoch) + SNAPSHOT


def opens_at(epoch: int) -> datetime:
    return starts_at(epoch) + OPEN


def closes_at(epoch: int) -> datetime:
    return starts_at(epoch) + CLOSE


def is_in_window(epoch: int, moment: datetime) -> bool:
    """Half open: the first microsecond counts, the last moment named does not."""
    return opens_at(epoch) <= moment < closes_at(epoch)


def is_over(epoch: int, moment_s: int) -> bool:
    """Whether the day has passed by then. Also for the last day that has a date, which no other follows."""
    return moment_s - int(starts_at(epoch).timestamp()) >= OPEN // timedelta(seconds=1)


def no_such_epoch(epoch: int, now: datetime) -> NotFound:
    """What is said of an epoch without a snapshot, whoever asks for what of it."""
    if epoch == accruing_epoch(now):
        return NotFound(f"this epoch has not ended: its snapshot is taken at {iso(snapshot_at(epoch))}")
    return NotFound("no such epoch")


def next_snapshot_at(now: datetime) -> datetime:
    today = snapshot_at(accruing_epoch(now))
    return today if now < today else today + _DAY


def next_open_at(now: datetime) -> datetime:
    return opens_at(accruing_epoch(now))


def threshold_raw(decimals: int) -> int:
    return int(THRESHOLD_TOKENS * 10**decimals)


def share(pool: int, balance: int, total: int) -> int:
    """What a balance gets of a pool, rounded down to the base unit. Nothing to share: nothing."""
    return pool * balance // total if total else 0


def _day(epoch: int) -> date:
    day = day_of(epoch)
    if day is None:
        raise ValueError("an epoch is a date as YYYYMMDD")
    return day
