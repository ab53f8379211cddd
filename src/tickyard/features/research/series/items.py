"""The figures of one period: each from the newest filing of it, with what earlier ones said."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Final

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.concepts import Number
from tickyard.features.research.filed.facts import Figure, unheard
from tickyard.features.research.filed.statement import Statement, Years
from tickyard.features.research.income.choice import income_of
from tickyard.features.research.income.owners import SUBTRACTED
from tickyard.features.research.revenue.choice import REVENUE_WANTED, revenue_of

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
    earlier = earlier_of(heard, names, fact.accession, fact.value)
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


def earlier_of(
    statements: Sequence[Statement], names: Sequence[str], accession: str, value: Number | None
) -> tuple[Said, ...]:
    """What other filings of the period said under the same concept, where it was something else; newest first."""
    found = []
    for statement in statements:
        other = statement.first(names)
        if statement.accession != accession and other is not None and other != value:
            found.append(Said(other, statement.form, statement.accession, statement.filed))
    return tuple(found)
