"""Years and quarters in a row: each figure from the newest filing of its period, with what earlier ones said.

Most filers tag no fourth quarter: it is the year less its first nine months, and only where the three quarters make up
those nine months and the year was not restated since. Four quarters on end make the trailing twelve months.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise
from typing import Final

from tickyard.features.research import concepts
from tickyard.features.research.concepts import Number
from tickyard.features.research.facts import Figure
from tickyard.features.research.income import SUBTRACTED, income_of
from tickyard.features.research.periods import (
    COUNT_FORMS,
    INTERIM_FOREIGN_FORMS,
    YEAR_DAYS,
    fiscal_year,
)
from tickyard.features.research.revenue import REVENUE_WANTED, revenue_of
from tickyard.features.research.statement import Statement, Years, spans_of, years_of
from tickyard.sources.filings.border import CompanyFacts

# From 12 weeks to 17: some retailers have one long quarter.
_QUARTER_DAYS: Final = range(77, 126)
_NINE_MONTHS_DAYS: Final = range(245, 296)
_FORMS: Final = COUNT_FORMS | INTERIM_FOREIGN_FORMS
_YEARS_MAX, _QUARTERS_MAX, _FOUR = 20, 40, 4
_GAP: Final = timedelta(days=4)
_COUNTS: Final = (*concepts.DILUTED_COUNTS, *concepts.AVERAGE_COUNTS)
_OWNERS: Final = "the owners' part of the profit"
"""One thing under several names, tagged or made by subtraction."""
_FIGURES: Final = (*concepts.REVENUE, *concepts.NET_INCOME)


@dataclass(frozen=True, slots=True)
class Said:
    """What an earlier filing said."""

    value: Number
    form: str
    accession: str
    filed: date


@dataclass(frozen=True, slots=True)
class Item:
    """One figure of one period, or the reason why there is none."""

    value: Number | None
    unit: str
    concept: str | None = None
    form: str | None = None
    accession: str | None = None
    filed: date | None = None
    reason: str | None = None
    earlier: tuple[Said, ...] = ()
    alike: frozenset[str] = frozenset()
    """Concepts that stand for the same amount in its filing: what is added up must have one in common."""


@dataclass(frozen=True, slots=True)
class Period:
    start: date
    end: date
    fiscal_year: int | None
    revenue: Item
    net_income: Item
    diluted_eps: Item
    shares: Item


@dataclass(frozen=True, slots=True)
class Trailing:
    start: date | None
    end: date | None
    revenue: Item
    net_income: Item


@dataclass(frozen=True, slots=True)
class Series:
    unit: str | None
    annual: tuple[Period, ...]
    quarterly: tuple[Period, ...]
    trailing: Trailing


_NOTHING: Final = Item(None, "", reason="No annual report with standard concepts.")
NO_SERIES: Final = Series(None, (), (), Trailing(None, None, _NOTHING, _NOTHING))


def series(facts: CompanyFacts, year_end: str | None, today: date) -> Series:
    """Everything newest first."""
    years = years_of(facts, today, year_end)
    if years is None:
        return NO_SERIES
    quarters = spans_of(facts, years, _QUARTER_DAYS, _FORMS, today)
    nine_months = spans_of(facts, years, _NINE_MONTHS_DAYS, _FORMS, today)
    annual = [_period(years, end, "year") for end in years.ends(_FIGURES)[:_YEARS_MAX]]
    reported = {end: _period(quarters, end, "quarter") for end in quarters.ends(_FIGURES)[: _QUARTERS_MAX + 4]}
    for year in annual:
        fourth = _fourth(year, reported, nine_months)
        if fourth is not None:
            reported[year.end] = fourth
    quarterly = [reported[end] for end in sorted(reported, reverse=True)][:_QUARTERS_MAX]
    return Series(years.unit, tuple(annual), tuple(quarterly), _trailing(annual, quarterly, years.unit))


def _period(spans: Years, end: date, word: str) -> Period:
    statements = spans.statements(_FIGURES, end)
    rows = [row for statement in statements for row in statement.rows.values() if row.start is not None]
    start = min(row.start for row in rows if row.start is not None)
    revenue = _item(revenue_of(spans, end), spans.statements(REVENUE_WANTED, end), spans.unit, "revenue", word)
    income = _item(income_of(spans, end), spans.statements(concepts.NET_INCOME, end), spans.unit, "netIncome", word)
    everything = spans.statements((*concepts.DILUTED_PER_SHARE, *_COUNTS), end)
    per_share = _tagged(everything, concepts.DILUTED_PER_SHARE, f"{spans.unit}/shares", "diluted profit per share")
    # After a split one may be restated and the other not: they are of one filing, or one of them is left out.
    beside = [each for each in everything if per_share.value is None or each.accession == per_share.accession]
    return Period(
        start,
        end,
        fiscal_year(end, spans.year_end) if word == "year" else None,
        revenue,
        income,
        per_share,
        _tagged(beside, _COUNTS, "shares", "average number of shares"),
    )


def _item(figure: Figure, statements: Sequence[Statement], unit: str, name: str, word: str) -> Item:
    fact = figure.fact
    if fact is None:
        told = figure.notes[0] if figure.notes else f"{name}: not reported."
        return Item(None, unit, reason=told.replace("year ended", f"{word} ended"))
    earlier = _earlier(statements, fact.concept, fact.accession, fact.value)
    own = next((each for each in statements if each.accession == fact.accession), None)
    same = {each for each in _FIGURES if own is not None and own.get(each) == fact.value}
    alike = _alike(figure) | same
    # What must be said about a figure that was taken, such as of what parts it is the sum.
    note = next((note for note in figure.notes), None)
    return Item(fact.value, unit, fact.concept, fact.form, fact.accession, fact.filed, note, earlier, alike)


def _alike(figure: Figure) -> frozenset[str]:
    if figure.fact is None:
        return frozenset()
    name = figure.fact.concept
    is_owners = _base(name) in concepts.NET_INCOME and figure.notes in ((), (SUBTRACTED,))
    return frozenset({name, _base(name), *([_OWNERS] if is_owners else [])})


def _base(concept: str) -> str:
    """The whole profit and what remains of it after minority owners are one line of a statement."""
    return concept.partition(" - ")[0]


def _tagged(statements: Sequence[Statement], wanted: Sequence[str], unit: str, name: str) -> Item:
    for statement in statements:
        concept = next((each for each in wanted if statement.get(each) is not None), None)
        if concept is not None:
            row, value = statement.rows[concept], statement.get(concept)
            earlier = _earlier(statements, concept, row.accession, value)
            return Item(value, unit, concept, row.form, row.accession, row.filed, None, earlier)
    return Item(None, unit, reason=f"The {name} is not tagged for this period.")


def _earlier(statements: Sequence[Statement], concept: str, accession: str, value: Number | None) -> tuple[Said, ...]:
    """What other filings of the period said under the same concept, where it was something else; newest first."""
    found = []
    for statement in statements:
        other = statement.get(concept)
        if statement.accession != accession and other is not None and other != value:
            found.append(Said(other, statement.form, statement.accession, statement.filed))
    return tuple(found)


def _fourth(year: Period, quarters: dict[date, Period], nine_months: Years) -> Period | None:
    """The quarter that ends with a year; None when nothing can be said about it. What the filer tags for it must be
    borne out: some put the year's amount into the quarter."""
    tagged = quarters.get(year.end)
    ends = [end for end in nine_months.ends(_FIGURES) if year.start < end < year.end]
    end = max(ends, default=year.start)
    three = [each for each in quarters.values() if year.start - _GAP <= each.start and each.end <= end]
    revenue = income = Item(None, year.revenue.unit, reason="The first three quarters are not all reported.")
    if ends and len(three) == _FOUR - 1:
        revenue = _rest(year.revenue, revenue_of(nine_months, end), [each.revenue for each in three])
        income = _rest(year.net_income, income_of(nine_months, end), [each.net_income for each in three])
    elif tagged is None:
        return None
    none = "A fourth quarter's cannot be had by subtraction."
    return Period(
        tagged.start if tagged is not None else end + timedelta(days=1),
        year.end,
        None,
        _borne_out(tagged.revenue if tagged is not None else None, revenue, year.revenue),
        _borne_out(tagged.net_income if tagged is not None else None, income, year.net_income),
        tagged.diluted_eps if tagged is not None else Item(None, year.diluted_eps.unit, reason=none),
        tagged.shares if tagged is not None else Item(None, "shares", reason=none),
    )


def _borne_out(tagged: Item | None, rest: Item, year: Item) -> Item:
    """The fourth quarter as tagged, unless the year less nine months comes to something else."""
    if tagged is None or tagged.value is None:
        return rest
    if rest.value is not None:
        return tagged if concepts.size(rest.value - tagged.value) * 50 <= concepts.size(rest.value) else rest
    if year.value is not None and tagged.value == year.value and year.value != 0:
        return Item(None, year.unit, reason="The filing tags the amount of the year for the quarter too.")
    return tagged


def _rest(year: Item, nine: Figure, quarters: Sequence[Item]) -> Item:
    """A year less its first nine months."""

    def no(reason: str) -> Item:
        return Item(None, year.unit, reason=reason)

    if year.value is None or nine.fact is None:
        return no("The year or its first nine months are not known.")
    if not year.alike & _alike(nine):
        return no("The year and its first nine months stand under different concepts.")
    if year.earlier:
        return no("The year was restated after its first nine months were reported.")
    # As the quarters were first told: a later year may have restated one of them for comparison.
    known = [item.earlier[-1].value if item.earlier else item.value for item in quarters if item.value is not None]
    if len(known) < len(quarters) or not _adds_up(sum(known), nine.fact.value):
        return no("The first three quarters do not make up the nine months.")
    return Item(
        year.value - nine.fact.value,
        year.unit,
        f"{year.concept} (year less nine months)",
        year.form,
        year.accession,
        year.filed,
        alike=year.alike,
    )


def _adds_up(total: Number, whole: Number) -> bool:
    """To two thousandths: each quarter is rounded by itself."""
    return concepts.size(total - whole) * 500 <= concepts.size(whole)


def _trailing(annual: Sequence[Period], quarterly: Sequence[Period], unit: str) -> Trailing:
    year = annual[0] if annual else None
    if year is not None and (not quarterly or quarterly[0].end <= year.end):
        return Trailing(year.start, year.end, year.revenue, year.net_income)
    four = quarterly[:4]
    trouble = _broken(four)
    if trouble is not None:
        nothing = Item(None, unit, reason=trouble)
        return Trailing(None, quarterly[0].end, nothing, nothing)
    ago = quarterly[4] if len(quarterly) > 4 else None
    return Trailing(
        four[-1].start,
        four[0].end,
        _sum(four, ago, lambda each: each.revenue, unit),
        _sum(four, ago, lambda each: each.net_income, unit),
    )


def _broken(four: Sequence[Period]) -> str | None:
    if len(four) < _FOUR:
        return "Fewer than four quarters are reported."
    for later, before in pairwise(four):
        if not timedelta(0) < later.start - before.end <= _GAP:
            return f"The quarter before the one that began on {later.start} is not reported."
    days = (four[0].end - four[-1].start).days + 1
    return None if days in YEAR_DAYS else "The last four quarters are not twelve months."


def _sum(four: Sequence[Period], ago: Period | None, pick: Callable[[Period], Item], unit: str) -> Item:
    items = [pick(each) for each in four]
    missing = next((each for each, item in zip(four, items, strict=True) if item.value is None), None)
    if missing is not None:
        return Item(None, unit, reason=f"The quarter ended {missing.end} is not known: {pick(missing).reason}")
    if any(not one.alike & other.alike for one, other in pairwise(items)):
        return Item(None, unit, reason="The last four quarters stand under different concepts.")
    newest = items[0]
    if ago is not None and _was_recast(pick(ago), newest):
        reason = f"The filing of the newest quarter restates the one ended {ago.end}, but not those between."
        return Item(None, unit, reason=reason)
    total = sum(item.value for item in items if item.value is not None)
    return Item(total, unit, f"{newest.concept} (four quarters)", newest.form, newest.accession, newest.filed)


def _was_recast(ago: Item, newest: Item) -> bool:
    """Whether the newest quarter's filing tells the same quarter of last year otherwise than it was told before."""
    value = ago.value
    return (
        value is not None
        and ago.accession == newest.accession
        and any(not _adds_up(said.value, value) for said in ago.earlier)
    )
