"""Profit per share and shares of a period are those of the net income beside them. The figures are the filers' own."""

from datetime import date

import pytest

from tickyard.features.research.series.series import series
from yards.filings import small

# A table of the annual report tells the quarters of the year before with the numbers of its own.
QUARTERS = """
    NetIncomeLoss USD 201m 2011-01-01 2011-03-31 10-Q 2011-04-27
    EarningsPerShareDiluted USD/shares 0.44 2011-01-01 2011-03-31 10-Q 2011-04-27
    NetIncomeLoss USD 190m 2011-04-01 2011-06-30 10-Q 2011-07-27
    EarningsPerShareDiluted USD/shares 0.41 2011-04-01 2011-06-30 10-Q 2011-07-27
    NetIncomeLoss USD 63m 2011-07-01 2011-09-30 10-Q 2011-10-26
    EarningsPerShareDiluted USD/shares 0.14 2011-07-01 2011-09-30 10-Q 2011-10-26
    diluted shares 461m 2011-07-01 2011-09-30 10-Q 2011-10-26
    NetIncomeLoss USD 454m 2011-01-01 2011-09-30 10-Q 2011-10-26
    NetIncomeLoss USD 631m 2011-01-01 2011-12-31 10-K 2012-02-01
    NetIncomeLoss USD 63m 2011-07-01 2011-09-30 10-K 2012-02-01
    EarningsPerShareDiluted USD/shares 0.14 2011-07-01 2011-09-30 10-K 2012-02-01
    diluted shares 461m 2011-07-01 2011-09-30 10-K 2012-02-01
    NetIncomeLoss USD 177m 2011-10-01 2011-12-31 10-K 2012-02-01
    EarningsPerShareDiluted USD/shares 0.38 2011-10-01 2011-12-31 10-K 2012-02-01
    diluted shares 462m 2011-10-01 2011-12-31 10-K 2012-02-01
    NetIncomeLoss USD -39m 2012-01-01 2012-12-31 10-K 2013-01-30
    NetIncomeLoss USD -274m 2011-07-01 2011-09-30 10-K 2013-01-30
    EarningsPerShareDiluted USD/shares -0.60 2011-07-01 2011-09-30 10-K 2013-01-30
    diluted shares 454m 2011-07-01 2011-09-30 10-K 2013-01-30
    NetIncomeLoss USD 97m 2011-10-01 2011-12-31 10-K 2013-01-30
    EarningsPerShareDiluted USD/shares 0.21 2011-10-01 2011-12-31 10-K 2013-01-30
"""


def told(text, end):
    found = series(small(text.replace("diluted shares", "WeightedAverageNumberOfDilutedSharesOutstanding shares")),
                   "1231", date(2013, 7, 24))  # fmt: skip
    return next(each for each in (*found.quarterly, *found.annual) if each.end.isoformat() == end)


def without(text, *phrases):
    return "\n".join(line for line in text.splitlines() if not all(phrase in line for phrase in phrases))


@pytest.mark.parametrize(("end", "income", "per_share", "shares", "refused"), [
    ("2011-09-30", 63, "0.14", 461, "-0.60"),
    ("2011-12-31", 177, "0.38", 462, "0.21"),
])  # fmt: skip
def test_a_filing_whose_net_income_is_refused_for_a_quarter_tells_no_profit_per_share_of_it(
    end, income, per_share, shares, refused
):
    found = told(QUARTERS, end)
    assert found.net_income.value == income * 10**6
    assert str(found.diluted_eps.value) == per_share
    assert found.diluted_eps.reason is None
    assert refused in [f"{said.value:.2f}" for said in found.diluted_eps.earlier]
    assert found.shares.value == shares * 10**6


def test_profit_per_share_told_only_beside_a_refused_net_income_is_unknown_and_listed():
    found = told(without(QUARTERS, "EarningsPerShareDiluted", "2011-07-01", " 0.14 "), "2011-09-30")
    assert found.diluted_eps.value is None
    assert "another net income" in found.diluted_eps.reason
    assert [str(said.value) for said in found.diluted_eps.earlier] == ["-0.60"]
    assert found.shares.value == 461_000_000


def test_shares_told_only_beside_a_refused_net_income_are_unknown():
    found = told(without(QUARTERS, "diluted shares 461m"), "2011-09-30")
    assert str(found.diluted_eps.value) == "0.14"
    assert found.shares.value is None


YEAR = """
    NetIncomeLoss USD {income}m 2012-01-01 2012-12-31 10-K 2013-01-30
    EarningsPerShareDiluted USD/shares {per_share} 2012-01-01 2012-12-31 10-K/A 2013-03-30
    diluted shares 100m 2012-01-01 2012-12-31 10-K/A 2013-03-30
    {more}
"""
COMMON = "NetIncomeLossAvailableToCommonStockholdersBasic USD -20m 2012-01-01 2012-12-31 10-K 2013-01-30"


@pytest.mark.parametrize(("income", "per_share", "more", "is_served"), [
    (60, "0.60", "", True),
    (60, "0.45", "", True),  # the rest went to preferred shares
    (60, "-0.20", COMMON, True),  # preferred shares took more than all of it
    (60, "-0.20", "", False),
    (-60, "0.60", "", False),
    (60, "1.30", "", False),
    (1, "0.03", "", True),  # rounding
])  # fmt: skip
def test_profit_per_share_of_a_filing_that_tells_no_profit_is_held_against_the_net_income(
    income, per_share, more, is_served
):
    found = told(YEAR.format(income=income, per_share=per_share, more=more), "2012-12-31")
    assert (found.diluted_eps.value is not None) is is_served


def test_less_than_a_cent_a_share_is_what_it_is_rounded_to():
    text = YEAR.format(income="0.3", per_share="0.00", more="").replace("10-K/A 2013-03-30", "10-K 2013-01-30")
    text = text.replace("USD 0.3m", "USD 266k") + "NetIncomeLoss USD 300k 2012-01-01 2012-12-31 10-K/A 2013-05-30"
    assert told(text, "2012-12-31").diluted_eps.value == 0


@pytest.mark.parametrize(("restated", "per_share"), [(66, None), (61, "0.60")])
def test_profit_per_share_of_before_a_restatement_is_none_of_the_restated_net_income(restated, per_share):
    text = YEAR.format(income=60, per_share="0.60", more="").replace("10-K/A 2013-03-30", "10-K 2013-01-30")
    found = told(text + f"NetIncomeLoss USD {restated}m 2012-01-01 2012-12-31 10-K/A 2013-05-30", "2012-12-31")
    assert found.net_income.value == restated * 10**6
    assert (str(found.diluted_eps.value) if found.diluted_eps.value is not None else None) == per_share
    assert found.shares.value == 100_000_000
