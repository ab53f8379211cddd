"""Amounts of real filers, a thousand times off, or beside numbers that contradict them: never answered."""

from datetime import date

import pytest

from tickyard.features.research.study import study
from yards.filings import cases, companies, slipped, study_small

CASES = {case["id"]: case for case in cases()}
COMPANIES = companies()


def ask(name, facts=None, today=None):
    case = CASES[name]
    return study(case.filer.company, facts or case.filer.facts, date.fromisoformat(today) if today else case.today)


def made(text):
    return study_small(text, date(2024, 9, 1))


@pytest.mark.slow
@pytest.mark.parametrize("times", [(1000, 1), (1, 1000), (-1, 1)], ids=["x1000", "/1000", "turned"])
@pytest.mark.parametrize("name", COMPANIES)
def test_a_revenue_that_slips_is_never_the_answer(name, times):
    right = ask(name).revenue
    # A loss of revenue is real here, and a sum of parts is no number that could slip.
    if right is None or right.concept not in CASES[name].filer.facts.concepts or right.value < 0:
        return
    more, less = times
    period = (right.period_start, right.period_end)
    facts = slipped(CASES[name].filer.facts, right.concept, right.accession, lambda n: int(n * more // less), period)
    found = ask(name, facts)
    assert found.revenue is None or abs(found.revenue.value - right.value) * 50 <= right.value
    assert found.revenue is not None or "revenue" in found.note


BORNE_OUT = [
    "AAPL@2021",
    "HD@2021",
    "BF-B@2021",
    "UBSI@2021",
    "HIG@2021",
    "ARE@2021",
    "EQR@2021",
    "NEE@2021",
    "BKNG@2021",
]


@pytest.mark.parametrize("times", [(1000, 1), (1, 1000)], ids=["x1000", "/1000"])
@pytest.mark.parametrize("name", BORNE_OUT)
def test_a_profit_that_slips_is_seen_by_profit_per_share(name, times):
    right, (more, less) = ask(name).net_income, times
    period = (right.period_start, right.period_end)
    facts = slipped(CASES[name].filer.facts, right.concept, right.accession, lambda n: int(n * more // less), period)
    found = ask(name, facts)
    assert found.net_income is None
    assert "a slip" in found.note


def test_a_year_that_slips_as_a_whole_is_seen_by_the_year_before():
    facts, found = CASES["AAPL@2021"].filer.facts, ask("AAPL@2021")
    for right in (found.revenue, found.net_income):
        period = (right.period_start, right.period_end)
        facts = slipped(facts, right.concept, right.accession, lambda n: n * 1000, period)
    wrong = ask("AAPL@2021", facts)
    assert (wrong.revenue, wrong.net_income) == (None, None)
    assert "in a wrong scale" in wrong.note


@pytest.mark.parametrize(("name", "day", "value"), [
    ("BF-B@2021", "2017-07-15", 2_994_000_000),
    ("BF-B@2021", "2018-07-15", 3_248_000_000),
    ("PM@2021", "2018-03-01", 28_748_000_000),
    # These tag no excise, but what they owe of it.
    ("STZ@2021", "2011-05-10", 3_332_000_000),
    ("STZ@2021", "2016-05-01", 6_548_400_000),
    ("STZ@2021", "2018-05-01", 7_585_000_000),
])  # fmt: skip
def test_sales_are_without_excise_when_gross_profit_and_cost_prove_it(name, day, value):
    found = ask(name, today=day)
    assert found.revenue.value == value
    assert "without the excise" in found.note


# The counts of these are in thousands; their profits are not.
@pytest.mark.parametrize(("name", "day"), [("NVDA@2026-07-09", "2010-03-18"), ("SUZ@2021", "2019-06-01")])
def test_a_profit_is_not_doubted_for_a_count_in_thousands(name, day):
    assert ask(name, today=day).net_income is not None


YEAR = "2023-01-01 2023-12-31 10-K 2024-02-20"
AMENDED = "2023-01-01 2023-12-31 10-K/A 2024-08-01"


def test_an_amendment_that_restates_the_profit_under_another_name_is_heard():
    found = made(f"NetIncomeLoss USD 100m {YEAR}\nProfitLoss USD 61m {AMENDED}\nRevenues USD 900m {YEAR}")
    assert (found.net_income.value, found.net_income.form) == (61_000_000, "10-K/A")
    repeated = made(f"NetIncomeLoss USD 90m {YEAR}\nProfitLoss USD 100m {YEAR}\nProfitLoss USD 100m {AMENDED}")
    assert repeated.net_income.value == 90_000_000


def test_a_minority_tagged_with_a_minus_is_still_taken_off():
    found = made(f"""
        ProfitLoss USD 110m {YEAR}
        NetIncomeLossAttributableToNoncontrollingInterest USD -10m {YEAR}
        EarningsPerShareBasic USD/shares 2 {YEAR}
        average shares 50m {YEAR}
    """)
    assert found.net_income.value == 100_000_000


@pytest.mark.parametrize(
    "text",
    [
        # A lender's fees are not its revenue, though it tags only interest before what that costs.
        f"InterestAndDividendIncomeOperating USD 900m {YEAR}\ncontracts USD 60m {YEAR}\nNetIncomeLoss USD 200m {YEAR}",
        # Two parts of a bank that make less than nothing.
        f"InterestIncomeExpenseNet USD 300m {YEAR}\nNoninterestIncome USD -900m {YEAR}\nNetIncomeLoss USD -700m {YEAR}",
    ],
)
def test_what_is_no_total_is_no_revenue(text):
    found = made(text)
    assert found.revenue is None
    assert "revenue" in found.note
