"""Companies that changed what they are: began anew, merged with a shell, list other shares than they count."""

from datetime import date, timedelta
from decimal import Decimal
from time import process_time

import pytest

from tickyard.features.research.company.depositary import ratio_on
from tickyard.features.research.portrait import appraise
from tickyard.features.research.series.series import series
from tickyard.features.research.study import study
from tickyard.kernel.units import Price
from tickyard.sandbox.filings.rows import amount, company_facts, rows_of
from tickyard.sources.filings.border import Company, CompanyFacts, Entry, read_facts
from yards.filings import cases

TODAY = date(2024, 6, 15)


def ask(text, today=TODAY, state="DE"):
    return ask_facts(read_facts(company_facts(1, "Example", rows_of(text)), 1), today, state)


def ask_facts(facts, today=TODAY, state="DE"):
    company = Company(cik=1, name="Example", tickers=("EXM",), exchanges=("NYSE",), sic="7372", state=state)
    return study(company, facts, today)


ANEW = """
    Revenues USD 7301m 2023-02-10 2023-12-31 {form} 2024-02-24
    NetIncomeLoss USD 945m 2023-02-10 2023-12-31 {form} 2024-02-24
    Revenues USD 1007m 2023-01-01 2023-02-09 {form} 2024-02-24
    NetIncomeLoss USD 5383m 2023-01-01 2023-02-09 {form} 2024-02-24
    Revenues USD 5211m 2022-01-01 2022-12-31 {form} 2024-02-24
    NetIncomeLoss USD -9734m 2022-01-01 2022-12-31 {form} 2024-02-24
"""


def test_a_company_that_began_anew_is_not_answered_with_its_predecessors_year():
    found = ask(ANEW.format(form="10-K"))
    assert (found.revenue, found.net_income) == (None, None)
    assert "revenue: the newest annual report, to 2023-12-31, covers no whole year" in found.note


def test_a_transition_period_leaves_the_year_before_standing():
    assert ask(ANEW.format(form="10-KT")).revenue.value == 5_211_000_000


def test_a_company_younger_than_a_year_has_a_report_but_no_year():
    found = ask("""
        Revenues USD 100m 2023-05-15 2023-12-31 10-K 2024-02-24
        NetIncomeLoss USD -9m 2023-05-15 2023-12-31 10-K 2024-02-24
    """)
    assert found.notes[0] == ("revenue and netIncome: the newest annual report, to 2023-12-31, covers no whole year.")


SHELL = """
    NetIncomeLoss USD -21892000 2023-01-01 2023-12-31 10-K 2024-03-25
    NetIncomeLoss USD -4m 2023-01-01 2023-03-31 10-Q 2023-05-22
    NetIncomeLoss USD -327.6m 2024-01-01 2024-03-31 10-Q 2024-05-20
    NetIncomeLoss USD -210000 2023-01-01 2023-03-31 10-Q 2024-05-20
    Revenues USD 770500 2024-01-01 2024-03-31 10-Q 2024-05-20
    Revenues USD 1116000 2023-01-01 2023-03-31 10-Q 2024-05-20
"""


def test_the_year_of_a_shell_is_not_that_of_the_company_it_merged_with():
    found = ask(SHELL)
    assert found.net_income is None
    assert "shell" in found.note
    told = next(each for each in found.candidates.net_income if each.value == -21_892_000)
    assert (told.is_chosen, told.reason[:18]) == (False, "It is of the shell")
    assert ask(SHELL, today=date(2024, 4, 1)).net_income.value == -21_892_000


def test_a_company_that_only_begins_to_sell_keeps_its_year():
    assert ask(SHELL.replace("-210000", "-4m")).net_income.value == -21_892_000


def in_a_row(text, today=TODAY):
    return series(read_facts(company_facts(1, "Example", rows_of(text)), 1), "1231", today)


def test_the_series_have_no_year_of_a_shell_either():
    told = in_a_row(SHELL)
    year = told.annual[0].net_income
    assert (year.value, year.reason) == (None, ask(SHELL).notes[-2])
    assert [said.value for said in year.earlier] == [-21_892_000]
    assert (told.trailing.net_income.value, told.trailing.net_income.reason[:22]) == (None, "The report of 2024-05-")
    assert in_a_row(SHELL, today=date(2024, 4, 1)).annual[0].net_income.value == -21_892_000


# A shell that was listed in autumn, so that nobody told its second quarter: only the company that merged with it did.
LATE_SHELL = """
    NetIncomeLoss USD -612345 2020-01-01 2020-12-31 10-K 2021-03-25
    NetIncomeLoss USD -1500000 2021-01-01 2021-03-31 10-Q 2021-05-14
    Revenues USD 100m 2021-01-01 2021-06-30 10-Q 2021-08-13
    NetIncomeLoss USD -40m 2021-01-01 2021-06-30 10-Q 2021-08-13
    Revenues USD 58m 2020-01-01 2020-06-30 10-Q 2021-08-13
    NetIncomeLoss USD {half} 2020-01-01 2020-06-30 10-Q 2021-08-13
"""


def test_the_year_of_a_shell_is_told_by_a_half_that_is_many_times_as_much():
    found = ask(LATE_SHELL.format(half="-25m"), today=date(2021, 9, 1))
    assert found.net_income is None
    assert "shell" in found.note
    assert ask(LATE_SHELL.format(half="-400000"), today=date(2021, 9, 1)).net_income.value == -612_345


MERGED = """
    {sales} USD 40m 2023-01-01 2023-12-31 10-K 2024-03-01
    NetIncomeLoss USD -20m 2023-01-01 2023-12-31 10-K 2024-03-01
    {sales} USD {before} 2023-01-01 2023-03-31 10-Q 2023-05-05
    NetIncomeLoss USD -4m 2023-01-01 2023-03-31 10-Q 2023-05-05
    {sales} USD 250m 2024-01-01 2024-03-31 10-Q 2024-05-06
    NetIncomeLoss USD 30m 2024-01-01 2024-03-31 10-Q 2024-05-06
    {sales} USD {now} 2023-01-01 2023-03-31 10-Q 2024-05-06
    NetIncomeLoss USD {profit} 2023-01-01 2023-03-31 10-Q 2024-05-06
"""


@pytest.mark.parametrize(("before", "now", "profit", "is_anothers"), [
    ("9m", "225m", "25m", True),
    # Twice as much of a quarter, and another profit.
    ("9m", "25m", "-9m", True),
    # Lines that were moved, or a slip, or what was spun off: the year is the company's own.
    ("9m", "25m", "-4m", False),
    ("9m", "9000m", "-9m", False),
    ("9m", "5m", "-9m", False),
    ("9m", "10m", "-9m", False),
])  # fmt: skip
def test_the_year_of_a_smaller_company_is_not_that_of_the_one_it_merged_with(before, now, profit, is_anothers):
    text = MERGED.format(sales="Revenues", before=before, now=now, profit=profit)
    found = ask(text)
    assert ((found.revenue, found.net_income) == (None, None)) is is_anothers
    assert ("revenue: the report of 2024-05-06 tells quite other amounts" in (found.note or "")) is is_anothers
    assert any("merged" in each.reason for each in found.candidates.revenue) is is_anothers
    assert ask(text, today=date(2024, 4, 1)).revenue.value == 40_000_000


def test_the_series_tell_the_years_of_the_company_that_was_merged_with_apart():
    text = (
        MERGED.format(sales="Revenues", before="9m", now="225m", profit="25m")
        + """
        Revenues USD 30m 2022-01-01 2022-12-31 10-K 2023-03-01
        NetIncomeLoss USD -9m 2022-01-01 2022-12-31 10-K 2023-03-01
        EarningsPerShareDiluted USD/shares -2 2023-01-01 2023-12-31 10-K 2024-03-01
    """
    )
    told, found = in_a_row(text), ask(text)
    newest, before = told.annual
    assert (newest.revenue.value, newest.net_income.value) == (None, None)
    assert (newest.revenue.reason, newest.net_income.reason) == found.notes[:2]
    assert (before.revenue.value, before.net_income.value) == (30_000_000, -9_000_000)
    remark = "It was told before the report of 2024-05-06, of the company with which this one merged."
    assert {before.revenue.reason, before.net_income.reason, newest.diluted_eps.reason} == {remark}
    # What the merger's own report tells is the company's.
    assert [(each.revenue.value, each.revenue.reason) for each in told.quarterly] == [
        (250_000_000, None),
        (225_000_000, None),
    ]
    assert (told.trailing.revenue.value, told.trailing.net_income.value) == (None, None)
    assert "merger" in told.trailing.revenue.reason


@pytest.mark.parametrize("name", ["AAPL@2021", "HD@2021"])
def test_research_and_the_series_refuse_the_same_year_of_a_real_filer(name):
    """Its quarterly reports since the year are tripled, as if a larger company had gone on under its name."""
    case = next(each for each in cases() if each["id"] == name)
    facts, today = case.filer.facts, case.today
    annual = max(row.filed for units in facts.concepts.values() for rows in units.values() for row in rows
                 if row.form == "10-K")  # fmt: skip

    def tripled(row):
        is_later = row.filed > annual and row.value is not None
        return Entry(row.start, row.end, row.value * 3, row.accession, row.form, row.filed) if is_later else row

    larger = {
        concept: {unit: tuple(map(tripled, rows)) if unit == "USD" else rows for unit, rows in units.items()}
        for concept, units in facts.concepts.items()
    }
    merged = CompanyFacts(facts.cik, larger)
    found, told = study(case.filer.company, merged, today), series(merged, case.filer.company.fiscal_year_end, today)
    assert (found.revenue, found.net_income) == (None, None)
    assert (told.annual[0].revenue.value, told.annual[0].net_income.value) == (None, None)
    assert (told.trailing.revenue.value, told.trailing.net_income.value) == (None, None)


@pytest.mark.parametrize(("profit", "is_anothers"), [("25m", True), ("-4m", False)])
def test_the_company_that_goes_on_may_call_its_revenue_otherwise(profit, is_anothers):
    text = MERGED.format(sales="Revenues", before="9m", now="225m", profit=profit)
    lines = [line.replace("Revenues", "contracts") if "2024-05-06" in line else line for line in text.splitlines()]
    assert (ask("\n".join(lines)).revenue is None) is is_anothers


def test_more_revenue_in_a_part_than_in_the_year_is_another_companys_though_the_part_was_never_told():
    text = "\n".join(
        line for line in MERGED.format(sales="Revenues", before="9m", now="225m", profit="-4m").splitlines()
        if "2023-05-05" not in line
    )  # fmt: skip
    assert (ask(text).revenue, ask(text).net_income) == (None, None)


@pytest.mark.parametrize(("profit", "is_anothers"), [("-90m", True), ("-30m", False), ("-4m", False)])
def test_the_loss_of_a_company_that_sells_nothing_is_not_that_of_the_one_it_merged_with(profit, is_anothers):
    text = MERGED.format(sales="OperatingExpenses", before="9m", now="90m", profit=profit)
    found = ask(text)
    assert (found.net_income is None) is is_anothers
    assert ("netIncome: the report of 2024-05-06 tells quite other" in found.note) is is_anothers


DEPOSITARY = """
    Revenues USD 627m 2023-01-01 2023-12-31 10-K 2024-03-11
    NetIncomeLoss USD -177m 2023-01-01 2023-12-31 10-K 2024-03-11
    cover shares 367.3m - 2024-03-01 10-K 2024-03-11
    dei:EntityPublicFloat USD {value} - 2023-06-30 10-K 2024-03-11
"""


@pytest.mark.parametrize(
    ("state", "value", "is_known"),
    [
        ("E9", "4200m", False),
        ("E9", "11000m", True),
        # Shares that are counted as if they were depositary come to too much, never to too little.
        ("L2", "25000m", True),
        ("L2", "40000m", False),
        # Canadians list the share itself.
        ("A1", "4200m", True),
        ("DE", "4200m", True),
        ("DE", "3900m", False),
        (None, "4200m", True),
    ],
)
def test_a_filer_from_abroad_needs_a_float_that_fits_its_shares(state, value, is_known):
    worth = appraise(ask(DEPOSITARY.format(value=value), state=state), Price(33, 1), "EXM")
    assert (worth.market_cap is not None) == is_known
    assert is_known or "marketCap" in worth.notes[0]


# Six to a receipt on 10-K: after a fall the float fits the shares, and nothing but the table tells. A share itself may
# rise by two thirds.
@pytest.mark.parametrize(
    ("ticker", "mid", "held", "value"),
    [
        ("ADAP", 1, "500m", None),
        ("ADAP", 3, "500m", 183_650_000),
        ("MDT", 19, "4200m", 6_978_700_000),
        ("EXM", 19, "4200m", None),
    ],
)
def test_the_table_tells_a_share_from_a_receipt_where_the_float_does_not(ticker, mid, held, value):
    worth = appraise(ask(DEPOSITARY.format(value=held), state="L2"), Price(mid, 1), ticker)
    assert (worth.market_cap and worth.market_cap.value) == value


@pytest.mark.parametrize(("held", "per_share", "is_known"), [
    ("12", "0.5", True), ("12k", "0.5", True), ("12m", "0.5", True), ("1200", "0.5", False), ("12", "500", False), ("12", None, False),
])  # fmt: skip
def test_a_float_in_thousands_is_no_witness_against_a_count_that_profit_per_share_bears_out(held, per_share, is_known):
    """Profit over profit per share makes 200 million shares, as the cover says; at 60 they are worth 12 billion."""
    day, filing = date(2023, 12, 31), ("0000000001-24-000001", "10-K", date(2024, 2, 20))
    before = Entry(None, date(2011, 6, 30), 190 * 10**6, "0000000001-11-000001", "10-K", date(2011, 8, 1))
    amounts = {"Revenues": Decimal(10**9), "NetIncomeLoss": Decimal(10**8), "EarningsPerShareBasic": per_share}
    concepts = {
        f"us-gaap:{name}": {"USD": (Entry(date(2023, 1, 1), day, Decimal(value), *filing),)}
        for name, value in amounts.items()
        if value is not None
    }
    concepts["dei:EntityCommonStockSharesOutstanding"] = {"shares": (before, Entry(None, day, 200 * 10**6, *filing))}
    concepts["dei:EntityPublicFloat"] = {"USD": (Entry(None, date(2023, 6, 30), amount(held) * 1000, *filing),)}
    worth = appraise(ask_facts(CompanyFacts(1, concepts, 0)), Price(60, 1), "EXM")
    assert (worth.market_cap is not None) == is_known
    assert worth.notes if held != "12m" else not worth.notes


def test_between_equals_the_dollar_is_the_translation():
    text = "\n".join(
        f"{name} {unit} {value * rate}m 2023-01-01 2023-12-31 20-F 2024-04-20"
        for unit, rate in (("CNY", 7), ("USD", 1))
        for name, value in (("Revenues", 1000), ("NetIncomeLoss", 100))
    )
    found = ask(text, state="E9")
    assert (found.revenue.unit, found.revenue.value) == ("CNY", 7_000_000_000)


@pytest.mark.slow
def test_a_year_told_by_thousands_of_filings_is_read_in_moments():
    """Not in the square of their number: a document is as long as whoever wrote it likes."""
    rows = [
        Entry(date(2023, 1, 1), date(2023, 12, 31), value, f"0000000001-24-{number:06d}", "10-K", date(2024, 2, 20))
        for number, value in enumerate(range(100, 15_100))
    ]
    quarters = [
        Entry(date(2023, 10, 1), date(2023, 12, 31), row.value, row.accession, row.form, row.filed) for row in rows
    ]
    told = {"USD": (*rows, *quarters)}
    facts = CompanyFacts(1, {"us-gaap:Revenues": told, "us-gaap:NetIncomeLoss": told, "us-gaap:GrossProfit": told}, 0)
    began = process_time()
    assert ask_facts(facts).revenue.value == 15_099
    assert series(facts, "1231", TODAY).annual[0].revenue.value == 15_099
    assert process_time() - began < 5


def test_a_bank_whose_revenue_was_not_read_is_no_shell():
    case = next(case for case in cases() if case["id"] == "GS@2026-07-24")
    found = study(case.filer.company, case.filer.facts, date(2013, 11, 7))
    assert (found.revenue, found.net_income.value) == (None, 7_475_000_000)


# Eight shares to a receipt since the end of July 2019, when each share became eight; one before.
@pytest.mark.parametrize(("day", "ratio"), [("2019-06-10", 1), ("2019-09-01", None), ("2021-06-01", 8)])
def test_the_ratio_of_a_depositary_share_is_that_of_the_day(day, ratio):
    case = next(case for case in cases() if case["id"] == "BABA@2021")
    found = study(case.filer.company, case.filer.facts, date.fromisoformat(day))
    worth = appraise(found, Price(150, 1), "BABA")
    assert (worth.market_cap and worth.market_cap.value) == (ratio and found.shares.value * 150 // ratio)
    assert ratio is not None or "were changed" in worth.notes[0]


@pytest.mark.parametrize(("ticker", "before", "ratio"), [("HMC", "2023-09-29", 3), ("ZLAB", "2022-03-29", 10)])
def test_a_split_of_the_shares_alone_changes_what_a_receipt_stands_for(ticker, before, ratio):
    day = date.fromisoformat(before)
    assert (ratio_on(ticker, day), ratio_on(ticker, day + timedelta(days=2))) == (1, ratio)
