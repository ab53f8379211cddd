"""One period as a row of figures: each from the newest filing of it, with what earlier ones said."""

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from datetime import date
from typing import Final

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.concepts import Number
from tickyard.features.research.filed.facts import Figure, unheard
from tickyard.features.research.filed.periods import fiscal_year
from tickyard.features.research.filed.statement import Statement, Years
from tickyard.features.research.income.choice import income_of
from tickyard.features.research.income.owners import SUBTRACTED
from tickyard.features.research.revenue.choice import REVENUE_WANTED, revenue_of
from tickyard.features.research.series import scales
from tickyard.sources.filings.border import Entry

_OWNERS: Final = "the owners' part of the profit"
"""One thing under several names, tagged or made by subtraction."""
FIGURES: Final = (*concepts.REVENUE, *concepts.NET_INCOME)
_NAMES: Final = frozenset(FIGURES)
_AMOUNTS: Final = frozenset((*FIGURES, *concepts.CHECKS, *concepts.MINORITY))


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
class StatementLine:
    """A line of the statement that adds up over time: how it is chosen, and where it stands in a period."""

    name: str
    wanted: tuple[str, ...]
    choose: Callable[[Years, date], Figure]
    of: Callable[[Period], Item]
    is_never_taken_back: bool = False
    """Whether a longer period has at least as much of it as a part of the period."""

    def item(self, spans: Years, end: date, word: str) -> Item:
        statements = spans.statements(self.wanted, end)
        item = _item(self.choose(spans, end), statements, spans.unit, self.name, word)
        own = next((each for each in statements if each.accession == item.accession), None)
        if item.concept is None or own is None or own.get(item.concept) is not None:
            return item
        # No filing tags an amount that is made of several lines: each is asked what it makes of them.
        others = [(each, self.item(spans.alone(each), end, word)) for each in statements if each is not own]
        made = [(each, other) for each, other in others if other.concept == item.concept]
        return replace(item, earlier=tuple(_said(other) for each, other in made if not _agree(item, own, other, each)))

    def told(self, spans: Years, end: date, word: str, *, is_oldest_first: bool = False) -> Iterator[Item]:
        """What each filing of the period says by itself, the newest first; filings that say nothing left out."""
        statements = spans.statements(self.wanted, end)
        for statement in reversed(statements) if is_oldest_first else statements:
            item = self.item(spans.alone(statement), end, word)
            if item.value is not None:
                yield item

    def named(self, spans: Years, end: date, concept: str) -> Item | None:
        """What the newest filing that uses this very name says under it."""
        for statement in spans.statements((concept,), end):
            row = statement.rows[concept]
            if row.value is not None:
                alike = frozenset({concept})
                return Item(row.value, spans.unit, concept, row.form, row.accession, row.filed, alike=alike)
        return None


REVENUE: Final = StatementLine(
    "revenue", REVENUE_WANTED, revenue_of, lambda period: period.revenue, is_never_taken_back=True
)
NET_INCOME: Final = StatementLine("netIncome", concepts.NET_INCOME, income_of, lambda period: period.net_income)


def period_of(spans: Years, end: date, word: str, covers: Sequence[Entry] = ()) -> Period:
    statements = spans.statements(FIGURES, end)
    told = [row for statement in statements for row in statement.rows.values()]
    # Of a period that hundreds of filings tell not all are looked at: those that are may tell something else of it.
    rows = told or [row for _, row in spans.by_end[end]]
    start = min(row.start for row in rows if row.start is not None)
    everything = spans.statements((*scales.PER_SHARE, *scales.COUNTS), end)
    cover = scales.nearest(covers, end)

    def rows_of(names: Sequence[str]) -> Iterator[Entry]:
        return (row for name in names for row in spans.by_concept.get(name, ()))

    odd = {
        each.accession
        for each in everything
        if scales.is_odd(each, lambda: scales.usual(rows_of(scales.PER_SHARE), end))
    }
    per_share = _per_share(everything, f"{spans.unit}/shares", cover, odd)
    # After a split one may be restated and the other not: they are of one filing, or one of them is left out.
    beside = [each for each in everything if per_share.value is None or each.accession == per_share.accession]
    return Period(
        start,
        end,
        fiscal_year(end, spans.year_end) if word == "year" else None,
        REVENUE.item(spans, end, word),
        NET_INCOME.item(spans, end, word),
        per_share,
        _shares(beside, cover, lambda: scales.largest(rows_of(scales.COUNTS), end), odd),
    )


def _item(figure: Figure, statements: Sequence[Statement], unit: str, name: str, word: str) -> Item:
    fact = figure.fact
    if fact is None:
        told = figure.notes[0] if figure.notes else f"{name}: not reported."
        return Item(None, unit, reason=told.replace("year ended", f"{word} ended"))
    own = next((each for each in statements if each.accession == fact.accession), None)
    same = {each for each, value in own.values.items() if value == fact.value} & _NAMES if own is not None else set()
    # A filing may have told the same line under a name that this one uses beside its own.
    names = (fact.concept, *(each for each in FIGURES if each in same))
    heard = (
        statements if own is None else [each for each in statements if not _is_unheard(each, own, names, fact.value)]
    )
    earlier = _earlier(heard, names, fact.accession, fact.value)
    alike = _alike(figure) | same
    # What must be said about a figure that was taken, such as of what parts it is the sum.
    note = next((note for note in figure.notes), None)
    return Item(fact.value, unit, fact.concept, fact.form, fact.accession, fact.filed, note, earlier, alike)


def _is_unheard(statement: Statement, own: Statement, names: Sequence[str], value: Number) -> bool:
    """Whether a filing tells in passing what is no restatement of what is taken of a whole statement."""
    told = statement.first(names)
    if told is None or not statement.is_slight_beside(own):
        return False
    return (
        unheard(statement, told, value, (amount for name, amount in own.values.items() if name in _NAMES)) is not None
    )


def _alike(figure: Figure) -> frozenset[str]:
    if figure.fact is None:
        return frozenset()
    name = figure.fact.concept
    is_owners = _base(name) in concepts.NET_INCOME and all(note.startswith(SUBTRACTED) for note in figure.notes)
    return frozenset({name, _base(name), *([_OWNERS] if is_owners else [])})


def _base(concept: str) -> str:
    """The whole profit and what remains of it after minority owners are one line of a statement; sales with and without
    excise are two."""
    base = concept.partition(" - ")[0]
    return base if base in concepts.NET_INCOME else concept


def _per_share(statements: Sequence[Statement], unit: str, cover: Number | None, odd: Set[str]) -> Item:
    found, reason = list(_tagged(statements, scales.PER_SHARE, unit)), None
    for statement, item in found:
        others = [other.value for _, other in found if other is not item and other.value is not None]
        assert item.value is not None
        is_odd = statement.accession in odd
        doubt = scales.OFF_PER_SHARE if is_odd else scales.doubt_per_share(statement, item.value, others, cover)
        if doubt is None:
            return item
        reason = reason or doubt
    if reason is None:
        return Item(None, unit, reason="The diluted profit per share is not tagged for this period.")
    return unknown(found[0][1], reason)


def _shares(
    statements: Sequence[Statement], cover: Number | None, around: Callable[[], Number | None], odd: Set[str]
) -> Item:
    """`odd`: the filings whose profit per share slipped. It says nothing of their number of shares then."""
    found = list(_tagged([_silenced(each, odd) for each in statements], scales.COUNTS, "shares"))
    for statement, item in found:
        others = [other.value for _, other in found if other is not item and other.value is not None]
        if item.value is not None and not scales.is_count_off(statement, item.value, others, cover, around):
            return item
    for statement, item in found:
        if item.value is not None and (right := scales.set_right(statement, item.value)) is not None:
            return replace(item, value=right, reason=f"Tagged as {item.value}; profit per share tells the scale.")
    if not found:
        return Item(None, "shares", reason="The average number of shares is not tagged for this period.")
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
            earlier = _earlier(statements, (concept,), row.accession, value)
            yield statement, Item(value, unit, concept, row.form, row.accession, row.filed, None, earlier)


def unknown(item: Item, reason: str) -> Item:
    """No value, with the reason and what was told."""
    return Item(None, item.unit, reason=reason, earlier=(_said(item), *item.earlier))


def _said(item: Item) -> Said:
    assert item.value is not None
    return Said(item.value, item.form or "", item.accession or "", item.filed or date.min)


def _agree(one: Item, own: Statement, other: Item, their: Statement) -> bool:
    """Whether two filings mean the same amount: to the last digit, or to one in the last of that which rounds more. Of
    the same whole profit the rest is the same: minorities are tagged with either sign."""
    assert one.concept is not None
    assert one.value is not None
    assert other.value is not None
    base = _base(one.concept)
    if one.value == other.value or (own.get(base) is not None and own.get(base) == their.get(base)):
        return True
    digits = {_last_digit_of(own), _last_digit_of(their)}
    return len(digits) > 1 and concepts.size(one.value - other.value) <= max(digits)


def _last_digit_of(statement: Statement) -> int:
    """What one in the last digit is worth to which a filing tells its amounts."""
    amounts = (int(concepts.size(value)) for name, value in statement.values.items() if name in _AMOUNTS)
    zeros = [len(text) - len(text.rstrip("0")) for text in (str(amount) for amount in amounts if amount)]
    return int("1" + "0" * min(zeros, default=0))


def _earlier(
    statements: Sequence[Statement], names: Sequence[str], accession: str, value: Number | None
) -> tuple[Said, ...]:
    """What other filings of the period said under the same concept, where it was something else; newest first."""
    found = []
    for statement in statements:
        other = statement.first(names)
        if statement.accession != accession and other is not None and other != value:
            found.append(Said(other, statement.form, statement.accession, statement.filed))
    return tuple(found)
