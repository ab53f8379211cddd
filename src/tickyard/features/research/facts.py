"""Revenue and net income: the newest whole year first, the concept second, the latest filing of that year third."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from tickyard.features.research import concepts
from tickyard.features.research.concepts import Number
from tickyard.features.research.periods import FIGURE_AGE, SAME_YEAR, annual, fiscal_year
from tickyard.sources.filings.border import CompanyFacts, Entry


@dataclass(frozen=True, slots=True)
class Fact:
    value: Number
    unit: str
    period_start: date
    period_end: date
    fiscal_year: int | None
    form: str
    accession: str
    concept: str
    filed: date


@dataclass(frozen=True, slots=True)
class Figure:
    """A chosen fact with what must be said about it, or no fact and the reason."""

    fact: Fact | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Years:
    """Every annual entry of the filer in one currency, by concept."""

    unit: str
    by_concept: dict[str, list[Entry]]
    year_end: str | None

    def newest_end(self, wanted: Iterable[str]) -> date | None:
        ends = [entry.end for concept in wanted for entry in self.by_concept.get(concept, ())]
        return max(ends, default=None)

    def at(self, concept: str, end: date) -> Entry | None:
        """The concept's entry for the year that ends here: latest filing; its value None when that is ambiguous."""
        return latest(entry for entry in self.by_concept.get(concept, ()) if entry.end == end)


def latest(entries: Iterable[Entry]) -> Entry | None:
    """The entry of the latest filing, whatever the order of the rows."""
    rows = list(entries)
    if not rows:
        return None
    filing = max((entry.filed, entry.accession) for entry in rows)
    rows = [entry for entry in rows if (entry.filed, entry.accession) == filing]
    # Of two lengths for one end in one filing the longer is the year; the other lost a week in the tagging.
    start = min(entry.start or entry.end for entry in rows)
    rows = [entry for entry in rows if (entry.start or entry.end) == start]
    first = rows[0]
    if any(entry.value != first.value for entry in rows):
        return Entry(first.start, first.end, None, first.accession, first.form, first.filed)
    return min(rows, key=lambda entry: entry.form)


def years_of(facts: CompanyFacts, today: date, year_end: str | None) -> Years | None:
    """The filer's annual figures in the currency it reports in; None without any."""
    found: dict[str, dict[str, list[Entry]]] = {}
    for concept in (*concepts.REVENUE, *concepts.NET_INCOME, *concepts.PARTS):
        for unit, entries in facts.units(concept).items():
            if len(unit) == 3 and unit.isupper() and (rows := annual(entries, today)):
                found.setdefault(unit, {})[concept] = rows
    currency = _reporting_currency(found)
    return Years(currency, found[currency], year_end) if currency is not None else None


def _reporting_currency(found: dict[str, dict[str, list[Entry]]]) -> str | None:
    """The currency of the newest year. A convenience translation covers fewer years of a report, and loses."""
    rows = {unit: [row for entries in by_concept.values() for row in entries] for unit, by_concept in found.items()}
    if not rows:
        return None
    newest = max(row.end for entries in rows.values() for row in entries)
    filing = max((row.filed, row.accession) for entries in rows.values() for row in entries if row.end == newest)

    def weight(unit: str) -> tuple[int, int, int, str]:
        in_filing = {row.end for row in rows[unit] if (row.filed, row.accession) == filing}
        return len(in_filing), len({row.end for row in rows[unit]}), len(rows[unit]), unit

    return max((unit for unit in rows if any(row.end == newest for row in rows[unit])), key=weight)


def choose_revenue(years: Years, today: date) -> Figure:
    end, refusal = _year(years, concepts.REVENUE, "revenue", today)
    if end is None:
        return refusal
    rows = _at(years, concepts.REVENUE, end)
    concept, chosen = rows[0]
    value = chosen.value
    if value is None:
        return _unread("revenue", end)
    if value < 0:
        return Figure(None, (f"revenue: the amount filed for the year ended {end} is negative and was not believed.",))
    for other, row in rows[1:]:
        if row.value is not None and concepts.dwarfs(other, row.value, concept, value):
            concept, chosen, value = other, row, row.value
    if _is_slice(years, concept, value, end):
        return Figure(None, (f"revenue: only a part of it is reported for the year ended {end}, the total is not.",))
    return Figure(_fact(years, concept, chosen, value))


def choose_net_income(years: Years, today: date) -> Figure:
    end, refusal = _year(years, concepts.NET_INCOME, "netIncome", today)
    if end is None:
        return refusal
    concept, row = _at(years, concepts.NET_INCOME, end)[0]
    if row.value is None:
        return _unread("netIncome", end)
    caveat = concepts.NET_INCOME_CAVEATS.get(concept)
    return Figure(_fact(years, concept, row, row.value), (caveat,) if caveat else ())


def _at(years: Years, wanted: Sequence[str], end: date) -> list[tuple[str, Entry]]:
    """What each concept says about the year that ends here, best concept first."""
    return [(concept, row) for concept in wanted if (row := years.at(concept, end)) is not None]


def _year(years: Years, wanted: Sequence[str], name: str, today: date) -> tuple[date | None, Figure]:
    """The year to answer for, or the reason why there is none. An older year never stands in for the newest."""
    end = years.newest_end(wanted)
    newest = years.newest_end((*concepts.REVENUE, *concepts.NET_INCOME))
    if newest is None or today - newest > FIGURE_AGE:
        return None, Figure(None, (f"{name}: no annual report for more than two years.",))
    if end is None or newest - end > SAME_YEAR:
        return None, Figure(None, (f"{name}: not reported as a standard concept for the year ended {newest}.",))
    return end, Figure(None)


def _is_slice(years: Years, concept: str, value: Number, end: date) -> bool:
    """Whether something shows that this is a part of revenue, although no total stands beside it."""
    if concept not in concepts.TOTALS:
        parts = [years.at(part, end) for part in concepts.PARTS]
        if any(part is not None and part.value is not None and part.value > value for part in parts):
            return True
    if concept == concepts.NET_OF_INTEREST:
        return False  # larger revenue in an earlier year was that before interest expense
    for other in concepts.REVENUE:
        shared = {row.end for row in years.by_concept.get(other, ())} & {row.end for row in years.by_concept[concept]}
        if other == concept or end in shared or not shared:
            continue
        # The total was tagged until some year ago: what was a slice of it then is a slice now.
        then = max(shared)
        whole, part = years.at(other, then), years.at(concept, then)
        if whole is None or part is None or whole.value is None or part.value is None:
            continue
        if part.value >= 0 and concepts.dwarfs(other, whole.value, concept, part.value):
            return True
    return False


def _unread(name: str, end: date) -> Figure:
    return Figure(None, (f"{name}: the amount filed for the year ended {end} could not be read.",))


def _fact(years: Years, concept: str, row: Entry, value: Number) -> Fact:
    return Fact(
        value=value,
        unit=years.unit,
        period_start=row.start or row.end,
        period_end=row.end,
        fiscal_year=fiscal_year(row.end, years.year_end),
        form=row.form,
        accession=row.accession,
        concept=concept,
        filed=row.filed,
    )
