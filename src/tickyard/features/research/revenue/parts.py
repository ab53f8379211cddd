"""Revenue that no concept of a filing stands for, but its parts do: what became of one filing, and sums in it."""

from dataclasses import dataclass

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.amounts import is_equal, slip
from tickyard.features.research.filed.concepts import Number
from tickyard.features.research.filed.statement import Statement
from tickyard.features.research.revenue.interest import gross_income
from tickyard.features.research.revenue.proofs import prove, sums_of
from tickyard.sources.filings.border import Entry

# A part of revenue moves more from year to year than the total does.
_PART_GROWS = 4
OFF_SCALE = "revenue: the amount filed for the year ended {end} is in a wrong scale."


@dataclass(slots=True)
class Trial:
    """What became of the numbers of one filing."""

    chosen: tuple[str, Entry, Number] | None
    why: str
    notes: tuple[str, ...]
    losers: dict[str, str]
    is_final: bool = False
    """Whether earlier filings must not be asked: the newest one speaks of the total, but cannot be understood."""
    is_proved: bool = False
    """Whether a sum of the filing comes to it."""


def sum_of_parts(statement: Statement, losers: dict[str, str], before: Statement | None) -> Trial | None:
    """Two parts of one filing and one year, where it tags no total: a bank's net interest and its other income, or
    parts that exclude each other and whose sum something else in the filing proves."""
    for one, other in ((concepts.NET_INTEREST[0], concepts.OTHER_BANKING), *concepts.COUNTERPARTS):
        first, second = statement.get(one), statement.get(other)
        if first is None or second is None or first <= 0:
            continue
        slipped = [part for part in (one, other) if _has_slipped(statement, part, before)]
        if slipped:
            losers = {**losers, **dict.fromkeys(slipped, "A slip: it is a thousand times or more off the year before.")}
            return Trial(None, "", (OFF_SCALE.format(end=statement.end),), losers)
        total = first + second
        is_bank = other == concepts.OTHER_BANKING
        if total <= 0 or (not is_bank and prove(statement, total) is None):
            continue
        row = statement.rows[one]
        whole = Entry(row.start, row.end, total, row.accession, row.form, row.filed)
        parts = (
            "net interest plus non-interest income"
            if is_bank
            else f"{concepts.short(one)} plus {concepts.short(other)}"
        )
        note = f"revenue is {parts} of the same filing, which tags no total."
        why = "The sum of two parts, because the filing tags no total."
        return Trial((f"{one} + {other}", whole, total), why, (note,), losers)
    return _twice_proved(statement, losers) or _of_lender_abroad(statement, losers)


def _of_lender_abroad(statement: Statement, losers: dict[str, str]) -> Trial | None:
    value = gross_income(statement)
    if value is None or any(name in statement.rows for name in concepts.TOTALS):
        return None
    note = (
        "revenue is what the filer tags as gross profit: net interest is in it, and no total or cost of sales is told."
    )
    name = concepts.GROSS_PROFITS[1]
    return Trial((name, statement.rows[name], value), "A lender's gross income.", (note,), losers)


def made_of_parts(statement: Statement, concept: str, value: Number) -> str | None:
    """The words for two parts that exclude each other and come to what is tagged as the whole; None without them."""
    if concept not in concepts.TOTALS:
        return None
    for one, other in concepts.COUNTERPARTS:
        first, second = statement.get(one), statement.get(other)
        if first is not None and second is not None and min(first, second) > 0 and is_equal(first + second, value):
            return f"{concepts.short(one)} and {concepts.short(other)}"
    return None


def less_excise(statement: Statement, concept: str, rest: Number, losers: dict[str, str]) -> Trial:
    row = statement.rows[concept]
    whole = Entry(row.start, row.end, rest, row.accession, row.form, row.filed)
    note = "revenue is sales without the excise in them: gross profit and cost of sales give the same amount."
    return Trial((f"{concept} - {concepts.EXCISE}", whole, rest), "Sales without excise.", (note,), losers)


def _has_slipped(statement: Statement, part: str, before: Statement | None) -> bool:
    now, last = statement.get(part), before.get(part) if before is not None else None
    return now is not None and last is not None and slip(now, last, _PART_GROWS) is not None


def _twice_proved(statement: Statement, losers: dict[str, str]) -> Trial | None:
    """A total that stands under a name of the filer's own, when two different sums inside the filing come to it."""
    if any(name in statement.rows for name in concepts.REVENUE if name not in concepts.ONE_BUSINESS):
        return None
    sums = list(sums_of(statement))
    for words, total in sums:
        agreeing = [other for other, amount in sums if other != words and is_equal(amount, total)]
        if agreeing:
            name = next(each for each in (*concepts.GROSS_PROFITS, concepts.OPERATING_INCOME) if each in statement.rows)
            row = statement.rows[name]
            whole = Entry(row.start, row.end, total, row.accession, row.form, row.filed)
            note = f"revenue stands under a concept of the filer's own: it is what {words} make, and {agreeing[0]} too."
            return Trial((f"{words}", whole, total), "Two sums of the filing come to it.", (note,), losers)
    return None
