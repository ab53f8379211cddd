"""One filer, read: every figure we can vouch for, and a sentence for each one we cannot."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import Enum
from typing import Final

from tickyard.features.research.company.places import is_overseas
from tickyard.features.research.company.profile import cik_text
from tickyard.features.research.company.worth import Float
from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.amounts import are_close
from tickyard.features.research.filed.facts import Candidate, Fact, Figure, passed_over
from tickyard.features.research.filed.mergers import unless_of_another
from tickyard.features.research.filed.periods import (
    ANNUAL_FORMS,
    FIGURE_AGE,
    TRANSITION_FORMS,
    YEAR_DAYS,
    days_of,
    is_known,
)
from tickyard.features.research.filed.reports import (
    Report,
    filings_of,
    implied_count,
    is_foreign,
    listed_ratio,
    newest_report,
    public_float,
)
from tickyard.features.research.filed.statement import Years
from tickyard.features.research.filed.strays import broken_end
from tickyard.features.research.filed.years import years_of
from tickyard.features.research.income.choice import choose_net_income
from tickyard.features.research.revenue.choice import choose_revenue
from tickyard.features.research.shares.choice import Count, Shares, choose_shares
from tickyard.sources.filings.border import Company, CompanyFacts

# Who reports last has four months after the year that follows.
_OVERDUE: Final = timedelta(days=550)
# What an annual report tells of the weeks since its year is no year of its own.
_A_YEAR: Final = timedelta(days=330)
_UNREAD: Final = (
    "The annual report of {filed} tells of the time to {end}, but no revenue or profit of its year that could be read: "
    "the year ended {year} is the newest of which one could."
)


class Absence(Enum):
    """Why there are no facts to choose from."""

    NOT_FILED = "the filer has no machine-readable facts in the filings database"
    UNREADABLE = "the facts in the filings database could not be read"


@dataclass(frozen=True, slots=True)
class Candidates:
    revenue: tuple[Candidate, ...] = ()
    net_income: tuple[Candidate, ...] = ()
    shares: tuple[Candidate, ...] = ()


@dataclass(frozen=True, slots=True)
class Study:
    revenue: Fact | None
    net_income: Fact | None
    shares: Shares | None
    is_foreign: bool
    """Files on 20-F, 40-F or 6-K: its shares may trade as depositary ones."""
    notes: tuple[str, ...]
    sources: tuple[str, ...]
    tagged_ratio: int | None = None
    """Shares to one depositary share, where the filer says so, by a tag or by its form."""
    public_float: Float | None = None
    is_abroad: bool = False
    """Incorporated overseas, whatever it files on."""
    is_count_borne_out: bool = False
    """Whether profit and profit per share make about as many shares."""
    candidates: Candidates = Candidates()
    """What each figure was chosen from."""
    today: date | None = None
    """The day on which it was asked."""

    @property
    def note(self) -> str | None:
        return " ".join(self.notes) or None


def study(company: Company, facts: CompanyFacts | Absence, today: date) -> Study:
    """Choose the figures of an operating company."""
    submissions = f"SEC EDGAR submissions, CIK {cik_text(company.cik)}"
    if isinstance(facts, Absence):
        note = f"Fundamentals are unknown: {facts.value}."
        return Study(None, None, None, False, (note,), (submissions,))
    years = years_of(facts, today, company.fiscal_year_end)
    if years is None:
        nothing = Figure(None, (_why_no_year(facts, today),))
        revenue, net_income = nothing, Figure(None)
    else:
        revenue, net_income = choose_revenue(years, today), choose_net_income(years, today)
        revenue, net_income = unless_of_another(facts, revenue, net_income, today)
    filings = filings_of(facts, today)
    count = choose_shares(facts, filings, today)
    notes = (
        *revenue.notes,
        *net_income.notes,
        *_on_transition(facts, filings, revenue, net_income, today),
        *(_on_newer(facts, filings, revenue, net_income) or _on_age(revenue, net_income, today)),
        *count.notes,
    )
    if facts.unread or _has_no_start(facts):
        notes = (*notes, "Some entries of the company facts could not be read and were left out.")
    return Study(
        revenue=revenue.fact,
        net_income=net_income.fact,
        shares=count.shares,
        is_foreign=is_foreign(filings),
        notes=notes,
        sources=(submissions, *_sources(company, revenue, net_income, count)),
        tagged_ratio=listed_ratio(facts, filings, today),
        public_float=_float(facts, today),
        is_abroad=is_overseas(company.state),
        is_count_borne_out=_is_borne_out(facts, count.shares, net_income.fact),
        candidates=Candidates(
            _all(facts, years, concepts.REVENUE, revenue, today),
            _all(facts, years, concepts.NET_INCOME, net_income, today),
            count.candidates,
        ),
        today=today,
    )


def _why_no_year(facts: CompanyFacts, today: date) -> str:
    """A company that is younger than a year has a report, but not of a year."""
    figures = (*concepts.REVENUE, *concepts.NET_INCOME)
    rows = (row for concept in figures for entries in facts.units(concept).values() for row in entries)
    end = broken_end(rows, today)
    if end is None:
        return "revenue and netIncome: no annual report with standard concepts."
    return f"revenue and netIncome: the newest annual report, to {end}, covers no whole year."


def _all(
    facts: CompanyFacts, years: Years | None, wanted: Sequence[str], figure: Figure, today: date
) -> tuple[Candidate, ...]:
    return (*figure.candidates, *passed_over(facts, years, wanted, today, figure.candidates))


def _float(facts: CompanyFacts, today: date) -> Float | None:
    row = public_float(facts, today)
    if row is None or row.value is None or today - row.end > FIGURE_AGE:
        return None
    return Float(int(row.value), row.end, row.form, row.accession, row.filed)


def _is_borne_out(facts: CompanyFacts, shares: Shares | None, income: Fact | None) -> bool:
    """By the report that counts them, or by the newest year."""
    told = (implied_count(facts, each.accession) for each in (shares, income) if each is not None)
    return shares is not None and any(made is not None and are_close(shares.value, made) for made in told)


def _has_no_start(facts: CompanyFacts) -> bool:
    """Whether an amount that is earned over a period came without its beginning: such a row is passed over."""
    return any(
        row.start is None
        for concept in (*concepts.REVENUE, *concepts.NET_INCOME)
        for entries in facts.units(concept).values()
        for row in entries
    )


def _on_transition(
    facts: CompanyFacts, filings: Sequence[Report], revenue: Figure, net_income: Figure, today: date
) -> tuple[str, ...]:
    """A newer period, too short for a year, because the filer moved its year end."""
    ends = [figure.fact.period_end for figure in (revenue, net_income) if figure.fact is not None]
    if not ends or not any(filing.form in TRANSITION_FORMS for filing in filings):
        return ()
    newer = [
        row
        for units in facts.concepts.values()
        for entries in units.values()
        for row in entries
        if row.form in TRANSITION_FORMS
        and is_known(row, today)
        and 0 < days_of(row) < YEAR_DAYS.start
        and row.end > max(ends)
    ]
    if not newer:
        return ()
    row = max(newer, key=lambda each: (each.end, days_of(each)))
    return (f"The filer changed its year end: {row.start} to {row.end} is a transition period and no annual figure.",)


def _on_newer(facts: CompanyFacts, filings: Sequence[Report], revenue: Figure, net_income: Figure) -> tuple[str, ...]:
    """A newer annual report, by any line of a later year in it, of which no figure of that year could be read."""
    ends = [figure.fact.period_end for figure in (revenue, net_income) if figure.fact is not None]
    report = newest_report(filings, ANNUAL_FORMS - TRANSITION_FORMS)
    if not ends or report is None:
        return ()
    told = (
        row.end
        for concept, units in facts.concepts.items()
        if concept != concepts.COVER_COUNT
        for rows in units.values()
        for row in rows
        if row.accession == report.accession and row.end <= row.filed
    )
    end = max(told, default=max(ends))
    if end - max(ends) < _A_YEAR:
        return ()
    return (_UNREAD.format(filed=report.filed, end=end, year=max(ends)),)


def _on_age(revenue: Figure, net_income: Figure, today: date) -> tuple[str, ...]:
    """A year that ended so long ago that the one after it was reported too, if the filer still reports."""
    ends = [figure.fact.period_end for figure in (revenue, net_income) if figure.fact is not None]
    if not ends or today - max(ends) < _OVERDUE:
        return ()
    return (
        f"The year ended {max(ends)} is the newest in the company facts: a later one is missing, or none was filed.",
    )


def _sources(company: Company, revenue: Figure, net_income: Figure, count: Count) -> tuple[str, ...]:
    """The documents that the figures stand in, each once, in the order of the figures."""
    chosen = [each for each in (revenue.fact, net_income.fact, count.shares) if each is not None]
    filings = {each.accession: each for each in chosen}
    if not filings:
        return ()
    named = (f"{each.form} filed {each.filed}, accession number {each.accession}" for each in filings.values())
    return (f"SEC EDGAR company facts, CIK {cik_text(company.cik)}", *named)
