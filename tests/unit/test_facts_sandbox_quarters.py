"""The quarters of the sandbox's filers: most make up a trailing year, and those that do not say why."""

import pytest

from tickyard.features.research.series.series import series
from tickyard.sandbox.filings.companies import filers
from tickyard.sandbox.filings.data import document_at, expected
from tickyard.sandbox.filings.ordinary import AS_OF
from tickyard.sandbox.filings.rows import later
from tickyard.sources.filings.border import read_company, read_facts

COMPANIES = {filer.symbol: filer.cik for filer in filers() if expected()[filer.symbol].is_company}


def told(symbol, years=0):
    cik = COMPANIES[symbol]
    company = read_company(document_at(f"submissions/CIK{cik:010d}.json", years), cik)
    body = document_at(f"api/xbrl/companyfacts/CIK{cik:010d}.json", years)
    return series(read_facts(body, cik), company.fiscal_year_end, later(AS_OF, years))


@pytest.mark.slow
@pytest.mark.parametrize("years", [0, 3])
def test_most_companies_have_a_trailing_year_and_profit_per_share(years):
    found = [told(symbol, years) for symbol in COMPANIES if symbol != "P"]
    wholes = [each for each in found if each.trailing.revenue.value and each.trailing.net_income.value]
    per_share = [each for each in found if each.annual[0].diluted_eps.value is not None]
    assert len(found) * 9 < len(wholes) * 10 < len(found) * 10
    assert len(found) * 4 < len(per_share) * 5 < len(found) * 5


def test_the_quarters_of_a_year_make_up_the_year_and_the_fourth_is_told_by_subtraction():
    found = told("KO")
    year, four = found.annual[0], found.quarterly[2:6]
    assert four[0].end == year.end
    assert four[-1].start == year.start
    assert sum(each.revenue.value for each in four) == year.revenue.value
    assert sum(each.net_income.value for each in four) == year.net_income.value
    assert four[0].diluted_eps.value is None
    assert all(each.diluted_eps.value > 0 and each.shares.value > 0 for each in four[1:])
    assert found.trailing.revenue.value == sum(each.revenue.value for each in found.quarterly[:4])


def test_the_first_name_of_the_list_has_all_of_it():
    found = told("AAPL")
    assert found.trailing.end.isoformat() == "2026-06-27"
    assert all(each.diluted_eps.value for each in found.quarterly[:7])


def test_a_quarter_that_was_never_filed_leaves_no_trailing_year():
    assert "is not reported" in told("DJT").trailing.revenue.reason


def test_a_restated_quarter_shows_what_it_was_and_counts_as_it_is():
    found = told("UAL")
    first = found.quarterly[1]
    assert first.revenue.form == "10-Q/A"
    assert first.revenue.earlier[0].value < first.revenue.value
    assert found.trailing.revenue.value is not None


def test_a_year_that_was_recast_by_one_quarter_is_not_added_up():
    assert "restates the one ended" in told("HON").trailing.revenue.reason


def test_a_filer_may_tag_no_profit_per_share():
    assert told("GD").annual[0].diluted_eps.value is None
    assert told("GD").annual[0].shares.value is not None
