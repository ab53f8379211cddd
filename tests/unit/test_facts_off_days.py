"""Periods that are some days off the one of the statement: as filers have told theirs."""

from datetime import date

import pytest

from tickyard.features.research.series.series import series
from yards.filings import small, study_small

YEAR = "2023-12-31 2024-12-28 10-K 2025-02-18"
WEEKS = f"""
    Revenues USD 2843100k {YEAR}
    CostOfRevenue USD 1870000k {YEAR}
    GrossProfit USD 973100k {YEAR}
    OperatingIncomeLoss USD 301000k {YEAR}
    ProfitLoss USD 251000k {YEAR}
    NetIncomeLossAttributableToNoncontrollingInterest USD 37000k {YEAR}
    NetIncomeLoss USD 214000k {YEAR}
"""


@pytest.mark.parametrize("stray", [
    "OperatingLeaseLeaseIncome USD 8900k 2024-01-01 2024-12-31 10-K 2025-02-18",
    "Revenues USD 311000k 2024-01-01 2024-12-31 10-K 2025-02-18",
    "NetIncomeLoss USD 251000k 2024-01-01 2024-12-29 10-K 2025-02-18",
    # The same day, and a longer year.
    "Revenues USD 311000k 2023-12-30 2024-12-28 10-K 2025-02-18",
    # A table of pay and performance tells calendar years.
    "NetIncomeLoss USD 251000k 2024-01-01 2024-12-31 10-K/A 2025-04-25",
])  # fmt: skip
def test_a_line_that_is_some_days_off_makes_no_year_of_its_own(stray):
    found = study_small(f"{WEEKS}\n{stray}", date(2025, 5, 15))
    assert (found.revenue.value, found.net_income.value) == (2_843_100_000, 214_000_000)
    assert found.revenue.period_end == found.net_income.period_end == date(2024, 12, 28)
    told = series(small(f"{WEEKS}\n{stray}"), "1231", date(2025, 5, 15)).annual
    assert [(each.end, each.revenue.value) for each in told] == [(date(2024, 12, 28), 2_843_100_000)]


@pytest.mark.parametrize("name", ["Revenues", "NetIncomeLoss"])
def test_the_only_line_of_its_kind_is_read_with_the_period_of_the_statement(name):
    text = "\n".join(
        line.replace(YEAR, "2024-01-01 2024-12-31 10-K 2025-02-18") if f" {name} " in line else line
        for line in WEEKS.splitlines()
    )
    found = study_small(text, date(2025, 5, 15))
    assert (found.revenue.value, found.net_income.value) == (2_843_100_000, 214_000_000)
    assert found.revenue.period_end == found.net_income.period_end == date(2024, 12, 28)


def test_a_statement_by_other_days_is_not_moved():
    """As many lines of the later days as of the others: nothing tells which of them is the slip."""
    text = """
        Revenues USD 300m 2024-01-01 2024-12-31 10-K 2025-02-18
        NetIncomeLoss USD 20m 2024-01-01 2024-12-31 10-K 2025-02-18
        Revenues USD 299m 2023-12-31 2024-12-28 10-K 2025-02-18
        NetIncomeLoss USD 19m 2023-12-31 2024-12-28 10-K 2025-02-18
        OperatingIncomeLoss USD 19m 2023-12-31 2024-12-28 10-K 2025-02-18
    """
    assert study_small(text, date(2025, 5, 15)).revenue.value == 300_000_000


@pytest.mark.parametrize("name", ["Revenues", "GrossProfit"])
def test_what_an_investee_sold_by_calendar_years_is_no_line_of_the_statement(name):
    found = study_small(f"""
        RevenueFromContractWithCustomerExcludingAssessedTax USD 5000m {YEAR}
        CostOfRevenue USD 3500m {YEAR}
        OperatingIncomeLoss USD 420m {YEAR}
        NetIncomeLoss USD 300m {YEAR}
        {name} USD 9000m 2024-01-01 2024-12-31 10-K 2025-02-18
    """, date(2025, 5, 15))  # fmt: skip
    assert found.revenue.value == 5_000_000_000
