"""Classes of shares: those that a cover tells, and those that a count may leave out."""

from collections.abc import Iterable
from typing import Final

from msgspec import structs

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.amounts import are_close, slip
from tickyard.features.research.filed.concepts import Number
from tickyard.features.research.filed.periods import COUNT_AGE
from tickyard.features.research.filed.reports import implied_count, newest_average
from tickyard.features.research.filed.settling import latest
from tickyard.features.research.shares.desk import Desk, of_newest_day
from tickyard.features.research.shares.doubts import LEAST, Witnesses, balance_in
from tickyard.sources.filings.border import CompanyFacts, Entry

_UNIT: Final = "shares"
_EXCHANGEABLE: Final = (
    "sharesOutstanding may leave out a class that can be exchanged for the one counted: the diluted average in its "
    "report is {diluted}, the basic one {basic}."
)
_ISSUED: Final = (
    "sharesOutstanding may leave out a class: {issued} shares are issued, unless the company holds those that are not "
    "counted itself."
)
# In tenths of the basic average: what options and notes add is seldom as much.
_DILUTED, _MOST_DILUTED = 14, 500


def classes_on(facts: CompanyFacts, rows: Iterable[Entry], row: Entry) -> list[int] | None:
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


def counted(row: Entry, classes: list[int] | None) -> Entry:
    """The cover, with the sum of its classes where it tells several."""
    return structs.replace(row, value=sum(classes)) if classes is not None else row


def is_lone(desk: Desk, row: Entry, seen: Witnesses) -> bool:
    """Whether a cover gives one count after reports, three or more, that gave none, and nothing beside it counts
    shares.
    Who has several classes tells each by its name, and one that lost its name in the tagging looks like all of them."""
    before = [each for each in desk.reports if each.filed < row.filed and row.filed - each.filed <= COUNT_AGE]
    speaking = {each.accession for each in desk.covers if each.value is not None}
    if len(before) < 3 or any(each.accession in speaking for each in before):
        return False
    told = (seen.average, seen.balance, seen.implied)
    return row.value is not None and not any(each is not None and are_close(row.value, each) for each in told)


def is_of_all(desk: Desk, row: Entry) -> bool:
    """Whether an average counts classes of which the covers of this report and the one before told one only: the other
    report averaged about as many, and profit over profit per share makes about as many."""
    before = newest_average(desk.facts, desk.reports[1].accession) if len(desk.reports) > 1 else None
    told = (before[1].value if before is not None else None, implied_count(desk.facts, row.accession))
    count = row.value or 0
    if any(each.value is not None and each.value < LEAST for each in desk.covers if each.accession == row.accession):
        return False  # a daughter's own shares: those of the average are its mother's
    return count > 0 and all(each is not None and concepts.size(each - count) * 10 <= count for each in told)


def left_out(desk: Desk, count: Number) -> tuple[str, ...]:
    """What must be said of a count that may be of one class only, though nothing tells for certain."""
    issued = _issued(desk)
    if issued is not None and issued * 20 > count * 21 and not slip(issued, count):
        return (_ISSUED.format(issued=issued),)
    average = newest_average(desk.facts, desk.report.accession) if desk.report is not None else None
    basic, diluted = (average[1].value, _diluted(desk, average[1])) if average is not None else (None, None)
    is_told = basic is not None and diluted is not None and basic * _MOST_DILUTED > diluted * 10 >= basic * _DILUTED
    if is_told and basic and diluted and basic * 10 >= count * 7 and diluted * 10 >= count * _DILUTED:
        return (_EXCHANGEABLE.format(diluted=diluted, basic=basic),)
    return ()


def _issued(desk: Desk) -> Number | None:
    """What the newest report says was issued of all classes by its last day."""
    told = desk.facts.units(concepts.ISSUED_COUNT).get(_UNIT, ())
    rows = [row for row in told if desk.report is not None and row.accession == desk.report.accession]
    newest = latest(of_newest_day(rows))
    return newest.value if newest is not None else None


def _diluted(desk: Desk, basic: Entry) -> Number | None:
    """The diluted average of the same filing and period."""
    rows = [
        row
        for concept in concepts.DILUTED_COUNTS
        for row in desk.facts.units(concept).get(_UNIT, ())
        if (row.accession, row.start, row.end) == (basic.accession, basic.start, basic.end)
    ]
    newest = latest(rows)
    return newest.value if newest is not None else None
