"""The owners' part of the profit where a filing hides it: as filers have told theirs. The figures are their own."""

from datetime import date

import pytest

from tickyard.features.research.filed import concepts
from tickyard.features.research.series.series import series
from yards.filings import small, study_small

MINORITY = concepts.MINORITY[0]
YEAR = "2020-01-01 2020-12-31 10-K 2021-02-26"
ABROAD = "2020-01-01 2020-12-31 20-F 2021-02-26"


LANDLORD = f"""
    Revenues USD 1091448k {YEAR}
    ProfitLoss USD 241416k {YEAR}
    NetIncomeLoss USD 241416k {YEAR}
    commonIncome USD 228268k {YEAR}
    EarningsPerShareBasic USD/shares 1.26 {YEAR}
    average shares 181828000 {YEAR}
    PaymentsOfDividendsMinorityInterest USD 13983k {YEAR}
"""


def test_partners_of_a_landlord_are_minority_owners():
    """Those who hold units of the partnership that owns the buildings have names of their own for their part."""
    name = "NoncontrollingInterestInNetIncomeLoss"
    found = study_small(f"""
        Revenues USD 679200k {YEAR}
        ProfitLoss USD 167611k {YEAR}
        commonIncome USD 165621k {YEAR}
        {name}OperatingPartnershipsRedeemable USD 1825k {YEAR}
        {name}OtherNoncontrollingInterestsRedeemable USD 165k {YEAR}
    """)
    assert found.net_income.value == 165_621_000
    assert "less the minority owners' part" in found.note


@pytest.mark.parametrize("preferred", ["", f"PreferredStockDividendsAndOtherAdjustments USD 16k {YEAR}"])
def test_more_than_one_partners_part_may_go_before_what_is_divided(preferred):
    part = f"NoncontrollingInterestInNetIncomeLossOperatingPartnershipsRedeemable USD 12132k {YEAR}"
    found = study_small(f"{LANDLORD}\n{part}\n{preferred}")
    assert found.net_income.value == (228_284_000 if preferred else 228_268_000)


def test_a_whole_profit_under_the_owners_name_is_told_by_what_was_divided():
    found = study_small(LANDLORD)
    assert found.net_income.value == 228_268_000
    assert "available to common" in found.note


def test_what_the_minority_leaves_needs_no_average_to_be_right():
    """An average of another time, or of another class, makes another profit; subtraction does not."""
    found = study_small(f"""
        Revenues USD 12909m {YEAR}
        ProfitLoss USD 2201m {YEAR}
        NetIncomeLossAttributableToNoncontrollingInterest USD 51m {YEAR}
        commonIncome USD 2150m {YEAR}
        ComprehensiveIncomeNetOfTax USD 2249m {YEAR}
        OtherComprehensiveIncomeLossNetOfTaxPortionAttributableToParent USD 99m {YEAR}
        EarningsPerShareBasic USD/shares 3.64 {YEAR}
        us-gaap:WeightedAverageNumberOfShareOutstandingBasicAndDiluted shares 621000000 {YEAR}
    """)
    assert found.net_income.value == 2_150_000_000


@pytest.mark.parametrize(("whole", "minority", "owners", "per_share", "average"), [
    (2060, 1305, 1305, "0.14", "6668"),  # the owners' part stands under the minority's name too
    (5576, 250, 5871, "2.94", "1941000000"),  # policyholders, who are neither, lost
])  # fmt: skip
def test_more_than_the_minority_leaves_may_be_right_but_not_less_than_was_divided(
    whole, minority, owners, per_share, average
):
    found = study_small(f"""
        ifrs-full:Revenue EUR 20000m {ABROAD}
        ifrs-full:ProfitLoss EUR {whole}m {ABROAD}
        ifrs-full:ProfitLossAttributableToNoncontrollingInterests EUR {minority}m {ABROAD}
        ifrs-full:ProfitLossAttributableToOwnersOfParent EUR {owners}m {ABROAD}
        ifrs-full:BasicEarningsLossPerShare EUR/shares {per_share} {ABROAD}
        ifrs-full:WeightedAverageShares shares {average} {ABROAD}
    """)
    assert found.net_income.value == owners * 10**6


def test_preferred_dividends_abroad_are_the_owners_too():
    found = study_small(f"""
        ifrs-full:Revenue CAD 42693m {ABROAD}
        ifrs-full:ProfitLoss CAD 14298m {ABROAD}
        ifrs-full:ProfitLossAttributableToOrdinaryEquityHoldersOfParentEntity CAD 14049m {ABROAD}
        ifrs-full:AdjustmentToProfitLossForPreferenceShareDividends CAD 249m {ABROAD}
        ifrs-full:ComprehensiveIncomeAttributableToOwnersOfParent CAD 13049m {ABROAD}
        ifrs-full:OtherComprehensiveIncome CAD -1000m {ABROAD}
        ifrs-full:BasicEarningsLossPerShare CAD/shares 7.73 {ABROAD}
        ifrs-full:WeightedAverageShares shares 1817700000 {ABROAD}
    """)
    assert found.net_income.value == 14_298_000_000


def test_a_minoritys_part_of_continuing_operations_is_taken_off_abroad_too():
    found = study_small(f"""
        ifrs-full:Revenue MXN 492966m {ABROAD}
        ifrs-full:ProfitLoss MXN 3756m {ABROAD}
        ifrs-full:ProfitLossFromContinuingOperationsAttributableToNoncontrollingInterests MXN 5686m {ABROAD}
    """)
    assert found.net_income.value == -1_930_000_000
    assert "continuing operations only" in found.note


def test_a_profit_that_left_a_loss_per_share_may_be_the_minoritys():
    found = study_small(f"""
        ifrs-full:Revenue USD 37635m {ABROAD}
        ifrs-full:ProfitLoss USD 580m {ABROAD}
        ifrs-full:ProfitLossAttributableToOrdinaryEquityHoldersOfParentEntity USD 580m {ABROAD}
        ifrs-full:BasicAndDilutedEarningsLossPerShare USD/shares -1.13 {ABROAD}
    """)
    assert "profit per share is a loss" in found.note


@pytest.mark.parametrize(("profit", "is_believed"), [("157598k", False), ("-157598k", True), ("500000k", True)])
def test_a_profit_of_the_size_of_the_loss_above_it_is_a_turned_sign_where_nothing_bears_it_out(profit, is_believed):
    found = study_small(f"""
        Revenues USD 145066k {YEAR}
        OperatingIncomeLoss USD -67587k {YEAR}
        IncomeLossFromContinuingOperationsBeforeIncomeTaxesExtraordinaryItemsNoncontrollingInterest USD -145445k {YEAR}
        NetIncomeLoss USD {profit} {YEAR}
    """)
    assert (found.net_income is not None) == is_believed


def test_a_year_after_which_another_should_have_been_reported_is_told_to_be_old():
    """Of some filers a report is missing among the facts, though those before and after it are there."""
    year = "2019-01-01 2019-12-31 10-K 2020-02-21"
    found = study_small(f"Revenues USD 10878673k {year}\nNetIncomeLoss USD 1241226k {year}")
    assert found.revenue.value == 10_878_673_000
    assert "a later one is missing" in found.note
    assert "a later one is missing" not in (study_small(f"NetIncomeLoss USD 1241226k {YEAR}").note or "")


@pytest.mark.parametrize(("lines", "owners"), [
    # A loss that is tagged after the accretion of redeemable shares, with a minority and without.
    ("ProfitLoss -9639 NetIncomeLoss -23306 TemporaryEquityAccretionToRedemptionValueAdjustment 13667", -9639),
    (f"ProfitLoss -9639 NetIncomeLoss -23265 TemporaryEquityAccretionToRedemptionValueAdjustment 13667 {MINORITY} -41", -9598),
    ("ProfitLoss 60 NetIncomeLoss 42 PreferredStockDividendsIncomeStatementImpact 18", 60),
    # Dividends and what it cost to take the shares back.
    (f"ProfitLoss 107 NetIncomeLoss 92 DividendsPreferredStock 10 PreferredStockRedemptionPremium 2 {MINORITY} 3", 104),
    # Nothing is called the whole profit: taxes lead to it.
    (f"{concepts.PRETAX[0]} 200 {concepts.TAXES} 40 NetIncomeLoss 148 PreferredStockDividendsIncomeStatementImpact 12", 160),
    (f"{concepts.PRETAX[0]} 200 {concepts.TAXES} 41 NetIncomeLoss 148 PreferredStockDividendsIncomeStatementImpact 12", 148),
    ("ProfitLoss 60 NetIncomeLoss 42 PreferredStockDividendsIncomeStatementImpact 17", 42),
])  # fmt: skip
def test_preferred_dividends_and_accretion_are_taken_off_the_owners_profit_by_a_tag_alone(lines, owners):
    words = lines.split()
    told = zip(words[::2], words[1::2], strict=True)
    found = study_small("\n".join(f"{name} USD {amount}m {YEAR}" for name, amount in told))
    assert found.net_income.value == owners * 10**6
    assert ("before preferred dividends" in found.note) is (f"NetIncomeLoss {owners} " not in lines)
    tagged = next(each for each in found.candidates.net_income if each.concept == "us-gaap:NetIncomeLoss")
    assert tagged.is_chosen or tagged.reason == "It is after preferred dividends, which are the owners' too."


@pytest.mark.parametrize("preferred", ["14m", "10m"])
def test_preferred_dividends_of_twice_the_minoritys_part_prove_nothing(preferred):
    """What the minority alone leaves is what the filing tags: nothing went before it."""
    found = study_small(f"""
        Revenues USD 10000m {YEAR}
        ProfitLoss USD 1000m {YEAR}
        {MINORITY} USD 7m {YEAR}
        NetIncomeLoss USD 993m {YEAR}
        PreferredStockDividendsIncomeStatementImpact USD {preferred} {YEAR}
    """)
    assert found.net_income.value == 993_000_000
    assert "netIncome" not in (found.note or "")


EARLIER = "2016-01-01 2016-12-31 20-F 2019-04-05"
# A table of subsidiaries, in a document under the international standards, tags one amount under an American name.
STRAY = f"""
    NetIncomeLoss EUR 36m {EARLIER}
    ifrs-full:ProfitLoss EUR -1457m {EARLIER}
    ifrs-full:ProfitLossAttributableToNoncontrollingInterests EUR 7m {EARLIER}
    ifrs-full:ProfitLossAttributableToOrdinaryEquityHoldersOfParentEntity EUR -1464m {EARLIER}
    ifrs-full:DilutedEarningsLossPerShare EUR -0.41 {EARLIER}
    ifrs-full:WeightedAverageShares shares 3601140133 {EARLIER}
"""
TURNED = f"""
    ifrs-full:ProfitLossAttributableToOwnersOfParent USD 36m {YEAR}
    ProfitLoss USD -1457m {YEAR}
    NetIncomeLossAttributableToNoncontrollingInterest USD 7m {YEAR}
"""


def test_a_lone_profit_under_other_standards_is_no_owners_part():
    found = series(small(STRAY), "1231", date(2019, 7, 24)).annual[0]
    assert found.net_income.value == -1_464_000_000
    assert str(found.diluted_eps.value) == "-0.41"


def test_a_lone_profit_under_the_international_standards_is_no_american_owners_part():
    found = study_small(TURNED)
    assert found.net_income.value == -1_464_000_000
    lost = next(each for each in found.candidates.net_income if each.concept.startswith("ifrs-full"))
    assert "under other standards" in lost.reason


@pytest.mark.parametrize(("line", "value"), [
    ("ToOrdinaryEquityHolders", -1_464_000_000),
    ("ToNoncontrollingInterests", -1_457_000_000),  # with a remark: the minority's part is not told
])  # fmt: skip
def test_either_line_tells_that_the_owners_have_another_amount_under_the_standards_of_the_filer(line, value):
    text = "\n".join(each for each in STRAY.splitlines() if line not in each)
    assert series(small(text), "1231", date(2019, 7, 24)).annual[0].net_income.value == value


def test_a_lone_profit_under_other_standards_is_taken_where_it_is_the_owners_part():
    found = series(small(STRAY.replace("EUR 36m", "EUR -1464m")), "1231", date(2019, 7, 24)).annual[0]
    assert found.net_income.concept == "us-gaap:NetIncomeLoss"


def test_a_minority_has_its_part_of_what_goes_on_and_of_what_was_given_up():
    """Told apart and without a sum, as in a year in which a business was handed over to shareholders."""
    told = f"""
        RevenueFromContractWithCustomerExcludingAssessedTax USD 11790200k {YEAR}
        ProfitLoss USD -1185500k {YEAR}
        IncomeLossFromContinuingOperationsAttributableToNoncontrollingEntity USD 17400k {YEAR}
        EarningsPerShareBasic USD/shares -4.20 {YEAR}
        average shares 287000k {YEAR}
    """
    given_up = "IncomeLossFromDiscontinuedOperationsNetOfTaxAttributableToNoncontrollingInterest"
    found = study_small(f"{told}\n{given_up} USD 2200k {YEAR}")
    assert found.net_income.value == -1_205_100_000
    assert "continuing operations only" not in found.note


def test_a_part_of_what_was_given_up_is_in_a_minority_that_is_told_as_a_whole():
    found = study_small(f"""
        Revenues USD 54469m {YEAR}
        ProfitLoss USD 550m {YEAR}
        NetIncomeLossAttributableToNoncontrollingInterest USD 35m {YEAR}
        IncomeLossFromContinuingOperationsAttributableToNoncontrollingEntity USD 1m {YEAR}
        IncomeLossFromDiscontinuedOperationsNetOfTaxAttributableToNoncontrollingInterest USD 34m {YEAR}
    """)
    assert found.net_income.value == 515_000_000


def test_what_the_owners_earned_in_all_keeps_a_whole_profit_that_preferred_shares_had_a_part_of():
    """Their dividends stand under a name of the filer's own, and a daughter's owners are still paid out."""
    told = f"""
        RevenueFromContractWithCustomerExcludingAssessedTax USD 1100760k {YEAR}
        NetIncomeLoss USD -243561k {YEAR}
        ProfitLoss USD -243561k {YEAR}
        NetIncomeLossAvailableToCommonStockholdersBasic USD -275760k {YEAR}
        PaymentsToMinorityShareholders USD 5163k {YEAR}
        EarningsPerShareBasic USD/shares -10.81 {YEAR}
        average shares 25498k {YEAR}
    """
    assert study_small(told).net_income.value == -275_760_000
    earned = f"ComprehensiveIncomeNetOfTax USD -242929k {YEAR}"
    other = f"OtherComprehensiveIncomeLossNetOfTaxPortionAttributableToParent USD 632k {YEAR}"
    assert study_small(f"{told}\n{earned}\n{other}").net_income.value == -243_561_000
