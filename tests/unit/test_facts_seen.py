"""What was seen in the documents of many filers and would have been answered wrong. The figures are the filers' own."""

from datetime import date

import pytest

from tickyard.features.research.filed.concepts import PRETAX
from tickyard.features.research.study import study
from tickyard.sandbox.filings.rows import company_facts, rows_of
from tickyard.sources.filings.border import read_facts
from yards.filings import cases

CASES = {case["id"]: case for case in cases()}
YEAR = "2020-01-01 2020-12-31 10-K 2021-02-26"


def made(text):
    facts = read_facts(company_facts(1, "Example", rows_of(text)), 1)
    return study(CASES["AAPL@2021"].filer.company, facts, date(2021, 7, 24))


def test_a_bank_that_tags_no_revenue_at_all_as_its_total_has_its_interest_and_other_income():
    """A column that is empty in some note is tagged as nothing, and stands under the name of the total."""
    found = made(f"""
        Revenues USD 0 {YEAR}
        InterestAndDividendIncomeOperating USD 203945k {YEAR}
        InterestIncomeExpenseNet USD 174381k {YEAR}
        NoninterestIncome USD 78308k {YEAR}
        NetIncomeLoss USD 46916k {YEAR}
    """)
    assert found.revenue.value == 252_689_000
    assert "net interest plus non-interest income" in found.note


def test_no_revenue_is_an_answer_where_a_little_interest_came_in_beside_it():
    found = made(f"""
        Revenues USD 0 {YEAR}
        InterestIncomeExpenseNet USD 310k {YEAR}
        NetIncomeLoss USD -4200k {YEAR}
    """)
    assert found.revenue.value == 0


def test_nothing_is_no_total_beside_a_gross_profit():
    found = made(f"""
        Revenues USD 0 {YEAR}
        GrossProfit USD 310m {YEAR}
        NetIncomeLoss USD 42m {YEAR}
    """)
    assert found.revenue is None


COUNTED = """
    cover shares {before} - 2021-02-01 10-K 2021-02-08
    average shares {average} 2020-01-01 2020-12-31 10-K 2021-02-08
    cover shares {cover} - 2021-04-29 10-Q 2021-05-06
    balance shares {balance} - 2021-03-31 10-Q 2021-05-06
    average shares {average} 2021-01-01 2021-03-31 10-Q 2021-05-06
    NetIncomeLoss USD 504446k 2020-01-01 2020-12-31 10-K 2021-02-08
"""


@pytest.mark.parametrize(("before", "average", "cover", "balance"), [
    (122_963_727, 122_923_000, 124_167_045, 323_154_000),
    (39_991_662, 39_543_000, 40_083_525, 69_816_000),
])  # fmt: skip
def test_a_balance_sheet_that_counts_the_treasury_does_not_outvote_cover_and_average(before, average, cover, balance):
    found = made(COUNTED.format(before=before, average=average, cover=cover, balance=balance))
    assert found.shares.value == cover
    assert "sharesOutstanding" not in found.note


def test_a_cover_that_the_average_and_the_balance_sheet_exceed_still_leaves_out_a_class():
    found = made(COUNTED.format(before=60_000_000, average=120_000_000, cover=60_100_000, balance=121_000_000))
    assert found.shares.value == 121_000_000


def test_a_minority_within_the_rounding_of_the_average_is_not_taken_off_again():
    """Profit per share times a number of shares in tenths of a million comes nearer to the wrong one of two."""
    found = made(f"""
        NetIncomeLoss USD 184400k {YEAR}
        NetIncomeLossAttributableToNoncontrollingInterest USD 400k {YEAR}
        EarningsPerShareBasic USD/shares 8.98 {YEAR}
        average shares 20500k {YEAR}
    """)
    assert found.net_income.value == 184_400_000


def test_a_part_in_others_profits_is_no_revenue_though_it_is_counted_into_what_was_left():
    found = made(f"""
        contracts USD 26183k {YEAR}
        CostsAndExpenses USD 23879k {YEAR}
        OperatingIncomeLoss USD 6100k {YEAR}
        IncomeLossFromEquityMethodInvestments USD 3796k {YEAR}
        NetIncomeLoss USD 9666k {YEAR}
    """)
    assert found.revenue.value == 26_183_000
    assert "revenue" not in found.note


def test_operating_income_of_another_kind_says_nothing_where_the_sum_before_taxes_is_the_contracts():
    found = made(f"""
        contracts USD 2134043k {YEAR}
        CostsAndExpenses USD 2841048k {YEAR}
        OperatingIncomeLoss USD -171461k {YEAR}
        {PRETAX[0].partition(":")[2]} USD -705567k {YEAR}
        NetIncomeLoss USD -805641k {YEAR}
    """)
    assert found.revenue.value == 2_134_043_000
    assert "revenue" not in found.note


def test_contracts_far_below_what_was_left_and_spent_are_a_part():
    found = made(f"""
        contracts USD 161956k {YEAR}
        CostsAndExpenses USD 1404313k {YEAR}
        OperatingIncomeLoss USD 1100000k {YEAR}
        NetIncomeLoss USD 900m {YEAR}
    """)
    assert found.revenue is None


def test_the_owners_part_is_no_stranger_where_preferred_dividends_lead_from_it_to_the_common_shares():
    """A second minority stands under a name of its own, so that the one that is tagged does not lead to the owners'."""
    found = made(f"""
        ProfitLoss USD -124677k {YEAR}
        NetIncomeLossAttributableToNonredeemableNoncontrollingInterest USD -6436k {YEAR}
        NetIncomeLoss USD -105262k {YEAR}
        PreferredStockDividendsIncomeStatementImpact USD 10219k {YEAR}
        commonIncome USD -115481k {YEAR}
        EarningsPerShareBasic USD/shares -3.39 {YEAR}
        average shares 33998k {YEAR}
    """)
    assert found.net_income.value == -105_262_000


def test_a_business_on_the_side_is_no_total_though_its_gross_profit_proves_it():
    """Containers are leased out, and a few are traded: only the trade has a cost of sales and the name of the total."""
    found = made(f"""
        Revenues USD 85780k {YEAR}
        GrossProfit USD 16180k {YEAR}
        CostOfGoodsAndServicesSold USD 69600k {YEAR}
        OperatingLeasesIncomeStatementLeaseRevenue USD 1276697k {YEAR}
        OperatingIncomeLoss USD 641361k {YEAR}
        NetIncomeLoss USD 329779k {YEAR}
    """)
    assert found.revenue is None or found.revenue.value == 1_276_697_000


def test_half_a_cent_a_share_is_allowed_for_where_the_average_is_in_thousands():
    """Two kinds of minority owners, one of them tagged: what was divided tells the owners' part, if not to the digit."""
    found = made(f"""
        ProfitLoss USD -867402k {YEAR}
        MinorityInterestInNetIncomeLossOfConsolidatedEntities USD 1606k {YEAR}
        NetIncomeLoss USD -853399k {YEAR}
        EarningsPerShareBasic USD/shares -0.53 {YEAR}
        average shares 1598175 {YEAR}
    """)
    assert found.net_income.value == -853_399_000


ASIDE = f"""
    ProfitLoss USD 474m {YEAR}
    commonIncome USD 459m {YEAR}
    EarningsPerShareBasic USD/shares 3.29 {YEAR}
    average shares 139m {YEAR}
"""


@pytest.mark.parametrize(("beside", "income"), [
    ("", 474),
    (f"DividendsPreferredStockCash USD 13m {YEAR}\nUndistributedEarningsLossAllocatedToParticipatingSecuritiesBasic USD 2m {YEAR}", 474),
    (f"PaymentsToMinorityShareholders USD 9m {YEAR}", 459),
])  # fmt: skip
def test_what_preferred_shares_have_before_common_ones_is_no_minoritys(beside, income):
    """Profit per share cannot tell a minority from preferred shares: what else only minority owners leave behind does."""
    assert made(f"{ASIDE}\n{beside}").net_income.value == income * 10**6


def test_preferred_dividends_are_the_owners_where_a_minority_went_before_them():
    found = made(f"""
        ProfitLoss USD 357914k {YEAR}
        commonIncome USD 344914k {YEAR}
        PreferredStockDividendsIncomeStatementImpact USD 2488k {YEAR}
        PaymentsToMinorityShareholders USD 1900k {YEAR}
        EarningsPerShareBasic USD/shares 3.32 {YEAR}
        average shares 103876k {YEAR}
    """)
    assert found.net_income.value == 347_402_000
    assert "plus its preferred dividends" in found.note


@pytest.mark.parametrize(("name", "sold", "left", "spent", "others"), [
    ("contracts", 700, 200, 800, 320), ("SalesRevenueNet", 800, 150, 850, 190),
])  # fmt: skip
def test_others_profits_below_the_line_free_no_part(name, sold, left, spent, others):
    found = made(f"""
        {name} USD {sold}m {YEAR}
        OperatingIncomeLoss USD {left}m {YEAR}
        CostsAndExpenses USD {spent}m {YEAR}
        IncomeLossFromEquityMethodInvestments USD {others}m {YEAR}
        NetIncomeLoss USD 100m {YEAR}
    """)
    assert found.revenue is None


def test_others_losses_silence_no_doubt():
    found = made(f"""
        contracts USD 1000m {YEAR}
        OperatingIncomeLoss USD 100m {YEAR}
        CostsAndExpenses USD 700m {YEAR}
        IncomeLossFromEquityMethodInvestments USD -160m {YEAR}
        NetIncomeLoss USD 100m {YEAR}
    """)
    assert "revenue may be told before something was taken off it" in found.note


def test_contracts_and_rent_that_are_proved_together_are_the_total():
    found = made(f"""
        contracts USD 1000m {YEAR}
        OperatingLeaseLeaseIncome USD 140m {YEAR}
        OperatingIncomeLoss USD 100m {YEAR}
        CostsAndExpenses USD 1040m {YEAR}
        NetIncomeLoss USD 100m {YEAR}
    """)
    assert found.revenue.value == 1_140_000_000


def test_a_total_far_above_proved_sales_is_told_too():
    found = made(f"""
        Revenues USD 1600m {YEAR}
        contracts USD 1000m {YEAR}
        GrossProfit USD 300m {YEAR}
        CostOfGoodsAndServicesSold USD 700m {YEAR}
        NetIncomeLoss USD 100m {YEAR}
    """)
    assert "the filing tags a total of 1600000000" in found.note


def test_a_total_that_a_gain_outdoes_is_still_proved():
    found = made(f"""
        Revenues USD 50m {YEAR}
        GrossProfit USD 40m {YEAR}
        CostOfRevenue USD 10m {YEAR}
        OperatingIncomeLoss USD 80m {YEAR}
        NetIncomeLoss USD 70m {YEAR}
    """)
    assert found.revenue.value == 50_000_000


def test_a_lender_that_earns_has_revenue_whatever_it_tags():
    assert (
        made(f"Revenues USD 0 {YEAR}\nInterestIncomeExpenseNet USD 120m {YEAR}\nNetIncomeLoss USD 100m {YEAR}").revenue
        is None
    )


def test_cover_and_average_of_one_class_do_not_outvote_profit_per_share_and_balance_sheet():
    quarter = "2021-01-01 2021-03-31 10-Q 2021-05-06"
    text = COUNTED.format(before=99_000_077, average=100_000_000, cover=101_001_234, balance=160_000_000)
    found = made(f"{text}\nNetIncomeLoss USD 320m {quarter}\nEarningsPerShareBasic USD/shares 2.00 {quarter}")
    assert found.shares is None or found.shares.value != 101_001_234


def test_an_owners_part_that_common_merely_repeats_is_not_borne_out_by_it():
    found = made(f"""
        ProfitLoss USD 100m {YEAR}
        NetIncomeLossAttributableToNoncontrollingInterest USD 10m {YEAR}
        NetIncomeLoss USD 95m {YEAR}
        commonIncome USD 95m {YEAR}
        EarningsPerShareBasic USD/shares 1.00 {YEAR}
        average shares 90m {YEAR}
    """)
    assert found.net_income.value == 90_000_000


def test_one_preferred_dividend_is_not_set_aside_twice():
    found = made(f"""
        ProfitLoss USD 100m {YEAR}
        commonIncome USD 80m {YEAR}
        PreferredStockDividendsIncomeStatementImpact USD 10m {YEAR}
        PaymentsToMinorityShareholders USD 9m {YEAR}
        EarningsPerShareBasic USD/shares 1.00 {YEAR}
        average shares 80m {YEAR}
    """)
    assert found.net_income.value == 90_000_000
