"""What was seen in the documents of many filers and would have been answered wrong. The figures are the filers' own."""

from datetime import date

import pytest

from tickyard.features.research.filed.concepts import PRETAX
from yards.filings import study_small

YEAR = "2020-01-01 2020-12-31 10-K 2021-02-26"


def test_a_bank_that_tags_no_revenue_at_all_as_its_total_has_its_interest_and_other_income():
    """A column that is empty in some note is tagged as nothing, and stands under the name of the total."""
    found = study_small(f"""
        Revenues USD 0 {YEAR}
        InterestAndDividendIncomeOperating USD 203945k {YEAR}
        InterestIncomeExpenseNet USD 174381k {YEAR}
        NoninterestIncome USD 78308k {YEAR}
        NetIncomeLoss USD 46916k {YEAR}
    """)
    assert found.revenue.value == 252_689_000
    assert "net interest plus non-interest income" in found.note


def test_no_revenue_is_an_answer_where_a_little_interest_came_in_beside_it():
    found = study_small(f"""
        Revenues USD 0 {YEAR}
        InterestIncomeExpenseNet USD 310k {YEAR}
        NetIncomeLoss USD -4200k {YEAR}
    """)
    assert found.revenue.value == 0


def test_nothing_is_no_total_beside_a_gross_profit():
    found = study_small(f"""
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
    found = study_small(COUNTED.format(before=before, average=average, cover=cover, balance=balance))
    assert found.shares.value == cover
    assert "sharesOutstanding" not in found.note


def test_a_cover_that_the_average_and_the_balance_sheet_exceed_still_leaves_out_a_class():
    found = study_small(COUNTED.format(before=60_000_000, average=120_000_000, cover=60_100_000, balance=121_000_000))
    assert found.shares.value == 121_000_000


def test_a_minority_within_the_rounding_of_the_average_is_not_taken_off_again():
    """Profit per share times a number of shares in tenths of a million comes nearer to the wrong one of two."""
    found = study_small(f"""
        NetIncomeLoss USD 184400k {YEAR}
        NetIncomeLossAttributableToNoncontrollingInterest USD 400k {YEAR}
        EarningsPerShareBasic USD/shares 8.98 {YEAR}
        average shares 20500k {YEAR}
    """)
    assert found.net_income.value == 184_400_000


def test_a_part_in_others_profits_is_no_revenue_though_it_is_counted_into_what_was_left():
    found = study_small(f"""
        contracts USD 26183k {YEAR}
        CostsAndExpenses USD 23879k {YEAR}
        OperatingIncomeLoss USD 6100k {YEAR}
        IncomeLossFromEquityMethodInvestments USD 3796k {YEAR}
        NetIncomeLoss USD 9666k {YEAR}
    """)
    assert found.revenue.value == 26_183_000
    assert "revenue" not in found.note


def test_operating_income_of_another_kind_says_nothing_where_the_sum_before_taxes_is_the_contracts():
    found = study_small(f"""
        contracts USD 2134043k {YEAR}
        CostsAndExpenses USD 2841048k {YEAR}
        OperatingIncomeLoss USD -171461k {YEAR}
        {PRETAX[0].partition(":")[2]} USD -705567k {YEAR}
        NetIncomeLoss USD -805641k {YEAR}
    """)
    assert found.revenue.value == 2_134_043_000
    assert "revenue" not in found.note


def test_contracts_far_below_what_was_left_and_spent_are_a_part():
    found = study_small(f"""
        contracts USD 161956k {YEAR}
        CostsAndExpenses USD 1404313k {YEAR}
        OperatingIncomeLoss USD 1100000k {YEAR}
        NetIncomeLoss USD 900m {YEAR}
    """)
    assert found.revenue is None


def test_the_owners_part_is_no_stranger_where_preferred_dividends_lead_from_it_to_the_common_shares():
    """A second minority stands under a name of its own, so that the one that is tagged does not lead to the owners'."""
    found = study_small(f"""
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
    found = study_small(f"""
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
    found = study_small(f"""
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
    assert study_small(f"{ASIDE}\n{beside}").net_income.value == income * 10**6


def test_preferred_dividends_are_the_owners_where_a_minority_went_before_them():
    found = study_small(f"""
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
    found = study_small(f"""
        {name} USD {sold}m {YEAR}
        OperatingIncomeLoss USD {left}m {YEAR}
        CostsAndExpenses USD {spent}m {YEAR}
        IncomeLossFromEquityMethodInvestments USD {others}m {YEAR}
        NetIncomeLoss USD 100m {YEAR}
    """)
    assert found.revenue is None


def test_others_losses_silence_no_doubt():
    found = study_small(f"""
        contracts USD 1000m {YEAR}
        OperatingIncomeLoss USD 100m {YEAR}
        CostsAndExpenses USD 700m {YEAR}
        IncomeLossFromEquityMethodInvestments USD -160m {YEAR}
        NetIncomeLoss USD 100m {YEAR}
    """)
    assert "revenue may be told before something was taken off it" in found.note


def test_contracts_and_rent_that_are_proved_together_are_the_total():
    found = study_small(f"""
        contracts USD 1000m {YEAR}
        OperatingLeaseLeaseIncome USD 140m {YEAR}
        OperatingIncomeLoss USD 100m {YEAR}
        CostsAndExpenses USD 1040m {YEAR}
        NetIncomeLoss USD 100m {YEAR}
    """)
    assert found.revenue.value == 1_140_000_000


def test_a_total_far_above_proved_sales_is_told_too():
    found = study_small(f"""
        Revenues USD 1600m {YEAR}
        contracts USD 1000m {YEAR}
        GrossProfit USD 300m {YEAR}
        CostOfGoodsAndServicesSold USD 700m {YEAR}
        NetIncomeLoss USD 100m {YEAR}
    """)
    assert "the filing tags a total of 1600000000" in found.note


def test_a_total_that_a_gain_outdoes_is_still_proved():
    found = study_small(f"""
        Revenues USD 50m {YEAR}
        GrossProfit USD 40m {YEAR}
        CostOfRevenue USD 10m {YEAR}
        OperatingIncomeLoss USD 80m {YEAR}
        NetIncomeLoss USD 70m {YEAR}
    """)
    assert found.revenue.value == 50_000_000


def test_a_lender_that_earns_has_revenue_whatever_it_tags():
    assert (
        study_small(
            f"Revenues USD 0 {YEAR}\nInterestIncomeExpenseNet USD 120m {YEAR}\nNetIncomeLoss USD 100m {YEAR}"
        ).revenue
        is None
    )


def test_cover_and_average_of_one_class_do_not_outvote_profit_per_share_and_balance_sheet():
    quarter = "2021-01-01 2021-03-31 10-Q 2021-05-06"
    text = COUNTED.format(before=99_000_077, average=100_000_000, cover=101_001_234, balance=160_000_000)
    found = study_small(f"{text}\nNetIncomeLoss USD 320m {quarter}\nEarningsPerShareBasic USD/shares 2.00 {quarter}")
    assert found.shares is None or found.shares.value != 101_001_234


def test_an_owners_part_that_common_merely_repeats_is_not_borne_out_by_it():
    found = study_small(f"""
        ProfitLoss USD 100m {YEAR}
        NetIncomeLossAttributableToNoncontrollingInterest USD 10m {YEAR}
        NetIncomeLoss USD 95m {YEAR}
        commonIncome USD 95m {YEAR}
        EarningsPerShareBasic USD/shares 1.00 {YEAR}
        average shares 90m {YEAR}
    """)
    assert found.net_income.value == 90_000_000


def test_one_preferred_dividend_is_not_set_aside_twice():
    found = study_small(f"""
        ProfitLoss USD 100m {YEAR}
        commonIncome USD 80m {YEAR}
        PreferredStockDividendsIncomeStatementImpact USD 10m {YEAR}
        PaymentsToMinorityShareholders USD 9m {YEAR}
        EarningsPerShareBasic USD/shares 1.00 {YEAR}
        average shares 80m {YEAR}
    """)
    assert found.net_income.value == 90_000_000


def test_a_minoritys_loss_keeps_its_sign_where_preferred_dividends_lead_to_what_was_divided():
    """Profit per share bears out the minority's part turned round as well, before preferred dividends."""
    found = study_small(f"""
        ProfitLoss USD -410506k {YEAR}
        NetIncomeLossAttributableToNoncontrollingInterest USD -5817k {YEAR}
        commonIncome USD -417588k {YEAR}
        PreferredStockDividendsIncomeStatementImpact USD 12830k {YEAR}
        EarningsPerShareBasic USD/shares -1.93 {YEAR}
        average shares 215934k {YEAR}
    """)
    assert found.net_income.value == -404_689_000


def test_preferred_shares_of_a_daughter_are_no_owners():
    """What the parent earned in all, less what it earned besides its profit, is the profit of its owners."""
    found = study_small(f"""
        ProfitLoss USD 3103m {YEAR}
        NetIncomeLossAttributableToNoncontrollingInterest USD -31m {YEAR}
        commonIncome USD 3119m {YEAR}
        PreferredStockDividendsIncomeStatementImpact USD 15m {YEAR}
        ComprehensiveIncomeNetOfTax USD 3044m {YEAR}
        OtherComprehensiveIncomeLossNetOfTaxPortionAttributableToParent USD -75m {YEAR}
        EarningsPerShareBasic USD/shares 2.95 {YEAR}
        average shares 1058m {YEAR}
    """)
    assert found.net_income.value == 3_119_000_000
    assert "netIncome" not in found.note


@pytest.mark.parametrize("declared", [
    "DividendsPreferredStockCash USD 54295k", "PreferredStockDividendsPerShareDeclared USD/shares 5.26",
])  # fmt: skip
def test_preferred_shares_on_which_the_filer_declared_dividends_are_the_owners(declared):
    found = study_small(f"""
        ProfitLoss USD -1358684k {YEAR}
        NetIncomeLossAttributableToNoncontrollingInterest USD 51674k {YEAR}
        commonIncome USD -1464653k {YEAR}
        PreferredStockDividendsAndOtherAdjustments USD 54295k {YEAR}
        {declared} {YEAR}
        ComprehensiveIncomeNetOfTax USD -2087985k {YEAR}
        OtherComprehensiveIncomeLossNetOfTax USD -623332k {YEAR}
    """)
    assert found.net_income.value == -1_410_358_000


@pytest.mark.parametrize(("whole", "parts", "preferred", "owners"), [
    (807_500, [("NetIncomeLossAttributableToNoncontrollingInterest", 45_900)], 236_800, 524_800),
    (768_410, [
        ("NetIncomeLossAttributableToNoncontrollingInterest", -5_271),
        ("NetIncomeLossAttributableToRedeemableNoncontrollingInterest", -1_558),
    ], 5_634, 769_605),
    (-5_416, [("NetIncomeLossAttributableToNoncontrollingInterest", -1_309)], 1_066, -7_791),
])  # fmt: skip
def test_an_owners_part_that_is_tagged_after_preferred_dividends_is_taken_before_them(whole, parts, preferred, owners):
    rows = "\n".join(f"{name} USD {amount}k {YEAR}" for name, amount in parts)
    found = study_small(f"""
        ProfitLoss USD {whole}k {YEAR}
        {rows}
        NetIncomeLoss USD {owners}k {YEAR}
        DividendsPreferredStock USD {preferred}k {YEAR}
    """)
    assert found.net_income.value == (owners + preferred) * 1000
    assert f"netIncome is before preferred dividends or accretion of {preferred * 1000}" in found.note
    # A daughter's are a minority's: what the owners earned in all tells.
    told = study_small(f"""
        ProfitLoss USD {whole}k {YEAR}
        {rows}
        NetIncomeLoss USD {owners}k {YEAR}
        DividendsPreferredStock USD {preferred}k {YEAR}
        ComprehensiveIncomeNetOfTax USD {owners + 7}k {YEAR}
        OtherComprehensiveIncomeLossNetOfTaxPortionAttributableToParent USD 7k {YEAR}
    """)
    assert told.net_income.value == owners * 1000


@pytest.mark.parametrize("beside", [
    "ifrs-full:ComprehensiveIncomeAttributableToNoncontrollingInterests USD 18m",
    "ifrs-full:ProfitLossFromContinuingOperationsAttributableToNoncontrollingInterests USD 18m",
])  # fmt: skip
def test_a_minority_is_known_by_its_signs_under_international_standards_too(beside):
    year = "2020-01-01 2020-12-31 20-F 2021-03-26"
    found = study_small(f"""
        ifrs-full:ProfitLoss USD 971m {year}
        ifrs-full:ProfitLossAttributableToOrdinaryEquityHoldersOfParentEntity USD 953m {year}
        {beside} {year}
        ifrs-full:BasicEarningsLossPerShare USD/shares 2.27 {year}
        ifrs-full:WeightedAverageShares shares 419033516 {year}
    """)
    assert found.net_income.value == 953_000_000


def test_what_owners_earned_in_all_tells_their_profit_under_international_standards():
    year = "2020-01-01 2020-12-31 20-F 2021-03-26"
    found = study_small(f"""
        ifrs-full:ProfitLoss USD 971m {year}
        ifrs-full:ProfitLossAttributableToOrdinaryEquityHoldersOfParentEntity USD 953m {year}
        ifrs-full:ComprehensiveIncomeAttributableToOwnersOfParent USD 1121m {year}
        ifrs-full:OtherComprehensiveIncome USD 168m {year}
    """)
    assert found.net_income.value == 953_000_000
    assert "netIncome" not in found.note


def test_a_utility_whose_contracts_are_not_all_of_its_regulated_revenue_has_the_revenue_that_its_costs_prove():
    found = study_small(f"""
        RevenueFromContractWithCustomerExcludingAssessedTax USD 4473200k {YEAR}
        RegulatedOperatingRevenue USD 4681700k {YEAR}
        OperatingCostsAndExpenses USD 4130900k {YEAR}
        OperatingIncomeLoss USD 550800k {YEAR}
        NetIncomeLoss USD -17600k {YEAR}
    """)
    assert found.revenue.value == 4_681_700_000


def test_costs_of_operation_that_may_be_a_part_refute_nothing():
    found = study_small(f"""
        RevenueFromContractWithCustomerExcludingAssessedTax USD 4473200k {YEAR}
        OperatingCostsAndExpenses USD 9130900k {YEAR}
        OperatingIncomeLoss USD 550800k {YEAR}
        NetIncomeLoss USD -17600k {YEAR}
    """)
    assert found.revenue.value == 4_473_200_000
    assert "revenue" not in found.note


def test_a_loss_of_which_one_class_had_a_profit_per_share_is_no_slip():
    """What the owners lost in all is as much of a witness as what was lost before taxes."""
    found = study_small(f"""
        ProfitLoss USD -801584k {YEAR}
        NetIncomeLossAttributableToNoncontrollingInterest USD -90123k {YEAR}
        NetIncomeLoss USD -711461k {YEAR}
        ComprehensiveIncomeNetOfTax USD -725477k {YEAR}
        EarningsPerShareBasicAndDiluted USD/shares 1.33 {YEAR}
    """)
    assert found.net_income.value == -711_461_000


@pytest.mark.parametrize(("average", "told"), [("5129585", None), ("3129585", 3_129_585_000)])
def test_an_average_in_thousands_is_told_in_shares(average, told):
    year = "2020-01-01 2020-12-31 20-F 2021-03-22"
    found = study_small(f"""
        ifrs-full:NumberOfSharesOutstanding shares 5129910954 - 2020-12-31 20-F 2021-03-22
        ifrs-full:WeightedAverageShares shares {average} {year}
        ifrs-full:ProfitLossAttributableToOwnersOfParent USD 4881m {year}
        ifrs-full:ProfitLossAttributableToOwnersOfParent USD 4500m 2019-01-01 2019-12-31 20-F 2020-03-22
    """)
    assert found.shares.value == 5_129_910_954
    assert (f"is {told}" in found.note) if told else ("average" not in found.note)


@pytest.mark.parametrize(("common", "is_told"), [("", True), (f"commonIncome USD 100m {YEAR}", False)])
def test_a_minority_too_small_for_cents_a_share_is_told_where_something_was_paid_to_one(common, is_told):
    found = study_small(f"""
        ProfitLoss USD 100m {YEAR}
        PaymentsToMinorityShareholders USD 3m {YEAR}
        EarningsPerShareBasic USD/shares 1.00 {YEAR}
        average shares 100m {YEAR}
        {common}
    """)
    assert found.net_income.value == 100_000_000
    assert ("netIncome includes the share of minority owners, if there are any" in found.note) is is_told


def test_revenue_with_other_income_that_is_less_than_revenue_is_told():
    year = "2020-01-01 2020-12-31 20-F 2021-03-22"
    found = study_small(f"""
        ifrs-full:Revenue USD 183500m {year}
        ifrs-full:RevenueAndOperatingIncome USD 180366m {year}
        ifrs-full:ProfitLossAttributableToOwnersOfParent USD -20305m {year}
    """)
    assert found.revenue.value == 183_500_000_000
    assert "revenue may include other income: the filing tags 180366000000" in found.note


def test_what_a_banks_segments_make_by_rules_of_their_own_is_no_total():
    """Mitsubishi UFJ tells its segments by managing accounts, with their own expenses and what was left by them."""
    year = "2020-04-01 2021-03-31 20-F 2021-07-09"
    found = study_small(f"""
        Revenues JPY 5909783m {year}
        RevenuesNetOfInterestExpense JPY 4082300m {year}
        InterestAndDividendIncomeOperating JPY 2751996m {year}
        InterestIncomeExpenseNet JPY 2004094m {year}
        NoninterestIncome JPY 3157787m {year}
        OperatingExpenses JPY 2833700m {year}
        OperatingIncomeLoss JPY 1248600m {year}
        NetIncomeLoss JPY 1117298m {year}
    """)
    assert found.revenue.value == 5_909_783_000_000
    assert "net interest and non-interest income make 5161881000000" in found.note


def test_contracts_that_income_before_taxes_proves_are_the_total_beside_that_of_the_segments():
    """Ares tags no operating income, and the total of its segments as revenue."""
    found = study_small(f"""
        Revenues USD 1753729k {YEAR}
        RevenueFromContractWithCustomerExcludingAssessedTax USD 1764046k {YEAR}
        OperatingExpenses USD 1450486k {YEAR}
        NonoperatingIncomeExpense USD 65918k {YEAR}
        {PRETAX[1].removeprefix("us-gaap:")} USD 379478k {YEAR}
        NetIncomeLoss USD 152142k {YEAR}
    """)
    assert found.revenue.value == 1_764_046_000
    assert "revenue" not in found.note


def test_nothing_gained_beside_operation_is_no_second_proof():
    """The same sum under two names does not prove a total that stands under a concept of the filer's own."""
    found = study_small(f"""
        CostsAndExpenses USD 80m {YEAR}
        NonoperatingIncomeExpense USD 0 {YEAR}
        GrossProfit USD 40m {YEAR}
        {PRETAX[0].removeprefix("us-gaap:")} USD 20m {YEAR}
        NetIncomeLoss USD 15m {YEAR}
    """)
    assert found.revenue is None


@pytest.mark.parametrize(("per_share", "owners"), [("", -149_000_000), ("0", 0)])
def test_a_whole_loss_under_the_name_of_the_minoritys_part_is_the_owners_unless_they_had_none(per_share, owners):
    """Calumet tags its loss from continuing operations once more as that of minority owners, of whom it has none."""
    found = study_small(f"""
        ProfitLoss USD -149m {YEAR}
        IncomeLossFromContinuingOperationsAttributableToNoncontrollingEntity USD -149m {YEAR}
        {f"EarningsPerShareBasic USD/shares {per_share} {YEAR}" if per_share else ""}
    """)
    assert found.net_income.value == owners
    assert ("tags all of it as theirs too" in found.note) is (owners != 0)


@pytest.mark.parametrize(("fees", "is_rent"), [("10800k", True), ("60m", False)])
def test_fees_that_are_little_beside_rent_are_told_and_no_part_that_is_missing(fees, is_rent):
    found = study_small(f"""
        OperatingLeaseLeaseIncome USD 1043837k {YEAR}
        RevenueFromContractWithCustomerExcludingAssessedTax USD {fees} {YEAR}
        NetIncomeLoss USD 123911k {YEAR}
    """)
    assert (found.revenue is not None and found.revenue.value == 1_043_837_000) is is_rent
    assert ("contracts with customers of 10800000 stand beside it" in found.note) is is_rent


OF_ANOTHER = "IncomeLossFromContinuingOperationsAttributableToNoncontrollingEntity"
SOLD_BUILDINGS = """
    Revenues USD {last} 2018-01-01 2018-12-31 10-K 2020-02-18
    PRETAX USD {left} 2018-01-01 2018-12-31 10-K 2020-02-18
    NetIncomeLoss USD {profit} 2018-01-01 2018-12-31 10-K 2020-02-18
    Revenues USD 1924700k 2019-01-01 2019-12-31 10-K 2020-02-18
    PRETAX USD 3437700k 2019-01-01 2019-12-31 10-K 2020-02-18
    NetIncomeLoss USD 3147937k 2019-01-01 2019-12-31 10-K 2020-02-18
    {more}
"""


@pytest.mark.parametrize(
    ("last", "left", "profit", "more", "is_believed"),
    [
        ("2163720k", "459606k", "449954k", "", True),
        # Another business, a year that kept more than half as well, or something larger beside it: a slice, then.
        ("600m", "150m", "100m", "", False),
        ("2163720k", "1500m", "1300m", "", False),
        ("2163720k", "459606k", "449954k", "CONTRACTS USD 2500m 2019-01-01 2019-12-31 10-K 2020-02-18", False),
        ("2163720k", "459606k", "449954k", "CostsAndExpenses USD 4000m 2019-01-01 2019-12-31 10-K 2020-02-18", False),
    ],
)
def test_a_total_stays_one_in_a_year_in_which_buildings_were_sold(last, left, profit, more, is_believed):
    text = SOLD_BUILDINGS.format(last=last, left=left, profit=profit, more=more)
    text = text.replace("PRETAX", PRETAX[0].partition(":")[2])
    text = text.replace("CONTRACTS", "RevenueFromContractWithCustomerExcludingAssessedTax")
    found = study_small(text, date(2020, 6, 1))
    assert (found.revenue is not None and found.revenue.value == 1_924_700_000) == is_believed


LATE = """
    NetIncomeLoss USD 2551360k 2014-01-01 2014-12-31 10-K 2015-02-19
    cover shares 51840012 - 2015-02-10 10-K 2015-02-19
    average shares 52000000 2015-01-01 2015-03-31 10-Q 2015-05-07
    cover shares 51909000 - 2015-05-01 10-Q 2015-05-07
    average shares 50500000 2015-07-01 2015-09-30 10-Q 2015-11-09
    cover shares 49783883 - 2015-11-02 10-Q 2015-11-09
    {late}
"""


def test_a_report_of_spring_that_is_filed_in_winter_is_not_the_newest():
    late = "average shares 51909000 2015-01-01 2015-03-31 10-Q 2015-12-16"
    for text in ("", late):
        found = study_small(LATE.format(late=text), date(2016, 1, 20))
        assert (found.shares.value, found.shares.as_of) == (49_783_883, date(2015, 11, 2))


def test_a_redeemable_minority_may_be_little_when_the_common_shares_profit_counts_it():
    found = study_small("""
        ProfitLoss USD 1000m 2020-01-01 2020-12-31 10-K 2021-02-26
        NetIncomeLossAttributableToNoncontrollingInterest USD 60m 2020-01-01 2020-12-31 10-K 2021-02-26
        NetIncomeLossAttributableToRedeemableNoncontrollingInterest USD 8m 2020-01-01 2020-12-31 10-K 2021-02-26
        NetIncomeLossAvailableToCommonStockholdersBasic USD 932m 2020-01-01 2020-12-31 10-K 2021-02-26
    """)
    assert found.net_income.value == 932_000_000


@pytest.mark.parametrize("services", ["CostOfServices", "DirectOperatingCosts"])
def test_costs_that_stand_beside_the_cost_of_goods_are_no_excise(services):
    found = study_small(f"""
        RevenueFromContractWithCustomerIncludingAssessedTax USD 1000m 2020-01-01 2020-12-31 10-K 2021-02-26
        CostOfGoodsSold USD 600m 2020-01-01 2020-12-31 10-K 2021-02-26
        {services} USD 100m 2020-01-01 2020-12-31 10-K 2021-02-26
        GrossProfit USD 300m 2020-01-01 2020-12-31 10-K 2021-02-26
        NetIncomeLoss USD 80m 2020-01-01 2020-12-31 10-K 2021-02-26
        SalesAndExciseTaxPayableCurrent USD 60m - 2020-12-31 10-K 2021-02-26
    """)
    assert found.revenue.value == 1_000_000_000


@pytest.mark.parametrize(("common", "value"), [(3000, None), (3382, 3_382_000_000)])
def test_a_minority_that_is_told_with_both_signs_decides_nothing(common, value):
    found = study_small(
        f"""
        ProfitLoss USD 3397m 2010-01-01 2010-12-31 10-K 2011-03-01
        NetIncomeLossAttributableToNoncontrollingInterest USD 15m 2010-01-01 2010-12-31 10-K 2011-03-01
        {OF_ANOTHER} USD -15m 2010-01-01 2010-12-31 10-K 2011-03-01
        NetIncomeLossAvailableToCommonStockholdersBasic USD {common}m 2010-01-01 2010-12-31 10-K 2011-03-01
    """,
        date(2011, 6, 1),
    )
    assert (found.net_income and found.net_income.value) == value
    assert value or "told with both signs" in found.note
