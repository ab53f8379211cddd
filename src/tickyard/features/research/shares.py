"""How many shares there are: the count on a report's cover, else that of the balance sheet, else the average.

Only the newest periodic report is asked: a count that it no longer carries was true of another time. Each count is held
against the others of its filing, and against profit per share: a factor of a thousand is a slip, not an opinion.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from tickyard.features.research import concepts
from tickyard.features.research.doubts import LEAST, MOST, balance_in, doubt
from tickyard.features.research.facts import Candidate, candidate
from tickyard.features.research.periods import COUNT_AGE, SAME_YEAR
from tickyard.features.research.reports import (
    Report,
    count_forms,
    implied_count,
    known,
    newest_average,
    newest_report,
    slip,
)
from tickyard.features.research.statement import latest
from tickyard.sources.filings.border import CompanyFacts, Entry

_UNIT = "shares"


@dataclass(frozen=True, slots=True)
class Shares:
    value: int
    as_of: date
    basis: str
    """Which count it is, as a phrase: "the cover of the 10-Q"."""
    form: str
    accession: str
    concept: str
    filed: date


@dataclass(frozen=True, slots=True)
class Count:
    """The chosen number of shares with what must be said about it, or none and the reason."""

    shares: Shares | None
    notes: tuple[str, ...] = ()
    candidates: tuple[Candidate, ...] = ()


@dataclass(frozen=True, slots=True)
class _Try:
    shares: Shares | None
    complaint: str | None
    """Why this count was not taken; None when there simply is none."""
    judged: tuple[str, Entry] | None = None
    remark: str | None = None
    """What must be said although it was taken."""


@dataclass(frozen=True, slots=True)
class _Desk:
    facts: CompanyFacts
    today: date
    forms: frozenset[str]
    report: Report | None


def choose_shares(facts: CompanyFacts, filings: Sequence[Report], today: date) -> Count:
    """`filings`: those of the facts that are known today, the newest first."""
    forms = count_forms(filings)
    desk = _Desk(facts, today, forms, newest_report(filings, forms))
    cover = _cover(desk)
    if cover.shares is not None:
        return _count(desk, [cover], (cover.remark,) if cover.remark else ())
    balance = _balance(desk)
    if balance.shares is not None:
        return _count(desk, [balance, cover], _explain(cover, "the count of the balance sheet"))
    average = _average(desk)
    if average.shares is not None:
        fallback = "the weighted average of basic shares over the latest period reported"
        remark = (average.remark,) if average.remark else ()
        return _count(desk, [average, balance, cover], (*_explain(cover, fallback), *remark))
    complaints = [each.complaint for each in (cover, balance, average) if each.complaint is not None]
    reason = "; ".join(complaints) or "no single count is filed, as is usual for issuers with several classes of shares"
    return _count(desk, [cover, balance, average], (f"sharesOutstanding: {reason}.",))


def _explain(cover: _Try, fallback: str) -> tuple[str, ...]:
    why = cover.complaint or "no single count stands on the cover of the reports"
    return (f"sharesOutstanding: {why}, so this is {fallback}.",)


def _cover(desk: _Desk) -> _Try:
    rows = _of_newest_day(known(desk.facts.units(concepts.COVER_COUNT).get(_UNIT, ()), desk.forms, desk.today))
    row = latest(rows)
    if row is None:
        return _Try(None, None)
    judged = (concepts.COVER_COUNT, row)
    report = desk.report
    trouble = _trouble(row, desk.today, classes := _classes(desk.facts, rows, row))
    if trouble is None and report is not None and row.filed < report.filed:
        trouble = f"is not repeated in the later {report.form} of {report.filed}"
    if trouble is None and classes is None and row.value is not None:
        trouble = doubt(desk.facts, desk.today, row.value, row.accession, least=6, most=3000)
    if trouble is not None:
        return _Try(None, f"the count on the cover ({row.form}, {row.end}) {trouble}", judged)
    if classes is None:
        return _Try(_shares(concepts.COVER_COUNT, row, f"the cover of the {row.form}"), None, judged)
    whole = Entry(row.start, row.end, sum(classes), row.accession, row.form, row.filed)
    basis = f"the sum of {len(classes)} classes on the cover of the {row.form}"
    remark = f"sharesOutstanding is {basis}."
    return _Try(_shares(concepts.COVER_COUNT, whole, basis), None, (concepts.COVER_COUNT, whole), remark)


def _classes(facts: CompanyFacts, rows: Iterable[Entry], row: Entry) -> list[int] | None:
    """The classes on one cover, when their sum is borne out by the rest of the filing: then all of them are there."""
    if row.value is not None:
        return None
    values = [each.value for each in rows if each.accession == row.accession and each.filed == row.filed]
    counts = sorted({int(value) for value in values if value is not None})
    if len(counts) < 2 or None in values:
        return None
    average = newest_average(facts, row.accession)
    witnesses = [average[1].value if average is not None else None, balance_in(facts, row.accession)]
    whole = sum(counts)
    fits = [concepts.size(whole - witness) * 10 <= witness for witness in witnesses if witness is not None]
    return counts if fits and all(fits) else None


def _balance(desk: _Desk) -> _Try:
    found = [
        (row.end, -place, concept, row)
        for place, concept in enumerate(concepts.BALANCE_COUNTS)
        if (row := latest(_of_newest_day(known(desk.facts.units(concept).get(_UNIT, ()), desk.forms, desk.today))))
    ]
    if not found:
        return _Try(None, None)
    _, _, concept, row = max(found, key=lambda each: each[:3])
    trouble = _trouble(row, desk.today) or _late(desk, row)
    if trouble is None and row.value is not None:
        trouble = doubt(desk.facts, desk.today, row.value, row.accession, least=6, most=200)
    if trouble is not None:
        return _Try(None, f"the count on the balance sheet ({row.form}, {row.end}) {trouble}", (concept, row))
    return _Try(_shares(concept, row, f"the balance sheet of the {row.form}"), None, (concept, row))


def _average(desk: _Desk) -> _Try:
    report = desk.report
    found = newest_average(desk.facts, report.accession) if report is not None else None
    if found is None:
        return _Try(None, _stale_average(desk))
    concept, row = found
    trouble = _trouble(row, desk.today) if row.value is None or row.value >= LEAST else None
    implied = implied_count(desk.facts, row.accession)
    remark = None
    if trouble is None and row.value is not None and implied and (scale := slip(row.value, implied)):
        value = row.value * scale if row.value < implied else row.value // scale
        remark = (
            f"sharesOutstanding: the average is tagged a factor of {scale} off and was set right by profit per share."
        )
        row = Entry(row.start, row.end, int(value), row.accession, row.form, row.filed)
    trouble = trouble or _trouble(row, desk.today) or _late(desk, row)
    if trouble is not None:
        return _Try(None, f"the average number of shares ({row.form}, {row.end}) {trouble}", (concept, row))
    basis = f"the weighted average of basic shares in the {row.form}"
    return _Try(_shares(concept, row, basis), None, (concept, row), remark)


def _stale_average(desk: _Desk) -> str | None:
    rows = [
        row
        for concept in concepts.AVERAGE_COUNTS
        for row in known(desk.facts.units(concept).get(_UNIT, ()), desk.forms, desk.today)
    ]
    row = max(rows, key=lambda each: (each.end, each.filed, each.accession), default=None)
    if row is None or desk.report is None:
        return None
    trouble = _trouble(row, desk.today) or f"is not repeated in the later {desk.report.form} of {desk.report.filed}"
    return f"the average number of shares ({row.form}, {row.end}) {trouble}"


def _late(desk: _Desk, row: Entry) -> str | None:
    """What a later report says against a count by not repeating it for its own period."""
    report = desk.report
    if report is None:
        return None
    is_of_period = report.end is None or row.end >= report.end - SAME_YEAR
    if row.filed >= report.filed and is_of_period:
        return None
    return f"is not repeated in the later {report.form} of {report.filed}"


def _of_newest_day(rows: list[Entry]) -> list[Entry]:
    end = max((row.end for row in rows), default=None)
    return [row for row in rows if row.end == end]


def _trouble(row: Entry, today: date, classes: list[int] | None = None) -> str | None:
    """What is wrong with a count by itself."""
    if today - row.end > COUNT_AGE:
        return "is older than 15 months"
    if row.value is None:
        return None if classes is not None else "could not be read or is given more than once"
    if row.value < LEAST or row.value > MOST:
        return f"is a placeholder or a slip ({row.value})"
    return None


def _count(desk: _Desk, tries: list[_Try], notes: tuple[str, ...]) -> Count:
    judged = [
        candidate(
            each.judged[0],
            _UNIT,
            each.judged[1],
            _reason(each),
            is_chosen=each.shares is not None,
        )
        for each in tries
        if each.judged is not None
    ]
    seen = {each.concept for each in judged}
    shares = next((each.shares for each in tries if each.shares is not None), None)
    others = [
        candidate(concept, _UNIT, row, _why_not(concept, row, shares))
        for concept in concepts.COUNTS
        if concept not in seen
        and (row := latest(_of_newest_day(known(desk.facts.units(concept).get(_UNIT, ()), desk.forms, desk.today))))
    ]
    return Count(shares, notes, (*judged, *others))


def _why_not(concept: str, row: Entry, taken: Shares | None) -> str:
    if taken is None or row.value is None:
        return "It could not be used."
    if factor := slip(row.value, taken.value):
        return f"A slip: it is {factor} times off the count that was taken."
    if row.end < taken.as_of:
        return f"It is of {row.end}, before {taken.as_of}, the day of the count that was taken."
    if concept in concepts.AVERAGE_COUNTS:
        return "An average over a period: a count of one day is at hand."
    return f"Of the same day as {taken.basis}, which goes before."


def _reason(each: _Try) -> str:
    if each.shares is not None:
        return f"Taken from {each.shares.basis}."
    return f"{(each.complaint or 'it was not needed')[:1].upper()}{(each.complaint or 'it was not needed')[1:]}."


def _shares(concept: str, row: Entry, basis: str) -> Shares:
    assert row.value is not None
    return Shares(
        value=int(row.value),
        as_of=row.end,
        basis=basis,
        form=row.form,
        accession=row.accession,
        concept=concept,
        filed=row.filed,
    )
