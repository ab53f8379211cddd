"""Periods: which one is a year, which fiscal year it is, how old is too old."""

from datetime import date, timedelta
from functools import lru_cache

from tickyard.sources.filings.border import Entry

ANNUAL_FORMS = frozenset({"10-K", "10-K/A", "10-KT", "10-KT/A", "20-F", "20-F/A", "40-F", "40-F/A"})
FOREIGN_FORMS = frozenset({"20-F", "20-F/A", "40-F", "40-F/A"})
TRANSITION_FORMS = frozenset({"10-KT", "10-KT/A"})
INTERIM_FOREIGN_FORMS = frozenset({"6-K", "6-K/A"})
COUNT_FORMS = ANNUAL_FORMS | {"10-Q", "10-Q/A", "10-QT", "10-QT/A"}

# 52 weeks are 364 days, 53 weeks 371; a transition period is shorter, a recast one can be longer.
YEAR_DAYS = range(350, 381)
COUNT_AGE = timedelta(days=470)
"""15 months and a fortnight: a foreign filer counts its shares once a year and files months later."""
FIGURE_AGE = timedelta(days=915)
"""30 months. Late filers exist; one that is later than this has stopped."""
SAME_YEAR = timedelta(days=15)
"""Two figures whose years end this close together belong to the same fiscal year."""

_DRIFT = timedelta(days=21)
_EARLY_JANUARY = 7


def days_of(entry: Entry) -> int:
    """Length in days, both ends counted; 0 for a moment."""
    return (entry.end - entry.start).days + 1 if entry.start is not None else 0


def is_known(entry: Entry, today: date) -> bool:
    """Whether the period was over when it was filed, and filed by today. Anything else is a slip of the filer."""
    return entry.end <= entry.filed <= today


def is_year(entry: Entry) -> bool:
    """Whether it covers a whole year. `fp` would not tell: some rows marked FY span a quarter."""
    return entry.start is not None and (entry.end - entry.start).days + 1 in YEAR_DAYS


def same_day_of_year(end: date, year_end: str) -> bool:
    """Whether a period that ends here may be a fiscal year that ends nominally on this day (MMDD)."""
    return _nearest(end, year_end) is not None


def fiscal_year(end: date, year_end: str | None) -> int | None:
    """The fiscal year that a period ending on this day closes: the calendar year of its nominal year end.

    A 52/53-week year wanders around its nominal end, so one that closes on 3 January can belong to the year before.
    The year of the filing (`fy`) is never used. A January year end counts as the year it lies in: most filers who
    have one number their years so, and `fy` disagrees with some of them by one.
    """
    is_early_january = end.month == 1 and end.day <= _EARLY_JANUARY
    nominal = _nearest(end, year_end) if year_end is not None else None
    if nominal is not None:
        return nominal.year
    return None if is_early_january else end.year


@lru_cache(maxsize=4096)
def _nearest(end: date, year_end: str) -> date | None:
    """The nominal year end closest to this day; None when the filer has changed its year since."""
    month, day = int(year_end[:2]), int(year_end[2:])
    if month == 1 and day <= _EARLY_JANUARY:
        # The database repeats the last actual end: a December year that ran over by some days.
        month, day = 12, 31
    candidates = [_day(year, month, day) for year in (end.year - 1, end.year, end.year + 1)]
    nearest = min(candidates, key=lambda candidate: abs(candidate - end))
    return nearest if abs(nearest - end) <= _DRIFT else None


def _day(year: int, month: int, day: int) -> date:
    """That day, or the last one of a month that is shorter."""
    first_of_next = date(year + month // 12, month % 12 + 1, 1)
    return min(date(year, month, 1) + timedelta(days=day - 1), first_of_next - timedelta(days=1))
