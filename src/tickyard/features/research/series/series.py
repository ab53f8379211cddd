"""Years and quarters in a row: each figure from the newest filing of its period, with what earlier ones said.

Most filers tag no fourth quarter: it is the year less its first nine months. The quarters of a year make up the year,
or are unknown. Four quarters on end make the trailing twelve months, if the year and the months since come to the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import pairwise
from typing import Final

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.concepts import Number
from tickyard.features.research.filed.mergers import merger_since
from tickyard.features.research.filed.periods import (
    COUNT_FORMS,
    INTERIM_FOREIGN_FORMS,
    SAME_YEAR,
    YEAR_DAYS,
    days_of,
)
from tickyard.features.research.filed.reports import known
from tickyard.features.research.filed.statement import Years
from tickyard.features.research.filed.years import spans_of, years_of
from tickyard.features.research.income.choice import choose_net_income
from tickyard.features.research.revenue.choice import choose_revenue
from tickyard.features.research.series.adding import (
    GAP,
    adds_up,
    last_quarter,
    parts_of_year,
    settle_since,
    settle_year,
)
from tickyard.features.research.series.items import (
    FIGURES,
    NET_INCOME,
    REVENUE,
    Item,
    Period,
    Said,
    StatementLine,
)
from tickyard.features.research.series.merged import NO_YEAR, told_apart, without_newest
from tickyard.features.research.series.shared import of_its_profit, period_of
from tickyard.sources.filings.border import CompanyFacts

__all__ = ["NO_SERIES", "Item", "Period", "Said", "Series", "Trailing", "series"]

# From 12 weeks to 17: some retailers have one long quarter.
_QUARTER_DAYS: Final = range(77, 126)
_HALF_DAYS: Final = range(160, 217)
_NINE_MONTHS_DAYS: Final = range(245, 296)
_FORMS: Final = COUNT_FORMS | INTERIM_FOREIGN_FORMS
_YEARS_MAX, _QUARTERS_MAX, _FOUR = 20, 40, 4
_LINES: Final = (REVENUE, NET_INCOME)
_A_YEAR, _DRIFT = timedelta(days=364), timedelta(days=9)
_TRAILING_AGE: Final = timedelta(days=550)
"""18 months: who reports once a year may do so half a year late. Older than that is not held against today's price."""


@dataclass(frozen=True, slots=True)
class Trailing:
    start: date | None
    end: date | None
    revenue: Item
    net_income: Item


@dataclass(frozen=True, slots=True)
class Series:
    unit: str | None
    annual: tuple[Period, ...]
    quarterly: tuple[Period, ...]
    trailing: Trailing


_NOTHING: Final = Item(None, "", reason="No annual report of a whole year with standard concepts.")
NO_SERIES: Final = Series(None, (), (), Trailing(None, None, _NOTHING, _NOTHING))


def series(facts: CompanyFacts, year_end: str | None, today: date) -> Series:
    """Everything newest first."""
    years = years_of(facts, today, year_end)
    if years is None:
        return NO_SERIES
    quarters, halves, nine_months = (
        spans_of(facts, years, lengths, _FORMS, today) for lengths in (_QUARTER_DAYS, _HALF_DAYS, _NINE_MONTHS_DAYS)
    )
    covers = known(facts.units(concepts.COVER_COUNT).get("shares", ()), _FORMS, today)
    annual = [period_of(years, end, "year", covers) for end in _apart(years)[:_YEARS_MAX]]
    ends = _apart(quarters)[: _QUARTERS_MAX + 4]
    reported = {end: period_of(quarters, end, "quarter", covers) for end in ends}
    for year in annual:
        fourth = last_quarter(year, reported, nine_months, _LINES)
        if fourth is not None:
            reported[year.end] = fourth
    settled = _settled(annual, reported, years, quarters, {2: halves, 3: nine_months})
    newest = sorted(settled, reverse=True)[:_QUARTERS_MAX]
    quarterly = [of_its_profit(settled[end], quarters, covers) for end in newest]
    annual = [of_its_profit(each, years, covers) for each in annual]
    trailing = _trailing(annual, quarterly, reported, (quarters, halves, nine_months), years.unit)
    merger = merger_since(facts, choose_revenue(years, today).fact, choose_net_income(years, today).fact, today)
    if merger is not None:
        annual, quarterly = without_newest(annual, merger), told_apart(quarterly, merger)
        nothing = Item(None, years.unit, reason=NO_YEAR.format(filed=merger.filed))
        trailing = Trailing(None, trailing.end, nothing, nothing)
    elif trailing.end is not None and (reason := _outdated(trailing.end, years)) is not None:
        nothing = Item(None, years.unit, reason=reason)
        trailing = Trailing(None, trailing.end, nothing, nothing)
    elif trailing.end is not None and (remark := _told_since(facts, trailing.end, years.unit, today)) is not None:
        revenue, income = (_remarked(each, remark) for each in (trailing.revenue, trailing.net_income))
        trailing = replace(trailing, revenue=revenue, net_income=income)
    return Series(years.unit, tuple(annual), tuple(quarterly), trailing)


def _outdated(end: date, years: Years) -> str | None:
    """Why what ends here is not the trailing year of the company as it is now."""
    if years.broken_end is not None and years.broken_end - end > SAME_YEAR:
        return f"The newest annual report, to {years.broken_end}, covers no whole year of the company as it is now."
    return f"Nothing is reported of the time after {end}." if years.today - end > _TRAILING_AGE else None


def _told_since(facts: CompanyFacts, end: date, unit: str, today: date) -> str | None:
    """That more is told of the time since, by halves or as a transition period, of which no year can be made."""
    rows = (row for name in FIGURES for row in known(facts.units(name).get(unit, ()), _FORMS, today))
    since = [row for row in rows if row.end - end > SAME_YEAR and days_of(row) >= _QUARTER_DAYS.start]
    newest = max(since, key=lambda row: (row.end, row.filed), default=None)
    if newest is None:
        return None
    return (
        f"The filing of {newest.filed} tells of the time to {newest.end} too, but not by quarters that make up a year."
    )


def _remarked(item: Item, remark: str) -> Item:
    return replace(item, reason=remark) if item.value is not None and item.reason is None else item


def _apart(spans: Years) -> list[date]:
    """The ends of the periods, the newest first. Filings that end one period on different days tell it twice: the day
    that most of its numbers have is taken."""
    found: list[date] = []
    for end in spans.ends(FIGURES):
        if not found or found[-1] - end > SAME_YEAR:
            found.append(end)
        elif len(spans.by_end[end]) > len(spans.by_end[found[-1]]):
            found[-1] = end
    return found


def _settled(
    annual: Sequence[Period], reported: dict[date, Period], years: Years, quarters: Years, longer: dict[int, Years]
) -> dict[date, Period]:
    """The quarters, held against the years and the months that they make up."""
    found = dict(reported)
    since = [reported[end] for end in sorted(reported, reverse=True) if annual and end > annual[0].end]
    for line in _LINES:
        others = [settle_year(year, reported, line, years, quarters, longer[3]) for year in annual]
        if since:
            others.append(settle_since(since, line, longer.get(len(since))))
        for end, item in ((end, item) for each in others for end, item in each.items()):
            found[end] = replace(found[end], revenue=item) if line is REVENUE else replace(found[end], net_income=item)
    for year in annual:
        is_newest = year is annual[0]
        own = [each for end, each in found.items() if year.start - GAP <= each.start and (is_newest or end <= year.end)]
        for end, item in parts_of_year(year, own, REVENUE, years).items():
            found[end] = replace(found[end], revenue=item)
    return found


def _trailing(
    annual: Sequence[Period],
    quarterly: Sequence[Period],
    reported: dict[date, Period],
    spans: Sequence[Years],
    unit: str,
) -> Trailing:
    year = annual[0] if annual else None
    if year is not None and (not quarterly or quarterly[0].end <= year.end):
        return Trailing(year.start, year.end, year.revenue, year.net_income)
    four = quarterly[:4]
    trouble = _broken(four)
    if trouble is not None:
        nothing = Item(None, unit, reason=trouble)
        return Trailing(None, quarterly[0].end, nothing, nothing)
    since = sum(year is not None and each.end > year.end for each in four)
    ago = reported[quarterly[4].end] if len(quarterly) > _FOUR else None

    def sum_of(line: StatementLine) -> Item:
        is_between = year is not None and 0 < since < _FOUR
        other = _by_months_to_date(line.of(year), line, spans[since - 1], four[0].end) if year and is_between else None
        total = _sum(four, None, line, unit)
        if other is None or total.value != other:
            # To the last digit, a recast of the quarter a year ago would have been one of the year too.
            total = _sum(four, ago, line, unit)
        if other is None or total.value is None or _is_near(total.value, other):
            return total
        return Item(None, unit, reason=f"Four quarters make {total.value}, the year and the months since {other}.")

    return Trailing(four[-1].start, four[0].end, sum_of(REVENUE), sum_of(NET_INCOME))


def _by_months_to_date(year: Item, line: StatementLine, spans: Years, end: date) -> Number | None:
    """The last year, and the months since, less the same months a year before: the trailing year by another way."""
    before = [each for each in spans.ends(FIGURES) if abs(end - each - _A_YEAR) <= _DRIFT]
    if year.value is None or not before:
        return None
    now, ago = line.item(spans, end, "months"), line.item(spans, before[0], "months")
    if now.value is None or ago.value is None or not now.alike & ago.alike & year.alike:
        return None
    return year.value + now.value - ago.value


def _is_near(one: Number, other: Number) -> bool:
    return concepts.size(one - other) * 100 <= max(concepts.size(one), concepts.size(other))


def _broken(four: Sequence[Period]) -> str | None:
    if len(four) < _FOUR:
        return "Fewer than four quarters are reported."
    for later, before in pairwise(four):
        if not timedelta(0) < later.start - before.end <= GAP:
            return f"The quarter before the one that began on {later.start} is not reported."
    days = (four[0].end - four[-1].start).days + 1
    return None if days in YEAR_DAYS else "The last four quarters are not twelve months."


def _sum(four: Sequence[Period], ago: Period | None, line: StatementLine, unit: str) -> Item:
    items = [line.of(each) for each in four]
    missing = next((each for each, item in zip(four, items, strict=True) if item.value is None), None)
    if missing is not None:
        return Item(None, unit, reason=f"The quarter ended {missing.end} is not known: {line.of(missing).reason}")
    if any(not one.alike & other.alike for one, other in pairwise(items)):
        return Item(None, unit, reason="The last four quarters stand under different concepts.")
    newest = items[0]
    if ago is not None and _was_recast(line.of(ago), newest):
        reason = f"The filing of the newest quarter restates the one ended {ago.end}, but not those between."
        return Item(None, unit, reason=reason)
    total = sum(item.value for item in items if item.value is not None)
    # What must be said of a quarter must be said of their sum.
    told = ((each, item.reason) for each, item in zip(four, items, strict=True) if item.reason is not None)
    remark = next((f"Of the quarter ended {each.end}: {reason}" for each, reason in told), None)
    return Item(total, unit, f"{newest.concept} (four quarters)", newest.form, newest.accession, newest.filed, remark)


def _was_recast(ago: Item, newest: Item) -> bool:
    """Whether the newest quarter's filing tells the same quarter of last year otherwise than it was told before. Lines
    that a sum is made of move between reports without a recast; the months to date tell a larger one."""
    value = ago.value
    return (
        value is not None
        and ago.concept in FIGURES
        and ago.accession == newest.accession
        and any(not adds_up([said.value], value) for said in ago.earlier)
    )
