"""Years as filings report them. What stands in one filing may be compared; figures of different filings may not."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from itertools import islice

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.amounts import are_alike
from tickyard.features.research.filed.concepts import Number
from tickyard.features.research.filed.neighbours import Vote, votes_of
from tickyard.features.research.filed.periods import (
    ANNUAL_FORMS,
    COUNT_FORMS,
    days_of,
)
from tickyard.features.research.filed.settling import settle
from tickyard.sources.filings.border import Entry

_PER_SHARE = tuple(dict.fromkeys((*concepts.PER_SHARE, *concepts.DILUTED_PER_SHARE)))
# A real period is told a dozen times: by its report, the two after it, their amendments, and tables of quarters.
_FILINGS_MAX = 64
# Of those, and of others that tell something else of the period, no more are looked at.
_TOLD_MAX = 8 * _FILINGS_MAX
# A report of a quarter tells the one a year ago: the fourth before it, or the fifth where weeks shift the ends.
_BEFORE_MAX = 5


_BESIDE = (*concepts.CHECKS, *concepts.MINORITY, *_PER_SHARE)
_KINDS = (frozenset(concepts.REVENUE), frozenset(concepts.NET_INCOME), frozenset(_BESIDE) - {*concepts.REVENUE})
_KINDS_LEAST = 2
_GAP, _QUARTER = timedelta(days=4), 77
_QUARTERLY_FORMS = COUNT_FORMS - ANNUAL_FORMS


_STANDARDS = (
    (concepts.NET_INCOME_LOSS, (concepts.PROFIT_LOSS, concepts.AVAILABLE_TO_COMMON), concepts.IFRS_PROFIT),
    (concepts.IFRS_OWNERS_PROFIT, (concepts.IFRS_PROFIT, concepts.IFRS_ORDINARY_PROFIT), concepts.PROFIT_LOSS),
)
"""An owners' part, the other profits under the same standards, and the whole profit under the others."""


def _of_other_standards(told: Mapping[str, Number]) -> str | None:
    """The name of an owners' part under one set of standards that stands alone beside a profit told under the other,
    which says what its owners have, and something else: it was taken out of some table."""
    for name, kin, whole in _STANDARDS:
        if name not in told or whole not in told or any(each in told for each in kin):
            continue
        minorities = [told[each] for each in concepts.MINORITY if each in told]
        names = (*concepts.OWNERS_PROFITS, *concepts.COMMON_PROFITS)
        parts = [told[each] for each in names if each in told and each != name]
        others = [*(told[whole] - each for each in minorities), *parts]
        if others and told[name] not in (told[whole], *others):
            return name
    return None


@dataclass(frozen=True, slots=True)
class Statement:
    """One period in one filing: what each concept says."""

    unit: str
    end: date
    form: str
    accession: str
    filed: date
    rows: dict[str, Entry]
    values: dict[str, Number] = field(init=False, compare=False, repr=False)
    """Of the rows, what could be read and belongs to the standards that the filer tells its profit under."""
    sums: dict[str, tuple[tuple[str, Number], ...]] = field(init=False, compare=False, repr=False)
    """What was added up already: every rule asks for the same sums."""

    def __post_init__(self) -> None:
        known = {concept: row.value for concept, row in self.rows.items() if row.value is not None}
        if (stray := _of_other_standards(known)) is not None:
            del known[stray]
        object.__setattr__(self, "values", known)
        object.__setattr__(self, "sums", {})

    def get(self, concept: str) -> Number | None:
        return self.values.get(concept)

    def is_stray(self, concept: str) -> bool:
        """Whether a row that could be read is left out of what the filing says."""
        return concept not in self.values and concept in self.rows and self.rows[concept].value is not None

    @property
    def is_fragment(self) -> bool:
        """Whether it tells one line of the period only, as an amendment or a table of segments may."""
        return sum(not kind.isdisjoint(self.rows) for kind in _KINDS) < _KINDS_LEAST

    def is_slight_beside(self, other: "Statement") -> bool:
        """Whether another filing tells the period as a whole, and this one, or this amendment, some lines of it."""
        is_slight = self.is_fragment or (self.form.endswith("/A") and 2 * len(self.rows) < len(other.rows))
        return is_slight and not other.is_fragment

    def is_of_another(self, other: "Statement") -> bool:
        """Whether this amendment adds the statements of a company in which the filer holds a part: another business,
        that divides nothing among shares, and of the lines that both tell none is the same and most are far off."""
        if not self.form.endswith("/A") or self.first(_PER_SHARE) is not None or other.first(_PER_SHARE) is None:
            return False
        sold, held = self.first(concepts.REVENUE), other.first(concepts.REVENUE)
        shared = [(value, other.values[name]) for name, value in self.values.items() if name in other.values]
        far = sum(not are_alike(value, told) for value, told in shared)
        is_other = sold is not None and held is not None and not are_alike(sold, held)
        return is_other and len(shared) > 1 and 2 * far > len(shared) and all(one != two for one, two in shared)

    def first(self, wanted: Iterable[str]) -> Number | None:
        for concept in wanted:
            if concept in self.values:
                return self.values[concept]
        return None


@dataclass(frozen=True, slots=True)
class Years:
    """Every entry of the filer for one length of time, usually the year, in the currency it reports in, by concept."""

    unit: str
    by_concept: dict[str, list[Entry]]
    year_end: str | None
    by_end: dict[date, list[tuple[str, Entry]]]
    broken_end: date | None = None
    """The end of the newest annual report's period, when that is shorter than a year: a company that began anew."""
    has_excise: bool = False
    """Whether the filer collects excise, by any of its filings: its sales may be told with it or without."""
    covers: Mapping[str, Number] = field(default_factory=dict)
    """The count of shares on the cover of each filing."""
    votes: Mapping[str, Vote] = field(default_factory=dict)
    """What other filings of the same periods say of the scale of each filing, where they differ."""
    rows: Mapping[str, Sequence[Entry]] = field(default_factory=dict)
    """The rows of revenue and profit of any length, as they came."""
    today: date = date.max
    _told: dict[date, list[Statement]] = field(default_factory=dict, compare=False, repr=False)
    """What was read of a period already: every figure of it asks."""
    _ends: dict[tuple[str, ...], list[date]] = field(default_factory=dict, compare=False, repr=False)
    _chosen: dict[tuple[date, tuple[str, ...]], list[Statement]] = field(
        default_factory=dict, compare=False, repr=False
    )
    _earlier: dict[tuple[str, date, tuple[str, ...]], Statement | None] = field(
        default_factory=dict, compare=False, repr=False
    )
    off_scale: dict[tuple[str, date], bool] = field(default_factory=dict, compare=False, repr=False)
    """What was found of a filing's scale already."""

    def newest_end(self, wanted: Iterable[str]) -> date | None:
        ends = [entry.end for concept in wanted for entry in self.by_concept.get(concept, ())]
        return max(ends, default=None)

    def statements(self, wanted: Iterable[str], end: date) -> list[Statement]:
        """The period that ends here, as each filing with one of these concepts tells it, the newest filing first."""
        key = (end, tuple(wanted))
        found = self._chosen.get(key)
        if found is None:
            told = self._told.get(end)
            if told is None:
                told = self._told[end] = list(islice(self._read(end), _TOLD_MAX))
            names = frozenset(key[1])
            found = self._chosen[key] = [each for each in told if not names.isdisjoint(each.rows)][:_FILINGS_MAX]
        return found

    def alone(self, statement: Statement) -> "Years":
        """As if this statement were all that was ever told."""
        end = statement.end
        own = [(concept, row) for concept, row in self.by_end[end] if row.accession == statement.accession]
        return replace(self, by_end={end: own}, off_scale={}, _told={end: [statement]}, _chosen={}, _earlier={})

    def _read(self, end: date) -> Iterator[Statement]:
        found: dict[tuple[date, str], dict[str, list[Entry]]] = {}
        for concept, row in self.by_end.get(end, ()):
            found.setdefault((row.filed, row.accession), {}).setdefault(concept, []).append(row)
        for filing in sorted(found, reverse=True):
            yield _statement(self.unit, end, found[filing])

    def before(self, statement: Statement, wanted: Iterable[str]) -> Statement | None:
        """The period before it of which the same filing tells: that of a quarter is a year ago."""
        names = tuple(wanted)
        if len(self.by_end) == 1:
            return None
        key = (statement.accession, statement.end, names)
        if key not in self._earlier:
            ends = (end for end in self.ends(names) if end < statement.end)
            told = (each for end in islice(ends, _BEFORE_MAX) for each in self.statements(names, end))
            self._earlier[key] = next((each for each in told if each.accession == statement.accession), None)
        return self._earlier[key]

    def part(self, statement: Statement, concept: str) -> Number | None:
        """What the longest part of the period, from its beginning, would make of the whole, by quarterly reports."""
        own = statement.rows.get(concept)
        if own is None or own.start is None:
            return None
        since, until = own.start - _GAP, own.start + _GAP
        parts = [
            row
            for row in self.rows.get(concept, ())
            if row.form in _QUARTERLY_FORMS
            and row.start is not None
            and since <= row.start <= until
            and row.end < own.end
            and row.filed <= self.today
        ]
        longest = max(parts, key=lambda row: (row.end, row.filed, row.accession, row.value or 0), default=None)
        if longest is None or longest.value is None or days_of(longest) < _QUARTER:
            return None
        return longest.value * days_of(own) // days_of(longest)

    def ends(self, wanted: Iterable[str]) -> list[date]:
        """The periods that are reported, by their last days, the newest first."""
        names = tuple(wanted)
        if names not in self._ends:
            days = {row.end for concept in names for row in self.by_concept.get(concept, ())}
            self._ends[names] = sorted(days, reverse=True)
        return self._ends[names]


def arrange(unit: str, by_concept: dict[str, list[Entry]], year_end: str | None) -> Years:
    by_end: dict[date, list[tuple[str, Entry]]] = {}
    for concept, rows in by_concept.items():
        for row in rows:
            by_end.setdefault(row.end, []).append((concept, row))
    return Years(unit, by_concept, year_end, by_end, votes=votes_of(by_concept))


def _statement(unit: str, end: date, by_concept: dict[str, list[Entry]]) -> Statement:
    rows = {concept: settle(entries) for concept, entries in by_concept.items()}
    some = min(rows.values(), key=lambda row: row.form)
    return Statement(unit, end, some.form, some.accession, some.filed, rows)
