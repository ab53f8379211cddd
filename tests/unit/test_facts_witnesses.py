"""What outweighs what: lines of a report against years of history, one fall against a scale, two witnesses against a
slip that is repeated, interest against what else was taken off."""

import pytest

from yards.filings import study_small

YEAR = "2020-01-01 2020-12-31 10-K 2021-02-26"
BEFORE = "2019-01-01 2019-12-31"
ABROAD = "2020-01-01 2020-12-31 20-F 2021-03-08"


def test_the_currency_is_the_one_of_most_lines_of_the_report_though_another_has_the_longer_history():
    found = study_small(f"""
        ifrs-full:ProfitLoss EUR -140m 2015-01-01 2015-12-31 20-F 2018-03-02
        ifrs-full:ProfitLoss EUR -67m 2016-01-01 2016-12-31 20-F 2018-03-02
        ifrs-full:ProfitLoss EUR 1327m {BEFORE} 20-F 2021-03-08
        ifrs-full:ProfitLoss EUR 31m {ABROAD}
        ifrs-full:ProfitLoss USD 1458m {BEFORE} 20-F 2021-03-08
        ifrs-full:ProfitLoss USD 35m {ABROAD}
        ifrs-full:ProfitLossAttributableToOwnersOfParent USD 1458m {BEFORE} 20-F 2021-03-08
        ifrs-full:ProfitLossAttributableToOwnersOfParent USD 35m {ABROAD}
        ifrs-full:RevenueFromContractsWithCustomers USD 6660m {BEFORE} 20-F 2021-03-08
        ifrs-full:RevenueFromContractsWithCustomers USD 6731m {ABROAD}
    """)
    assert (found.net_income.value, found.net_income.unit) == (35_000_000, "USD")
    assert (found.revenue.value, found.revenue.unit) == (6_731_000_000, "USD")


WAS = f"{BEFORE} 10-K 2020-02-24"
SPUN = f"{BEFORE} 10-K 2021-02-26"


def test_a_company_of_which_little_is_left_after_a_spin_off_is_in_no_other_scale():
    """Its profit of the year before happens to be a thousandth, under two names; its revenue is a sixth."""
    found = study_small(f"""
        Revenues USD 914294k {WAS}
        NetIncomeLoss USD 474083k {WAS}
        commonIncome USD 466144k {WAS}
        Revenues USD 143692k {SPUN}
        NetIncomeLoss USD 304k {SPUN}
        commonIncome USD 304k {SPUN}
        Revenues USD 151451k {YEAR}
        NetIncomeLoss USD -5041k {YEAR}
        commonIncome USD -5041k {YEAR}
    """)
    assert found.revenue is not None
    assert found.revenue.value == 151_451_000
    assert found.net_income is not None
    assert found.net_income.value == -5_041_000


def test_one_amount_under_two_names_is_one_line_that_slipped():
    found = study_small(f"""
        NetIncomeLoss USD 474083k {WAS}
        ProfitLoss USD 466144k {WAS}
        NetIncomeLoss USD 304k {SPUN}
        ProfitLoss USD 304k {SPUN}
        Revenues USD 151451k {YEAR}
        NetIncomeLoss USD 5041k {YEAR}
        ProfitLoss USD 5041k {YEAR}
    """)
    assert found.revenue is not None
    assert found.revenue.value == 151_451_000


@pytest.mark.parametrize(("interest", "value"), [("51548k", 563_410_000), ("290000k", 260_595_000)])
def test_what_losses_on_loans_left_too_is_not_revenue_after_interest(interest, value):
    found = study_small(f"""
        Revenues USD 563410k {YEAR}
        netOfInterest USD 260595k {YEAR}
        InterestExpense USD {interest} {YEAR}
        NetIncomeLoss USD 94120k {YEAR}
    """)
    assert found.revenue.value == value


def test_interest_that_was_paid_tells_where_only_that_of_bonds_is_tagged():
    found = study_small(f"""
        Revenues USD 1623304k {YEAR}
        netOfInterest USD 1435579k {YEAR}
        InterestExpense USD 29000k {YEAR}
        InterestPaidNet USD 153653k {YEAR}
        NetIncomeLoss USD 216363k {YEAR}
    """)
    assert found.revenue.value == 1_435_579_000


SLIPPED = f"""
    ifrs-full:Revenue ARS 66111903k {BEFORE} 20-F 2021-03-08
    ifrs-full:ProfitLossAttributableToOwnersOfParent ARS 17432945 {BEFORE} 20-F 2021-03-08
    ifrs-full:BasicEarningsLossPerShare ARS/shares 22.46 {BEFORE} 20-F 2021-03-08
    ifrs-full:WeightedAverageShares shares 776121341 {BEFORE} 20-F 2021-03-08
    ifrs-full:Revenue ARS 55871438k {ABROAD}
    ifrs-full:ProfitLossAttributableToOwnersOfParent ARS 3286190 {ABROAD}
    ifrs-full:BasicEarningsLossPerShare ARS/shares 4.31 {ABROAD}
    ifrs-full:WeightedAverageShares shares 762371755 {ABROAD}
"""


def test_a_slip_that_every_year_repeats_is_seen_by_two_witnesses():
    found = study_small(SLIPPED + f"ifrs-full:ComprehensiveIncomeAttributableToOwnersOfParent ARS 3286190k {ABROAD}")
    assert found.net_income is None
    assert "a slip: it is 1000 times off" in found.note


def test_a_count_that_slips_every_year_is_no_witness_by_itself():
    found = study_small(SLIPPED + f"ifrs-full:ComprehensiveIncomeAttributableToOwnersOfParent ARS 3286190 {ABROAD}")
    assert found.net_income.value == 3_286_190


def test_revenue_of_a_clinic_after_provisions_is_its_revenue():
    found = study_small(f"""
        HealthCareOrganizationRevenueNetOfPatientServiceRevenueProvisions USD 2071519k {YEAR}
        CostsAndExpenses USD 1886623k {YEAR}
        OperatingIncomeLoss USD 219268k {YEAR}
        NetIncomeLoss USD 183608k {YEAR}
    """)
    assert found.revenue is not None
    assert found.revenue.value == 2_071_519_000


@pytest.mark.parametrize("metal", ["Gold", "Silver", "Copper"])
@pytest.mark.parametrize(("cost", "is_told"), [("830641k", True), ("990000k", False)])
def test_one_metal_is_all_of_a_mines_revenue_where_gross_profit_proves_it(metal, cost, is_told):
    found = study_small(f"""
        ifrs-full:RevenueFromSaleOf{metal} USD 1788928k {ABROAD}
        ifrs-full:GrossProfit USD 958287k {ABROAD}
        ifrs-full:CostOfSales USD {cost} {ABROAD}
        ifrs-full:ProfitLossAttributableToOwnersOfParent USD 628063k {ABROAD}
    """)
    assert (found.revenue is not None and found.revenue.value == 1_788_928_000) == is_told


def test_a_foreign_lenders_total_says_what_it_is_after_interest():
    """Westpac tags all three, and a total of gross interest and fees."""
    found = study_small(f"""
        ifrs-full:Revenue USD 30534m {ABROAD}
        ifrs-full:RevenueFromInterest USD 27047m {ABROAD}
        ifrs-full:InterestRevenueExpense USD 16696m {ABROAD}
        ifrs-full:ProfitLoss USD 2292m {ABROAD}
    """)
    assert found.revenue.value == 30_534_000_000
    assert "before interest expense: without what interest cost it is 20183000000" in found.note


def test_a_total_that_gross_interest_is_hardly_in_is_not_called_a_lenders():
    found = study_small(f"""
        ifrs-full:Revenue USD 30534m {ABROAD}
        ifrs-full:RevenueFromInterest USD 7047m {ABROAD}
        ifrs-full:InterestRevenueExpense USD 1696m {ABROAD}
        ifrs-full:ProfitLoss USD 2292m {ABROAD}
    """)
    assert "before interest expense" not in (found.note or "")


def test_revenue_but_interest_is_the_total_where_operation_bears_it_out():
    """WisdomTree tags nothing else; elsewhere it is a line beside the total."""
    lines = f"""
        RevenuesExcludingInterestAndDividends USD 253700k {YEAR}
        NetIncomeLoss USD -35655k {YEAR}
    """
    assert study_small(lines).revenue is None
    borne_out = f"""
        OperatingIncomeLoss USD 54700k {YEAR}
        OperatingExpenses USD 199000k {YEAR}
    """
    assert study_small(lines + borne_out).revenue.value == 253_700_000
