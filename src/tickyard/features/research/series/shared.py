"""A period as a row, its profit per share and number of shares being those of the net income that stands beside them.

Some tables tell a quarter of last year with this year's numbers. The quarters and their year show it for net income;
what the same filing says of profit per share and shares is then no more of that quarter than its profit was.
"""

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Final

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.concepts import Number
from tickyard.features.research.filed.periods import fiscal_year
from tickyard.features.research.filed.statement import Statement, Years
from tickyard.features.research.income.divided import made_of
from tickyard.features.research.income.minority import whole_less_minority
from tickyard.features.research.series import scales
from tickyard.features.research.series.items import (
    FIGURES,
    NET_INCOME,
    REVENUE,
    Item,
    Period,
    earlier_of,
    unknown,
)
from tickyard.sources.filings.border import Entry

_WANTED: Final = (*scales.PER_SHARE, *scales.COUNTS)
_OF_ANOTHER: Final = "Told only beside another net income of this period than the one given here."
_LEAST_PER_SHARE: Final = Decimal("0.05")
"""Below it, rounding to a cent is more than a tenth."""
_OF_ITS_TIME: Final = timedelta(days=300)
"""Within it a period is told by its own report; later ones tell it for comparison."""


def period_of(spans: Years, end: date, word: str, covers: Sequence[Entry] = ()) -> Period:
    statements = spans.statements(FIGURES, end)
    told = [row for statement in statements for row in statement.rows.values()]
    # Of a period that hundreds of filings tell not all are looked at: those that are may tell something else of it.
    rows = told or [row for _, row in spans.by_end[end]]
    per_share, shares = _shared(spans, end, covers)
    return Period(
        min(row.start for row in rows if row.start is not None),
        end,
        fiscal_year(end, spans.year_end) if word == "year" else None,
        REVENUE.item(spans, end, word),
        NET_INCOME.item(spans, end, word),
        per_share,
        shares,
    )


def of_its_profit(period: Period, spans: Years, covers: Sequence[Entry]) -> Period:
    """The period with profit per share and shares out of filings that tell the net income given for it, or no other."""
    income = period.net_income.value
    told = {item.accession for item in (period.diluted_eps, period.shares) if item.value is not None}
    if income is None or not told:
        return period
    statements = spans.statements((*FIGURES, *_WANTED), period.end)
    if all(_tells(each, income) for each in statements if each.accession in told):
        return period
    strange = {each.accession: each for each in statements if not _may_be_of(each, income, statements)}
    if not told & strange.keys():
        return period
    # Who restates a profit later counts the same shares.
    newest = max((each.filed for each in statements if _tells(each, income)), default=date.min)
    uncounted = {name for name, each in strange.items() if each.filed >= newest}
    per_share, shares = _shared(spans, period.end, covers, strange.keys(), uncounted)
    return replace(period, diluted_eps=per_share, shares=shares)


def _may_be_of(statement: Statement, income: Number, others: Sequence[Statement]) -> bool:
    """Whether a filing's profit per share may be that of this net income: it tells it as a profit, or divides about as
    much; or it tells no other one, and does not divide one of another sign or far more than there was."""
    if _tells(statement, income):
        return True
    same = [each for each in others if _tells(each, income)]
    sides = same if statement.first(concepts.OWNERS_PROFITS) is not None else [*same, statement]
    commons = [value for each in sides for name in concepts.COMMON_PROFITS if (value := each.get(name)) is not None]
    per_share, made = statement.first(scales.PER_SHARE), _diluted(statement) or made_of(statement)
    is_fine = per_share is not None and concepts.size(per_share) < _LEAST_PER_SHARE
    if made and not is_fine and any(_is_within(made, each, 20) for each in (income, *commons)):
        return True
    count = statement.first(scales.COUNTS) or 0
    if is_fine and concepts.size(income) < _LEAST_PER_SHARE * count:
        return True
    if any(_differ(statement, each) for each in same) or (not same and _is_table_of_another(statement, others)):
        return False
    # Preferred dividends may leave a loss of a profit; then somebody tells what was left to the common shares.
    is_turned = income * (per_share or 0) < 0 and not any(each * (per_share or 0) > 0 for each in commons)
    most = max(map(concepts.size, (income, *commons)))
    return not is_turned and (is_fine or concepts.size(made) <= 2 * most)


def _tells(statement: Statement, income: Number) -> bool:
    told = [*(statement.get(name) for name in concepts.NET_INCOME), whole_less_minority(statement)]
    return any(_is_within(each, income, 50) for each in told if each is not None)


def _differ(one: Statement, other: Statement) -> bool:
    """Whether two filings tell a profit of one name otherwise. Of a whole and the owners' part nothing tells that."""
    pairs = ((one.get(name), other.get(name)) for name in concepts.NET_INCOME)
    return any(mine is not None and its is not None and not _is_within(mine, its, 50) for mine, its in pairs)


def _is_table_of_another(statement: Statement, others: Sequence[Statement]) -> bool:
    """Whether an owners' profit of a period long past is one that no report of its own time has told. What its own time
    told too may be the whole profit under the name of the owners' part, and divided all the same."""
    told = statement.first(concepts.OWNERS_PROFITS)
    if told is None or statement.filed - statement.end <= _OF_ITS_TIME:
        return False
    then = (each.first(concepts.OWNERS_PROFITS) for each in others if each.filed - each.end <= _OF_ITS_TIME)
    return not any(each is not None and _is_within(each, told, 10) for each in then)


def _diluted(statement: Statement) -> int:
    """Diluted profit per share times the average that it was made with."""
    return int(Decimal(statement.first(scales.PER_SHARE) or 0) * (statement.first(scales.COUNTS) or 0))


def _is_within(one: Number, other: Number, part: int) -> bool:
    return concepts.size(one - other) * part <= concepts.size(other)


def _shared(
    spans: Years,
    end: date,
    covers: Sequence[Entry],
    strange: Set[str] = frozenset(),
    uncounted: Set[str] = frozenset(),
) -> tuple[Item, Item]:
    """Profit per share and shares of a period. `strange`: the filings whose profit is another than the one given;
    `uncounted`: those of them whose shares are none of the period's either."""
    everything = spans.statements(_WANTED, end)
    cover = scales.nearest(covers, end)

    def rows_of(names: Sequence[str]) -> Iterator[Entry]:
        return (row for name in names for row in spans.by_concept.get(name, ()))

    odd = {
        each.accession
        for each in everything
        if scales.is_odd(each, lambda: scales.usual(rows_of(scales.PER_SHARE), end))
    }
    per_share = _per_share(everything, f"{spans.unit}/shares", cover, odd, strange)
    # After a split one may be restated and the other not: they are of one filing, or one of them is left out.
    beside = [each for each in everything if per_share.value is None or each.accession == per_share.accession]
    return per_share, _shares(beside, cover, lambda: scales.largest(rows_of(scales.COUNTS), end), odd, uncounted)


def _per_share(
    statements: Sequence[Statement], unit: str, cover: Number | None, odd: Set[str], strange: Set[str]
) -> Item:
    found, reason = list(_tagged(statements, scales.PER_SHARE, unit)), None
    for statement, item in found:
        others = [other.value for _, other in found if other is not item and other.value is not None]
        assert item.value is not None
        is_odd = statement.accession in odd
        doubt = scales.OFF_PER_SHARE if is_odd else scales.doubt_per_share(statement, item.value, others, cover)
        doubt = _OF_ANOTHER if statement.accession in strange else doubt
        if doubt is None:
            return item
        reason = reason or doubt
    if reason is None:
        return Item(None, unit, reason="The diluted profit per share is not tagged for this period.")
    return unknown(found[0][1], reason)


def _shares(
    statements: Sequence[Statement],
    cover: Number | None,
    around: Callable[[], Number | None],
    odd: Set[str],
    uncounted: Set[str],
) -> Item:
    """`odd`: the filings whose profit per share slipped. It says nothing of their number of shares then."""
    tagged = list(_tagged([_silenced(each, odd) for each in statements], scales.COUNTS, "shares"))
    found = [(statement, item) for statement, item in tagged if statement.accession not in uncounted]
    for statement, item in found:
        others = [other.value for _, other in found if other is not item and other.value is not None]
        if item.value is not None and not scales.is_count_off(statement, item.value, others, cover, around):
            return item
    for statement, item in found:
        if item.value is not None and (right := scales.set_right(statement, item.value)) is not None:
            return replace(item, value=right, reason=f"Tagged as {item.value}; profit per share tells the scale.")
    if not tagged:
        return Item(None, "shares", reason="The average number of shares is not tagged for this period.")
    if not found:
        return unknown(tagged[0][1], _OF_ANOTHER)
    return unknown(found[0][1], "The average number of shares is a thousand times or more off the other counts.")


def _silenced(statement: Statement, odd: Set[str]) -> Statement:
    if statement.accession not in odd:
        return statement
    return replace(statement, rows={name: row for name, row in statement.rows.items() if name not in scales.PER_SHARE})


def _tagged(statements: Sequence[Statement], wanted: Sequence[str], unit: str) -> Iterator[tuple[Statement, Item]]:
    for statement in statements:
        concept = next((each for each in wanted if statement.get(each) is not None), None)
        if concept is not None:
            row, value = statement.rows[concept], statement.get(concept)
            earlier = earlier_of(statements, (concept,), row.accession, value)
            yield statement, Item(value, unit, concept, row.form, row.accession, row.filed, None, earlier)
