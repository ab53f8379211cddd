"""A cover that nobody counted anew, or that counts what was ever issued: its own report knows better."""

from typing import Final

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.concepts import Number
from tickyard.features.research.filed.reports import newest_average
from tickyard.features.research.shares.desk import UNIT, Desk, cover_before, of_newest_day, witnesses_of
from tickyard.features.research.shares.doubts import LEAST, Witnesses, balance_in
from tickyard.sources.filings.border import Entry

_COPIED: Final = "is that of {day} to the last digit, although others were given since"
_STANDING: Final = "is that of {day} to the last digit, although balance sheet and average moved since"
_BEFORE_REVERSE: Final = (
    "is about that of {day}, although balance sheet and average count far fewer since, as after a reverse split"
)
_OF_ISSUED: Final = "is the number of shares issued to the last digit, of which balance sheet and average count fewer"
_OF_TWO_DAYS: Final = "is one of two that the cover gives, each of a day of its own, as of two classes"
_ABOVE_ALL: Final = (
    "sharesOutstanding may count the treasury, or a class without a part in the profit: the balance sheet of the same "
    "report has {balance}, and average and profit per share make about as many."
)
# In tenths: what a report counts on two days, and what between two reports is more than a few options.
_ABOUT: Final = (9, 11)
_FAR_MORE: Final = 18
_CLEARLY_MORE: Final = 13


def left_standing(desk: Desk, row: Entry) -> str | None:
    """Why a cover is not today's count, though it may be that of another day."""
    if row.value is None:
        return None
    copied = _copied_from(desk, row)
    if copied is not None:
        return _COPIED.format(day=copied.end)
    seen, before = witnesses_of(desk, row), cover_before(desk, row)
    told = (seen.balance, seen.average, seen.implied)
    if not any(_are_about(row.value, each) for each in told) and _is_of_two_days(desk, row, seen):
        return _OF_TWO_DAYS
    if seen.balance is None or seen.average is None:
        return None
    if before is not None and before.value is not None:
        then = (balance_in(desk.facts, before.accession), _average_in(desk, before))
        if before.value == row.value and row.value % 1000 and _have_moved(row.value, seen, then):
            return _STANDING.format(day=before.end)
        if _is_of_before_reverse(row.value, seen, before.value, then):
            return _BEFORE_REVERSE.format(day=before.end)
    is_above = all(each is not None and each * 10 < row.value * _ABOUT[0] for each in told)
    if is_above and row.value in _issued(desk, row):
        return _OF_ISSUED
    return None


def above_all(desk: Desk, row: Entry) -> str | None:
    """What must be said of a cover that is clearly above all that its report tells, as the one before was: nobody has
    issued shares since, but nothing tells either that those on the cover are not outstanding."""
    seen, before = witnesses_of(desk, row), cover_before(desk, row)
    told = (seen.balance, seen.average, seen.implied)
    if row.value is None or before is None or before.value is None or not _are_about(row.value, before.value):
        return None
    if not all(each and each * _CLEARLY_MORE < row.value * 10 and _are_about(each, told[0] or 0) for each in told):
        return None
    return _ABOVE_ALL.format(balance=seen.balance)


def _copied_from(desk: Desk, row: Entry) -> Entry | None:
    """The cover that this one repeats to the last digit although others between them differ: nobody counted again. A
    rounded count may well come back."""
    if row.value is None or not row.value % 1000:
        return None
    earlier = [each for each in desk.covers if each.filed < row.filed and each.end < row.end]
    same = max((each for each in earlier if each.value == row.value), key=lambda each: each.end, default=None)
    if same is None or all(each.value == row.value for each in earlier if each.end > same.end):
        return None
    return same


def _have_moved(count: Number, seen: Witnesses, then: tuple[Number | None, Number | None]) -> bool:
    """Whether balance sheet and average are more than a tenth off those of the report before, and off the cover."""
    now = (seen.balance, seen.average)
    pairs = zip(now, then, strict=True)
    is_moved = all(one is not None and other is not None and not _are_about(one, other) for one, other in pairs)
    return is_moved and seen.balance is not None and not _are_about(count, seen.balance)


def _is_of_before_reverse(
    count: Number, seen: Witnesses, before: Number, then: tuple[Number | None, Number | None]
) -> bool:
    """Whether a cover is like the one before, which its own report bore out, while the tables of this one, and profit
    per share, make far fewer."""
    was_borne_out = all(each is not None and _are_about(each, before) for each in then)
    fewer = (seen.balance, seen.average, seen.implied)
    is_far = all(each is not None and 0 < each * _FAR_MORE < count * 10 for each in fewer)
    return was_borne_out and is_far and _are_about(count, before) and _are_about(*fewer[:2])


def _is_of_two_days(desk: Desk, row: Entry, seen: Witnesses) -> bool:
    """Whether the same cover counts clearly more or fewer on another day, and not merely as the tables did."""
    others = [each for each in desk.covers if each.accession == row.accession and each.end != row.end]
    return any(
        each.value
        and each.value >= LEAST
        and not _are_about(each.value, row.value)
        and not _are_about(each.value, seen.balance)
        for each in others
    )


def _average_in(desk: Desk, row: Entry) -> Number | None:
    average = newest_average(desk.facts, row.accession)
    return average[1].value if average is not None else None


def _issued(desk: Desk, row: Entry) -> set[Number | None]:
    """What the same filing says was issued, by the newest of its balance sheets."""
    rows = [
        each
        for concept in concepts.ISSUED_COUNTS
        for each in desk.facts.units(concept).get(UNIT, ())
        if each.accession == row.accession
    ]
    return {each.value for each in of_newest_day(rows)}


def _are_about(one: Number | None, other: Number | None) -> bool:
    least, most = _ABOUT
    return one is not None and other is not None and other * least <= one * 10 <= other * most
