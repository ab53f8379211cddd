"""Periods that an annual report tells beside its own years: the weeks since, twelve months to another day."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta
from itertools import pairwise
from typing import Final

from msgspec import structs

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.periods import (
    ANNUAL_FORMS,
    SAME_YEAR,
    TRANSITION_FORMS,
    YEAR_DAYS,
    days_of,
    is_year,
)
from tickyard.sources.filings.border import Entry

_WHOLE_FORMS: Final = ANNUAL_FORMS - TRANSITION_FORMS
_BROKEN_DAYS: Final = range(28, YEAR_DAYS.start)
_SINCE: Final = timedelta(days=130)
"""An annual report is filed within four months of its year: what it tells of those is news, no period of its own."""
_APART: Final = timedelta(days=340)
"""Two years of one filer end at least so far apart."""

Money = dict[str, dict[str, list[Entry]]]
"""Rows by concept, by currency."""
Period = tuple[date | None, date]


def broken_end(rows: Iterable[Entry], today: date) -> date | None:
    """The end of the newest annual report's period, when that is shorter than a year: a company that began anew.

    A transition period is told apart by its form: the year before it still stands for the company.
    """
    told = [row for row in rows if row.form in _WHOLE_FORMS and row.end <= row.filed <= today]
    years: dict[str, date] = {}
    for row in told:
        if is_year(row) and row.end > years.get(row.accession, date.min):
            years[row.accession] = row.end
    broken = (row for row in told if days_of(row) in _BROKEN_DAYS)
    return max((row.end for row in broken if not _is_since(row.end, years.get(row.accession))), default=None)


def _is_since(end: date, year: date | None) -> bool:
    return year is not None and year < end <= year + _SINCE


def without_strays(money: Money) -> Money:
    """The rows without those whose twelve months end between the years of their own filing, which tells at least twice
    as much of the year beside them: a slip of the pen, or the year of somebody else."""
    ends: dict[str, set[date]] = {}
    for by_concept in money.values():
        for rows in by_concept.values():
            for row in rows:
                ends.setdefault(row.accession, set()).add(row.end)
    # Hardly any filing has some: only of those that do it is counted how much they tell.
    odd = {accession for accession, days in ends.items() if _has_near(sorted(days))}
    if not odd:
        return money
    told: dict[str, dict[date, set[tuple[str, str]]]] = {}
    for unit, by_concept in money.items():
        for concept, rows in by_concept.items():
            for row in rows:
                if row.accession in odd:
                    told.setdefault(row.accession, {}).setdefault(row.end, set()).add((unit, concept))
    strays = {
        (accession, end)
        for accession, names in told.items()
        for end in _strays({end: len(each) for end, each in names.items()})
    }
    return {unit: dict(_kept(by_concept, strays)) for unit, by_concept in money.items()}


def aligned(money: Money) -> Money:
    """The rows with those of a period that is some days off the one in which the statement stands, by at least twice as
    many lines of the same filing, or of another one where the last day is. Passed over, but for the only revenue that
    the filing tells, or the only line of a profit: that is read with the statement's period. A slip of the pen, or a
    table by calendar years; what an investee sold stands there as well."""
    told: dict[tuple[str, Period], set[tuple[str, str]]] = {}
    for unit, by_concept in money.items():
        for concept, rows in by_concept.items():
            for row in rows:
                told.setdefault((row.accession, (row.start, row.end)), set()).add((unit, concept))
    moves = dict(_moves(told))
    if not moves:
        return money

    def moved(unit: str, concept: str, row: Entry) -> Entry | None:
        period = moves.get((row.accession, (row.start, row.end)))
        if period is None:
            return row
        lines = told.get((row.accession, period), ())
        alike = concepts.REVENUE if concept in concepts.REVENUE else (concept,)
        if not _is_figure(concept) or any((unit, name) in lines for name in alike):
            return None
        return row if row.end == period[1] else structs.replace(row, start=period[0], end=period[1])

    return {
        unit: {
            concept: kept
            for concept, rows in by_concept.items()
            if (kept := [each for row in rows if (each := moved(unit, concept, row)) is not None])
        }
        for unit, by_concept in money.items()
    }


def _is_figure(concept: str) -> bool:
    return concept in concepts.REVENUE or concept in concepts.NET_INCOME


def _moves(told: Mapping[tuple[str, Period], set[tuple[str, str]]]) -> Iterator[tuple[tuple[str, Period], Period]]:
    """The periods that are some days off, by filing, and those of the statements that they are read with."""
    ends = sorted({end for _, (_, end) in told})
    starts: dict[tuple[str, date], list[Period]] = {}
    fullest: dict[date, tuple[int, Period]] = {}
    for (accession, period), names in told.items():
        starts.setdefault((accession, period[1]), []).append(period)
        fullest[period[1]] = max(fullest.get(period[1], (0, period)), (len(names), period), key=lambda each: each[0])
    for (accession, period), names in told.items():
        end = period[1]
        near = ends[bisect_left(ends, end - SAME_YEAR) : bisect_right(ends, end + SAME_YEAR)]
        statements = [(len(told[accession, each]), each) for each in starts[accession, end] if each != period]
        statements += [fullest[each] for each in near if each != end]
        most, statement = max(statements, key=lambda each: each[0], default=(0, period))
        if most >= 2 * len(names):
            yield (accession, period), statement


def _kept(by_concept: Mapping[str, list[Entry]], strays: set[tuple[str, date]]) -> Iterator[tuple[str, list[Entry]]]:
    for concept, rows in by_concept.items():
        kept = [row for row in rows if (row.accession, row.end) not in strays]
        if kept:
            yield concept, kept


def _has_near(order: list[date]) -> bool:
    return any(later - end < _APART for end, later in pairwise(order))


def _strays(ends: Mapping[date, int]) -> Iterator[date]:
    """`ends`: how many numbers the filing tells of the year that ends there."""
    order = sorted(ends)
    for end in order:
        near = order[bisect_right(order, end - _APART) : bisect_right(order, end + _APART)]
        if any(abs(other - end) > SAME_YEAR and ends[other] >= 2 * ends[end] for other in near):
            yield end
