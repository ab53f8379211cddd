"""A company that merged into a listed shell: the annual report under its name is still the shell's."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.concepts import Number
from tickyard.features.research.filed.facts import Fact, Figure
from tickyard.features.research.filed.periods import ANNUAL_FORMS, COUNT_FORMS, days_of, is_known
from tickyard.sources.filings.border import CompanyFacts, Entry

_QUARTER = 77
_TIMES_THE_YEAR = 5
_NOTE = (
    "netIncome: the report of {filed} tells revenue and another profit for a part of the year ended {end}, of which "
    "the annual report knows no revenue: that is of the shell with which the company merged."
)
_OF_SHELL = "It is of the shell with which the company merged: a later report tells another profit of the same time."


def unless_of_shell(facts: CompanyFacts, revenue: Figure, net_income: Figure, today: date) -> Figure:
    """The net income, unless a later quarterly report shows that the year is another company's."""
    fact = net_income.fact
    if fact is None or revenue.fact is not None:
        return net_income
    for sold in _inside(facts, concepts.REVENUE, fact, today):
        is_later = sold.form in COUNT_FORMS - ANNUAL_FORMS and sold.filed > fact.filed and sold.value
        if is_later and _is_told_otherwise(list(_inside(facts, concepts.NET_INCOME, fact, today)), sold, fact.value):
            losers = (
                replace(each, is_chosen=False, reason=_OF_SHELL) if each.is_chosen else each
                for each in net_income.candidates
            )
            return Figure(None, (_NOTE.format(filed=sold.filed, end=fact.period_end),), tuple(losers))
    return net_income


def _inside(facts: CompanyFacts, wanted: Sequence[str], fact: Fact, today: date) -> Iterator[Entry]:
    for concept in wanted:
        for row in facts.units(concept).get(fact.unit, ()):
            is_inside = row.start is not None and fact.period_start <= row.start and row.end <= fact.period_end
            if is_inside and days_of(row) >= _QUARTER and is_known(row, today):
                yield row


def _is_told_otherwise(profits: Sequence[Entry], sold: Entry, year: Number) -> bool:
    """Whether the profit of the same time was quite another one when it was told before.

    A shell that was listed late in the year never told it: a part that is many times the year is another company's."""
    same = [row for row in profits if (row.start, row.end) == (sold.start, sold.end) and row.value is not None]
    now = [row.value for row in same if row.accession == sold.accession and row.value is not None]
    before = [row.value for row in same if row.filed < sold.filed and row.value is not None]
    if not before:
        return any(concepts.size(value) > _TIMES_THE_YEAR * concepts.size(year) for value in now)
    apart = [concepts.size(one - other) * 5 > concepts.size(other) for one in now for other in before]
    return bool(apart) and all(apart)
