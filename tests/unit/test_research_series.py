"""Years, quarters and the trailing twelve months: only what truly adds up, and a reason for everything else."""

from datetime import date
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import pytest
from msgspec.structs import replace

from tickyard.features.research.company.worth import MarketCap
from tickyard.features.research.financials import ratio
from tickyard.features.research.series.series import Item, series
from tickyard.sandbox.filings.rows import company_facts, rows_of
from tickyard.sources.filings.border import Entry, read_facts
from yards.filings import cases, companies

TODAY = date(2026, 9, 16)
CASES = {case["id"]: case for case in cases()}

# Two years of an ordinary filer: the fourth quarter of 2025 is nowhere tagged, the second of 2026 is the newest.
ORDINARY = """
    Revenues USD 400 2024-01-01 2024-12-31 10-K 2025-02-14
    NetIncomeLoss USD 40 2024-01-01 2024-12-31 10-K 2025-02-14
    Revenues USD 100 2025-01-01 2025-03-31 10-Q 2025-05-10
    NetIncomeLoss USD 10 2025-01-01 2025-03-31 10-Q 2025-05-10
    Revenues USD 110 2025-04-01 2025-06-30 10-Q 2025-08-10
    NetIncomeLoss USD 11 2025-04-01 2025-06-30 10-Q 2025-08-10
    Revenues USD 120 2025-07-01 2025-09-30 10-Q 2025-11-10
    NetIncomeLoss USD 12 2025-07-01 2025-09-30 10-Q 2025-11-10
    Revenues USD 330 2025-01-01 2025-09-30 10-Q 2025-11-10
    NetIncomeLoss USD 33 2025-01-01 2025-09-30 10-Q 2025-11-10
    Revenues USD 470 2025-01-01 2025-12-31 10-K 2026-02-14
    NetIncomeLoss USD 46 2025-01-01 2025-12-31 10-K 2026-02-14
    EarningsPerShareDiluted USD/shares 4 2025-01-01 2025-12-31 10-K 2026-02-14
    WeightedAverageNumberOfDilutedSharesOutstanding shares 11 2025-01-01 2025-12-31 10-K 2026-02-14
    Revenues USD 150 2026-01-01 2026-03-31 10-Q 2026-05-10
    NetIncomeLoss USD 15 2026-01-01 2026-03-31 10-Q 2026-05-10
    Revenues USD 100 2025-01-01 2025-03-31 10-Q 2026-05-10
    Revenues USD 160 2026-04-01 2026-06-30 10-Q 2026-08-10
    NetIncomeLoss USD 16 2026-04-01 2026-06-30 10-Q 2026-08-10
    Revenues USD 110 2025-04-01 2025-06-30 10-Q 2026-08-10
"""


def found(text, today=TODAY):
    return series(read_facts(company_facts(1, "Example", rows_of(text)), 1), "1231", today)


def without(text, *phrases):
    return "\n".join(line for line in text.splitlines() if not any(phrase in line for phrase in phrases))


def test_the_fourth_quarter_is_the_year_less_nine_months():
    told = found(ORDINARY)
    fourth = next(each for each in told.quarterly if each.end == date(2025, 12, 31))
    assert (fourth.start, fourth.revenue.value, fourth.net_income.value) == (date(2025, 10, 1), 140, 13)
    assert fourth.revenue.concept == "us-gaap:Revenues (year less nine months)"
    assert fourth.revenue.accession == told.annual[0].revenue.accession
    assert (fourth.diluted_eps.value, fourth.diluted_eps.reason) == (
        None,
        "A fourth quarter's cannot be had by subtraction.",
    )


@pytest.mark.parametrize(
    ("more", "without_nine_months", "revenue"),
    [
        ("Revenues USD 141 2025-10-01 2025-12-31 10-K 2026-02-14", False, 141),
        ("Revenues USD 470 2025-10-01 2025-12-31 10-K 2026-02-14", False, 140),
        ("Revenues USD 470 2025-10-01 2025-12-31 10-K 2026-02-14", True, None),
        ("Revenues USD 141 2025-10-01 2025-12-31 10-K 2026-02-14", True, 141),
        ("Revenues USD -140 2025-10-01 2025-12-31 10-K 2026-02-14", False, 140),
    ],
)
def test_a_fourth_quarter_that_is_tagged_must_be_borne_out(more, without_nine_months, revenue):
    text = without(ORDINARY, "USD 330") if without_nine_months else ORDINARY
    fourth = next(each for each in found(f"{text}\n{more}").quarterly if each.end == date(2025, 12, 31))
    assert fourth.revenue.value == revenue
    assert (revenue is not None) or fourth.revenue.reason


def test_the_trailing_year_is_the_sum_of_its_quarters():
    trailing = found(ORDINARY).trailing
    assert (trailing.start, trailing.end) == (date(2025, 7, 1), date(2026, 6, 30))
    assert (trailing.revenue.value, trailing.net_income.value) == (120 + 140 + 150 + 160, 12 + 13 + 15 + 16)
    assert trailing.revenue.accession


def test_the_trailing_year_is_the_year_itself_when_no_quarter_is_newer():
    told = found(ORDINARY, today=date(2026, 3, 1))
    assert (told.trailing.end, told.trailing.revenue.value) == (date(2025, 12, 31), 470)
    assert (told.annual[0].fiscal_year, told.annual[0].diluted_eps.value, told.annual[0].shares.value) == (2025, 4, 11)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (without(ORDINARY, "USD 330"), "The year or its first nine months are not known"),
        (without(ORDINARY, "2025-09-30"), "is not reported"),
        (ORDINARY.replace("USD 330 ", "USD 340 "), "do not make up the nine months"),
        (without(ORDINARY, "2026-01-01 2026-03-31"), "is not reported"),
        (ORDINARY.replace("USD 110 2025-04-01 2025-06-30 10-Q 2026-08-10", "USD 90 2025-04-01 2025-06-30 10-Q 2026-08-10"),
         "restates the one ended 2025-06-30"),
        (ORDINARY + "Revenues USD 450 2025-01-01 2025-12-31 10-K/A 2026-04-14", "restated after its first nine months"),
        (ORDINARY.replace("Revenues USD 150", "SalesRevenueNet USD 150"), "different concepts"),
        (ORDINARY.replace("Revenues USD 330", "SalesRevenueNet USD 330"), "different concepts"),
    ],
)  # fmt: skip
def test_what_does_not_add_up_is_unknown_with_a_reason(text, reason):
    trailing = found(text).trailing
    assert trailing.revenue.value is None
    assert reason in trailing.revenue.reason


def test_the_newest_filing_of_a_period_wins_and_the_earlier_values_are_listed():
    text = ORDINARY + "Revenues USD 390 2024-01-01 2024-12-31 10-K 2026-02-14"
    year = found(text).annual[1]
    assert (year.revenue.value, year.revenue.filed) == (390, date(2026, 2, 14))
    assert [(said.value, said.filed) for said in year.revenue.earlier] == [(400, date(2025, 2, 14))]
    assert found(text, today=date(2026, 1, 1)).annual[0].revenue.value == 400


def test_a_filer_without_years_has_no_series():
    told = found("Revenues USD 100 2026-01-01 2026-03-31 10-Q 2026-05-10")
    assert (told.annual, told.quarterly) == ((), ())
    assert told.trailing.revenue.reason == "No annual report of a whole year with standard concepts."


# From the filers' own quarterly reports.
@pytest.mark.parametrize(
    ("name", "end", "revenue", "income"),
    [
        ("AAPL@2021", "2021-03-27", 325_406_000_000, 76_311_000_000),
        ("HD@2021", "2021-05-02", 141_350_000_000, 14_766_000_000),
        ("FB@2021", "2021-03-31", 94_400_000_000, 33_740_000_000),
        ("TSM@2021", "2020-12-31", 1_339_254_800_000, 510_744_000_000),
        ("DD@2021", "2021-03-31", None, 3_059_000_000),
    ],
)
def test_the_trailing_year_of_a_real_filer(name, end, revenue, income):
    case = CASES[name]
    trailing = series(case.filer.facts, case.filer.company.fiscal_year_end, case.today).trailing
    assert trailing.end.isoformat() == end
    assert (trailing.revenue.value, trailing.net_income.value) == (revenue, income)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_every_figure_of_a_real_filer_has_a_filing_or_a_reason(name):
    case = CASES[name]
    told = series(case.filer.facts, case.filer.company.fiscal_year_end, case.today)
    for period in (*told.annual, *told.quarterly, told.trailing):
        items = [period.revenue, period.net_income]
        items += [] if period is told.trailing else [period.diluted_eps, period.shares]
        assert all(item.accession if item.value is not None else item.reason for item in items)
    for periods in (told.annual, told.quarterly):
        ends = [period.end for period in periods]
        assert ends == sorted(set(ends), reverse=True)
        assert all(period.start < period.end <= case.today for period in periods)


CAP = MarketCap(1_000_000, "")


@pytest.mark.parametrize(
    ("cap", "item", "value", "reason"),
    [
        (CAP, Item(300_000, "USD"), "3.3333", None),
        (CAP, Item(2_000_000, "USD"), "0.5000", None),
        (CAP, Item(300_000, "TWD"), None, "in TWD"),
        (CAP, Item(Decimal("1e-24"), "USD"), f"1{30 * '0'}.0000", None),
        (CAP, Item(0, "USD"), None, "not positive"),
        (CAP, Item(-5, "USD"), None, "not positive"),
        (CAP, Item(None, "USD", reason="A quarter is missing."), None, "A quarter is missing."),
        (None, Item(5, "USD"), None, "no quote"),
    ],
)
def test_a_ratio_is_exact_or_null_with_a_reason(cap, item, value, reason):
    told = ratio(cap, item, "no quote")
    assert told.value == value
    assert (reason or "") in (told.reason or "")
    assert (told.value is None) == (told.reason is not None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kind", "end", "shares"),
    [
        ("COP@2021", "annual", "2015-12-31", 1_241_919_000),
        ("RY@2021", "annual", "2018-10-31", 1_450_485_000),
        ("NVDA@2026-07-09", "annual", "2009-01-25", 548_126_000),
        ("AXP@2026-07-24", "quarterly", "2018-03-31", 861_000_000),
        # This document has nothing but the averages, in two scales.
        ("COP@2026-07-24", "quarterly", "2018-06-30", None),
    ],
)
def test_a_number_of_shares_in_thousands_is_set_right_by_profit_per_share_or_unknown(name, kind, end, shares):
    case = CASES[name]
    found = series(case.filer.facts, case.filer.company.fiscal_year_end, case.today)
    item = next(each for each in getattr(found, kind) if each.end.isoformat() == end).shares
    assert item.value == shares
    assert item.reason or item.earlier


def test_a_profit_per_share_in_millions_gives_way_to_an_earlier_filing():
    case = CASES["HIG@2021"]
    found = series(case.filer.facts, case.filer.company.fiscal_year_end, case.today)
    told = {each.end.isoformat(): each.diluted_eps for each in found.quarterly}
    assert [str(told[end].value) for end in ("2013-09-30", "2013-06-30", "2013-03-31")] == ["0.6", "-0.39", "-0.58"]
    assert 600_000 in [said.value for said in told["2013-09-30"].earlier]


@pytest.mark.slow
@pytest.mark.parametrize("name", companies())
def test_profit_per_share_times_shares_is_never_a_thousand_times_off_the_profit(name):
    case = CASES[name]
    found = series(case.filer.facts, case.filer.company.fiscal_year_end, case.today)
    for period in (*found.annual, *found.quarterly):
        parts = (period.diluted_eps.value, period.shares.value, period.net_income.value)
        if None not in parts and abs(parts[0]) >= Decimal("0.05") and parts[2]:
            assert Fraction(1, 400) < abs(Fraction(parts[0]) * parts[1] / Fraction(parts[2])) < 400, period.end


def test_sales_are_without_excise_in_every_year_and_quarter():
    case = CASES["STZ@2021"]
    found = series(case.filer.facts, case.filer.company.fiscal_year_end, case.today)
    told = [(each.end.isoformat(), each.revenue.value) for each in found.annual if each.end.year in (2009, 2016, 2018)]
    assert told == [("2018-02-28", 7_580_300_000), ("2016-02-29", 6_548_400_000), ("2009-02-28", 3_654_600_000)]
    quarters = {each.end.isoformat(): each.revenue.value for each in found.quarterly}
    assert (quarters["2016-11-30"], quarters["2011-08-31"]) == (1_810_500_000, 690_200_000)


def test_a_year_long_past_is_no_trailing_year():
    told = without(ORDINARY, "2026-05-10", "2026-08-10")
    assert found(told, date(2027, 3, 1)).trailing.revenue.value == 470
    trailing = found(told, date(2027, 8, 1)).trailing
    assert (trailing.revenue.value, trailing.net_income.value) == (None, None)
    assert trailing.revenue.reason == "Nothing is reported of the time after 2025-12-31."


def test_a_predecessors_year_is_no_trailing_year_of_the_company_that_began_anew():
    anew = """
        Revenues USD 400 2025-01-01 2025-12-31 10-K 2026-02-14
        NetIncomeLoss USD 40 2025-01-01 2025-12-31 10-K 2026-02-14
        Revenues USD 60 2026-01-01 2026-02-13 10-K 2026-08-14
        Revenues USD 150 2026-02-14 2026-06-30 10-K 2026-08-14
        NetIncomeLoss USD -15 2026-02-14 2026-06-30 10-K 2026-08-14
    """
    trailing = found(anew).trailing
    assert (trailing.revenue.value, trailing.net_income.value) == (None, None)
    assert "no whole year of the company as it is now" in trailing.net_income.reason


def test_a_fourth_quarter_never_takes_revenue_back():
    text = ORDINARY.replace("Revenues USD 470 2025-01-01 2025-12-31", "Revenues USD 47 2025-01-01 2025-12-31")
    fourth = next(each for each in found(text).quarterly if each.end == date(2025, 12, 31)).revenue
    assert fourth.value is None
    assert "more than the year" in fourth.reason


# One filing ended this filer's year on the last Friday of November, another on the last day.
@pytest.mark.slow
def test_a_year_that_ends_on_two_days_is_listed_once():
    for name in companies():
        case = CASES[name]
        found = series(case.filer.facts, case.filer.company.fiscal_year_end, case.today)
        for periods in (found.annual, found.quarterly):
            assert all((one.end - other.end).days > 15 for one, other in pairwise(periods)), name
    years = series(CASES["GS@2026-07-24"].filer.facts, "1231", CASES["GS@2026-07-24"].today).annual
    assert [each.end.isoformat() for each in years if each.end.year == 2008] == ["2008-11-30"]


# One quarter of this filer is told with the excise, the others without a gross profit that would show it.
def test_what_must_be_said_of_a_quarter_is_said_of_the_trailing_year():
    case = CASES["MO@2021"]
    told = series(case.filer.facts, case.filer.company.fiscal_year_end, case.today)
    assert "may include excise" in told.quarterly[0].revenue.reason
    assert told.trailing.revenue.value == 25_830_000_000
    assert told.trailing.revenue.reason == f"Of the quarter ended 2021-03-31: {told.quarterly[0].revenue.reason}"
    assert told.trailing.net_income.reason is None


def test_what_must_be_said_of_a_year_is_said_of_its_fourth_quarter():
    bank = "\n".join(
        f"{name} USD {amount * share} {period}"
        for name, share in (("InterestIncomeExpenseNet", 3), ("NoninterestIncome", 1))
        for amount, period in (
            (10, "2025-01-01 2025-03-31 10-Q 2025-05-10"),
            (11, "2025-04-01 2025-06-30 10-Q 2025-08-10"),
            (12, "2025-07-01 2025-09-30 10-Q 2025-11-10"),
            (33, "2025-01-01 2025-09-30 10-Q 2025-11-10"),
            (47, "2025-01-01 2025-12-31 10-K 2026-02-14"),
        )
    )
    fourth = found(f"{bank}\n{without(ORDINARY, 'Revenues')}").quarterly[2]
    assert (fourth.end, fourth.revenue.value) == (date(2025, 12, 31), 56)
    assert "net interest plus non-interest income" in fourth.revenue.reason


def test_a_trailing_year_before_a_transition_period_says_that_more_is_told():
    """Half a year on a report of its own: its second quarter is in no quarterly report."""
    text = without(ORDINARY, "2026-06-30", "10-Q 2026-08-10")
    assert found(text).trailing.revenue.reason is None
    changed = found(text + "\nRevenues USD 330 2026-01-01 2026-06-30 10-KT 2026-08-10")
    assert changed.trailing.end == date(2026, 3, 31)
    assert changed.trailing.revenue.value == found(text).trailing.revenue.value
    assert "The filing of 2026-08-10 tells of the time to 2026-06-30 too" in changed.trailing.revenue.reason


def test_a_quarter_of_which_hundreds_of_filings_tell_only_the_profit_per_share_has_a_place_and_a_reason():
    facts = read_facts(company_facts(1, "Example", rows_of(ORDINARY)), 1)
    name = "us-gaap:EarningsPerShareDiluted"
    rows = facts.units(name)["USD/shares"]
    start, end, filed = date(2026, 4, 1), date(2026, 6, 30), date(2026, 8, 20)
    many = tuple(Entry(start, end, 2, f"9999999999-26-{number:06}", "10-Q", filed) for number in range(600))
    told = series(replace(facts, concepts={**facts.concepts, name: {"USD/shares": (*rows, *many)}}), "1231", TODAY)
    newest = told.quarterly[0]
    assert (newest.start, newest.end, newest.diluted_eps.value) == (start, end, 2)
    assert (newest.revenue.value, newest.net_income.value) == (None, None)
    assert "2026-06-30" in newest.revenue.reason
    assert (told.trailing.end, told.trailing.revenue.value) == (end, None)
