"""Counts of shares that one class, one slip or one old report made wrong: as filers have told theirs."""

from datetime import date

import pytest

from yards.filings import study_small


def made(text):
    return study_small(text, date(2021, 12, 16))


SLIPPED_TWICE = """
    cover shares 23226846 - 2018-12-31 20-F 2019-04-29
    cover shares 0 - 2019-12-31 20-F 2020-05-28
    cover shares 32731242k - 2020-12-31 40-F 2021-03-26
    ifrs-full:NumberOfSharesOutstanding shares 24101405k - {balance} 40-F 2021-03-26
    ifrs-full:WeightedAverageShares shares 28873k 2020-01-01 2020-12-31 40-F 2021-03-26
    ifrs-full:ProfitLoss CAD -13445k 2020-01-01 2020-12-31 40-F 2021-03-26
    ifrs-full:BasicEarningsLossPerShare CAD/shares -0.47 2020-01-01 2020-12-31 40-F 2021-03-26
"""


def test_a_cover_and_a_balance_sheet_in_the_same_slip_are_outweighed_and_the_cover_is_set_right():
    found = made(SLIPPED_TWICE.format(balance="2019-12-31"))
    assert (found.shares.value, found.shares.as_of) == (32_731_242, date(2020, 12, 31))
    assert "tagged in a wrong scale" in found.note


def test_two_counts_in_one_scale_against_two_in_another_are_a_tie_and_no_answer():
    text = SLIPPED_TWICE.format(balance="2019-12-31")
    found = made("\n".join(line for line in text.splitlines() if "23226846" not in line))
    assert found.shares is None
    assert "a thousand times off" in found.note


FAR_OFF = """
    cover shares {before} - 2020-06-30 20-F 2020-11-16
    cover shares 1m - 2021-10-22 20-F 2021-11-01
    ifrs-full:ProfitLoss ARS -24502m 2020-07-01 2021-06-30 20-F 2021-11-01
"""


def test_a_cover_hundreds_of_times_off_the_one_before_is_no_answer_where_nothing_bears_it_out():
    for before in ("431642804", "2431642"):
        found = made(FAR_OFF.format(before=before))
        assert (found.shares is None) == (before == "431642804")
    found = made(FAR_OFF.format(before="431642804"))
    assert "hundreds of times off the cover before" in found.note
    borne_out = "ifrs-full:BasicEarningsLossPerShare ARS/shares -24502 2020-07-01 2021-06-30 20-F 2021-11-01"
    assert made(FAR_OFF.format(before="431642804") + borne_out).shares.value == 1_000_000


LONE = """
    NetIncomeLoss USD 2m 2020-08-01 2020-10-31 10-Q 2020-12-09
    NetIncomeLoss USD 11065k 2020-02-01 2021-01-31 10-K 2021-04-13
    dei:EntityPublicFloat USD 361m - 2020-07-31 10-K 2021-04-13
    NetIncomeLoss USD 2m 2021-02-01 2021-04-30 10-Q 2021-06-09
    NetIncomeLoss USD 3m 2021-05-01 2021-07-31 10-Q 2021-09-09
    cover shares 3344775 - 2021-08-31 10-Q 2021-09-09
"""


def test_a_lone_cover_after_reports_that_gave_no_single_count_is_no_answer_where_nothing_bears_it_out():
    """One of two classes lost its name in the tagging."""
    found = made(LONE)
    assert found.shares is None
    assert "the only single one" in found.note
    assert made(LONE + "balance shares 3.3m - 2021-07-31 10-Q 2021-09-09").shares.value == 3_344_775
    assert made(LONE + "cover shares 3.3m - 2021-05-31 10-Q 2021-06-09").shares.value == 3_344_775


LISTED = """
    average shares {first} 2019-01-01 2019-12-31 20-F {filed}
    NetIncomeLoss HKD 165m 2019-01-01 2019-12-31 20-F {filed}
    average shares 1036865727 2020-01-01 2020-12-31 20-F 2021-03-26
    NetIncomeLoss HKD 1325523k 2020-01-01 2020-12-31 20-F 2021-03-26
    EarningsPerShareBasic HKD/shares 1.28 2020-01-01 2020-12-31 20-F 2021-03-26
"""


@pytest.mark.parametrize(
    ("first", "filed", "is_told"),
    [
        ("832790329", "2020-04-27", True),
        # Shares were converted when it was listed: that may have been within the year of the average.
        ("403750000", "2020-04-27", False),
        # Half of the average is of the time before.
        ("832790329", "2020-06-30", False),
    ],
)
def test_an_average_most_of_which_is_of_the_time_after_the_first_report_is_an_answer(first, filed, is_told):
    found = made(LISTED.format(first=first, filed=filed))
    assert (found.shares is not None and found.shares.value == 1_036_865_727) == is_told
    assert is_told or "before the filer's first report" in found.note


EXCHANGEABLE = """
    balance shares 15m - 2021-09-30 10-K 2021-11-15
    average shares 16266k 2020-10-01 2021-09-30 10-K 2021-11-15
    averageDiluted shares {diluted} 2020-10-01 2021-09-30 10-K 2021-11-15
    NetIncomeLoss USD 35696k 2020-10-01 2021-09-30 10-K 2021-11-15
    EarningsPerShareBasic USD/shares 2.18 2020-10-01 2021-09-30 10-K 2021-11-15
    NetIncomeLoss USD 30m 2018-10-01 2019-09-30 10-K 2019-11-15
"""


@pytest.mark.parametrize(("diluted", "is_told"), [("31282k", True), ("18000k", False)])
def test_a_diluted_average_far_above_the_basic_one_tells_of_a_class_that_can_be_exchanged(diluted, is_told):
    found = made(EXCHANGEABLE.format(diluted=diluted))
    assert found.shares.value == 15_000_000
    assert ("a class that can be exchanged" in found.note) == is_told


def test_a_cover_that_counts_all_classes_is_not_said_to_leave_one_out():
    found = made(EXCHANGEABLE.format(diluted="31282k") + "cover shares 26m - 2021-11-10 10-K 2021-11-15")
    assert found.shares.value == 26_000_000
    assert "exchanged" not in found.note


NEWCOMER = """
    cover shares {cover} - 2021-05-09 10-Q 2021-05-10
    balance shares {table} - 2021-03-31 10-Q 2021-05-10
    average shares {table} 2021-01-01 2021-03-31 10-Q 2021-05-10
"""


def test_a_newcomers_cover_is_a_thousand_times_its_own_table_by_a_slip_only():
    found = study_small(NEWCOMER.format(cover=22_682_875_000, table=22_682_875))
    assert found.shares.value == 22_682_875
    assert "wrong scale" in found.note


@pytest.mark.parametrize(
    ("cover", "table"), [(34_451_020, 34_451), (2_500_000_000, 2_500_000), (22_682_875_000, 21_000_001)]
)
def test_a_newcomers_table_in_thousands_says_nothing_against_its_cover(cover, table):
    assert study_small(NEWCOMER.format(cover=cover, table=table)).shares.value == cover


def test_a_newcomers_average_in_thousands_does_not_hide_that_a_class_is_left_out():
    told = "2020-01-01 2020-12-31 20-F 2021-05-04"
    found = study_small(f"""
        cover shares 5037939 - 2020-12-31 20-F 2021-05-04
        ifrs-full:ProfitLoss MXN 472142k {told}
        ifrs-full:BasicEarningsLossPerShare MXN/shares 15.63 {told}
        ifrs-full:WeightedAverageShares shares 30200 {told}
    """)
    assert "may leave out a class" in found.note


@pytest.mark.parametrize(("issued", "is_said"), [(961_827_000, True), (520_000_000, False)])
def test_shares_that_are_issued_and_not_counted_are_said(issued, is_said):
    """Preferred shares stand on no cover, and the profit of the average is that of one class."""
    found = study_small(f"""
        cover shares 509704584 - 2020-12-31 20-F 2021-04-21
        ifrs-full:WeightedAverageShares shares 510000000 2020-01-01 2020-12-31 20-F 2021-04-21
        ifrs-full:NumberOfSharesIssued shares {issued} - 2020-12-31 20-F 2021-04-21
    """)
    assert found.shares.value == 509_704_584
    assert (f"{issued} shares are issued" in (found.note or "")) == is_said
