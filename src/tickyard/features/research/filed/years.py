"""A filer's years and quarters out of its facts: which rows count, and in what currency."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import date

from tickyard.features.research.filed import concepts, costs
from tickyard.features.research.filed.concepts import Number
from tickyard.features.research.filed.discontinued import MINORITY_DISCONTINUED
from tickyard.features.research.filed.periods import (
    ANNUAL_FORMS,
    INTERIM_FOREIGN_FORMS,
    days_of,
    is_known,
    is_year,
    same_day_of_year,
)
from tickyard.features.research.filed.statement import Years, arrange
from tickyard.features.research.filed.strays import aligned, broken_end, without_strays
from tickyard.sources.filings.border import CompanyFacts, Entry

_READ = (
    *concepts.REVENUE,
    *concepts.NET_INCOME,
    *concepts.CHECKS,
    *concepts.INTEREST_SPENT,
    *concepts.MINORITY,
    *concepts.MINORITY_DIVIDED,
    *concepts.MINORITY_SIGNS,
    *MINORITY_DISCONTINUED,
    *concepts.OWNERS_COMPREHENSIVE,
    *concepts.OTHER_COMPREHENSIVE,
    *concepts.PREFERRED_DIVIDENDS,
    *concepts.SET_ASIDE,
    concepts.TAXES,
    *costs.TRADE_COSTS,
)
_PER_SHARE = tuple(dict.fromkeys((*concepts.PER_SHARE, *concepts.DILUTED_PER_SHARE, concepts.PREFERRED_PER_SHARE)))
_COUNTED = (*concepts.AVERAGE_COUNTS, *concepts.DILUTED_COUNTS)
_YEAR_FORMS = ANNUAL_FORMS | INTERIM_FOREIGN_FORMS


def years_of(facts: CompanyFacts, today: date, year_end: str | None) -> Years | None:
    """The filer's annual figures in the currency it reports in; None without any."""
    money: dict[str, dict[str, list[Entry]]] = {}
    loose: list[tuple[str, str, Entry]] = []
    for concept in dict.fromkeys(_READ):
        for unit, entries in facts.units(concept).items():
            if len(unit) == 3 and unit.isupper():
                _sort_out(concept, unit, entries, today, money, loose)
    _admit_interim(money, loose, year_end)
    money = without_strays(aligned(money))
    figures = (*concepts.REVENUE, *concepts.NET_INCOME)
    currency = _reporting_currency(
        {unit: {key: rows for key, rows in by.items() if key in figures} for unit, by in money.items()}
    )
    if currency is None:
        return None
    by_concept = money[currency]
    broken = broken_end((row for concept in figures for row in facts.units(concept).get(currency, ())), today)
    for concept in (*_PER_SHARE, *_COUNTED):
        rows = [row for unit in _units(concept, currency) for row in facts.units(concept).get(unit, ())]
        rows = [row for row in rows if row.form in _YEAR_FORMS and is_year(row) and is_known(row, today)]
        if rows:
            by_concept[concept] = rows
    return replace(
        arrange(currency, by_concept, year_end),
        broken_end=broken,
        has_excise=_has_excise(facts, today),
        covers=_covers(facts, today),
        rows={concept: facts.units(concept).get(currency, ()) for concept in figures},
        today=today,
    )


def _covers(facts: CompanyFacts, today: date) -> dict[str, Number]:
    rows = facts.units(concepts.COVER_COUNT).get("shares", ())
    return {row.accession: row.value for row in sorted(rows, key=_by_value) if row.filed <= today and row.value}


def _by_value(row: Entry) -> Number:
    """Of several classes the largest is the nearest to all of them."""
    return row.value or 0


def _has_excise(facts: CompanyFacts, today: date) -> bool:
    told = (facts.units(name) for name in (concepts.EXCISE, concepts.EXCISE_OWED))
    return any(row.filed <= today and row.value for units in told for rows in units.values() for row in rows)


def _units(concept: str, currency: str) -> tuple[str, ...]:
    if concept in _COUNTED:
        return ("shares",)
    # Older documents give a profit per share as an amount.
    return (currency, f"{currency}/shares") if concept in _PER_SHARE else (currency,)


def spans_of(facts: CompanyFacts, years: Years, lengths: range, forms: frozenset[str], today: date) -> Years:
    """Periods of another length, such as quarters, in the currency of the years."""
    by_concept: dict[str, list[Entry]] = {}
    for concept in dict.fromkeys((*_READ, *_PER_SHARE, *_COUNTED)):
        rows = [
            row
            for unit in _units(concept, years.unit)
            for row in facts.units(concept).get(unit, ())
            if row.form in forms and days_of(row) in lengths and is_known(row, today)
        ]
        if rows:
            by_concept[concept] = rows
    found = arrange(years.unit, by_concept, years.year_end)
    return replace(found, has_excise=years.has_excise, covers=years.covers)


def _sort_out(
    concept: str,
    unit: str,
    entries: Iterable[Entry],
    today: date,
    money: dict[str, dict[str, list[Entry]]],
    loose: list[tuple[str, str, Entry]],
) -> None:
    """Whole years of annual reports go to `money`; whole years in a foreign filer's 6-K wait in `loose`."""
    rows = [row for row in entries if row.form in _YEAR_FORMS and is_year(row) and is_known(row, today)]
    annual = [row for row in rows if row.form in ANNUAL_FORMS]
    if annual:
        money.setdefault(unit, {})[concept] = annual
    if len(annual) < len(rows):
        loose += [(unit, concept, row) for row in rows if row.form not in ANNUAL_FORMS]


def _admit_interim(
    money: dict[str, dict[str, list[Entry]]], loose: list[tuple[str, str, Entry]], year_end: str | None
) -> None:
    """A year that a foreign filer reported on 6-K counts until its annual report repeats it.

    Twelve months to any other day are no fiscal year, and who files on 10-K has no 6-K.
    """
    annual = [row for by_concept in money.values() for rows in by_concept.values() for row in rows]
    if any(row.form.startswith("10-K") for row in annual):
        return
    reported = {row.end for row in annual}
    closings = {f"{end:%m%d}" for end in reported} | ({year_end} if year_end is not None else set())
    for unit, concept, row in loose:
        is_fiscal = not closings or any(same_day_of_year(row.end, closing) for closing in closings)
        if row.end not in reported and is_fiscal:
            money.setdefault(unit, {}).setdefault(concept, []).append(row)


def _reporting_currency(found: dict[str, dict[str, list[Entry]]]) -> str | None:
    """The currency of the newest year. A convenience translation covers fewer years of a report, or fewer lines, and
    loses; only between equals what was told before counts, and then it is the dollar, into which others translate for
    American readers."""
    rows = {
        unit: [(concept, row) for concept, entries in by_concept.items() for row in entries]
        for unit, by_concept in found.items()
    }
    rows = {unit: entries for unit, entries in rows.items() if entries}
    if not rows:
        return None
    newest = max(row.end for entries in rows.values() for _, row in entries)
    filing = max((row.filed, row.accession) for entries in rows.values() for _, row in entries if row.end == newest)

    def weight(unit: str) -> tuple[int, int, int, int, bool, str]:
        lines = {(concept, row.end) for concept, row in rows[unit] if (row.filed, row.accession) == filing}
        years, ever = {end for _, end in lines}, {row.end for _, row in rows[unit]}
        return len(years), len(lines), len(ever), len(rows[unit]), unit != "USD", unit

    return max((unit for unit in rows if any(row.end == newest for _, row in rows[unit])), key=weight)
