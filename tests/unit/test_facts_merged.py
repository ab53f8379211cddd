"""Another company's year after a merger, told by a quarter that both of them told. As filers have told theirs."""

from datetime import date

import pytest

from yards.filings import study_small

SHELL = """
    NetIncomeLoss USD 2100k 2023-01-01 2023-03-31 10-Q 2023-05-12
    OperatingIncomeLoss USD -640k 2023-01-01 2023-03-31 10-Q 2023-05-12
    NetIncomeLoss USD 9150k 2023-01-01 2023-12-31 10-K 2024-03-15
    OperatingExpenses USD 2450k 2023-01-01 2023-12-31 10-K 2024-03-15
    NetIncomeLoss USD -14800k 2024-01-01 2024-03-31 10-Q 2024-05-14
    NetIncomeLoss USD {profit} 2023-01-01 2023-03-31 10-Q 2024-05-14
    OperatingIncomeLoss USD {left} 2023-01-01 2023-03-31 10-Q 2024-05-14
"""


@pytest.mark.parametrize(("profit", "left", "is_anothers"), [
    ("-11900k", "-11500k", True),
    ("-1900k", "-990k", True),
    # What the warrants of a shell were worth was restated, and nothing else.
    ("-11900k", "-700k", False),
    # Before operation a line was moved.
    ("2100k", "-11500k", False),
    ("1500k", "-11500k", False),
])  # fmt: skip
def test_the_profit_of_a_shell_is_not_the_loss_of_the_company_that_goes_on(profit, left, is_anothers):
    found = study_small(SHELL.format(profit=profit, left=left), date(2024, 6, 15))
    assert (found.net_income is None) is is_anothers
    assert ("netIncome: the report of 2024-05-14 tells quite other amounts" in found.note) is is_anothers


LISTED = """
    Revenues USD 24100k 2023-04-01 2023-06-30 10-Q 2023-08-11
    NetIncomeLoss USD -2250k 2023-04-01 2023-06-30 10-Q 2023-08-11
    average shares 48000000 2023-04-01 2023-06-30 10-Q 2023-08-11
    Revenues USD 98400k 2023-01-01 2023-12-31 10-K 2024-03-15
    NetIncomeLoss USD -14200k 2023-01-01 2023-12-31 10-K 2024-03-15
    NetIncomeLoss USD {profit} 2023-04-01 2023-06-30 10-Q 2024-08-14
"""


@pytest.mark.parametrize(("profit", "revenue", "average", "is_anothers"), [
    # Half as large, or half as large again: less than twice as much is sold, but other shares divide another profit.
    ("-6100k", "9200k", None, True),
    ("6600k", "43700k", "132000000", True),
    # It sells nothing yet.
    ("-5100k", None, "6200000", True),
    # A restatement: shares, or what was sold, stay as they were.
    ("-6100k", "9200k", "48000000", False),
    ("6600k", "24100k", "132000000", False),
    # Shares were put together, a business was given up.
    ("-2250k", None, "4800000", False),
    ("-2250k", "9200k", None, False),
    # A slip.
    ("6600k", "24100m", None, False),
    # By itself a profit tells nothing.
    ("6600k", None, None, False),
    ("-6100k", "13500k", None, False),
])  # fmt: skip
def test_a_quarter_of_which_no_line_stayed_is_another_companys(profit, revenue, average, is_anothers):
    lines = [LISTED.format(profit=profit)]
    lines += [f"Revenues USD {revenue} 2023-04-01 2023-06-30 10-Q 2024-08-14"] if revenue else []
    lines += [f"average shares {average} 2023-04-01 2023-06-30 10-Q 2024-08-14"] if average else []
    found = study_small("\n".join(lines), date(2024, 9, 1))
    assert ((found.revenue, found.net_income) == (None, None)) is is_anothers
    assert ("revenue: the report of 2024-08-14 tells quite other amounts" in (found.note or "")) is is_anothers


@pytest.mark.parametrize(("half", "is_anothers"), [("-8100k", True), ("-3900k", False), ("8100k", False)])
def test_two_parts_that_lost_more_than_the_year_each_are_another_companys(half, is_anothers):
    found = study_small(f"""
        NetIncomeLoss USD -950k 2023-04-01 2023-06-30 10-Q 2023-08-11
        NetIncomeLoss USD -4150k 2023-01-01 2023-12-31 10-K 2024-03-15
        NetIncomeLoss USD -5900k 2023-04-01 2023-06-30 10-Q 2024-08-14
        NetIncomeLoss USD {half} 2023-01-01 2023-06-30 10-Q 2024-08-14
    """, date(2024, 9, 1))  # fmt: skip
    assert (found.net_income is None) is is_anothers


@pytest.mark.parametrize(("profit", "is_anothers"), [("-11900k", True), ("-8900k", False), ("11900k", False)])
def test_a_quarter_with_sales_and_twice_the_loss_is_none_of_a_shells_year_of_profit(profit, is_anothers):
    found = study_small(f"""
        NetIncomeLoss USD 4500k 2023-01-01 2023-12-31 10-K 2024-03-15
        NetIncomeLoss USD {profit} 2023-01-01 2023-03-31 10-Q 2024-05-14
        Revenues USD 6500k 2023-01-01 2023-03-31 10-Q 2024-05-14
    """, date(2024, 6, 15))  # fmt: skip
    assert (found.net_income is None) is is_anothers


@pytest.mark.parametrize(("sold", "is_anothers"), [("103m", False), ("310m", True)])
def test_revenue_that_has_another_name_since_is_the_same_line(sold, is_anothers):
    """A new rule for revenue gave it a new name everywhere, beside a quarter near nothing and shares that were split."""
    text = f"""
        SalesRevenueNet USD 100m 2017-01-01 2017-03-31 10-Q 2017-05-05
        NetIncomeLoss USD -2m 2017-01-01 2017-03-31 10-Q 2017-05-05
        average shares 50000000 2017-01-01 2017-03-31 10-Q 2017-05-05
        SalesRevenueNet USD 420m 2017-01-01 2017-12-31 10-K 2018-02-20
        NetIncomeLoss USD 9m 2017-01-01 2017-12-31 10-K 2018-02-20
        RevenueFromContractWithCustomerExcludingAssessedTax USD {sold} 2017-01-01 2017-03-31 10-Q 2018-05-05
        NetIncomeLoss USD 3m 2017-01-01 2017-03-31 10-Q 2018-05-05
        average shares 110000000 2017-01-01 2017-03-31 10-Q 2018-05-05
    """
    assert (study_small(text, date(2018, 6, 1)).net_income is None) is is_anothers
