"""Lines of a filing that are not the filer's own year, or not what they are called: as filers have told theirs."""

import pytest

from tickyard.sandbox.filings.rows import amount
from yards.filings import study_small

YEAR = "2020-01-01 2020-12-31 10-K 2021-02-26"
AMENDED = "2020-01-01 2020-12-31 10-K/A 2021-03-31"
ABROAD = "2020-01-01 2020-12-31 20-F 2021-04-21"

HOLDER = f"""
    SalesRevenueNet USD 884535k {YEAR}
    CostOfRevenue USD 775801k {YEAR}
    OperatingExpenses USD 846055k {YEAR}
    OperatingIncomeLoss USD 38480k {YEAR}
    ProfitLoss USD 8004k {YEAR}
    NetIncomeLossAttributableToNoncontrollingInterest USD 774k {YEAR}
    NetIncomeLoss USD 7230k {YEAR}
    EarningsPerShareBasic USD/shares 0.16 {YEAR}
    average shares 46244188 {YEAR}
"""


def test_an_amendment_that_adds_the_statements_of_another_company_is_not_heard():
    """Who holds a part of a company must file its statements too, and does so in an amendment."""
    found = study_small(f"""{HOLDER}
        HealthCareOrganizationRevenue USD 58295k {AMENDED}
        CostOfRevenue USD 37620k {AMENDED}
        OperatingExpenses USD 41962k {AMENDED}
        OperatingIncomeLoss USD 13537k {AMENDED}
        NetIncomeLoss USD 13516k {AMENDED}
    """)
    assert (found.revenue.value, found.net_income.value) == (884_535_000, 7_230_000)
    reasons = {each.reason for each in (*found.candidates.revenue, *found.candidates.net_income)}
    assert sum("another company" in each for each in reasons) == 1


@pytest.mark.parametrize("own", [
    f"EarningsPerShareBasic USD/shares 0.29 {AMENDED}",
    f"OperatingExpenses USD 846055k {AMENDED}",
    f"OperatingExpenses USD 826055k {AMENDED}\nCostOfRevenue USD 755801k {AMENDED}",
])  # fmt: skip
def test_an_amendment_that_restates_the_filers_own_year_is_heard(own):
    found = study_small(f"""{HOLDER}
        OperatingIncomeLoss USD 13537k {AMENDED}
        NetIncomeLoss USD 2516k {AMENDED}
        SalesRevenueNet USD 584535k {AMENDED}
        {own}
    """)
    assert found.net_income.value == 2_516_000


def test_an_amendment_that_only_restates_a_loss_is_heard():
    """As blank cheques did when warrants became debts: nothing is sold, and each line is another amount."""
    found = study_small(f"""
        NetIncomeLoss USD -3637k {YEAR}
        OperatingIncomeLoss USD -3641k {YEAR}
        us-gaap:EarningsPerShareBasicAndDiluted USD/shares -0.14 {YEAR}
        NetIncomeLoss USD -312408k {AMENDED}
        OperatingIncomeLoss USD -312412k {AMENDED}
    """)
    assert found.net_income.value == -312_408_000


def test_a_company_that_lost_all_it_spent_has_sold_nothing():
    """A number of a note that stands under the name of revenue."""
    told = f"""
        Revenues USD 1070m {YEAR}
        OperatingIncomeLoss USD -825014 {YEAR}
        OperatingExpenses USD 825014 {YEAR}
        NetIncomeLoss USD -1824690 {YEAR}
    """
    found = study_small(told)
    assert found.revenue is None
    assert "all that was spent" in found.note
    assert study_small(f"{told}\nGrossProfit USD 0 {YEAR}").revenue is not None


@pytest.mark.parametrize(("value", "spent", "loss"), [(643, 825657, -825014), (8200, 825014, -816814)])
def test_a_shell_that_sold_a_little_has_sold_it(value, spent, loss):
    """What rounding hides, and what the loss of the year knows although the line above it does not."""
    found = study_small(f"""
        Revenues USD {value} {YEAR}
        OperatingIncomeLoss USD -825014 {YEAR}
        OperatingExpenses USD {spent} {YEAR}
        NetIncomeLoss USD {loss} {YEAR}
    """)
    assert found.revenue.value == value


def test_half_as_much_again_as_interest_is_a_margin_after_losses_on_loans():
    found = study_small(f"""
        Revenues USD 600100k {YEAR}
        netOfInterest USD 446800k {YEAR}
        InterestExpense USD 60500k {YEAR}
        NetIncomeLoss USD 61600k {YEAR}
    """)
    assert found.revenue.value == 600_100_000


def test_contracts_never_told_before_are_not_the_revenue_that_the_year_before_bears_out():
    """A table of contracts that are still to be fulfilled."""
    before = "2019-01-01 2019-12-31 20-F 2021-04-21"
    told = f"""
        ifrs-full:Revenue CAD 15549k {ABROAD}
        ifrs-full:RevenueFromContractsWithCustomers CAD 86489k {ABROAD}
        ifrs-full:ProfitLoss CAD -18141k {ABROAD}
    """
    found = study_small(f"{told}\nifrs-full:Revenue CAD 15550k {before}")
    assert found.revenue.value == 15_549_000
    assert study_small(told).revenue.value == 86_489_000


def test_a_total_that_is_less_than_what_was_left_and_spent_in_operation_is_said():
    found = study_small(f"""
        Revenues USD 1433126k {YEAR}
        OperatingExpenses USD 1462797k {YEAR}
        NonoperatingIncomeExpense USD 122539k {YEAR}
        {"IncomeLossFromContinuingOperationsBeforeIncomeTaxesMinorityInterestAndIncomeLossFromEquityMethodInvestments"} \
            USD 425180k {YEAR}
        NetIncomeLoss USD 148884k {YEAR}
    """)
    assert "1765438000" in found.note


@pytest.mark.parametrize(("told", "owners", "heard"), [
    # A profit of a table of pay and performance: adjusted, or in millions.
    ("96000k 1.92 50000000", "104300k", "96000k"),
    ("-7412k -0.31 23900000", "-7m", "-7412k"),
    # Where profit per share bears out neither, or both, the newest filing speaks.
    ("96000k 1.72 50000000", "104300k", "104300k"),
    ("96000k 1.92 50000000", "96103k", "96103k"),
])  # fmt: skip
def test_a_lone_profit_of_an_amendment_is_not_heard_against_profit_per_share(told, owners, heard):
    profit, per_share, average = told.split()
    found = study_small(f"""
        Revenues USD 812m {YEAR}
        NetIncomeLoss USD {profit} {YEAR}
        EarningsPerShareBasic USD/shares {per_share} {YEAR}
        average shares {average} {YEAR}
        NetIncomeLoss USD {owners} {AMENDED}
    """)
    assert found.net_income.value == amount(heard)


@pytest.mark.parametrize("beside", [
    # What is available to common, and the preferred dividends that lead there.
    f"commonIncome USD 120227k {YEAR}\n        PreferredStockDividendsIncomeStatementImpact USD 24000k {YEAR}",
    f"PreferredStockDividendsIncomeStatementImpact USD 24000k {YEAR}",
])  # fmt: skip
def test_preferred_dividends_do_not_hide_that_profit_per_share_refutes_a_lone_profit(beside):
    found = study_small(f"""
        Revenues USD 812m {YEAR}
        NetIncomeLoss USD 144227k {YEAR}
        {beside}
        EarningsPerShareBasic USD/shares 1.20 {YEAR}
        average shares 100189000 {YEAR}
        NetIncomeLoss USD 173072k {AMENDED}
    """)
    assert found.net_income.value == 144_227_000
