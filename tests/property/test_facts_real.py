"""Choosing facts out of real documents: what must not matter does not, and a day in the past is answered as it was."""

from datetime import date, timedelta
from decimal import Decimal
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tickyard.features.research.series.series import series
from tickyard.features.research.study import study
from tickyard.sources.filings.border import CompanyFacts, Entry
from yards.filings import cases

PATIENT = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
COMPANIES = [case for case in cases() if not case.told.get("noUnderlying")]
CASES = st.sampled_from(COMPANIES)
# A seed, not drawn moves: a shuffle of thousands of rows is too large for hypothesis to take apart.
RANDOM = st.integers(0, 2**32).map(Random)
# Forms that companies file and that are no periodic report.
UNRELATED = st.sampled_from(["8-K", "8-K/A", "S-1", "S-1/A", "S-4", "424B3", "DEF 14A", "11-K", "POS AM", "F-4", "ARS"])


def ask(case, facts, today=None):
    return study(case.filer.company, facts, today or case.today)


def figures(found):
    """All that research answers, without the candidates that lost."""
    return found.revenue, found.net_income, found.shares, found.is_foreign, found.public_float, found.notes


def changed(facts, change):
    """The same document with each list of rows changed: `change(concept, unit, rows)`."""
    return CompanyFacts(
        facts.cik,
        {
            concept: {unit: tuple(change(concept, unit, rows)) for unit, rows in units.items()}
            for concept, units in facts.concepts.items()
        },
        facts.unread,
    )


def shuffled(items, rng):
    items = list(items)
    rng.shuffle(items)
    return items


@pytest.mark.slow
@PATIENT
@given(CASES, RANDOM)
def test_the_order_of_rows_units_and_concepts_changes_nothing(case, rng):
    facts = case.filer.facts
    other = CompanyFacts(
        facts.cik,
        {
            concept: {unit: tuple(shuffled(rows, rng)) for unit, rows in shuffled(units.items(), rng)}
            for concept, units in shuffled(facts.concepts.items(), rng)
        },
        facts.unread,
    )
    assert ask(case, other) == ask(case, facts)
    year_end = case.filer.company.fiscal_year_end
    assert series(other, year_end, case.today) == series(facts, year_end, case.today)


@pytest.mark.slow
@PATIENT
@given(CASES, RANDOM)
def test_rows_that_are_there_twice_change_nothing(case, rng):
    facts = case.filer.facts
    twice = changed(facts, lambda _concept, _unit, rows: [*rows, *rng.sample(rows, rng.randint(0, len(rows)))])
    assert ask(case, twice) == ask(case, facts)


@pytest.mark.slow
@PATIENT
@given(CASES, RANDOM, UNRELATED, st.integers(-3, 3))
def test_filings_that_are_no_periodic_report_change_nothing(case, rng, form, scale):
    facts = case.filer.facts

    def add(_concept, _unit, rows):
        picked = rng.sample(rows, min(len(rows), 3))
        day = case.today - timedelta(days=rng.randint(0, 400))
        foreign = [
            Entry(row.start, row.end, _scaled(row.value, scale), "0009999999-21-000001", form, max(day, row.end))
            for row in picked
        ]
        return [*rows, *foreign]

    assert figures(ask(case, changed(facts, add))) == figures(ask(case, facts))


def _scaled(value, scale):
    return None if value is None else int(Decimal(value) * (Decimal(10) ** scale)) + 1


def withheld(facts, day):
    return changed(facts, lambda _concept, _unit, rows: [row for row in rows if row.filed <= day])


@pytest.mark.slow
@PATIENT
@given(CASES, st.integers(0, 3650))
def test_what_was_filed_later_does_not_change_the_answer_of_a_day(case, days):
    day = case.today - timedelta(days=days)
    facts = case.filer.facts
    known = withheld(facts, day)
    # A filer without any row is told apart from one whose rows are all of the future: both have nothing to say.
    assert ask(case, known, day) == ask(case, facts, day)
    year_end = case.filer.company.fiscal_year_end
    assert series(known, year_end, day) == series(facts, year_end, day)


@pytest.mark.slow
@PATIENT
@given(CASES, st.integers(0, 400))
def test_since_the_day_of_its_filing_a_year_is_answered_as_it_is_today(case, days):
    now = ask(case, case.filer.facts)
    day = case.today - timedelta(days=days)
    then = ask(case, case.filer.facts, day)
    for figure, before in ((now.revenue, then.revenue), (now.net_income, then.net_income)):
        if figure is None:
            continue
        if day >= figure.filed:
            assert before == figure
        elif before is not None:
            assert before.filed <= day
            assert before.period_end <= figure.period_end


@pytest.mark.slow
@PATIENT
@given(CASES, st.integers(0, 3650))
def test_a_count_is_of_the_newest_report_of_its_day(case, days):
    day = case.today - timedelta(days=days)
    facts = case.filer.facts
    shares = ask(case, facts, day).shares
    if shares is None:
        return
    assert shares.as_of <= shares.filed <= day
    reports = [
        row.filed
        for units in facts.concepts.values()
        for rows in units.values()
        for row in rows
        if row.form in ("10-K", "10-Q", "20-F", "40-F") and row.filed <= day
    ]
    # Before its first annual report a foreign filer has only 6-Ks.
    assert not reports or shares.filed >= max(reports)


def test_two_documents_of_one_filer_agree_on_a_day_that_both_know():
    """The document of 2026 asked about 2021 answers what the document of 2021 answered."""
    early, late = (next(case for case in COMPANIES if case["id"] == name) for name in ("COP@2021", "COP@2026-07-24"))
    day = date.fromisoformat(early["today"])
    then, now = ask(early, early.filer.facts, day), ask(late, late.filer.facts, day)
    assert (then.revenue.value, then.revenue.accession) == (now.revenue.value, now.revenue.accession)
    assert (then.net_income.value, then.net_income.accession) == (now.net_income.value, now.net_income.accession)
