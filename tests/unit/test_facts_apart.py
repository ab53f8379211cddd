"""Totals and counts of which a filing tells only parts, or one class: as filers have told theirs."""

from datetime import date

import pytest

from yards.filings import study_small

YEAR = "2020-01-01 2020-12-31 10-K 2021-02-26"
ABROAD = "2020-01-01 2020-12-31 20-F 2021-04-21"


def test_a_landlords_total_is_proved_by_rent_and_fees_though_its_sales_of_houses_brought_more():
    found = study_small(f"""
        Revenues USD 66278k {YEAR}
        LeaseIncome USD 62134k {YEAR}
        contracts USD 4144k {YEAR}
        IncomeLossFromContinuingOperationsBeforeIncomeTaxesExtraordinaryItemsNoncontrollingInterest USD 451900k {YEAR}
        NetIncomeLoss USD 451294k {YEAR}
    """)
    assert found.revenue.value == 66_278_000


@pytest.mark.parametrize(("expenses", "is_told"), [("677567k", True), ("600000k", False)])
def test_advice_is_all_of_an_advisers_revenue_where_its_expenses_prove_it(expenses, is_told):
    found = study_small(f"""
        InvestmentBankingRevenue USD 943276k {YEAR}
        OperatingExpenses USD {expenses} {YEAR}
        OperatingIncomeLoss USD 265709k {YEAR}
        NetIncomeLoss USD 178831k {YEAR}
    """)
    assert (found.revenue is not None and found.revenue.value == 943_276_000) == is_told


def test_water_is_a_utilitys_revenue_beside_contracts_that_are_not_all_of_it():
    found = study_small(f"""
        us-gaap:RegulatedOperatingRevenueWater USD 794307k {YEAR}
        contracts USD 697577k {YEAR}
        RevenueNotFromContractWithCustomer USD 96730k {YEAR}
        OperatingIncomeLoss USD 136666k {YEAR}
        NetIncomeLoss USD 96831k {YEAR}
    """)
    assert found.revenue.value == 794_307_000


def test_transport_is_an_airlines_revenue_where_nothing_else_is_tagged():
    found = study_small(f"""
        ifrs-full:RevenueFromRenderingOfTransportServices MXN 22159639k {ABROAD}
        ifrs-full:ProfitLoss MXN -4293791k {ABROAD}
    """)
    assert found.revenue.value == 22_159_639_000


def test_revenue_far_below_revenue_with_other_income_is_told_to_be_a_part():
    found = study_small(f"""
        ifrs-full:Revenue BRL 5016488k {ABROAD}
        ifrs-full:RevenueAndOperatingIncome BRL 8151605k {ABROAD}
        ifrs-full:ProfitLoss BRL 2081489k {ABROAD}
    """)
    assert "8151605000 as revenue with other income" in found.note


COMMON = f"""
    cover shares 573627483 - 2019-12-31 20-F 2020-03-31
    cover shares {{cover}} - 2020-12-31 20-F 2021-04-21
    ifrs-full:Revenue BRL 43814661k {ABROAD}
    ifrs-full:ProfitLossAttributableToOwnersOfParent BRL 2365763k {ABROAD}
    ifrs-full:BasicEarningsLossPerShare BRL/shares 1.39 {ABROAD}
"""


def test_covers_that_leave_out_preferred_shares_every_year_are_found_out_by_profit_per_share():
    found = study_small(COMMON.format(cover=573627483))
    assert found.shares is None
    assert "may leave out a class" in found.note


def test_a_profit_that_is_not_all_the_owners_tells_of_no_class():
    whole = COMMON.replace("AttributableToOwnersOfParent", "").format(cover=573627483)
    assert study_small(whole).shares.value == 573_627_483


def test_an_amendment_that_repeats_its_cover_tells_of_no_other_year():
    again = COMMON.format(cover=573627483).replace("2019-12-31 20-F 2020-03-31", "2020-12-31 20-F 2021-04-20")
    assert study_small(again).shares.value == 573_627_483


def test_a_cover_that_is_lower_than_the_one_before_may_follow_a_reverse_split():
    assert study_small(COMMON.format(cover=191209161)).shares.value == 191_209_161


def test_an_average_a_thousand_times_too_large_is_set_right_by_profit_per_share_of_what_goes_on():
    """The profit per share itself is tagged in another currency."""
    found = study_small(f"""
        cover shares 262288607 - 2017-12-31 20-F/A 2018-05-04
        ifrs-full:Revenue BRL 6814673k {ABROAD}
        ifrs-full:ProfitLossAttributableToOwnersOfParent BRL 1291658k {ABROAD}
        ifrs-full:BasicEarningsLossPerShare USD/shares 3.9225 {ABROAD}
        ifrs-full:BasicEarningsLossPerShareFromContinuingOperations BRL/shares 3.9225 {ABROAD}
        ifrs-full:WeightedAverageShares shares 329292240000 {ABROAD}
    """)
    assert found.shares.value == 329_292_240


@pytest.mark.parametrize(("cover", "is_told"), [(51932214, True), (266000000, False)])
def test_a_newcomers_cover_far_below_who_shared_the_profit_before_may_leave_out_a_class(cover, is_told):
    year = "2022-01-01 2022-12-31 20-F 2023-02-23"
    text = f"""
        cover shares {cover} - 2023-02-10 20-F 2023-02-23
        ifrs-full:Revenue USD 1581600k {year}
        ifrs-full:ProfitLoss USD 102900k {year}
        ifrs-full:BasicEarningsLossPerShare USD/shares 0.46 {year}
        ifrs-full:WeightedAverageShares shares 225500000 {year}
    """  # fmt: skip
    found = study_small(text, date(2023, 7, 24))
    assert found.shares.value == cover
    assert ("may leave out a class" in (found.note or "")) == is_told
