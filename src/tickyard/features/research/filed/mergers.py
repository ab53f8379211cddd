"""A company that merged into a listed one: the annual report under its name is still the other's.

The next quarterly report tells the year before anew, as the year of the company that went on. So a part of the year is
told twice, and quite differently: what the annual report says is of somebody else then.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Final

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.amounts import slip
from tickyard.features.research.filed.concepts import Number
from tickyard.features.research.filed.facts import Fact, Figure
from tickyard.features.research.filed.periods import ANNUAL_FORMS, COUNT_FORMS, days_of, is_known
from tickyard.sources.filings.border import CompanyFacts, Entry

_QUARTER: Final = 77
_QUARTERLY_FORMS: Final = COUNT_FORMS - ANNUAL_FORMS
_TIMES_THE_YEAR: Final = 5
_TOLD_MAX: Final = 64
# A smaller company that is taken over without a new telling of the past adds less; what is spun off takes away.
_GROWS: Final = 2
# Where a profit became a loss, or a loss a profit, less is told by the lines beside it.
_MOVES_HALVES: Final = 3
_OF_SHELL_NOTE: Final = (
    "netIncome: the report of {filed} tells revenue and another profit for a part of the year ended {end}, of which "
    "the annual report knows no revenue: that is of the shell with which the company merged."
)
_OF_SHELL: Final = (
    "It is of the shell with which the company merged: a later report tells another profit of the same time."
)
_OF_OTHER_NOTE: Final = (
    "{name}: the report of {filed} tells quite other amounts for a part of the year ended {end} than were told before: "
    "the annual report is of the company with which this one merged."
)
_OF_OTHER: Final = (
    "It is of the company with which this one merged: a later report tells quite other amounts of the same time."
)


@dataclass(frozen=True, slots=True)
class Merger:
    """That the newest year is another company's, by the first quarterly report which shows it."""

    filed: date
    is_with_shell: bool

    def note(self, name: str, end: date) -> str:
        if self.is_with_shell:
            return _OF_SHELL_NOTE.format(filed=self.filed, end=end)
        return _OF_OTHER_NOTE.format(name=name, filed=self.filed, end=end)


def unless_of_another(facts: CompanyFacts, revenue: Figure, net_income: Figure, today: date) -> tuple[Figure, Figure]:
    """Both figures, unless a later quarterly report shows that the year is another company's."""
    merger = merger_since(facts, revenue.fact, net_income.fact, today)
    if merger is None:
        return revenue, net_income
    reason = _OF_SHELL if merger.is_with_shell else _OF_OTHER
    return _refused(revenue, merger, "revenue", reason), _refused(net_income, merger, "netIncome", reason)


def merger_since(facts: CompanyFacts, revenue: Fact | None, net_income: Fact | None, today: date) -> Merger | None:
    """The merger that quarterly reports tell of since the year that these are the figures of."""
    if net_income is None:
        return None
    wanted = (*concepts.NET_INCOME, *concepts.REVENUE)
    if not any(row.filed > net_income.filed for name in wanted for row in facts.units(name).get(net_income.unit, ())):
        return None
    profits = list(_inside(facts, concepts.NET_INCOME, net_income, today))
    retold = next(_retold(facts, net_income, profits, today), None)
    if retold is not None:
        return Merger(retold.filed, is_with_shell=False)
    if revenue is not None:
        later = next(_grown(facts, revenue, net_income, profits, today), None)
        return Merger(later.filed, is_with_shell=False) if later is not None else None
    sales = (row for row in _later(facts, concepts.REVENUE, net_income, today) if row.value)
    sold = next((row for row in sales if _is_told_otherwise(profits, row, net_income)), None)
    if sold is not None:
        return Merger(sold.filed, is_with_shell=True)
    losses = _later(facts, concepts.NET_INCOME, net_income, today)
    lost = next((row for row in losses if _is_anothers_profit(profits, row, net_income, losses)), None)
    return Merger(lost.filed, is_with_shell=False) if lost is not None else None


def _grown(facts: CompanyFacts, sold: Fact, fact: Fact, profits: Sequence[Entry], today: date) -> Iterator[Entry]:
    """The later tellings of a part of the year that have far more revenue. More in a part than in the whole proves
    itself; else lines may have been moved, and the profit stays. The other company may have another name for it."""
    told = list(_inside(facts, (sold.concept,), sold, today))
    named = {row.accession for row in told}
    for row in _later(facts, concepts.REVENUE, sold, today):
        is_same = row in told
        if (is_same or row.accession not in named) and _is_anothers_revenue(told, row, sold):
            is_more = is_same and 0 < _GROWS * sold.value < (row.value or 0)
            if is_more or _is_told_otherwise(profits, row, fact):
                yield row


def _retold(facts: CompanyFacts, fact: Fact, profits: Sequence[Entry], today: date) -> Iterator[Entry]:
    """The later profits of a part of the year that are over twice or half of what was told, or of another sign, where
    no line beside them stayed. A restatement leaves the number of shares, a business given up the profit, and a new
    rule for revenue its amount, if not its name."""
    lines = [list(_inside(facts, names, fact, today, unit)) for names, unit in _beside(fact.unit)]
    for row in _later(facts, concepts.NET_INCOME, fact, today):
        before = _before(profits, row)
        if not row.value or not before or not all(_is_far(row.value, each, 2 * _GROWS) for each in before):
            continue
        halves = 2 * _GROWS if all((row.value > 0) == (each > 0) for each in before) else _MOVES_HALVES
        stays = [
            not all(_is_far(now.value, each, halves) for each in then)
            for line in lines
            for now in line
            if (now.accession, now.start, now.end) == (row.accession, row.start, row.end) and now.value is not None
            if (then := _before(line, now))
        ]
        if stays and not any(stays):
            yield row


def _outdoes(part: Number, year: Fact) -> bool:
    """Whether a part is more than five times the year, or over twice with the other sign."""
    times = _TIMES_THE_YEAR if (part > 0) == (year.value > 0) else _GROWS
    return concepts.size(part) > times * concepts.size(year.value)


def _beside(currency: str) -> Iterator[tuple[Sequence[str], str]]:
    yield concepts.REVENUE, currency
    yield (concepts.OPERATING_INCOME,), currency
    yield from (((name,), "shares") for name in concepts.AVERAGE_COUNTS)


def _is_far(one: Number, other: Number, halves: int) -> bool:
    """Whether two amounts of one time are of different signs or so many halves apart, and neither is a slip."""
    low, high = sorted((concepts.size(one), concepts.size(other)))
    return slip(one, other, 4) is None and ((one > 0) != (other > 0) or 2 * high > halves * low)


def _refused(figure: Figure, merger: Merger, name: str, reason: str) -> Figure:
    if figure.fact is None:
        return figure
    losers = (replace(each, is_chosen=False, reason=reason) if each.is_chosen else each for each in figure.candidates)
    return Figure(None, (merger.note(name, figure.fact.period_end),), tuple(losers))


def _inside(
    facts: CompanyFacts, wanted: Sequence[str], fact: Fact, today: date, unit: str | None = None
) -> Iterator[Entry]:
    for concept in wanted:
        for row in facts.units(concept).get(unit or fact.unit, ()):
            if _is_inside(row, fact) and is_known(row, today):
                yield row


def _is_inside(row: Entry, fact: Fact) -> bool:
    is_inside = row.end <= fact.period_end and row.start is not None and fact.period_start <= row.start
    return is_inside and days_of(row) >= _QUARTER


def _later(facts: CompanyFacts, wanted: Sequence[str], fact: Fact, today: date) -> list[Entry]:
    """What quarterly reports after the annual one tell of parts of its year, the first of them first, whatever the
    order of the document. A part of a year is told again once or twice."""
    rows = (row for concept in wanted for row in facts.units(concept).get(fact.unit, ()) if row.filed > fact.filed)
    later = (row for row in rows if row.form in _QUARTERLY_FORMS and _is_inside(row, fact) and is_known(row, today))
    return sorted(later, key=lambda row: (row.filed, row.accession, row.end, row.value or 0))[:_TOLD_MAX]


def _before(rows: Iterable[Entry], row: Entry) -> list[Number]:
    """What was said of the same time in earlier filings."""
    return [
        each.value
        for each in rows
        if (each.start, each.end) == (row.start, row.end) and each.filed < row.filed and each.value is not None
    ]


def _is_anothers_revenue(told: Sequence[Entry], row: Entry, year: Fact) -> bool:
    """Whether a later report tells far more revenue of a part of the year than was told before, or than all of the year
    had. A thousand times as much is a slip."""
    if row.value is None or row.value <= 0:
        return False
    value, before = row.value, _before(told, row) or [year.value]
    return all(value > _GROWS * each and slip(value, each, _GROWS * 2) is None for each in before)


def _is_anothers_profit(profits: Sequence[Entry], row: Entry, year: Fact, later: Iterable[Entry]) -> bool:
    """The same where nothing is sold: a profit or loss of a part that is far more than was told of it before, and than
    that of the year. Losses of one company even out over a year, but not to a half of what was told of a part, nor
    where two parts of one report lost more each than the year."""
    if not row.value:
        return False
    value, before = concepts.size(row.value), [concepts.size(each) for each in _before(profits, row)]
    far = [value > _GROWS * each and slip(value, each, _GROWS * 2) is None for each in before if each]
    parts = {(each.start, each.end) for each in later if each.accession == row.accession and _is_more(each, year)}
    is_more = value > _GROWS * concepts.size(year.value) or (len(parts) > 1 and _is_more(row, year))
    return bool(before) and all(far) and is_more and slip(value, year.value, _GROWS * 2) is None


def _is_more(row: Entry, year: Fact) -> bool:
    """Whether a part of the year lost or earned more than all of it."""
    return concepts.size(row.value or 0) > concepts.size(year.value) and (row.value or 0) * year.value > 0


def _is_told_otherwise(profits: Sequence[Entry], sold: Entry, year: Fact) -> bool:
    """Whether the profit of the same time was quite another one when it was told before.

    A shell that was listed late in the year never told it: a part that is many times the year is another company's."""
    same = [row for row in profits if (row.start, row.end) == (sold.start, sold.end) and row.value is not None]
    now = [row.value for row in same if row.accession == sold.accession and row.value is not None]
    before = _before(profits, sold)
    if not before:
        return any(_outdoes(value, year) for value in now)
    apart = [concepts.size(one - other) * 5 > concepts.size(other) for one in now for other in before]
    return bool(apart) and all(apart)
