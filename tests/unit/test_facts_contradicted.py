"""Figures of real filers that something else contradicts: they give way to what is borne out, or nothing is answered."""

from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal

import pytest

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.facts import FRAGMENT, REPEATED
from tickyard.features.research.filed.periods import ANNUAL_FORMS, is_year
from tickyard.features.research.series.series import series
from tickyard.features.research.study import study
from tickyard.sandbox.filings.rows import company_facts, rows_of
from tickyard.sources.filings.border import CompanyFacts, Entry, read_facts
from yards.filings import cases, companies, in_scale, slipped

CASES = {case["id"]: case for case in cases()}
COMPANIES = companies()
OTHER = "9999999999-26-000001"
# One had an operating loss beside its profit: a loss would be as likely, with the loss per share told without its sign.
WITH_PER_SHARE = [
    name
    for name in COMPANIES
    if any(concept in CASES[name].filer.facts.concepts for concept in concepts.PER_SHARE)
    and name not in ("BKNG@2021", "AFRM@2021")
]


def ask(name, facts=None, today=None):
    case = CASES[name]
    return study(case.filer.company, facts or case.filer.facts, date.fromisoformat(today) if today else case.today)


# A landlord that tagged other profits as the owners' part, another one every year.
@pytest.mark.parametrize(
    ("day", "value"), [("2012-03-01", 131_418_000), ("2013-03-01", 102_126_000), ("2014-04-01", 136_217_000)]
)
def test_an_owners_part_that_nothing_bears_out_gives_way_to_the_whole_less_the_minority(day, value):
    found = ask("ARE@2021", today=day)
    assert found.net_income.value == value
    assert "less the minority owners' part" in found.note


# Here only one of several minorities is tagged under the general name; profit per share bears out the owners' part.
@pytest.mark.parametrize(("day", "value"), [("2013-03-01", 841_719_000), ("2015-03-01", 631_308_000)])
def test_an_owners_part_that_profit_per_share_bears_out_stays(day, value):
    assert ask("EQR@2021", today=day).net_income.value == value


SCALES = pytest.mark.parametrize("change", [lambda n: n * 1000, lambda n: Decimal(n) / 1000], ids=["x1000", "/1000"])


@pytest.mark.slow
@SCALES
@pytest.mark.parametrize("name", COMPANIES)
def test_an_annual_report_that_is_in_a_wrong_scale_as_a_whole_is_never_the_answer(name, change):
    right = ask(name)
    for chosen in (right.revenue, right.net_income):
        if chosen is not None:
            found = ask(name, in_scale(CASES[name].filer.facts, chosen.accession, change))
            assert (found.revenue, found.net_income) == (None, None)
            assert "a wrong scale" in found.note
            assert "in another scale" in found.note


@SCALES
def test_the_year_is_told_by_another_filing_where_one_is_in_a_wrong_scale(change):
    right = ask("BF-B@2021", today="2020-07-01")
    found = ask("BF-B@2021", in_scale(CASES["BF-B@2021"].filer.facts, right.revenue.accession, change), "2020-07-01")
    assert [right.revenue.form, right.net_income.form] == ["10-K/A", "10-K/A"]
    assert [found.revenue.form, found.net_income.form] == ["10-K", "10-K"]
    assert [found.revenue.value, found.net_income.value] == [right.revenue.value, right.net_income.value]


def turned(name, right, facts=None):
    concept = right.concept.partition(" - ")[0]
    period = (right.period_start, right.period_end)
    return slipped(facts or CASES[name].filer.facts, concept, right.accession, lambda n: -n, period)


@pytest.mark.parametrize("name", WITH_PER_SHARE)
def test_a_profit_with_a_turned_sign_is_seen_by_profit_per_share(name):
    found = ask(name, turned(name, ask(name).net_income))
    assert found.net_income is None
    assert "the opposite sign" in found.note


# A profit of the owners beside a loss of the whole, and a loss per share after preferred dividends.
def test_a_profit_that_leaves_a_loss_per_share_is_believed():
    assert ask("QSR@2021", today="2015-06-01").net_income.value == 158_000_000


# These tag the whole profit only: it is in doubt before something is taken off it.
@SCALES
@pytest.mark.parametrize("name", ["MA@2021", "IBKR@2021", "SPG@2021", "QSR@2021", "DOW@2021", "NIO@2021", "PNC@2021"])
def test_a_whole_profit_that_slips_is_seen_before_the_minority_is_taken_off(name, change):
    right = ask(name).net_income
    period = (right.period_start, right.period_end)
    whole = right.concept.partition(" - ")[0]
    found = ask(name, slipped(CASES[name].filer.facts, whole, right.accession, change, period))
    assert found.net_income is None
    assert "a slip" in found.note


# Banks that tag no total: net interest and other income are held against the year before, each by itself.
@SCALES
@pytest.mark.parametrize("part", [concepts.NET_INTEREST[0], concepts.OTHER_BANKING])
def test_a_part_of_a_banks_revenue_that_slips_is_not_added_up(part, change):
    right = ask("UBSI@2021").revenue
    assert right.concept == f"{concepts.NET_INTEREST[0]} + {concepts.OTHER_BANKING}"
    period = (right.period_start, right.period_end)
    found = ask("UBSI@2021", slipped(CASES["UBSI@2021"].filer.facts, part, right.accession, change, period))
    assert found.revenue is None
    assert "in a wrong scale" in found.note


def amended(facts, right, value):
    """The same document, with an amendment that tells one line of the year and nothing else."""
    form = f"{right.form.removesuffix('/A')}/A"
    row = Entry(right.period_start, right.period_end, value, OTHER, form, right.filed)
    units = facts.concepts[right.concept]
    rows = {**units, right.unit: (*units[right.unit], row)}
    return CompanyFacts(facts.cik, {**facts.concepts, right.concept: rows}, facts.unread)


@pytest.mark.slow
@pytest.mark.parametrize("change", [lambda n: n * 1000, lambda n: n // 1000, lambda n: n // 7])
@pytest.mark.parametrize("name", COMPANIES)
def test_an_amendment_of_one_line_is_no_reason_to_answer_a_slip_or_a_slice(name, change):
    right, facts = ask(name), CASES[name].filer.facts
    for what in ("revenue", "net_income"):
        chosen = getattr(right, what)
        if chosen is not None and chosen.concept in facts.concepts:
            found = getattr(ask(name, amended(facts, chosen, change(chosen.value))), what)
            assert found is None or found.value == chosen.value


def test_an_amendment_that_restates_one_line_by_a_little_is_heard():
    right, facts = ask("AAPL@2021"), CASES["AAPL@2021"].filer.facts
    restated = right.revenue.value * 9 // 10
    assert ask("AAPL@2021", amended(facts, right.revenue, restated)).revenue.value == restated


def with_table(name, right, change, concept=None, facts=None):
    """The same document, with an amendment that tells one line of the last three years, as a table of what was paid for
    which performance does."""
    facts, form = facts or CASES[name].filer.facts, f"{right.form.removesuffix('/A')}/A"
    told = [row for row in facts.units(right.concept)[right.unit] if row.form in ANNUAL_FORMS and is_year(row)]
    told = sorted((row for row in told if row.filed <= right.filed), key=lambda row: (row.end, row.filed))
    years = list({row.end: row for row in told}.values())[-3:]
    rows = [Entry(row.start, row.end, change(int(row.value)), OTHER, form, right.filed) for row in years]
    units = facts.concepts.get(concept or right.concept, {})
    changed = {**units, right.unit: (*units.get(right.unit, ()), *rows)}
    return CompanyFacts(facts.cik, {**facts.concepts, concept or right.concept: changed}, facts.unread)


def in_round_numbers(amount):
    unit = 10 ** (len(str(abs(amount))) - 2)
    return round(Decimal(amount) / unit) * unit


def in_thousands(amount):
    return round(Decimal(amount) / 1000)


TABLES = pytest.mark.parametrize("change", [in_round_numbers, in_thousands])
WITH_TABLE = [
    "AAPL@2021",
    "GOOGL@2021",  # 40.3 billion, which is 40
    "BKNG@2021",  # whose profit fell to a hundredth: its first nine months tell nothing of the year
    "RY@2021",  # who files no quarterly reports
    "COIN@2026-07-24",
]


@TABLES
@pytest.mark.parametrize("name", WITH_TABLE)
def test_a_lone_line_that_repeats_the_years_rounded_or_in_thousands_changes_nothing(name, change):
    right = ask(name)
    assert ask(name, with_table(name, right.revenue, change)).revenue.value == right.revenue.value
    assert ask(name, with_table(name, right.net_income, change)).net_income.value == right.net_income.value


@pytest.mark.parametrize(("change", "reason"), [(in_round_numbers, REPEATED), (in_thousands, FRAGMENT)])
def test_it_is_said_why_a_lone_line_is_not_heard(change, reason):
    found = ask("AAPL@2021", with_table("AAPL@2021", ask("AAPL@2021").net_income, change))
    assert [each.reason for each in found.candidates.net_income if each.accession == OTHER] == [reason]


# Such a table has a second line, which the company chose.
@pytest.mark.parametrize("name", ["AAPL@2021", "HD@2021", "NEE@2021", "PG@2026-04-27"])
def test_two_lines_that_repeat_the_years_rounded_change_nothing(name):
    right = ask(name)
    table = with_table(name, right.net_income, in_round_numbers)
    found = ask(name, with_table(name, right.revenue, in_round_numbers, facts=table))
    assert (found.revenue, found.net_income) == (right.revenue, right.net_income)


@TABLES
@pytest.mark.parametrize("name", ["AAPL@2021", "COIN@2026-07-24"])
def test_a_lone_line_that_is_not_heard_is_no_restatement_of_the_year(name, change):
    case, right = CASES[name], ask(name)
    for fact in (right.revenue, right.net_income):
        told, found = (
            series(facts, case.filer.company.fiscal_year_end, case.today)
            for facts in (case.filer.facts, with_table(name, fact, change))
        )
        assert found.trailing == told.trailing
        assert found.quarterly == told.quarterly


@pytest.mark.parametrize("name", ["COP@2021", "QSR@2021", "GIS@2021", "TSM@2021", "SNOW@2025-06-15"])
def test_a_lone_line_that_gives_the_whole_profit_as_the_owners_part_changes_nothing(name):
    right = ask(name).net_income
    owners, whole = concepts.OWNERS_PROFITS, concepts.WHOLE_PROFITS
    place = right.concept.startswith("ifrs-full")
    rows = CASES[name].filer.facts.units(whole[place])[right.unit]
    everybody = next(row for row in rows if (row.accession, row.start, row.end) == of(right))
    assert everybody.value != right.value
    told = replace(right, concept=whole[place])
    assert ask(name, with_table(name, told, lambda n: n, owners[place])).net_income == right


def of(fact):
    return fact.accession, fact.period_start, fact.period_end


# The report before is the one in the wrong scale: profit per share sides with the newest, which shares a year with it.
@SCALES
@pytest.mark.parametrize(
    "name", ["AAPL@2021", "HD@2021", "GIS@2021", "PG@2026-04-27", "NVDA@2026-07-09", "APH@2026-04-27"]
)
def test_a_report_is_not_refuted_by_one_before_it_that_is_in_a_wrong_scale(name, change):
    right, facts = ask(name), CASES[name].filer.facts
    before = ask(name, today=(right.revenue.filed - timedelta(days=1)).isoformat())
    found = ask(name, in_scale(facts, before.revenue.accession, change))
    assert (found.revenue, found.net_income) == (right.revenue, right.net_income)


def test_revenue_that_may_include_excise_says_so():
    found = ask("MO@2021")
    assert found.revenue.value == 26_153_000_000
    assert "may include excise: gross profit and cost of sales make 20841000000 without it" in found.note


# Their first annual reports have no neighbours yet, but quarterly reports told the first nine months of the year.
@SCALES
@pytest.mark.parametrize(
    ("name", "day"), [("GOOGL@2021", "2016-02-11"), ("SCHW@2021", "2010-02-25"), ("MO@2021", "2010-02-24")]
)
def test_a_first_annual_report_in_a_wrong_scale_is_seen_by_its_first_nine_months(name, day, change):
    right = ask(name, today=day)
    found = ask(name, in_scale(CASES[name].filer.facts, right.revenue.accession, change), day)
    assert right.revenue is not None
    assert (found.revenue, found.net_income) == (None, None)


# A retailer owes sales tax too, and may have other sales than those of which a cost is told.
def test_sales_under_the_most_general_name_are_not_cut_to_what_has_a_cost():
    facts = read_facts(
        company_facts(
            1,
            "Example",
            rows_of("""
                SalesRevenueNet USD 100m 2016-01-01 2016-12-31 10-K 2017-02-20
                GrossProfit USD 30m 2016-01-01 2016-12-31 10-K 2017-02-20
                CostOfGoodsSold USD 60m 2016-01-01 2016-12-31 10-K 2017-02-20
                NetIncomeLoss USD 5m 2016-01-01 2016-12-31 10-K 2017-02-20
                SalesAndExciseTaxPayableCurrent USD 1m - 2016-12-31 10-K 2017-02-20
            """),
        ),
        1,
    )
    assert study(CASES["AAPL@2021"].filer.company, facts, date(2017, 6, 1)).revenue.value == 100_000_000
