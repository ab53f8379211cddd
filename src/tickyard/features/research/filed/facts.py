"""A chosen figure, the candidates it was chosen from, and the year that is answered for."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.amounts import are_alike
from tickyard.features.research.filed.concepts import Number
from tickyard.features.research.filed.periods import ANNUAL_FORMS, FIGURE_AGE, SAME_YEAR, fiscal_year, is_year
from tickyard.features.research.filed.settling import is_rounded
from tickyard.features.research.filed.statement import Statement, Years
from tickyard.sources.filings.border import CompanyFacts, Entry


@dataclass(frozen=True, slots=True)
class Fact:
    value: Number
    unit: str
    period_start: date
    period_end: date
    fiscal_year: int | None
    form: str
    accession: str
    concept: str
    filed: date


@dataclass(frozen=True, slots=True)
class Candidate:
    """A reported number that could have been the answer, and why it is or is not."""

    concept: str
    value: Number | None
    unit: str
    period_start: date | None
    period_end: date
    form: str
    accession: str
    filed: date
    is_chosen: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Figure:
    """A chosen fact with what must be said about it, or no fact and the reason."""

    fact: Fact | None
    notes: tuple[str, ...] = ()
    candidates: tuple[Candidate, ...] = ()


def candidate(concept: str, unit: str, row: Entry, reason: str, *, is_chosen: bool = False) -> Candidate:
    return Candidate(
        concept, row.value, unit, row.start, row.end, row.form, row.accession, row.filed, is_chosen, reason
    )


def fact_of(years: Years, concept: str, row: Entry, value: Number) -> Fact:
    return Fact(
        value=value,
        unit=years.unit,
        period_start=row.start or row.end,
        period_end=row.end,
        fiscal_year=fiscal_year(row.end, years.year_end),
        form=row.form,
        accession=row.accession,
        concept=concept,
        filed=row.filed,
    )


def year_to_answer(years: Years, wanted: Sequence[str], name: str, today: date) -> tuple[date | None, Figure]:
    """The year to answer for, or the reason why there is none. An older year never stands in for the newest."""
    end = years.newest_end(wanted)
    newest = years.newest_end((*concepts.REVENUE, *concepts.NET_INCOME))
    if newest is None or today - newest > FIGURE_AGE:
        return None, Figure(None, (f"{name}: no annual report for more than two years.",))
    if years.broken_end is not None and years.broken_end - newest > SAME_YEAR:
        reason = f"the newest annual report, to {years.broken_end}, covers no whole year of the company as it is now"
        return None, Figure(None, (f"{name}: {reason}.",))
    if end is None or newest - end > SAME_YEAR:
        return None, Figure(None, (f"{name}: not reported as a standard concept for the year ended {newest}.",))
    return end, Figure(None)


FRAGMENT = "Its filing tells only this of the year, and quite another amount than a whole statement does."
"""Some amendments restate one line, but hardly to half or twice as much: that is a slip, or a slice."""
REPEATED = "Its filing tells little of the year: this is a line of a whole statement, rounded or under another name."
"""A table of what was paid for which performance, for one."""


OF_ANOTHER = "Its filing adds the statements of another company, in which this one holds a part."


def unheard(lone: Statement, value: Number, taken: Number, lines: Iterable[Number]) -> str | None:
    """Why a filing that tells some lines of a year is not heard beside a whole statement of it, of which this was taken
    and these are lines: it says nothing new, or of one line quite another thing. None when it restates the line."""
    if not are_alike(value, taken):
        return FRAGMENT if lone.is_fragment else None
    is_repeated = any(is_rounded(value, each, may_end_in_zero=True) for each in (taken, *lines))
    return REPEATED if value != taken and is_repeated else None


def unread(name: str, end: date) -> str:
    return f"{name}: the amount filed for the year ended {end} could not be read or is given more than once."


def passed_over(
    facts: CompanyFacts, years: Years | None, wanted: Iterable[str], today: date, judged: Iterable[Candidate]
) -> tuple[Candidate, ...]:
    """The newest number of every concept and unit that no rule came to judge, with the reason."""
    seen = {(each.concept, each.unit) for each in judged}
    end = max((each.period_end for each in judged), default=None)
    found = []
    for concept in wanted:
        for unit, entries in sorted(facts.units(concept).items()):
            known = [row for row in entries if row.filed <= today]
            if (concept, unit) in seen or not known:
                continue
            row = max(known, key=_order)
            found.append(candidate(concept, unit, row, _why_not(row, unit, years, end)))
    return tuple(found)


def _order(row: Entry) -> tuple[object, ...]:
    """Newest first, and the same one whatever the order of the document."""
    is_read = row.value is not None
    return row.end, row.filed, row.accession, row.start or row.end, row.form, is_read, row.value or 0


def _why_not(row: Entry, unit: str, years: Years | None, end: date | None) -> str:
    if row.start is None:
        return "It has no beginning, so it is no amount of a year."
    # Who has changed its currency told earlier years in another one.
    if end is not None and row.end < end:
        return f"It is of an earlier period; the year ended {end} is the newest that is reported."
    if years is not None and unit != years.unit:
        return f"The filer reports in {years.unit}; this is a translation or no amount of money."
    if end is None and is_year(row) and row.form in ANNUAL_FORMS:
        return f"It is of the year ended {row.end}, for which nothing is answered: the note says why."
    if end is not None and end < row.end <= row.filed and is_year(row) and row.form in ANNUAL_FORMS:
        return f"Its twelve months do not end with the filer's year, on {end}."
    return "It is not of a whole year in an annual report."


def same_year_elsewhere(wanted: Sequence[str], others: Iterable[Statement], reason: str) -> list[Candidate]:
    return [
        candidate(concept, statement.unit, statement.rows[concept], reason)
        for statement in others
        for concept in wanted
        if concept in statement.rows
    ]
