"""The minority owners' part of a profit, and whether it is still in what a filing calls the whole."""

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.concepts import Number
from tickyard.features.research.filed.statement import Statement, Years
from tickyard.features.research.income.divided import has_digits_of, is_nearer, is_what_was_divided


def minority_of(statement: Statement, whole: Number | None = None) -> Number | None:
    """The minority owners' part. Different amounts under several names may be parts of it, or one of another: they are
    added up when only their sum leaves of the whole profit what was divided among the shares."""
    names = (*concepts.MINORITY, *concepts.MINORITY_DIVIDED)
    parts = {value for name in names if (value := statement.get(name)) is not None}
    found = statement.first(concepts.MINORITY)
    if found is None:
        divided = [value for name in concepts.MINORITY_DIVIDED if (value := statement.get(name)) is not None]
        found = sum(divided) if divided else None
    # What is little may as well be preferred dividends.
    is_little = whole is None or found is None or concepts.size(sum(parts) - found) * 100 <= concepts.size(whole)
    if whole is None or found is None or is_little or is_what_was_divided(statement, whole - found):
        return found
    return sum(parts) if is_what_was_divided(statement, whole - sum(parts)) else found


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
