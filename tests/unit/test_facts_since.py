"""A count of before a split, where a later filing of any form tells the split. The figures are the filers' own."""

from datetime import date

import pytest

from yards.filings import study_small

TODAY = date(2020, 8, 20)
COVER = """
    ifrs-full:ProfitLoss CAD 1559m 2017-01-01 2017-12-31 40-F 2018-02-14
    ifrs-full:ProfitLoss CAD 1746m 2019-01-01 2019-12-31 40-F 2020-02-14
    cover shares 604586502 - 2019-12-31 40-F 2020-02-14
    ifrs-full:WeightedAverageShares shares 602m 2019-01-01 2019-12-31 40-F 2020-02-14
"""
AVERAGE = """
    ifrs-full:WeightedAverageShares shares {then} 2019-04-01 2019-06-30 6-K 2019-08-02
    ifrs-full:WeightedAverageShares shares {now} 2019-04-01 2019-06-30 6-K {filed}
"""
BALANCE = """
    balance shares {then} - 2019-12-31 40-F 2020-02-14
    balance shares {now} - 2019-12-31 6-K {filed}
"""


@pytest.mark.parametrize("interim", [AVERAGE, BALANCE])
@pytest.mark.parametrize(("then", "now", "word"), [
    ("601m", "1203m", "before a split: the 6-K of 2020-07-31 restates 601000000 as 1203000000"),
    ("601m", "842m", "before a split"),
    ("601m", "60100k", "before shares were put together"),
])  # fmt: skip
def test_a_count_that_an_interim_report_restates_is_of_before_a_split(interim, then, now, word):
    found = study_small(COVER + interim.format(then=then, now=now, filed="2020-07-31"), TODAY)
    assert found.shares is None
    assert word in found.note


@pytest.mark.parametrize(("then", "now", "filed"), [
    ("601m", "1203m", "2020-08-21"),  # not told yet
    ("601m", "840m", "2020-07-31"),  # less than any common split
    ("601m", "601000", "2020-07-31"),  # a slip of scale
    ("302m", "604m", "2020-07-31"),  # the cover knew of the split
])  # fmt: skip
def test_a_count_stands_where_no_later_filing_tells_of_a_split_since(then, now, filed):
    found = study_small(COVER + AVERAGE.format(then=then, now=now, filed=filed), TODAY)
    assert found.shares.value == 604_586_502


def test_an_average_of_before_a_split_is_no_answer_and_no_older_count_either():
    text = "\n".join(line for line in COVER.splitlines() if "cover" not in line)
    before = study_small(text, TODAY)
    assert before.shares.value == 602_000_000
    assert "over the latest period in the 40-F" in before.note
    found = study_small(text + AVERAGE.format(then="601m", now="1203m", filed="2020-07-31"), TODAY)
    assert found.shares is None
    assert "before a split" in found.note


def test_a_balance_sheet_of_before_a_split_is_no_answer():
    text = COVER.replace("cover shares", "balance shares")
    assert study_small(text, TODAY).shares.value == 604_586_502
    found = study_small(text + AVERAGE.format(then="601m", now="1203m", filed="2020-07-31"), TODAY)
    assert found.shares is None
    assert found.note.count("before a split") == 1


def test_the_newest_of_several_later_filings_tells_whether_shares_were_split():
    wrong = AVERAGE.format(then="601m", now="1203m", filed="2020-07-31")
    right = "ifrs-full:WeightedAverageShares shares 601m 2019-04-01 2019-06-30 6-K 2020-08-10"
    assert study_small(COVER + wrong + right, TODAY).shares.value == 604_586_502
