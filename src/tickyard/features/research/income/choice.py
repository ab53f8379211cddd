"""Net income: the owners' part of the profit of the newest whole year, before preferred dividends."""

from datetime import date
from typing import Final

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.amounts import power_off, slip
from tickyard.features.research.filed.concepts import Number
from tickyard.features.research.filed.facts import (
    OF_ANOTHER,
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
    is_set_aside,
    is_what_was_divided,
    made_of,
    per_share_of,
)
from tickyard.features.research.income.minority import is_of_either_sign, minority_of, whole_less_minority
from tickyard.features.research.income.owners import Taken, owners_part
from tickyard.features.research.income.profits import refute

_DISPROVED: Final = (
    "Its filing tells only this of the year, and profit per share bears out what the whole statement does."
)

_STRAY: Final = "The filer tells its profit under other standards, and there the owners' part is another amount."


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
    taken = owners_part(years, statement)
    refused, note = [], None
    if (reason := _refuted(years, statement, taken)) is not None:
        refused, note = _losers(statement, None, reason), f"netIncome: {reason[:1].lower()}{reason[1:]}"
        better = next((each for each in statements if _sets_right(years, each, taken[1].value)), None)
        if better is None:
            return Figure(None, (note,), tuple(refused))
        statement, taken = better, owners_part(years, better)
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
    if any(statement.is_of_another(each) for each in told):
        return OF_ANOTHER
    whole = next((each for each in told if statement.is_slight_beside(each)), None)
    if whole is None:
        return None
    one, other = owners_part(years, statement)[1].value, owners_part(years, whole)[1].value
    if one is None or other is None:
        return None
    lines = (value for name in concepts.NET_INCOME if (value := whole.get(name)) is not None)
    # Who restates a profit restates profit per share; a table of pay and performance tells a profit of its own.
    is_proved = statement.is_fragment and _is_divided(whole, other) and not _is_divided(whole, one)
    is_lone = is_proved and statement.form.endswith("/A")
    return unheard(statement, one, other, lines) or (_DISPROVED if is_lone else None)


def _is_divided(statement: Statement, profit: Number) -> bool:
    """Whether it is what was divided among the shares, common and others."""
    common = statement.first(concepts.COMMON_PROFITS)
    is_led_to = common is not None and is_set_aside(statement, profit - common)
    return is_led_to or bears_out(statement, profit) or is_what_was_divided(statement, profit)


def _refuted(years: Years, statement: Statement, taken: Taken) -> str | None:
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
    if base != concept and whole is not None and is_of_either_sign(statement, whole - row.value):
        return "The minority owners' part is told with both signs, as a profit and as a loss."
    reason = refute(years, statement, concept, row.value)
    is_rest = whole_less_minority(statement) == row.value
    if reason is None and concept in concepts.COMMON_PROFITS and not is_rest and _is_not_divided(statement, row.value):
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
    taken = owners_part(years, statement)
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


def _losers(
    statement: Statement, chosen: str | None, reason: str | None, value: Number | None = None
) -> list[Candidate]:
    return [
        candidate(
            name,
            statement.unit,
            row,
            reason or (_STRAY if statement.is_stray(name) else _why_not(name, row.value, chosen or "", value)),
        )
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
    if chosen.partition(" + ")[0] == name:
        return "It is after preferred dividends, which are the owners' too."
    if chosen.partition(" - ")[0] in concepts.WHOLE_PROFITS:
        return "It is neither the whole profit less the minority owners' part nor what profit per share was made of."
    return "A better concept stands in the same filing."
