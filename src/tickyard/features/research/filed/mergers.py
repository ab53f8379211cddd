"""A company that merged into a listed one: the annual report under its name is still the other's.

The next quarterly report tells the year before anew, as the year of the company that went on. So a part of the year is
told twice, and quite differently: what the annual report says is of somebody else then.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
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


def unless_of_another(facts: CompanyFacts, revenue: Figure, net_income: Figure, today: date) -> tuple[Figure, Figure]:
    """Both figures, unless a later quarterly report shows that the year is another company's."""
    fact = net_income.fact
    if fact is None:
        return revenue, net_income
    wanted = (*concepts.NET_INCOME, *concepts.REVENUE)
    if not any(row.filed > fact.filed for name in wanted for row in facts.units(name).get(fact.unit, ())):
        return revenue, net_income
    profits = list(_inside(facts, concepts.NET_INCOME, fact, today))
    if revenue.fact is None:
        sales = (row for row in _later(facts, concepts.REVENUE, fact, today) if row.value)
        sold = next((row for row in sales if _is_told_otherwise(profits, row, fact)), None)
        if sold is not None:
            note = _OF_SHELL_NOTE.format(filed=sold.filed, end=fact.period_end)
            return revenue, _refused(net_income, note, _OF_SHELL)
        later = next(
            (row for row in _later(facts, concepts.NET_INCOME, fact, today) if _is_anothers_profit(profits, row, fact)),
            None,
        )
    else:
        later = next(_grown(facts, revenue.fact, fact, profits, today), None)
    if later is None:
        return revenue, net_income
    note = _OF_OTHER_NOTE.format(name="netIncome", filed=later.filed, end=fact.period_end)
    refused = _refused(net_income, note, _OF_OTHER)
    if revenue.fact is None:
        return revenue, refused
    note = _OF_OTHER_NOTE.format(name="revenue", filed=later.filed, end=fact.period_end)
    return _refused(revenue, note, _OF_OTHER), refused


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


def _refused(figure: Figure, note: str, reason: str) -> Figure:
    losers = (replace(each, is_chosen=False, reason=reason) if each.is_chosen else each for each in figure.candidates)
    return Figure(None, (note,), tuple(losers))


def _inside(facts: CompanyFacts, wanted: Sequence[str], fact: Fact, today: date) -> Iterator[Entry]:
    for concept in wanted:
        for row in facts.units(concept).get(fact.unit, ()):
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


def _is_anothers_profit(profits: Sequence[Entry], row: Entry, year: Fact) -> bool:
    """The same where nothing is sold: a profit or loss of a part that is far more than was told of it before, and than
    that of the year. Losses of one company even out over a year, but not to a half of what was told of a part."""
    if not row.value:
        return False
    value, before = concepts.size(row.value), [concepts.size(each) for each in _before(profits, row)]
    far = [value > _GROWS * each and slip(value, each, _GROWS * 2) is None for each in (*before, year.value) if each]
    return bool(before) and all(far) and value > _GROWS * concepts.size(year.value)


def _is_told_otherwise(profits: Sequence[Entry], sold: Entry, year: Fact) -> bool:
    """Whether the profit of the same time was quite another one when it was told before.

    A shell that was listed late in the year never told it: a part that is many times the year is another company's."""
    same = [row for row in profits if (row.start, row.end) == (sold.start, sold.end) and row.value is not None]
    now = [row.value for row in same if row.accession == sold.accession and row.value is not None]
    before = _before(profits, sold)
    if not before:
        return any(concepts.size(value) > _TIMES_THE_YEAR * concepts.size(year.value) for value in now)
    apart = [concepts.size(one - other) * 5 > concepts.size(other) for one in now for other in before]
    return bool(apart) and all(apart)
