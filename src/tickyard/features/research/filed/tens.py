"""A slip by ten or a hundred: too small a factor to tell by itself from a year that went well, or badly.

Two things show it. The same filing repeats a year with the digits that another one gave it, but not in its scale. Or
revenue is ten times that of the year before, while the lines beside it stayed about what they were.
"""

from typing import Final

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.amounts import is_equal, power_off
from tickyard.features.research.filed.concepts import Number
from tickyard.features.research.filed.statement import Statement, Years

TENS: Final = "A slip: it is {power} times off the year before, or what other filings say of that."
_POWERS: Final = (10, 100)
# In tenths of a power of ten: a year is rarely more than a third off the one before.
_LEAST, _MOST = 7, 14
_ABOUT: Final = 3
_STEADY: Final = (
    *concepts.REVENUE,
    *concepts.COSTS_OF_SALES,
    *concepts.EXPENSES,
    *concepts.NET_INTEREST,
    *concepts.GROSS_INTEREST,
    concepts.OTHER_BANKING,
    concepts.PREMIUMS,
)
# What is left over moves by itself: one such line says nothing.
_LEFT: Final = (*concepts.GROSS_PROFITS, concepts.OPERATING_INCOME, *concepts.PRETAX, *concepts.NET_INCOME)


def repeated_tenfold(years: Years, statement: Statement, concept: str, value: Number) -> int | None:
    """The power of ten between what this filing and another say of the year before, in the same digits, unless as many
    reports as say so said the same as this one."""
    part = years.part(statement, concept)
    if part and _is_about(value, part):
        return None  # the quarterly reports told as much: the other filing is the one that slipped
    before = years.before(statement, (concept,))
    last = before.get(concept) if before is not None else None
    if before is None or not last:
        return None
    told = [each for each in years.statements((concept,), before.end) if each.accession != statement.accession]
    off = [power for each in told if (amount := each.get(concept)) and (power := power_off(last, amount))]
    # Reports of before the year was over are voices of their own; an amendment of this one slips as it does.
    alike = [each for each in told if each.filed <= statement.end and _is_same(each.get(concept), last)]
    return off[0] if len(off) > len(alike) else None


def _is_same(amount: Number | None, last: Number) -> bool:
    return amount is not None and is_equal(amount, last)


def grown_tenfold(years: Years, statement: Statement, concept: str, value: Number) -> int | None:
    """The power of ten by which revenue grew or shrank, though nothing beside it did."""
    before = years.before(statement, (concept,))
    last = before.get(concept) if before is not None else None
    power = next((each for each in _POWERS if _is_off(value, last, each)), None) if last else None
    part = years.part(statement, concept)
    if before is None or power is None or (part and _is_about(value, part)):
        return None
    # The same amount under another name is the same slip.
    others = {name: amount for name, row in statement.rows.items() if (amount := row.value) and amount != value}
    steady, left = (
        [_is_about(others[name], then) for name in names if name in others and (then := before.get(name))]
        for names in (_STEADY, _LEFT)
    )
    return power if (steady and all(steady)) or (not steady and len(left) > 1 and all(left)) else None


def _is_off(one: Number, other: Number, power: int) -> bool:
    low, high = sorted((concepts.size(one), concepts.size(other)))
    return (one > 0) == (other > 0) and low * power * _LEAST <= high * 10 <= low * power * _MOST


def _is_about(one: Number, other: Number) -> bool:
    low, high = sorted((concepts.size(one), concepts.size(other)))
    return (one > 0) == (other > 0) and high <= _ABOUT * low
