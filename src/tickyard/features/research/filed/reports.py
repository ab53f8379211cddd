"""A filer's periodic reports: which is the newest, and what it says about shares."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

from msgspec import structs

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.concepts import Number
from tickyard.features.research.filed.periods import (
    ANNUAL_FORMS,
    COUNT_FORMS,
    FIGURE_AGE,
    FOREIGN_FORMS,
    INTERIM_FOREIGN_FORMS,
    is_known,
)
from tickyard.features.research.filed.settling import settle
from tickyard.sources.filings.border import CompanyFacts, Entry

_UNIT = "shares"
_ALL_TAG, _ALL_TAG_ABROAD = date(2011, 12, 31), date(2018, 12, 31)
"""By then every filer tagged its reports: under American standards, and under the international ones."""
_RATIO_MAX = 1000
_CANADIAN_FORMS = frozenset({"40-F", "40-F/A"})
_SLIP_OF_DATE = timedelta(days=400)
"""The year is what is written wrong most often."""
_LATE = timedelta(days=45)
"""So much earlier ends the period of a report that is no newer, whenever it is filed: less than a quarter."""
_LEAST_PER_SHARE, _MOST_PER_SHARE = Decimal("0.01"), Decimal(100_000)
"""Below the one the rounding of a profit per share is all that is left of it, above the other it is none."""


@dataclass(frozen=True, slots=True)
class Report:
    """A filing, as far as its facts tell."""

    accession: str
    form: str
    filed: date
    end: date | None
    """The last day of the period it is about; None when its facts do not tell."""


def filings_of(facts: CompanyFacts, today: date) -> list[Report]:
    """Every filing of which a fact is known today, the newest first."""
    ends: dict[tuple[date, str, str], date | None] = {}
    for units in facts.concepts.values():
        for rows in units.values():
            for row in rows:
                filing = (row.filed, row.accession, row.form)
                end = ends.setdefault(filing, None)
                if row.start is not None and (end is None or row.end > end) and row.end <= row.filed:
                    ends[filing] = row.end
    known = [Report(accession, form, filed, end) for (filed, accession, form), end in ends.items() if filed <= today]
    # Who catches up files several reports on one day: the one of the latest period is the newest.
    return sorted(known, key=lambda each: (each.filed, each.end or date.min, each.accession, each.form), reverse=True)


def count_forms(filings: Iterable[Report]) -> frozenset[str]:
    """The forms that count shares. A foreign filer's 6-K does, as long as it has filed nothing better."""
    has_better = any(filing.form in COUNT_FORMS for filing in filings)
    return COUNT_FORMS if has_better else COUNT_FORMS | INTERIM_FOREIGN_FORMS


def newest_report(filings: Iterable[Report], forms: frozenset[str]) -> Report | None:
    """The newest periodic report. An amendment repeats an older one and is none of its own; a report of an earlier
    period that is filed later is late, not newer."""
    reports = [each for each in filings if each.form in forms and not each.form.endswith("/A")]
    newest = max((each.end for each in reports if each.end is not None), default=None)
    return next((each for each in reports if newest is None or each.end is None or newest - each.end <= _LATE), None)


def newcomers_report(facts: CompanyFacts, filings: Iterable[Report], forms: frozenset[str]) -> Report | None:
    """The first periodic report that we know of, if the filer was new then, and not only the tagging of reports."""
    first = min((each for each in filings if each.form in forms), key=lambda each: each.filed, default=None)
    if first is None or first.filed <= _ALL_TAG:
        return None
    is_abroad = any(
        row.accession == first.accession
        for concept, units in facts.concepts.items()
        if concept.startswith("ifrs-full:")
        for rows in units.values()
        for row in rows
    )
    return None if is_abroad and first.filed <= _ALL_TAG_ABROAD else first


def is_foreign(filings: Iterable[Report]) -> bool:
    """Whether the newest periodic report is a 20-F or 40-F, or there is nothing but 6-K."""
    forms = [each.form for each in filings if each.form in COUNT_FORMS or each.form in INTERIM_FOREIGN_FORMS]
    periodic = next((form for form in forms if form in COUNT_FORMS), None)
    return periodic in FOREIGN_FORMS if periodic is not None else bool(forms)


def newest_average(facts: CompanyFacts, accession: str) -> tuple[str, Entry] | None:
    """The average over the newest and shortest period that a filing states: the closest to today's number."""
    for concept in concepts.AVERAGE_COUNTS:
        rows = [row for row in facts.units(concept).get(_UNIT, ()) if row.accession == accession and row.start]
        rows = [row for row in rows if row.end <= row.filed]
        if rows:
            end = max(row.end for row in rows)
            start = max(row.start for row in rows if row.start is not None and row.end == end)
            return concept, settle([row for row in rows if row.end == end and row.start == start])
    return None


def implied_count(facts: CompanyFacts, accession: str, *, is_of_owners: bool = False) -> int | None:
    """How many shares profit and profit per share of one filing and one period make: good to tell a slip of scale.

    `is_of_owners`: only by a profit that is called the owners' and has the sign of the one per share: good to tell a
    class. What is called available to common is the whole profit at times.
    """
    profits: dict[tuple[str, date | None, date], Number] = {}
    # What is divided among the shares is the common shareholders' part; the next best comes before it.
    every = (*concepts.WHOLE_PROFITS, *concepts.OWNERS_PROFITS, *concepts.COMMON_PROFITS)
    for concept in concepts.OWNERS_PROFITS if is_of_owners else every:
        for unit, rows in facts.units(concept).items():
            for row in rows:
                if row.accession == accession and row.value:
                    profits[unit, row.start, row.end] = row.value
    best: tuple[bool, Decimal, int] | None = None
    for concept in dict.fromkeys((*concepts.PER_SHARE, *concepts.DILUTED_PER_SHARE, concepts.CONTINUING_PER_SHARE)):
        if concept == concepts.CONTINUING_PER_SHARE and best is not None:
            break  # what was given up is not in it
        for unit, rows in facts.units(concept).items():
            currency = unit.partition("/")[0]
            for row in rows:
                profit = profits.get((currency, row.start, row.end)) if row.accession == accession else None
                if profit is None or row.value is None:
                    continue
                per_share = abs(Decimal(row.value))
                if not _LEAST_PER_SHARE <= per_share <= _MOST_PER_SHARE:
                    continue
                # Some tag a loss per share without its sign: that is good enough where nothing better is.
                is_alike = (row.value > 0) == (profit > 0)
                if is_of_owners and not is_alike:
                    continue
                # Exact: a quotient may have more digits than a decimal keeps.
                found = (is_alike, per_share, abs(Fraction(profit)) // Fraction(per_share))
                # The larger the profit per share, the less its rounding matters.
                best = max(best, found) if best is not None else found
    return best[2] if best is not None else None


def public_float(facts: CompanyFacts, today: date) -> Entry | None:
    """The value of the shares that are not in the hands of insiders, in dollars, as of the newest annual report."""
    rows = [
        row
        for row in facts.units(concepts.PUBLIC_FLOAT).get("USD", ())
        if row.form in ANNUAL_FORMS and is_known(row, today) and row.value is not None and row.value > 0
    ]
    return max(rows, key=lambda row: (row.end, row.filed, row.accession), default=None)


def listed_ratio(facts: CompanyFacts, filings: Iterable[Report], today: date) -> int | None:
    """How many shares one depositary share stands for, where the filer has tagged it. A 40-F is for Canadians, and
    theirs is the share itself."""
    rows = [
        row
        for units in facts.units(concepts.DEPOSITARY_RATIO).values()
        for row in units
        if is_known(row, today)
        and today - row.end <= FIGURE_AGE
        and isinstance(row.value, int)
        and 1 <= row.value <= _RATIO_MAX
    ]
    newest = max(rows, key=lambda row: (row.end, row.filed, row.accession), default=None)
    if newest is not None and isinstance(newest.value, int):
        return newest.value
    report = next((each for each in filings if each.form in COUNT_FORMS), None)
    return 1 if report is not None and report.form in _CANADIAN_FORMS else None


def known(rows: Iterable[Entry], forms: frozenset[str], today: date) -> list[Entry]:
    return [row for row in rows if row.form in forms and is_known(row, today)]


def covers_of(facts: CompanyFacts, forms: frozenset[str], today: date) -> list[Entry]:
    """The counts on covers. A count cannot be of a day after its filing: such a day is a slip of the pen, the count is
    that of the filing's day."""
    rows = facts.units(concepts.COVER_COUNT).get(_UNIT, ())
    told = [row for row in rows if row.form in forms and row.filed <= today and row.end - row.filed <= _SLIP_OF_DATE]
    return [structs.replace(row, end=row.filed) if row.end > row.filed else row for row in told]
