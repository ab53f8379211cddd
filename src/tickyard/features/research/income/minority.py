"""The minority owners' part of a profit, and whether it is still in what a filing calls the whole."""

from typing import Final

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.concepts import Number
from tickyard.features.research.filed.discontinued import MINORITY_DISCONTINUED
from tickyard.features.research.filed.statement import Statement, Years
from tickyard.features.research.income.divided import (
    has_digits_of,
    is_nearer,
    is_set_aside,
    is_what_was_divided,
)

_NAMES: Final = (*concepts.MINORITY, *concepts.MINORITY_DIVIDED)


def minority_of(statement: Statement, whole: Number | None = None) -> Number | None:
    """The minority owners' part. Different amounts under several names may be parts of it, or one of another: they are
    added up when only their sum leaves of the whole profit what was divided among the shares."""
    parts = {value for name in _NAMES if (value := statement.get(name)) is not None}
    found = statement.first(concepts.MINORITY)
    if (discontinued := of_discontinued(statement)) and found is not None:
        parts, found = (parts - {found}) | {found + discontinued}, found + discontinued
    if found is None:
        divided = [value for name in concepts.MINORITY_DIVIDED if (value := statement.get(name)) is not None]
        found = sum(divided) if divided else None
    if whole is not None and statement.first(concepts.COMMON_PROFITS) == whole - sum(parts) != whole - (found or 0):
        return sum(parts)
    # What is little may as well be preferred dividends.
    is_little = whole is None or found is None or concepts.size(sum(parts) - found) * 100 <= concepts.size(whole)
    if whole is None or found is None or is_little or is_what_was_divided(statement, whole - found):
        return found
    return sum(parts) if is_what_was_divided(statement, whole - sum(parts)) else found


def of_discontinued(statement: Statement) -> Number:
    """The minority's part of operations that were given up, where its part of those that go on is told without it."""
    told = [name for name in concepts.MINORITY if statement.get(name) is not None]
    is_apart = bool(told) and told[0] in concepts.MINORITY_CONTINUING
    return (statement.first(MINORITY_DISCONTINUED) or 0) if is_apart else 0


def whole_less_minority(statement: Statement) -> Number | None:
    whole, found = statement.first(concepts.WHOLE_PROFITS), minority_of(statement)
    return whole - found if whole is not None and found is not None else None


def is_of_either_sign(statement: Statement, part: Number) -> bool:
    """Whether what was taken off as the minority's part is told under another of its names with the other sign, and
    what was divided among the shares does not say which is right."""
    whole = statement.first(concepts.WHOLE_PROFITS) or 0
    is_told = part != 0 and any(statement.get(name) == -part for name in _NAMES)
    return is_told and not is_what_was_divided(statement, whole - part)


def after_preferred(statement: Statement, owners: Number) -> Number | None:
    """The preferred dividends and accretion that lead from what taxes and the minority leave to what is tagged as the
    owners' part, where they do so to the digit. Some tag the minority's part with a minus. What the owners earned in
    all tells the dividends of a daughter, which are a minority's."""
    whole, taxes = statement.first(concepts.WHOLE_PROFITS), statement.get(concepts.TAXES)
    wholes = [whole] if whole is not None else []
    if whole is None and taxes is not None:
        wholes = [left - taxes for name in concepts.PRETAX if (left := statement.get(name)) is not None]
    if not wholes or is_parents(statement, owners):
        return None
    parts = {value for name in _NAMES if (value := statement.get(name)) is not None}
    found = (minority_of(statement) or 0, sum(parts))
    gaps = {each + sign * part - owners for each in wholes for part in found for sign in (1, -1)}
    if 0 in gaps:
        # The minority alone leads there; twice its part may be what somebody was paid, and proves nothing.
        return None
    return min((gap for gap in gaps if gap > 0 and is_set_aside(statement, gap)), default=None)


def is_parents(statement: Statement, profit: Number | None) -> bool:
    """Whether what the owners earned in all, less what of it is no profit, is this amount."""
    earned = statement.first(concepts.OWNERS_COMPREHENSIVE)
    if earned is None or profit is None:
        return False
    return any(earned - profit == statement.get(name) for name in concepts.OTHER_COMPREHENSIVE)


def is_told_by_shares(statement: Statement, one: Number, other: Number) -> bool:
    """Whether profit per share tells that one of two profits is the owners', and not the other."""
    if has_digits_of(statement, one) or has_digits_of(statement, other):
        return not has_digits_of(statement, other)
    return is_nearer(statement, one, other)


def is_owners_before(years: Years, statement: Statement, name: str) -> bool:
    """Whether the newest year before of which profit per share tells, in the same filing or else in any, had the
    owners' part under the name of the whole: a minority may be too small for the cents of one year, not of all."""
    own: list[Statement] = []
    others: list[Statement] = []
    for end in (each for each in years.ends((name,)) if each < statement.end):
        for told in years.statements((name,), end):
            (own if told.accession == statement.accession else others).append(told)
    for told in (*own, *others):
        whole, minority = told.get(name), minority_of(told)
        if whole is not None and minority and told.first(concepts.OWNERS_PROFITS) is None:
            if is_told_by_shares(told, whole, whole - minority):
                return True
            if is_told_by_shares(told, whole - minority, whole):
                return False
    return False
