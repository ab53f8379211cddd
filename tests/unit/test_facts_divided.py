"""Profits beside which a filing tells another: of an owner, of a sign, of what was divided. The figures are filers'."""

import pytest

from yards.filings import study_small

YEAR = "2020-01-01 2020-12-31 10-K 2021-02-26"
ABROAD = "2020-01-01 2020-12-31 20-F 2021-04-21"
OWNERS = "ifrs-full:ProfitLossAttributableToOwnersOfParent"
ORDINARY = "ifrs-full:ProfitLossAttributableToOrdinaryEquityHoldersOfParentEntity"
PER_SHARE, AVERAGE = "ifrs-full:BasicEarningsLossPerShare", "ifrs-full:WeightedAverageShares"


def test_nobody_divides_more_than_the_owners_had():
    """What is tagged as the owners' part is that of some of them: the whole profit is told beside it."""
    told = f"""
        ifrs-full:ProfitLoss CAD 1492m {ABROAD}
        {OWNERS} CAD 370m {ABROAD}
        {ORDINARY} CAD 1361m {ABROAD}
        {PER_SHARE} CAD/shares 2.66 {ABROAD}
        {AVERAGE} shares 512000000 {ABROAD}
    """
    found = study_small(told)
    assert found.net_income.value == 1_492_000_000
    assert "minority owners" in found.note
    minority = f"ifrs-full:ProfitLossAttributableToNoncontrollingInterests CAD 8m {ABROAD}"
    assert study_small(told + minority).net_income.value == 1_484_000_000


def test_a_stray_line_of_another_standard_does_not_stand_for_the_owners_part():
    found = study_small(f"""
        ifrs-full:ProfitLoss EUR 4137m {ABROAD}
        ifrs-full:ProfitLossAttributableToNoncontrollingInterests EUR 11m {ABROAD}
        {OWNERS} EUR 4126m {ABROAD}
        {ORDINARY} EUR 4126m {ABROAD}
        us-gaap:NetIncomeLoss EUR 129m {ABROAD}
        {PER_SHARE} EUR/shares 1.15 {ABROAD}
        {AVERAGE} shares 3601140133 {ABROAD}
    """)
    assert found.net_income.value == 4_126_000_000


GAINED = f"""
    OperatingIncomeLoss USD -34010k {YEAR}
    IncomeLossFromContinuingOperationsBeforeIncomeTaxesExtraordinaryItemsNoncontrollingInterest USD -36870k {YEAR}
    NetIncomeLoss USD -36870k {YEAR}
    commonIncome USD 42920k {YEAR}
    EarningsPerShareBasic USD/shares 2.76 {YEAR}
    average shares 15552000 {YEAR}
"""


def test_more_divided_than_was_earned_is_said():
    """A gain on preferred shares that were taken back, or a profit whose name is used for continuing operations."""
    found = study_small(GAINED)
    assert found.net_income.value == -36_870_000
    assert "42920000, more than that" in found.note
    told = study_small(f"{GAINED}\nPreferredStockDividendsIncomeStatementImpact USD -79790k {YEAR}")
    assert "more than that" not in told.note


@pytest.mark.parametrize(("whole", "is_said"), [("61102k", True), ("-400k", False)])
def test_a_whole_profit_that_nothing_leads_to_the_owners_part_is_said(whole, is_said):
    found = study_small(f"""
        Revenues USD 173671k {YEAR}
        ProfitLoss USD {whole} {YEAR}
        NetIncomeLoss USD -426k {YEAR}
    """)
    assert found.net_income.value == -426_000
    assert ("no minority owners" in (found.note or "")) == is_said


def test_a_whole_profit_of_which_the_minority_has_most_needs_no_word():
    found = study_small(f"""
        ProfitLoss USD 126780k {YEAR}
        NetIncomeLoss USD 60830k {YEAR}
        PaymentsToMinorityShareholders USD 41m {YEAR}
    """)
    assert "no minority owners" not in (found.note or "")


LOSER = f"""
    ifrs-full:Revenue TWD 209140k {ABROAD}
    {OWNERS} TWD 807522k {ABROAD}
    ifrs-full:ProfitLoss TWD -807522k {ABROAD}
    {PER_SHARE} TWD/shares 12.32 {ABROAD}
    {AVERAGE} shares 65545000 {ABROAD}
"""


def test_a_loss_that_lost_its_sign_is_told_by_what_was_left_before_taxes_abroad():
    found = study_small(f"{LOSER}\nifrs-full:ProfitLossBeforeTax TWD -803402k {ABROAD}")
    assert found.net_income is None
    assert "opposite sign" in found.note


def test_a_loss_and_a_profit_of_the_same_size_are_said():
    """Where as much speaks for the one as for the other."""
    found = study_small(f"""
        ProfitLoss USD -12379067 {YEAR}
        NetIncomeLoss USD 12379067 {YEAR}
        {"IncomeLossFromContinuingOperationsBeforeIncomeTaxesExtraordinaryItemsNoncontrollingInterest"} USD 12379067 {YEAR}
    """)
    assert "opposite sign" in found.note


def test_lines_abroad_that_all_lost_their_sign_do_not_bear_each_other_out():
    found = study_small(f"""
        ifrs-full:ProfitLoss CAD 13933k {ABROAD}
        ifrs-full:ProfitLossBeforeTax CAD 13987k {ABROAD}
        {PER_SHARE} CAD/shares -0.15 {ABROAD}
        {AVERAGE} shares 93968172 {ABROAD}
    """)
    assert found.net_income is None


def test_a_loss_per_share_without_its_sign_leaves_a_loss_abroad():
    found = study_small(f"""
        ifrs-full:ProfitLoss EUR -129122k {ABROAD}
        ifrs-full:ProfitLossBeforeTax EUR -129833k {ABROAD}
        {PER_SHARE} EUR/shares 0.98 {ABROAD}
    """)
    assert found.net_income.value == -129_122_000
