"""Profit per share of real filers in a wrong scale or with a turned sign: it is the odd one, and harms no other figure."""

from datetime import date
from decimal import Decimal

import pytest

from tickyard.features.research.filed import concepts
from tickyard.features.research.series.series import series
from tickyard.features.research.study import study
from tickyard.sources.filings.border import CompanyFacts
from yards.filings import cases, companies, slipped

CASES = {case["id"]: case for case in cases()}
COMPANIES = companies()
PER_SHARE = dict.fromkeys((*concepts.PER_SHARE, *concepts.DILUTED_PER_SHARE))
AVERAGES = dict.fromkeys((*concepts.AVERAGE_COUNTS, *concepts.DILUTED_COUNTS))


def ask(name, facts=None, today=None):
    case = CASES[name]
    return study(case.filer.company, facts or case.filer.facts, today or case.today)


def changed(name, wanted, accession, change):
    facts = CASES[name].filer.facts
    for concept in wanted:
        if concept in facts.concepts:
            facts = slipped(facts, concept, accession, change)
    return facts


def periods(name, facts=None):
    case = CASES[name]
    found = series(facts or case.filer.facts, case.filer.company.fiscal_year_end, case.today)
    return {each.end.isoformat(): each for each in (*found.quarterly, *found.annual)}


def test_a_loss_per_share_beside_a_profit_is_not_shown():
    quarter = periods("FB@2021")["2011-09-30"]
    assert quarter.net_income.value == 227_000_000
    assert quarter.diluted_eps.value is None
    assert "opposite sign" in quarter.diluted_eps.reason


def test_a_loss_per_share_beside_a_profit_stays_where_preferred_dividends_took_it_all():
    year = periods("QSR@2021")["2014-12-31"]
    assert (year.net_income.value, year.diluted_eps.value) == (161_400_000, Decimal("-2.32"))


SLIPS = pytest.mark.parametrize(
    "change",
    [lambda n: n * 1000, lambda n: Decimal(n) / 1000, lambda n: n * 10**6, lambda n: -n],
    ids=["x1000", "/1000", "x1000000", "turned"],
)


# Of these two only profit per share tells which of the amounts that are called profit is the owners'.
@pytest.mark.slow
@SLIPS
@pytest.mark.parametrize("wanted", [PER_SHARE, AVERAGES], ids=["per share", "average"])
@pytest.mark.parametrize("name", ["EQR@2021", "MA@2021"])
def test_the_owners_part_is_told_by_the_digits_of_profit_per_share_in_whatever_scale(name, wanted, change):
    right = ask(name).net_income
    found = ask(name, changed(name, wanted, right.accession, change)).net_income
    assert (found.value, found.concept) == (right.value, right.concept)


# One has told of a single year: nothing but its profit per share could bear it out.
@pytest.mark.slow
@pytest.mark.parametrize("change", [lambda n: n * 1000, lambda n: Decimal(n) / 1000, lambda n: n * 10**6])
@pytest.mark.parametrize("name", [name for name in COMPANIES if name != "LPA@2025-05-01"])
def test_a_profit_per_share_that_slips_in_one_report_takes_no_other_figure_with_it(name, change):
    right = ask(name)
    if right.net_income is None:
        return
    found = ask(name, changed(name, PER_SHARE, right.net_income.accession, change))
    assert (found.revenue, found.net_income) == (right.revenue, right.net_income)


# No cover of these gives one count, so the average is the answer.
@pytest.mark.slow
@pytest.mark.parametrize("change", [lambda n: n * 1000, lambda n: Decimal(n) / 1000], ids=["x1000", "/1000"])
@pytest.mark.parametrize("name", ["FB@2021", "SCHW@2021", "SPG@2021", "MA@2021", "SHOP@2021", "TEAM@2021"])
def test_shares_are_not_divided_by_a_thousand_because_profit_per_share_slipped(name, change):
    right = ask(name).shares
    facts = changed(name, PER_SHARE, right.accession, change)
    assert ask(name, facts).shares == right
    end = right.as_of.isoformat()
    before, after = periods(name)[end], periods(name, facts)[end]
    assert (after.shares.value, after.net_income.value) == (before.shares.value, before.net_income.value)
    assert after.diluted_eps.value is None


@pytest.mark.parametrize("name", ["SHOP@2021", "HMC@2021"])
def test_an_average_in_thousands_is_set_right_where_other_counts_side_with_profit_per_share(name):
    right = ask(name).shares
    found = ask(name, changed(name, AVERAGES, right.accession, lambda n: n // 1000))
    assert abs(found.shares.value - right.value) < 1000
    assert "a factor of 1000 off" in found.note


def test_an_average_that_is_in_thousands_every_year_is_no_witness_for_itself():
    case = CASES["COP@2021"]
    left = {name: units for name, units in case.filer.facts.concepts.items() if not name.startswith("dei:")}
    found = study(case.filer.company, CompanyFacts(case.cik, left, case.filer.facts.unread), case.today)
    assert found.shares.value == 1_300_375_000


@pytest.mark.parametrize(
    ("day", "value"),
    [("2018-03-01", 3_915_000_000), ("2019-03-01", 5_859_000_000), ("2020-03-01", 8_118_000_000)],
)
def test_a_minority_too_small_for_cents_a_share_is_judged_by_the_years_before(day, value):
    """It tags its owners' part with the name of the whole, and a minority that its statement of income does not know."""
    found = ask("MA@2021", today=date.fromisoformat(day))
    assert found.net_income.value == value
    assert "netIncome" not in (found.note or "")
