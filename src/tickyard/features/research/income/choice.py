"""Net income: the owners' part of the profit of the newest whole year, before preferred dividends."""

from datetime import date

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.amounts import are_alike, is_equal, power_off, slip
from tickyard.features.research.filed.concepts import Number
from tickyard.features.research.filed.facts import (
    Candidate,
    Figure,
    candidate,
    fact_of,
    same_year_elsewhere,
    unheard,
    unread,
    year_to_answer,
)
from tickyard.features.research.filed.statement import Statement, Years
from tickyard.features.research.income.divided import (
    bears_out,
    divided_instead,
    has_digits_of,
    is_set_aside,
    is_told_by_neither,
    is_what_was_divided,
    made_of,
    per_share_of,
)
from tickyard.features.research.income.minority import is_owners_before, is_told_by_shares, minority_of
from tickyard.features.research.income.profits import refute
from tickyard.sources.filings.border import Entry

_MAY_INCLUDE = "netIncome includes the share of minority owners, if there are any: the filing does not set it apart."
_ONE_AMOUNT = (
    "netIncome may include the share of minority owners: the filing tells one, and the same amount for the owners as "
    "for all."
)
SUBTRACTED = "netIncome is the whole profit less the minority owners' part of the same filing."
_Taken = tuple[str, Entry, str | None, str]
"""The concept, its row, what must be said about it, and why it was taken."""
_LESS_DIVIDED = (
    "Divided among the shares was {divided}: preferred dividends, or a minority's part that is not tagged, went before."
)
_CONTINUING = "The minority's part is told of continuing operations only."
# Preferred dividends may take most of a profit before it is divided among the shares.
_ALIKE = 5
_NEARER = 4
_WITH_PREFERRED = "netIncome is what the filer tags as available to common plus its preferred dividends."
_TO_COMMON = "netIncome is what the filer tags as available to common, which may not be all of the owners' profit."


def choose_net_income(years: Years, today: date) -> Figure:
    end, refusal = year_to_answer(years, concepts.NET_INCOME, "netIncome", today)
    return refusal if end is None else income_of(years, end)


def income_of(years: Years, end: date) -> Figure:
    """The net income of the year that ends on this day."""
    told = years.statements(concepts.NET_INCOME, end)
    odd = [(each, reason) for each in told if (reason := _oddity(years, each, told)) is not None]
    statements = [each for each in told if all(each is not other for other, _ in odd)]
    if not statements:
        return Figure(None, (f"netIncome: not reported as a standard concept for the year ended {end}.",))
    # An amendment may repeat one line only: the filing that sets the owners' part apart is the better witness.
    place = next((at for at, each in enumerate(statements) if _settles(each)), 0)
    if _is_restated(statements[:place], statements[place]):
        place = 0
    statement = statements[place]
    taken = _owners_part(years, statement)
    refused, note = [], None
    if (reason := _refuted(years, statement, taken)) is not None:
        refused, note = _losers(statement, None, reason), f"netIncome: {reason[:1].lower()}{reason[1:]}"
        better = next((each for each in statements if _sets_right(years, each, taken[1].value)), None)
        if better is None:
            return Figure(None, (note,), tuple(refused))
        statement, taken = better, _owners_part(years, better)
    concept, row, remark, why = taken
    others = [each for each in statements if each is not statement and each is not statements[place]]
    elsewhere = [
        *same_year_elsewhere(concepts.NET_INCOME, others, "Another filing of the same year is the one taken."),
        *(each for other, reason in odd for each in same_year_elsewhere(concepts.NET_INCOME, [other], reason)),
    ]
    if row.value is None:
        losers = _losers(statement, None, "The amount could not be read or is given more than once.")
        return Figure(None, (unread("netIncome", end),), (*losers, *elsewhere))
    chosen = candidate(concept, statement.unit, row, why, is_chosen=True)
    judged = (chosen, *_losers(statement, concept, None, row.value), *refused, *elsewhere)
    return Figure(fact_of(years, concept, row, row.value), (remark,) if remark else (), judged)


def _oddity(years: Years, statement: Statement, told: list[Statement]) -> str | None:
    """Why what a filing tells in passing is not heard beside the newest whole statement of the year."""
    whole = next((each for each in told if statement.is_slight_beside(each)), None)
    if whole is None:
        return None
    one, other = _owners_part(years, statement)[1].value, _owners_part(years, whole)[1].value
    if one is None or other is None:
        return None
    lines = (value for name in concepts.NET_INCOME if (value := whole.get(name)) is not None)
    return unheard(statement, one, other, lines)


def _refuted(years: Years, statement: Statement, taken: _Taken) -> str | None:
    """Why the figure cannot be right: itself, or the whole profit that something was taken off."""
    concept, row, _, _ = taken
    base = concept.partition(" - ")[0]
    whole = statement.get(base)
    if row.value is None:
        return None
    # Where the minority had more than all of it, the whole has another sign than what profit per share bears out.
    is_judged = base != concept and whole is not None and not bears_out(statement, row.value)
    if is_judged and whole is not None and (reason := refute(years, statement, base, whole)) is not None:
        return reason
    reason = refute(years, statement, concept, row.value)
    if reason is None and concept in concepts.COMMON_PROFITS and _is_not_divided(statement, row.value):
        return "What the filer tags as available to common is not what profit per share was made of."
    return reason


def _is_not_divided(statement: Statement, common: Number) -> bool:
    """To a twentieth, or half a cent a share: what takes part beside the shares may be taken off before."""
    made, (_, shares) = made_of(statement), per_share_of(statement)
    off = concepts.size(made - common)
    is_off = off * 20 > concepts.size(common) and off * 200 > (shares or 0)
    # A profit per share may be the one that slips.
    return bool(made) and is_off and slip(made, common) is None


def _sets_right(years: Years, statement: Statement, refuted: Number | None) -> bool:
    """Whether a filing tells what another one told in a wrong scale or with a turned sign: it has the same digits."""
    taken = _owners_part(years, statement)
    value = taken[1].value
    if value is None or refuted is None or _refuted(years, statement, taken) is not None:
        return False
    return value == -refuted or power_off(value, refuted) is not None


def _is_restated(newer: list[Statement], older: Statement) -> bool:
    """Whether a newer filing without the owners' part tells another whole profit than the one that sets it apart."""
    if not newer:
        return False
    told, whole = newer[0].first(concepts.WHOLE_PROFITS), older.first(concepts.WHOLE_PROFITS)
    owners = older.first(concepts.OWNERS_PROFITS)
    if told is None:
        return False
    return told not in (whole, owners) and (whole is not None or minority_of(older) is None)


def _settles(statement: Statement) -> bool:
    """Whether it says what the owners' part is, or that it cannot be told from what it says."""
    if any(name in statement.rows for name in concepts.OWNERS_PROFITS):
        return True
    return any(name in statement.rows for name in concepts.WHOLE_PROFITS) and minority_of(statement) is not None


def _owners_part(years: Years, statement: Statement) -> _Taken:
    for name in concepts.OWNERS_PROFITS:
        row = statement.rows.get(name)
        if row is not None:
            return _unless_whole(statement, name, row)
    for name in concepts.WHOLE_PROFITS:
        row = statement.rows.get(name)
        if row is not None:
            return _of_whole(years, statement, name, row)
    return _to_common(statement, next(each for each in concepts.NET_INCOME if each in statement.rows))


def _to_common(statement: Statement, name: str) -> _Taken:
    """What is left for common shares, with the preferred dividends that were taken off where the filing tells them."""
    row, preferred = statement.rows[name], statement.first(concepts.PREFERRED_DIVIDENDS)
    if row.value is None or not preferred or preferred < 0:
        return name, row, _TO_COMMON, "The only profit that the filing tags."
    whole = Entry(row.start, row.end, row.value + preferred, row.accession, row.form, row.filed)
    why = "The only profit of the owners that the filing tags, and the dividends on preferred shares it is told after."
    return f"{name} + preferred dividends", whole, _WITH_PREFERRED, why


def _unless_whole(statement: Statement, name: str, row: Entry) -> _Taken:
    """The owners' part as tagged, unless it is the whole profit under another name, or no part of it that is known."""
    whole, minority = statement.first(concepts.WHOLE_PROFITS), minority_of(statement)
    if row.value is not None and minority and whole in (None, row.value):
        rest = row.value - minority
        # Preferred dividends may take about as much as a minority: what they leave of the tagged part is told then.
        if is_told_by_shares(statement, rest, row.value) and not is_what_was_divided(statement, row.value):
            return _less(statement, name, row, rest)
    if row.value is not None and minority is not None and whole is not None and _is_stranger(statement, row.value):
        concept = next(each for each in concepts.WHOLE_PROFITS if statement.get(each) is not None)
        return _less(statement, concept, statement.rows[concept], whole - minority)
    # Of one amount under both names one is wrong where a minority is told, and only what was divided tells which.
    is_open = minority and whole is not None and whole == row.value and not is_what_was_divided(statement, whole)
    return name, row, _ONE_AMOUNT if is_open else None, "The owners' part of the profit, as the filing tags it."


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
    if is_borne_out or made * owners <= 0 or not are_alike(whole - minority, owners):
        return False
    # Preferred units and what takes part beside the shares keep a profit a little above what was divided.
    if _NEARER * concepts.size(made - owners) < concepts.size(made - (whole - minority)):
        return False
    # What profit per share does not bear out is refuted only where it is about as much, or a thousand times so.
    is_about = concepts.size(made) < _ALIKE * concepts.size(owners) and concepts.size(owners) < _ALIKE * concepts.size(
        made
    )
    return is_about or slip(made, owners, _ALIKE) is not None


def _of_whole(years: Years, statement: Statement, name: str, row: Entry) -> _Taken:
    """The whole profit, less the minority owners' part where that is told."""
    minority = minority_of(statement, row.value)
    if row.value is None:
        return name, row, None, ""
    if minority is None:
        return _without_minority(statement, name, row, row.value)
    if not minority:
        return name, row, None, "The whole profit: minority owners had no part in it."
    rest = row.value - minority
    if is_told_by_shares(statement, row.value, rest):
        # Some filers tag the owners' part with the name of the whole.
        return name, row, None, "Profit per share times shares gives this amount: it is the owners' part already."
    if is_told_by_neither(statement, row.value, rest) and is_owners_before(years, statement, name):
        return name, row, None, "Profit per share of a year before shows that the filer tags the owners' part so."
    if not has_digits_of(statement, rest) and has_digits_of(statement, row.value + minority):
        # Some tag what is taken off with a minus.
        return _less(statement, name, row, row.value + minority)
    return _less(statement, name, row, rest)


def _without_minority(statement: Statement, name: str, row: Entry, whole: Number) -> _Taken:
    common = statement.first(concepts.COMMON_PROFITS)
    if has_digits_of(statement, whole) or (common is not None and is_set_aside(statement, whole - common)):
        return name, row, None, "What remained for shareholders shows that minority owners had no part in it."
    owners = next((each for each in concepts.COMMON_PROFITS if statement.get(each) is not None), None)
    has_minority = any(statement.get(name) for name in concepts.MINORITY_SIGNS)
    if owners is not None and common is not None and has_minority and has_digits_of(statement, common):
        why = "Profit per share times shares gives this amount, and not the whole profit."
        taken = _to_common(statement, owners)
        return taken if taken[0] != owners else (owners, statement.rows[owners], _TO_COMMON, why)
    return name, row, _MAY_INCLUDE, "The whole profit: the owners' part is not set apart."


def _less(statement: Statement, name: str, row: Entry, rest: Number) -> _Taken:
    part = Entry(row.start, row.end, rest, row.accession, row.form, row.filed)
    divided = divided_instead(statement, rest)
    remark = f"{SUBTRACTED} {_LESS_DIVIDED.format(divided=divided)}" if divided is not None else SUBTRACTED
    told = [each for each in (*concepts.MINORITY, *concepts.MINORITY_DIVIDED) if statement.get(each) is not None]
    if told == [concepts.MINORITY_CONTINUING] and not is_what_was_divided(statement, rest):
        remark = f"{remark} {_CONTINUING}"
    return f"{name} - minority owners' part", part, remark, "The whole profit less the minority owners' part."


def _losers(
    statement: Statement, chosen: str | None, reason: str | None, value: Number | None = None
) -> list[Candidate]:
    return [
        candidate(name, statement.unit, row, reason or _why_not(name, row.value, chosen or "", value))
        for name in concepts.NET_INCOME
        if (row := statement.rows.get(name)) is not None and name != chosen
    ]


def _why_not(name: str, amount: Number | None, chosen: str, value: Number | None) -> str:
    if amount is None:
        return "Its amount could not be read or is given more than once."
    if amount == value:
        return f"The same amount; {concepts.short(chosen)} is the better name for it."
    if name in concepts.WHOLE_PROFITS:
        return "It includes the minority owners' part."
    if name in concepts.COMMON_PROFITS:
        return "It is what the filer tags as available to common, not all of the owners' profit."
    if chosen.partition(" - ")[0] in concepts.WHOLE_PROFITS:
        return "It is neither the whole profit less the minority owners' part nor what profit per share was made of."
    return "A better concept stands in the same filing."
