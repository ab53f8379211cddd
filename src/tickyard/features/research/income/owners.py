"""The owners' part of the profit that one filing tells: as tagged, or made of the whole and the minority's part."""

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.amounts import are_alike, is_equal, slip
from tickyard.features.research.filed.concepts import Number
from tickyard.features.research.filed.statement import Statement, Years
from tickyard.features.research.income.divided import (
    divided_instead,
    has_digits_of,
    is_set_aside,
    is_told_by_neither,
    is_what_was_divided,
    made_of,
    per_share_of,
)
from tickyard.features.research.income.doubted import left_where_outdone, unexplained
from tickyard.features.research.income.minority import (
    after_preferred,
    is_owners_before,
    is_parents,
    is_told_by_shares,
    minority_of,
    of_discontinued,
)
from tickyard.sources.filings.border import Entry

_MAY_INCLUDE = "netIncome includes the share of minority owners, if there are any: the filing does not set it apart."
_ONE_AMOUNT = (
    "netIncome may include the share of minority owners: the filing tells one, and the same amount for the owners as "
    "for all."
)
_ALL_OF_IT = "netIncome may include the share of minority owners: the filing tags all of it as theirs too."
SUBTRACTED = "netIncome is the whole profit less the minority owners' part of the same filing."
Taken = tuple[str, Entry, str | None, str]
"""The concept, its row, what must be said about it, and why it was taken."""
_LESS_DIVIDED = (
    "Divided among the shares was {divided}: preferred dividends, or a minority's part that is not tagged, went before."
)
_CONTINUING = "The minority's part is told of continuing operations only."
_LOSS_DIVIDED = "netIncome may include the share of minority owners: profit per share is a loss."
# Preferred dividends may take most of a profit before it is divided among the shares.
_ALIKE = 5
_NEARER = 4
_WITH_PREFERRED = "netIncome is what the filer tags as available to common plus its preferred dividends."
_BEFORE_PREFERRED = (
    "netIncome is before preferred dividends or accretion of {preferred}, after which the filing tags it."
)
_TO_COMMON = "netIncome is what the filer tags as available to common, which may not be all of the owners' profit."


def owners_part(years: Years, statement: Statement) -> Taken:
    for name in concepts.OWNERS_PROFITS:
        row = statement.rows.get(name)
        if row is not None and not statement.is_stray(name):
            return _unless_whole(statement, name, row)
    for name in concepts.WHOLE_PROFITS:
        row = statement.rows.get(name)
        if row is not None:
            return _to_parent(statement, row.value) or _of_whole(years, statement, name, row)
    return _to_common(statement, next(each for each in concepts.NET_INCOME if each in statement.rows))


def _to_parent(statement: Statement, whole: Number | None) -> Taken | None:
    """What is available to common, where it is all that the owners earned: preferred shares of a daughter, and others
    that went before it, are a minority's then. Preferred shares on which the filer itself declared dividends, and all
    where there is no minority, are the owners'."""
    name = next((each for each in concepts.COMMON_PROFITS if is_parents(statement, statement.get(each))), None)
    common = statement.get(name) if name is not None else None
    if name is None or common is None or whole is None or whole == common:
        return None
    is_declared = statement.first((concepts.PREFERRED_DECLARED, concepts.PREFERRED_PER_SHARE))
    if is_declared or (not minority_of(statement) and is_set_aside(statement, whole - common)):
        return None
    return name, statement.rows[name], None, "What the owners earned in all, less what of it is no profit, is this."


def _to_common(statement: Statement, name: str) -> Taken:
    """What is left for common shares, with the preferred dividends that were taken off where the filing tells them."""
    row, preferred = statement.rows[name], statement.first(concepts.PREFERRED_DIVIDENDS)
    if row.value is None or not preferred or preferred < 0:
        return name, row, _TO_COMMON, "The only profit that the filing tags."
    whole = Entry(row.start, row.end, row.value + preferred, row.accession, row.form, row.filed)
    why = "The only profit of the owners that the filing tags, and the dividends on preferred shares it is told after."
    return f"{name} + preferred dividends", whole, _WITH_PREFERRED, why


def _unless_whole(statement: Statement, name: str, row: Entry) -> Taken:
    """The owners' part as tagged, unless it is the whole profit under another name, or no part of it that is known."""
    whole, minority = statement.first(concepts.WHOLE_PROFITS), minority_of(statement)
    if whole is not None and whole == row.value and (minority is None or _lacks_a_part(statement, whole - minority)):
        left = _left_to_common(statement, whole)
        if left is not None:
            return left
    if row.value is not None and minority and whole in (None, row.value):
        rest = row.value - minority
        # Preferred dividends may take about as much as a minority: what they leave of the tagged part is told then.
        if is_told_by_shares(statement, rest, row.value) and not is_what_was_divided(statement, row.value):
            return _less(statement, name, row, rest)
    paid = left_where_outdone(statement, row.value) if row.value is not None else None
    if paid is not None:
        concept = next(each for each in concepts.WHOLE_PROFITS if statement.get(each) is not None)
        if minority:
            return _less(statement, concept, statement.rows[concept], paid)
        return concept, statement.rows[concept], _MAY_INCLUDE, "More was divided than what is tagged as the owners'."
    if row.value is not None and minority is not None and whole is not None and _is_stranger(statement, row.value):
        concept = next(each for each in concepts.WHOLE_PROFITS if statement.get(each) is not None)
        return _less(statement, concept, statement.rows[concept], whole - minority)
    # Of one amount under both names one is wrong where a minority is told, and only what was divided tells which.
    is_open = minority and whole is not None and whole == row.value and not is_what_was_divided(statement, whole)
    preferred = after_preferred(statement, row.value) if row.value is not None else None
    if preferred is not None and row.value is not None:
        before = Entry(row.start, row.end, row.value + preferred, row.accession, row.form, row.filed)
        why = "The owners' part of the profit, before the preferred dividends after which the filing tags it."
        return f"{name} + preferred dividends", before, _BEFORE_PREFERRED.format(preferred=preferred), why
    remark = _ONE_AMOUNT if is_open else unexplained(statement, row.value)
    return name, row, remark, "The owners' part of the profit, as the filing tags it."


def _is_stranger(statement: Statement, owners: Number) -> bool:
    """Whether what is tagged as the owners' part is neither what the minority leaves of the whole profit, nor what
    profit per share was made of, with preferred dividends or without.

    A minority's part may be told only in part: then it has several names, or profit per share bears the owners' out.
    """
    whole, minority, made = statement.first(concepts.WHOLE_PROFITS), minority_of(statement), made_of(statement)
    names = (*concepts.MINORITY, *concepts.MINORITY_DIVIDED)
    if whole is None or minority is None or len({statement.get(name) for name in names} - {None}) > 1:
        return False
    if any(is_equal(each, owners) for each in (whole, whole - minority, whole + minority)):
        return False
    common, preferred = statement.first(concepts.COMMON_PROFITS), statement.first(concepts.PREFERRED_DIVIDENDS) or 0
    is_borne_out = has_digits_of(statement, owners) or (
        common is not None and (has_digits_of(statement, common) or (preferred and common == owners - preferred))
    )
    made *= slip(made, owners, _ALIKE) or 1
    if is_borne_out or made * owners <= 0 or not are_alike(whole - minority, owners):
        return False
    if (whole - minority) * 102 < made * 100 and made <= owners:
        # Preferred dividends are taken off before profit is divided: nobody divides more than there was.
        return False
    # Preferred units and what takes part beside the shares keep a profit a little above what was divided.
    if _NEARER * concepts.size(made - owners) < concepts.size(made - (whole - minority)):
        return False
    # What profit per share does not bear out is refuted only where it is about as much, or a thousand times so.
    is_about = concepts.size(made) < _ALIKE * concepts.size(owners) and concepts.size(owners) < _ALIKE * concepts.size(
        made
    )
    return is_about or slip(made, owners, _ALIKE) is not None


def _of_whole(years: Years, statement: Statement, name: str, row: Entry) -> Taken:
    """The whole profit, less the minority owners' part where that is told."""
    minority = minority_of(statement, row.value)
    if row.value is None:
        return name, row, None, ""
    if minority is None:
        return _without_minority(statement, name, row, row.value)
    if not minority:
        return name, row, None, "The whole profit: minority owners had no part in it."
    rest = row.value - minority
    if _lacks_a_part(statement, rest) and (left := _left_to_common(statement, row.value)) is not None:
        return left
    if not rest and per_share_of(statement)[0] != 0:
        # A line of the statement under a wrong name is likelier than a company whose owners have no part in it.
        return name, row, _ALL_OF_IT, "The whole profit: it stands under the name of the minority's part too."
    if is_told_by_shares(statement, row.value, rest):
        # Some filers tag the owners' part with the name of the whole.
        return name, row, None, "Profit per share times shares gives this amount: it is the owners' part already."
    if is_told_by_neither(statement, row.value, rest) and is_owners_before(years, statement, name):
        return name, row, None, "Profit per share of a year before shows that the filer tags the owners' part so."
    if not is_what_was_divided(statement, rest) and has_digits_of(statement, row.value + minority):
        # Some tag what is taken off with a minus.
        return _less(statement, name, row, row.value + minority)
    return _less(statement, name, row, rest)


def _without_minority(statement: Statement, name: str, row: Entry, whole: Number) -> Taken:
    common = statement.first(concepts.COMMON_PROFITS)
    has_minority = any(statement.get(name) for name in concepts.MINORITY_SIGNS)
    is_told = common is not None and is_set_aside(statement, whole - common)
    if whole > 0 > (per_share_of(statement)[0] or 0) and (common is None or common > 0):
        return name, row, _LOSS_DIVIDED, "The whole profit: the owners' part is not set apart."
    # Cents a share do not show a minority that is small.
    if is_told or (has_digits_of(statement, whole) and not has_minority):
        return name, row, None, "What remained for shareholders shows that minority owners had no part in it."
    if has_digits_of(statement, whole):
        return name, row, _MAY_INCLUDE, "Profit per share times shares gives about this amount."
    left = _left_to_common(statement, whole)
    return left or (name, row, _MAY_INCLUDE, "The whole profit: the owners' part is not set apart.")


def _lacks_a_part(statement: Statement, rest: Number) -> bool:
    """Whether partners have names of their own for their parts of the profit, and less than they leave was divided."""
    common, preferred = statement.first(concepts.COMMON_PROFITS), statement.first(concepts.PREFERRED_DIVIDENDS) or 0
    is_told = any(statement.get(name) is not None for name in concepts.MINORITY_PARTNERS)
    is_whole = any(statement.get(name) is not None for name in concepts.MINORITY)
    return is_told and not is_whole and common is not None and common + preferred < rest


def _left_to_common(statement: Statement, whole: Number) -> Taken | None:
    """What is available to common, where there is a minority whose part has no name we know, and profit per share times
    shares gives this amount and not the whole profit."""
    owners = next((each for each in concepts.COMMON_PROFITS if statement.get(each) is not None), None)
    common = statement.get(owners) if owners is not None else None
    has_minority = any(statement.get(name) for name in (*concepts.MINORITY_SIGNS, *concepts.MINORITY_PARTNERS))
    if owners is None or common is None or not has_minority or is_set_aside(statement, whole - common):
        return None
    if is_parents(statement, whole):
        return None  # what went before common shares is of a name that is not known, and the owners' too
    if has_digits_of(statement, whole) or not has_digits_of(statement, common):
        return None
    why = "Profit per share times shares gives this amount, and not the whole profit."
    taken = _to_common(statement, owners)
    return taken if taken[0] != owners else (owners, statement.rows[owners], _TO_COMMON, why)


def _less(statement: Statement, name: str, row: Entry, rest: Number) -> Taken:
    part = Entry(row.start, row.end, rest, row.accession, row.form, row.filed)
    divided = divided_instead(statement, rest)
    remark = f"{SUBTRACTED} {_LESS_DIVIDED.format(divided=divided)}" if divided is not None else SUBTRACTED
    told = [each for each in (*concepts.MINORITY, *concepts.MINORITY_DIVIDED) if statement.get(each) is not None]
    is_continuing = told and told[0] in concepts.MINORITY_CONTINUING and not of_discontinued(statement)
    if is_continuing and not is_what_was_divided(statement, rest):
        remark = f"{remark} {_CONTINUING}"
    return f"{name} - minority owners' part", part, remark, "The whole profit less the minority owners' part."
