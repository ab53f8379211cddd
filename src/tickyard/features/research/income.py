"""Net income: the owners' part of the profit of the newest whole year, before preferred dividends."""

from datetime import date
from decimal import Decimal

from tickyard.features.research import concepts
from tickyard.features.research.concepts import Number
from tickyard.features.research.facts import (
    Candidate,
    Figure,
    candidate,
    fact_of,
    same_year_elsewhere,
    unread,
    year_to_answer,
)
from tickyard.features.research.statement import Statement, Years
from tickyard.sources.filings.border import Entry

_MAY_INCLUDE = "netIncome includes the share of minority owners, if there are any: the filing does not set it apart."
SUBTRACTED = "netIncome is the whole profit less the minority owners' part of the same filing."
_AFTER_PREFERRED = "netIncome is what remained for common shareholders after preferred dividends."


def choose_net_income(years: Years, today: date) -> Figure:
    end, refusal = year_to_answer(years, concepts.NET_INCOME, "netIncome", today)
    return refusal if end is None else income_of(years, end)


def income_of(years: Years, end: date) -> Figure:
    """The net income of the year that ends on this day."""
    statements = years.statements(concepts.NET_INCOME, end)
    if not statements:
        return Figure(None, (f"netIncome: not reported as a standard concept for the year ended {end}.",))
    # An amendment may repeat one line only: the filing that sets the owners' part apart is the better witness.
    place = next((at for at, each in enumerate(statements) if _settles(each)), 0)
    statement = statements[place]
    concept, row, note, why = _owners_part(statement)
    others = [each for at, each in enumerate(statements) if at != place]
    elsewhere = same_year_elsewhere(concepts.NET_INCOME, others, "Another filing of the same year is the one taken.")
    if row.value is None:
        losers = _losers(statement, None, "The amount could not be read.")
        return Figure(None, (unread("netIncome", end),), (*losers, *elsewhere))
    chosen = candidate(concept, statement.unit, row, why, is_chosen=True)
    judged = (chosen, *_losers(statement, concept, None), *elsewhere)
    return Figure(fact_of(years, concept, row, row.value), (note,) if note else (), judged)


def _settles(statement: Statement) -> bool:
    """Whether it says what the owners' part is, or that it cannot be told from what it says."""
    if any(name in statement.rows for name in concepts.OWNERS_PROFITS):
        return True
    return any(name in statement.rows for name in concepts.WHOLE_PROFITS) and _minority(statement) is not None


def _owners_part(statement: Statement) -> tuple[str, Entry, str | None, str]:
    """The concept, its row, what must be said about it, and why it was taken."""
    for name in concepts.OWNERS_PROFITS:
        row = statement.rows.get(name)
        if row is not None:
            return _unless_whole(statement, name, row)
    for name in concepts.WHOLE_PROFITS:
        row = statement.rows.get(name)
        if row is not None:
            return _of_whole(statement, name, row)
    name = next(each for each in concepts.NET_INCOME if each in statement.rows)
    return name, statement.rows[name], _AFTER_PREFERRED, "The only profit that the filing tags."


def _unless_whole(statement: Statement, name: str, row: Entry) -> tuple[str, Entry, str | None, str]:
    """The owners' part as tagged, unless it is the whole profit under another name."""
    whole, minority = statement.first(concepts.WHOLE_PROFITS), _minority(statement)
    if row.value is not None and minority and whole in (None, row.value):
        rest = row.value - minority
        if _bears_out(statement, rest) and not _bears_out(statement, row.value):
            return _less(name, row, rest)
    return name, row, None, "The owners' part of the profit, as the filing tags it."


def _of_whole(statement: Statement, name: str, row: Entry) -> tuple[str, Entry, str | None, str]:
    """The whole profit, less the minority owners' part where that is told."""
    minority = _minority(statement)
    if row.value is None:
        return name, row, None, ""
    if minority is None:
        return _without_minority(statement, name, row, row.value)
    if not minority:
        return name, row, None, "The whole profit: minority owners had no part in it."
    rest = row.value - minority
    if _bears_out(statement, row.value) and not _bears_out(statement, rest):
        # Some filers tag the owners' part with the name of the whole.
        return name, row, None, "Profit per share times shares gives this amount: it is the owners' part already."
    return _less(name, row, rest)


def _without_minority(statement: Statement, name: str, row: Entry, whole: Number) -> tuple[str, Entry, str | None, str]:
    common = statement.first(concepts.COMMON_PROFITS)
    preferred = statement.first(concepts.PREFERRED_DIVIDENDS) or 0
    if _bears_out(statement, whole) or (common is not None and common + preferred == whole):
        return name, row, None, "What remained for shareholders shows that minority owners had no part in it."
    owners = next((each for each in concepts.COMMON_PROFITS if statement.get(each) is not None), None)
    if owners is not None and common is not None and not preferred and _bears_out(statement, common):
        why = "Profit per share times shares gives this amount, and not the whole profit."
        return owners, statement.rows[owners], _AFTER_PREFERRED, why
    return name, row, _MAY_INCLUDE, "The whole profit: the owners' part is not set apart."


def _less(name: str, row: Entry, rest: Number) -> tuple[str, Entry, str | None, str]:
    part = Entry(row.start, row.end, rest, row.accession, row.form, row.filed)
    return f"{name} - minority owners' part", part, SUBTRACTED, "The whole profit less the minority owners' part."


def _minority(statement: Statement) -> Number | None:
    found = statement.first(concepts.MINORITY)
    if found is not None:
        return found
    divided = [value for name in concepts.MINORITY_DIVIDED if (value := statement.get(name)) is not None]
    return sum(divided) if divided else None


def _bears_out(statement: Statement, profit: Number) -> bool:
    """Whether basic profit per share times the average number of shares comes to this amount, within its rounding."""
    per_share, shares = statement.first(concepts.PER_SHARE), statement.first(concepts.AVERAGE_COUNTS)
    if not per_share or not shares:
        return False
    # Half a cent, or half of the last digit that is shown, and half a thousandth for the rounding of the average.
    return abs(Decimal(per_share) * shares - profit) * 2000 <= 10 * shares + abs(Decimal(profit))


def _losers(statement: Statement, chosen: str | None, reason: str | None) -> list[Candidate]:
    base = chosen.partition(" ")[0] if chosen else None
    return [
        candidate(name, statement.unit, statement.rows[name], reason or _why_not(name, base, chosen))
        for name in concepts.NET_INCOME
        if name in statement.rows and name != chosen
    ]


def _why_not(name: str, base: str | None, chosen: str | None) -> str:
    if name == base and name != chosen:
        return "It includes the minority owners' part."
    if name in concepts.WHOLE_PROFITS:
        return "It includes the minority owners' part; the owners' own stands beside it."
    if name in concepts.COMMON_PROFITS:
        return "It is what remained for common shareholders after preferred dividends, not the net income."
    return "A better concept stands in the same filing."
