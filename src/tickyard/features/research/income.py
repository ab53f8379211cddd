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
from tickyard.features.research.proofs import is_equal, power_off
from tickyard.features.research.reports import are_close, slip
from tickyard.features.research.statement import Statement, Years
from tickyard.sources.filings.border import Entry

_MAY_INCLUDE = "netIncome includes the share of minority owners, if there are any: the filing does not set it apart."
SUBTRACTED = "netIncome is the whole profit less the minority owners' part of the same filing."
_LEAST_PER_SHARE = Decimal("0.05")
_POWERS = tuple(10**power for power in range(1, 7))
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
    if _is_restated(statements[:place], statements[place]):
        place = 0
    statement = statements[place]
    concept, row, note, why = _owners_part(statement)
    if row.value is not None and (power := _slip(years, statement, row.value)):
        return _refused(years, statements, place, row.value, power)
    others = [each for at, each in enumerate(statements) if at != place]
    elsewhere = same_year_elsewhere(concepts.NET_INCOME, others, "Another filing of the same year is the one taken.")
    if row.value is None:
        losers = _losers(statement, None, "The amount could not be read.")
        return Figure(None, (unread("netIncome", end),), (*losers, *elsewhere))
    chosen = candidate(concept, statement.unit, row, why, is_chosen=True)
    judged = (chosen, *_losers(statement, concept, None), *elsewhere)
    return Figure(fact_of(years, concept, row, row.value), (note,) if note else (), judged)


def _refused(years: Years, statements: list[Statement], place: int, value: Number, power: int) -> Figure:
    """What is left when a filing's profit is in a wrong scale: another filing of the year with the same digits."""
    statement = statements[place]
    reason = f"A slip: it is {power} times off what the rest of the filing makes of it."
    losers = _losers(statement, None, reason)
    for other in statements[place + 1 :]:
        concept, row, note, why = _owners_part(other)
        if row.value is not None and power_off(row.value, value) == power and not _slip(years, other, row.value):
            chosen = candidate(concept, other.unit, row, why, is_chosen=True)
            return Figure(fact_of(years, concept, row, row.value), (note,) if note else (), (chosen, *losers))
    return Figure(None, (f"netIncome: {reason[:1].lower()}{reason[1:]}",), tuple(losers))


def _slip(years: Years, statement: Statement, profit: Number) -> int | None:
    """The power of ten by which the profit is off profit per share times shares; None when it is not.

    The count of shares may be what is off: then revenue, another profit or the year before sides with this one.
    """
    power = _power_off_shares(statement, profit)
    if power is None:
        return _slip_beside(years, statement, profit)
    names = (*concepts.WHOLE_PROFITS, *concepts.OWNERS_PROFITS, *concepts.COMMON_PROFITS, *concepts.PRETAX)
    beside = [value for name in names if (value := statement.get(name)) is not None and value != profit]
    if any((value > 0) == (profit > 0) and are_close(concepts.size(value), concepts.size(profit)) for value in beside):
        return None
    before = _year_before(years, statement)
    last = before.first(concepts.NET_INCOME) if before is not None else None
    if before is not None and last:
        if are_close(concepts.size(_made(before)), concepts.size(last)):
            return power  # the counts of the filing are in their right scale
        if _power_off_shares(before, last) == power:
            return None
    sold = _sold(statement)
    if sold and _is_usual(profit, sold) and not _is_usual(_made(statement), sold):
        return None
    return power


def _slip_beside(years: Years, statement: Statement, profit: Number) -> int | None:
    """A factor of a thousand or a million to the whole profit, or before taxes; or to the year before, when the profit
    is more than all of revenue too."""
    beside = [statement.get(name) for name in (*concepts.WHOLE_PROFITS, *concepts.PRETAX)]
    against = [slip(profit, value) for value in beside if value]
    if against and all(against):
        return against[0]
    sold = _sold(statement)
    before = _year_before(years, statement)
    last = before.first(concepts.NET_INCOME) if before is not None else None
    return slip(profit, last) if last and sold and concepts.size(profit) > concepts.size(sold) else None


def _year_before(years: Years, statement: Statement) -> Statement | None:
    end = next((each for each in years.ends(concepts.NET_INCOME) if each < statement.end), None)
    told = years.statements(concepts.NET_INCOME, end) if end is not None else []
    return next((each for each in told if each.accession == statement.accession), None)


def _power_off_shares(statement: Statement, profit: Number) -> int | None:
    per_share, shares = statement.first(concepts.PER_SHARE), statement.first(concepts.AVERAGE_COUNTS)
    if not per_share or not shares or concepts.size(per_share) < _LEAST_PER_SHARE:
        return None
    made = _made(statement)
    low, high = sorted((concepts.size(made), concepts.size(profit)))
    rounding = 5 if concepts.size(per_share) < _LEAST_PER_SHARE * 4 else 2
    if (made > 0) != (profit > 0) or not low:
        return None
    return next((power for power in _POWERS if concepts.size(high - low * power) * 100 <= high * rounding), None)


def _made(statement: Statement) -> int:
    per_share, shares = statement.first(concepts.PER_SHARE), statement.first(concepts.AVERAGE_COUNTS)
    return int(Decimal(per_share or 0) * (shares or 0))


def _sold(statement: Statement) -> Number:
    """About what came in, whatever it is called."""
    names = (*concepts.REVENUE, *concepts.NET_INTEREST, concepts.GROSS_INTEREST)
    return max((concepts.size(value) for name in names if (value := statement.get(name)) is not None), default=0)


def _is_usual(profit: Number, sold: Number) -> bool:
    """Whether a profit or loss is between a thousandth of revenue and all of it."""
    return concepts.size(sold) <= 1000 * concepts.size(profit) <= 1000 * concepts.size(sold)


def _is_restated(newer: list[Statement], older: Statement) -> bool:
    """Whether a newer filing without the owners' part tells another whole profit than the one that sets it apart."""
    if not newer:
        return False
    told, whole = newer[0].first(concepts.WHOLE_PROFITS), older.first(concepts.WHOLE_PROFITS)
    owners = older.first(concepts.OWNERS_PROFITS)
    if told is None:
        return False
    return told not in (whole, owners) and (whole is not None or _minority(older) is None)


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
    """The owners' part as tagged, unless it is the whole profit under another name, or no part of it that is known."""
    whole, minority = statement.first(concepts.WHOLE_PROFITS), _minority(statement)
    if row.value is not None and minority and whole in (None, row.value):
        rest = row.value - minority
        if _bears_out(statement, rest) and not _bears_out(statement, row.value):
            return _less(name, row, rest)
    if row.value is not None and minority is not None and whole is not None and _is_stranger(statement, row.value):
        concept = next(each for each in concepts.WHOLE_PROFITS if statement.get(each) is not None)
        return _less(concept, statement.rows[concept], whole - minority)
    return name, row, None, "The owners' part of the profit, as the filing tags it."


def _is_stranger(statement: Statement, owners: Number) -> bool:
    """Whether what is tagged as the owners' part is neither what the minority leaves of the whole profit, nor what
    profit per share was made of, with preferred dividends or without.

    A minority's part may be told only in part: then profit per share bears out the owners' own.
    """
    whole, minority = statement.first(concepts.WHOLE_PROFITS), _minority(statement)
    if whole is None or minority is None or not _made(statement):
        return False
    if any(is_equal(each, owners) for each in (whole, whole - minority, whole + minority)):
        return False
    common = statement.first(concepts.COMMON_PROFITS)
    is_borne_out = _bears_out(statement, owners) or (common is not None and _bears_out(statement, common))
    rest = whole - minority
    return not is_borne_out and (rest > 0) == (owners > 0) and are_close(concepts.size(rest), concepts.size(owners))


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
    if not _bears_out(statement, rest) and _bears_out(statement, row.value + minority):
        # Some tag what is taken off with a minus.
        return _less(name, row, row.value + minority)
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
