"""Covers that nobody counted anew, and covers of what was ever issued: as filers have told theirs."""

from datetime import date

import pytest

from yards.filings import study_small

STANDING = """
    cover shares 99000001 - 2023-11-07 10-Q 2023-11-10
    cover shares 102456789 - 2024-05-07 10-Q 2024-05-10
    CommonStockSharesOutstanding shares 102111333 - 2024-03-31 10-Q 2024-05-10
    average shares 101500000 2024-01-01 2024-03-31 10-Q 2024-05-10
    cover shares {cover} - 2024-08-06 10-Q 2024-08-09
    CommonStockSharesOutstanding shares {balance} - 2024-06-30 10-Q 2024-08-09
    average shares {average} 2024-04-01 2024-06-30 10-Q 2024-08-09
"""


@pytest.mark.parametrize(("cover", "balance", "average", "count"), [
    ("102456789", "143876543", "126000000", 143_876_543),
    # Counted anew, by one share.
    ("102456790", "143876543", "126000000", 102_456_790),
    # Either of them may have slipped.
    ("102456789", "143876543", "102000000", 102_456_789),
    ("102456789", "102300000", "126000000", 102_456_789),
])  # fmt: skip
def test_a_cover_left_standing_for_one_report_gives_way_to_the_balance_sheet(cover, balance, average, count):
    found = study_small(STANDING.format(cover=cover, balance=balance, average=average), date(2024, 8, 20))
    assert found.shares.value == count
    assert ("although balance sheet and average moved since" in found.note) is (count == 143_876_543)


def test_a_rounded_cover_may_well_come_back():
    text = STANDING.format(cover="102456789", balance="143876543", average="126000000")
    assert study_small(text.replace("102456789", "102456000"), date(2024, 8, 20)).shares.value == 102_456_000


REVERSE = """
    cover shares 70000001 - 2024-02-08 10-K 2024-02-12
    cover shares 99300456 - 2024-11-08 10-Q 2024-11-12
    CommonStockSharesOutstanding shares {then} - 2024-09-30 10-Q 2024-11-12
    average shares {then} 2024-07-01 2024-09-30 10-Q 2024-11-12
    cover shares {cover} - 2025-03-14 10-K 2025-03-28
    CommonStockSharesOutstanding shares 5050000 - 2024-12-31 10-K 2025-03-28
    average shares 4710000 2024-01-01 2024-12-31 10-K 2025-03-28
    NetIncomeLoss USD -34m 2024-01-01 2024-12-31 10-K 2025-03-28
    EarningsPerShareBasic USD/shares {per_share} 2024-01-01 2024-12-31 10-K 2025-03-28
"""


@pytest.mark.parametrize(("then", "cover", "per_share", "count"), [
    ("98100000", "102345678", "-7.22", 5_050_000),
    # The report before had such tables too: some shares have no part in the profit, or are held by the company.
    ("4900000", "102345678", "-7.22", 102_345_678),
    # Shares were issued since, or the table slipped.
    ("98100000", "132345678", "-7.22", 132_345_678),
    ("98100000", "102345678", "-0.36", 102_345_678),
])  # fmt: skip
def test_a_cover_of_before_a_reverse_split_gives_way_to_the_balance_sheet(then, cover, per_share, count):
    found = study_small(REVERSE.format(then=then, cover=cover, per_share=per_share), date(2025, 4, 15))
    assert found.shares.value == count
    assert ("as after a reverse split" in found.note) is (count == 5_050_000)


ISSUED = """
    cover shares {before} - 2023-12-31 20-F 2024-04-20
    cover shares 181234567 - 2024-12-31 20-F 2025-04-20
    {issued} shares {held} - 2024-12-31 20-F 2025-04-20
    {issued} shares 190000000 - 2023-12-31 20-F 2025-04-20
    {outstanding} shares {count} - 2024-12-31 20-F 2025-04-20
    average shares 121500000 2024-01-01 2024-12-31 20-F 2025-04-20
    NetIncomeLoss USD 498m 2024-01-01 2024-12-31 20-F 2025-04-20
    EarningsPerShareBasic USD/shares 4.1 2024-01-01 2024-12-31 20-F 2025-04-20
"""
ABROAD = ("ifrs-full:NumberOfSharesIssued", "ifrs-full:NumberOfSharesOutstanding")
AT_HOME = ("CommonStockSharesIssued", "SharesOutstanding")


@pytest.mark.parametrize(("names", "held", "before", "count", "taken", "said"), [
    (ABROAD, "181234567", "181234567", 121_000_011, 121_000_011, "shares issued to the last digit"),
    (AT_HOME, "181234567", "181234567", 121_000_011, 121_000_011, "shares issued to the last digit"),
    # Nothing tells that those on the cover are not outstanding, but it is so for long: that is said.
    (AT_HOME, "181234566", "181200000", 121_000_011, 181_234_567, "may count the treasury"),
    (AT_HOME, "181234566", "131200000", 121_000_011, 181_234_567, None),
    # The company holds hardly any.
    (AT_HOME, "181234567", "181234567", 171_000_011, 181_234_567, None),
])  # fmt: skip
def test_a_cover_of_what_was_ever_issued_gives_way_to_what_is_outstanding(names, held, before, count, taken, said):
    issued, outstanding = names
    text = ISSUED.format(issued=issued, outstanding=outstanding, held=held, before=before, count=count)
    first = "cover shares 150000001 - 2022-12-31 20-F 2023-04-20"
    found = study_small(f"{first}\n{text}", date(2025, 5, 15))
    assert found.shares.value == taken
    assert (said or "sharesOutstanding") in found.note if said else "sharesOutstanding" not in found.note


@pytest.mark.parametrize(("other", "average", "is_known"), [
    ("41200002", None, False),
    ("9300002", None, True),
    # A class of a hundred shares that vote by themselves.
    ("100", None, True),
    # The table knows of no others.
    ("41200002", "9200000", True),
])  # fmt: skip
def test_one_cover_with_two_days_gives_no_single_count(other, average, is_known):
    line = f"average shares {average} 2024-01-01 2024-12-31 10-K 2025-02-20" if average else ""
    found = study_small(f"""
        cover shares 9100001 - 2024-02-12 10-K 2024-02-20
        cover shares 9100002 - 2025-02-12 10-K 2025-02-20
        cover shares {other} - 2025-02-10 10-K 2025-02-20
        {line}
    """, date(2025, 3, 15))  # fmt: skip
    assert (found.shares is not None) is is_known
    assert ("is one of two that the cover gives" in found.note) is not is_known


def test_an_older_day_of_a_cover_that_counts_as_the_table_did_is_no_class():
    """The cover repeats what there was before the company issued more, beside what there is now."""
    found = study_small("""
        cover shares 100200111 - 2022-02-20 10-K 2022-03-01
        CommonStockSharesOutstanding shares 100150000 - 2022-12-31 10-K 2023-03-01
        average shares 100000000 2022-01-01 2022-12-31 10-K 2023-03-01
        cover shares 160222333 - 2023-02-20 10-K 2023-03-01
        cover shares 101000777 - 2022-06-30 10-K 2023-03-01
    """, date(2023, 3, 5))  # fmt: skip
    assert found.shares.value == 160_222_333
