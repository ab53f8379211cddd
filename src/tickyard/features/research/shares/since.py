"""What a later report makes of a count: an interim one of a foreign filer is a witness, though it is never the answer.

Who restates the balance sheet of the same day, or the average of the same period, in another number of shares has split
them, or put them together, and the count of before is of other shares than those that are quoted today.
"""

from datetime import date
from typing import Final

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.amounts import slip
from tickyard.features.research.filed.concepts import Number
from tickyard.features.research.filed.periods import COUNT_FORMS, INTERIM_FOREIGN_FORMS, is_known
from tickyard.features.research.shares.desk import UNIT, Desk
from tickyard.sources.filings.border import Entry

_NAMES: Final = tuple(
    dict.fromkeys(
        (*concepts.BALANCE_COUNTS, *concepts.ISSUED_COUNTS, *concepts.AVERAGE_COUNTS, *concepts.DILUTED_COUNTS)
    )
)
_WITNESSES: Final = COUNT_FORMS | INTERIM_FOREIGN_FORMS
# In tenths. The smallest split that is common is three for two; a mistake set right or a class added is seldom as much.
_APART: Final = 14
_SPLIT: Final = "is of before a split: the {form} of {filed} restates {then} as {now} for the same {time}"
_TOGETHER: Final = (
    "is of before shares were put together: the {form} of {filed} restates {then} as {now} for the same {time}"
)


def restated_since(desk: Desk, row: Entry) -> str | None:
    """Why a count is of before a split, or of before shares were put together; None when no later report tells so."""
    if row.value is None:
        return None
    for name in _NAMES:
        every = desk.facts.units(name).get(UNIT, ())
        rows = [each for each in every if each.value and each.form in _WITNESSES and is_known(each, desk.today)]
        if not any(each.filed > row.filed for each in rows):
            continue
        told: dict[tuple[date | None, date], list[Entry]] = {}
        for each in rows:
            told.setdefault((each.start, each.end), []).append(each)
        for same in told.values():
            then, now = _before_and_after(same, row.filed)
            if then is None or now is None or not _is_of_before(row.value, then.value or 0, now.value or 0):
                continue
            text = _SPLIT if (now.value or 0) > (then.value or 0) else _TOGETHER
            time = "day" if now.start is None else "period"
            return text.format(form=now.form, filed=now.filed, then=then.value, now=now.value, time=time)
    return None


def _before_and_after(told: list[Entry], filed: date) -> tuple[Entry | None, Entry | None]:
    """What was told last when the count was filed, or else first since, and what is told now."""
    inorder = sorted(told, key=lambda each: (each.filed, each.accession, each.value or 0))
    then = next((each for each in reversed(inorder) if each.filed <= filed), inorder[0])
    now = inorder[-1]
    return then, (now if now.filed > max(filed, then.filed) else None)


def _is_of_before(count: Number, then: Number, now: Number) -> bool:
    """Whether the two are a split apart, by no slip of scale, and the count is nearer to what was told before: a cover
    may know of a split that the tables behind it do not."""
    low, high = sorted((then, now))
    if high * 10 < low * _APART or slip(then, now):
        return False
    # By ratio: on which side of the geometric middle.
    return (count * count < then * now) == (then < now)
