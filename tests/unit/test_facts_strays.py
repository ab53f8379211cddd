"""What an annual report tells beside its own years: the weeks since, twelve months to another day."""

from datetime import date

import pytest

from tickyard.features.research.series.series import series
from tickyard.features.research.study import study
from tickyard.sandbox.filings.rows import company_facts, rows_of
from tickyard.sources.filings.border import Company, read_facts

TODAY = date(2024, 6, 15)
FILED = "10-K 2024-02-24"
YEAR, BEFORE = f"2023-01-01 2023-12-31 {FILED}", f"2022-01-01 2022-12-31 {FILED}"
COMPANY = Company(cik=1, name="Example", tickers=("EXM",), exchanges=("NYSE",), sic="7372", state="DE")
REPORT = f"""
    Revenues USD 9000m {YEAR}
    NetIncomeLoss USD 700m {YEAR}
    OperatingIncomeLoss USD 900m {YEAR}
    Revenues USD 8600m {BEFORE}
    NetIncomeLoss USD 650m {BEFORE}
"""


def facts_of(text):
    return read_facts(company_facts(1, "Example", rows_of(text)), 1)


def ask(text):
    return study(COMPANY, facts_of(text), TODAY)


@pytest.mark.parametrize("line", [
    f"contracts USD 90m 2024-01-01 2024-02-14 {FILED}",
    f"NetIncomeLoss USD 12m 2024-01-01 2024-01-31 {FILED}",
])  # fmt: skip
def test_news_of_the_weeks_since_the_year_makes_no_new_company(line):
    found = ask(REPORT + line)
    assert (found.revenue.value, found.net_income.value) == (9_000_000_000, 700_000_000)
    assert series(facts_of(REPORT + line), "1231", TODAY).trailing.revenue.value == 9_000_000_000


@pytest.mark.parametrize("line", [
    f"OilAndGasRevenue USD 70m 2023-02-01 2024-01-31 {FILED}",
    f"NetIncomeLoss USD 7m 2023-02-01 2024-01-31 {FILED}",
    # As if all of it were in the currency of somebody else's year.
    f"NetIncomeLoss CNY 7m 2023-02-01 2024-01-31 {FILED}",
])  # fmt: skip
def test_twelve_months_that_end_between_the_years_of_a_filing_are_no_year(line):
    found = ask(REPORT + line)
    assert (found.revenue.value, found.net_income.value) == (9_000_000_000, 700_000_000)
    assert found.revenue.period_end == date(2023, 12, 31)
    ends = [year.end for year in series(facts_of(REPORT + line), "1231", TODAY).annual]
    assert ends == [date(2023, 12, 31), date(2022, 12, 31)]


def test_a_candidate_of_other_months_is_told_from_one_of_no_year():
    found = ask(f"{REPORT}OilAndGasRevenue USD 70m 2023-02-01 2024-01-31 {FILED}")
    told = next(each for each in found.candidates.revenue if each.concept == "us-gaap:OilAndGasRevenue")
    assert told.reason == "Its twelve months do not end with the filer's year, on 2023-12-31."


def test_a_year_that_ends_on_another_day_stands_where_it_is_told_as_fully():
    """Who moves the end of the year repeats the last one to the old day."""
    found = ask(f"""
        Revenues USD 5000m 2022-10-01 2023-09-30 {FILED}
        NetIncomeLoss USD 400m 2022-10-01 2023-09-30 {FILED}
        Revenues USD 5200m {YEAR}
        NetIncomeLoss USD 410m {YEAR}
    """)
    assert (found.revenue.value, found.net_income.value) == (5_200_000_000, 410_000_000)
