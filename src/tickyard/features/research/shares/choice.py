"""How many shares there are: the count on a report's cover, else that of the balance sheet, else the average.

Only the newest periodic report is asked: a count that it no longer carries was true of another time. Each count is held
against the others (`doubts.py`). What a new filer's first report says of the time before it is of another company:
shares were converted and issued when it was listed, and only the cover knows. So it is when the cover falls silent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.amounts import slip
from tickyard.features.research.filed.facts import Candidate, candidate
from tickyard.features.research.filed.reports import Report, implied_count, known, newest_average, public_float
from tickyard.features.research.filed.settling import latest
from tickyard.features.research.shares.classes import classes_on, counted, is_lone, is_of_all, left_out
from tickyard.features.research.shares.desk import (
    SILENT,
    UNIT,
    Desk,
    by_itself,
    counts_elsewhere,
    is_as_before,
    is_silent,
    is_tens_off_others,
    late,
    lay_out,
    of_newest_day,
    short_of_the_first,
    slip_of_the_first,
    too_early,
    witnesses_of,
)
from tickyard.features.research.shares.doubts import (
    LEAST,
    SET_RIGHT,
    ShareVerdict,
    cured,
    doubt,
    is_tens_off,
    sides_with,
)
from tickyard.features.research.shares.since import restated_since
from tickyard.features.research.shares.standing import above_all, left_standing
from tickyard.sources.filings.border import CompanyFacts, Entry

_ABOVE_AVERAGE = (
    "The average in the same report is {average}: shares issued since, those of the treasury, or a class without a "
    "part in the profit may be in the count."
)


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
    set_right: Entry | None = None
    """The same in the scale of all others, where it was refused for its own."""
    is_final: bool = False
    """Whether the other counts must not be asked: they contradict it, and nothing tells who is right."""


def choose_shares(facts: CompanyFacts, filings: Sequence[Report], today: date) -> Count:
    """`filings`: those of the facts that are known today, the newest first."""
    desk = lay_out(facts, filings, today)
    cover = _cover(desk)
    if cover.shares is not None:
        return _count(desk, [cover], (cover.remark,) if cover.remark else ())
    balance = _balance(desk) if not cover.is_final else _Try(None, None)
    if balance.shares is not None:
        remark = (balance.remark,) if balance.remark else ()
        return _count(desk, [balance, cover], (*_explain(cover, "the count of the balance sheet"), *remark))
    if (right := cover.set_right) is not None:
        basis = f"the cover of the {right.form}"
        healed = _Try(_shares(concepts.COVER_COUNT, right, basis), None, (concepts.COVER_COUNT, right))
        return _count(desk, [healed, balance], (SET_RIGHT,))
    average = _average(desk) if not cover.is_final and not balance.is_final else _Try(None, None)
    if average.shares is not None:
        fallback = f"the weighted average of basic shares over the latest period in the {average.shares.form}"
        remark = (average.remark,) if average.remark else ()
        return _count(desk, [average, balance, cover], (*_explain(cover, fallback), *remark))
    complaints = [each.complaint for each in (cover, balance, average) if each.complaint is not None]
    reason = "; ".join(complaints) or "no single count is filed, as is usual for issuers with several classes of shares"
    return _count(desk, [cover, balance, average], (f"sharesOutstanding: {reason}.",))


def _explain(cover: _Try, fallback: str) -> tuple[str, ...]:
    why = cover.complaint or "no single count stands on the cover of the reports"
    return (f"sharesOutstanding: {why}, so this is {fallback}.",)


def _cover(desk: Desk) -> _Try:
    """The newest cover; where it slips, as an amendment's may, the one before it that is of the newest report too."""
    rows, refused = list(desk.covers), None
    while (row := latest(newest := of_newest_day(rows))) is not None:
        found = _one_cover(desk, newest, row)
        if found.shares is not None or found.is_final:
            return found
        refused = refused or found
        filing = (row.filed, row.accession)
        rows = [each for each in rows if (each.filed, each.accession) != filing]
        if desk.report is None or row.accession == desk.report.accession or row.filed < desk.report.filed:
            break
    return refused or _Try(None, None)


def _one_cover(desk: Desk, rows: list[Entry], row: Entry) -> _Try:
    judged = (concepts.COVER_COUNT, row)
    report, is_final, right = desk.report, False, None
    trouble = by_itself(row, desk.today, classes := classes_on(desk.facts, rows, row))
    if trouble is None and report is not None and row.filed < report.filed:
        trouble = f"is not repeated in the later {report.form} of {report.filed}"
    trouble = trouble or left_standing(desk, row)
    if trouble is None:
        trouble = restated_since(desk, counted(row, classes))
        is_final = trouble is not None
    if trouble is None and classes is None and row.value is not None:
        doubted = doubt(row.value, seen := witnesses_of(desk, row), is_cover=True)
        if doubted is not None:
            trouble, is_final = doubted.why, doubted.verdict is ShareVerdict.DISPUTE
            right = cured(row, doubted, seen)
        elif is_lone(desk, row, seen):
            trouble = "is the only single one after reports that gave none, nothing bears it out: it may be a class"
    if trouble is None and (right := slip_of_the_first(desk, row)) is not None:
        trouble = "is a thousand or a million times its own table, digit for digit"
    if trouble is not None:
        return _Try(None, f"the count on the cover ({row.form}, {row.end}) {trouble}", judged, None, right, is_final)
    if classes is None:
        alone = _shares(concepts.COVER_COUNT, row, f"the cover of the {row.form}")
        return _Try(alone, None, judged, short_of_the_first(desk, row) or above_all(desk, row))
    whole = counted(row, classes)
    basis = f"the sum of {len(classes)} classes on the cover of the {row.form}"
    remark = f"sharesOutstanding is {basis}."
    return _Try(_shares(concepts.COVER_COUNT, whole, basis), None, (concepts.COVER_COUNT, whole), remark)


def _balance(desk: Desk) -> _Try:
    found = [
        (row.end, -place, concept, row)
        for place, concept in enumerate(concepts.BALANCE_COUNTS)
        if (row := latest(of_newest_day(known(desk.facts.units(concept).get(UNIT, ()), desk.forms, desk.today))))
    ]
    if not found:
        return _Try(None, None)
    _, _, concept, row = max(found, key=lambda each: each[:3])
    trouble, is_final = by_itself(row, desk.today) or late(desk, row) or too_early(desk, row), False
    if trouble is None and is_silent(desk, row.end) and not is_as_before(desk, row):
        trouble = f"is of a time before {SILENT}"
    if trouble is None and row.value is not None:
        doubted = doubt(row.value, witnesses_of(desk, row), is_cover=False)
        if doubted is not None:
            trouble, is_final = doubted.why, doubted.verdict is ShareVerdict.DISPUTE
    if trouble is None and (trouble := restated_since(desk, row)) is not None:
        is_final = True
    if trouble is None and is_tens_off_others(desk, concept, row):
        trouble, is_final = "is ten times or more off profit per share or the count before, and nothing tells why", True
    if trouble is not None:
        complaint = f"the count on the balance sheet ({row.form}, {row.end}) {trouble}"
        return _Try(None, complaint, (concept, row), is_final=is_final)
    average = witnesses_of(desk, row).average or 0
    average *= slip(row.value or 0, average) or 1  # many tell an average in thousands
    # Who gives no single count on its cover may count its treasury here, or partners' shares: nothing tells which.
    remark = _ABOVE_AVERAGE.format(average=average) if row.value and 0 < average * 13 < row.value * 10 else None
    return _Try(_shares(concept, row, f"the balance sheet of the {row.form}"), None, (concept, row), remark)


def _average(desk: Desk) -> _Try:
    report = desk.report
    found = newest_average(desk.facts, report.accession) if report is not None else None
    if found is None:
        return _Try(None, _stale_average(desk))
    concept, row = found
    trouble = by_itself(row, desk.today) if row.value is None or row.value >= LEAST else None
    implied = implied_count(desk.facts, row.accession)
    remark = None
    if trouble is None and row.value is not None and implied and (scale := slip(row.value, implied)):
        held = public_float(desk.facts, desk.today)
        balance = sides_with(row.value, implied, counts_elsewhere(desk, row), held.value if held is not None else None)
        # Between the two it is the count that slips more often, into thousands: larger ones are no slip of that kind.
        if balance < 0 or (balance == 0 and row.value < implied):
            value = row.value * scale if row.value < implied else row.value // scale
            remark = f"sharesOutstanding: the average is tagged a factor of {scale} off and was set right by others."
            row = Entry(row.start, row.end, int(value), row.accession, row.form, row.filed)
        elif balance == 0:
            trouble = f"is a factor of {scale} off what profit per share makes, and nothing tells which is right"
    if trouble is None and row.value is not None and implied and is_tens_off(row.value, implied):
        trouble = "is ten or a hundred times off what profit and profit per share make"
    trouble = trouble or by_itself(row, desk.today) or late(desk, row) or too_early(desk, row)
    if trouble is None and is_silent(desk, row.start or row.end):
        trouble = f"is of a time before {SILENT}"
    if trouble is None and not is_as_before(desk, row) and not is_of_all(desk, row):
        trouble = "is not what the last cover says"
    trouble = trouble or restated_since(desk, row)
    if trouble is not None:
        return _Try(None, f"the average number of shares ({row.form}, {row.end}) {trouble}", (concept, row))
    basis = f"the weighted average of basic shares in the {row.form}"
    return _Try(_shares(concept, row, basis), None, (concept, row), remark)


def _stale_average(desk: Desk) -> str | None:
    rows = [
        row
        for concept in concepts.AVERAGE_COUNTS
        for row in known(desk.facts.units(concept).get(UNIT, ()), desk.forms, desk.today)
    ]
    row = max(rows, key=lambda each: (each.end, each.filed, each.accession), default=None)
    if row is None or desk.report is None:
        return None
    trouble = by_itself(row, desk.today) or f"is not repeated in the later {desk.report.form} of {desk.report.filed}"
    return f"the average number of shares ({row.form}, {row.end}) {trouble}"


def _count(desk: Desk, tries: list[_Try], notes: tuple[str, ...]) -> Count:
    judged = [
        candidate(
            each.judged[0],
            UNIT,
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
        candidate(concept, UNIT, row, _why_not(concept, row, shares))
        for concept in concepts.COUNTS
        if concept not in seen
        and (row := latest(of_newest_day(known(desk.facts.units(concept).get(UNIT, ()), desk.forms, desk.today))))
    ]
    if shares is not None:
        notes = (*notes, *left_out(desk, shares.value))
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
