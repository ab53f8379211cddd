"""The quarterly reports of a filer, made from its annual one: the quarter, the year to date, and both a year before.

There is none of a fourth quarter, as with real filers: it is the year less nine months. All of a year adds up, whatever
concepts the annual report uses.
"""

import calendar
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from tickyard.sandbox.filings.companies import InventedCompany
from tickyard.sandbox.filings.ordinary import AS_OF, FILED_AFTER, counts, newest_end, shrunk, year_end
from tickyard.sandbox.filings.rows import FactRow

_DAY, _THIRTEEN_WEEKS, _SAME_END = timedelta(days=1), timedelta(days=91), timedelta(days=10)
_A_YEAR = range(350, 380)
_AMENDED_AFTER = timedelta(days=30)
# Thousandths of the year in its first, second and third quarter; the fourth has the rest.
_SEASONS = ((245, 248, 250), (220, 240, 250), (299, 229, 226), (230, 262, 268))
_SKIPS_A_THIRD_QUARTER = frozenset({"DJT"})
_RESTATES_A_FIRST_QUARTER = frozenset({"UAL", "NET"})
_RECASTS_A_QUARTER_OF_LAST_YEAR = frozenset({"HON"})


@dataclass(frozen=True, slots=True)
class _Quarter:
    """The numbered quarter of the fiscal year that began after `before`; `age` is 0 for the newest whole year."""

    number: int
    age: int
    before: date

    @property
    def end(self) -> date:
        return _quarters_after(self.before, self.number)

    @property
    def filed(self) -> date:
        return self.end + FILED_AFTER

    def last_year(self, filer: InventedCompany) -> "_Quarter":
        return _Quarter(self.number, self.age + 1, year_end(filer, self.before.year - 1))


def newest_filed(filer: InventedCompany) -> date:
    """When the newest periodic report was filed."""
    return max((each.filed for each in _reported(filer)), default=date.min)


def quarterly_rows(filer: InventedCompany, annual: Iterable[FactRow]) -> list[FactRow]:
    years = _years(filer, annual)
    rows: list[FactRow] = []
    for quarter in _reported(filer):
        is_restated = quarter.age < 0 and quarter.number == 1 and filer.symbol in _RESTATES_A_FIRST_QUARTER
        rows += _report(filer, quarter, years, "10-Q", quarter.filed, 970 if is_restated else 1000)
        rows += counts(filer, quarter.end, quarter.filed, "10-Q", filer.shares * (99 - quarter.age) // 100)
        if is_restated:
            rows += _report(filer, quarter, years, "10-Q/A", quarter.filed + _AMENDED_AFTER)
    return rows


def _reported(filer: InventedCompany) -> Iterator[_Quarter]:
    """Those of the newest whole year and of the one since, as far as they were filed."""
    newest = newest_end(filer)
    for age, before in ((0, year_end(filer, newest.year - 1)), (-1, newest)):
        for number in (1, 2, 3):
            quarter = _Quarter(number, age, before)
            is_skipped = (number, age) == (3, 0) and filer.symbol in _SKIPS_A_THIRD_QUARTER
            if quarter.filed <= AS_OF and not is_skipped:
                yield quarter


def _years(filer: InventedCompany, annual: Iterable[FactRow]) -> dict[str, dict[int, int]]:
    """What annual reports say of the newest year and the one before, by concept and age; the next year grows on."""
    newest = newest_end(filer)
    found: dict[str, dict[int, int]] = {}
    for row in annual:
        age = newest.year - row.end.year
        is_year = row.start is not None and (row.end - row.start).days in _A_YEAR and row.form == "10-K"
        is_meant = age in (0, 1) and abs(row.end - year_end(filer, row.end.year)) <= _SAME_END
        if is_year and is_meant and row.unit == "USD":
            found.setdefault(row.concept, {})[age] = int(row.value)
    for by_age in found.values():
        if 0 in by_age:
            by_age[-1] = shrunk(by_age[0], -1)
    return found


def _report(
    filer: InventedCompany,
    quarter: _Quarter,
    years: dict[str, dict[int, int]],
    form: str,
    filed: date,
    thousandths: int = 1000,
) -> Iterator[FactRow]:
    ago = quarter.last_year(filer)
    is_recast = filer.symbol in _RECASTS_A_QUARTER_OF_LAST_YEAR and quarter.age < 0
    for each, share in ((quarter, thousandths), (ago, 1030 if is_recast else 1000)):
        # The first quarter is the year to date.
        spans = {each.number, 1}
        for concept, by_age in years.items():
            if each.age not in by_age:
                continue
            parts = _parts(filer, by_age[each.age])
            for first in sorted(spans):
                value = sum(parts[first - 1 : each.number]) * share // 1000
                start = _quarters_after(each.before, first - 1) + _DAY
                yield FactRow(concept, "USD", value, start, each.end, form, filed)


def _parts(filer: InventedCompany, year: int) -> tuple[int, ...]:
    """Of the first three quarters, rounded as reports are."""
    unit = 10**6 if abs(year) >= 10**9 else 10**3
    seasons = _SEASONS[sum(filer.symbol.encode()) % len(_SEASONS)]
    return tuple(year * season // 1000 // unit * unit for season in seasons)


def _quarters_after(day: date, quarters: int) -> date:
    """Three months each for who ends a year with a month, thirteen weeks for the others."""
    if (day + _DAY).day != 1:
        return day + quarters * _THIRTEEN_WEEKS
    months = day.year * 12 + day.month - 1 + 3 * quarters
    year, month = months // 12, months % 12 + 1
    return date(year, month, calendar.monthrange(year, month)[1])
