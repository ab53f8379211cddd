"""What lenders abroad call revenue: before interest and fees, after them, or gross income. As such filers tag it."""

import pytest

from yards.filings import study_small

ABROAD = "2020-01-01 2020-12-31 20-F 2021-03-05"


def test_the_income_of_a_lender_abroad_goes_before_what_it_was_before_interest_and_fees():
    found = study_small(f"""
        ifrs-full:Revenue GBP 13840m {ABROAD}
        ifrs-full:RevenueAndOperatingIncome GBP 10796m {ABROAD}
        ifrs-full:InterestRevenueExpense GBP 7749m {ABROAD}
        ifrs-full:RevenueFromInterest GBP 10071m {ABROAD}
        ifrs-full:ProfitLoss GBP -434m {ABROAD}
    """)
    assert found.revenue.value == 10_796_000_000
    assert "what is left of 13840000000" in found.note


@pytest.mark.parametrize(("beside", "revenue"), [
    ("ifrs-full:InterestRevenueExpense GBP -238m", 2_101),  # a cost: no lender
    ("ifrs-full:InterestRevenueExpense GBP 2000m", 2_101),  # not in that income
    ("ifrs-full:InterestRevenueExpense GBP 400m", 2_101),  # a trade: far more is sold than is earned so
])  # fmt: skip
def test_other_income_of_who_is_no_lender_is_no_revenue(beside, revenue):
    found = study_small(f"""
        ifrs-full:Revenue GBP 2101m {ABROAD}
        ifrs-full:RevenueAndOperatingIncome GBP 500m {ABROAD}
        {beside} {ABROAD}
        ifrs-full:ProfitLoss GBP 43m {ABROAD}
    """)
    assert found.revenue.value == revenue * 1_000_000


def test_the_gross_income_of_a_lender_abroad_that_tags_no_total_is_its_revenue():
    found = study_small(f"""
        ifrs-full:GrossProfit EUR 20166m {ABROAD}
        ifrs-full:InterestRevenueExpense EUR 14592m {ABROAD}
        ifrs-full:ProfitLoss EUR 2060m {ABROAD}
    """)
    assert found.revenue.value == 20_166_000_000
    assert "gross profit" in found.note


@pytest.mark.parametrize("beside", [
    "ifrs-full:CostOfSales EUR 9000m",  # goods are sold
    "ifrs-full:InterestRevenueExpense EUR 900m",  # earned on what lies at a bank
])  # fmt: skip
def test_a_gross_profit_alone_is_no_revenue_of_who_is_no_lender(beside):
    found = study_small(f"""
        ifrs-full:GrossProfit EUR 20166m {ABROAD}
        ifrs-full:InterestRevenueExpense EUR 800m {ABROAD}
        {beside} {ABROAD}
        ifrs-full:ProfitLoss EUR 2060m {ABROAD}
    """)
    assert found.revenue is None
