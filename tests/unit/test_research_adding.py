"""Quarters are held against the year and the months they make up, in real documents and in made ones."""

from datetime import date, timedelta
from decimal import Decimal

import pytest

from tickyard.features.research.series.items import NET_INCOME, REVENUE
from tickyard.features.research.series.series import series
from tickyard.sandbox.filings.rows import company_facts, rows_of
from tickyard.sources.filings.border import read_facts
from yards.filings import cases, companies, in_scale

CASES = {case["id"]: case for case in cases()}
COMPANIES = companies()
LINES = (REVENUE, NET_INCOME)


def real(name, today=None):
    case = CASES[name]
    return series(case.filer.facts, case.filer.company.fiscal_year_end, today or case.today)


def told(text, today=date(2026, 9, 16)):
    return series(read_facts(company_facts(1, "Example", rows_of(text)), 1), "1231", today)


def quarter(found, end):
    return next(each for each in found.quarterly if each.end.isoformat() == end)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPANIES)
def test_the_quarters_of_a_real_year_make_up_the_year_or_say_why_not(name):
    found = real(name)
    for year in found.annual:
        inside = [each for each in found.quarterly if year.start <= each.start and each.end <= year.end]
        for line in LINES:
            parts = [line.of(each) for each in inside]
            whole = line.of(year).value
            if len(parts) != 4 or whole is None or any(part.value is None for part in parts):
                continue
            makes = abs(sum(part.value for part in parts) - whole) * 50 <= abs(whole)
            assert makes or any("told before" in (part.reason or "") for part in parts), (year.end, line.name)


# The annual reports of this filer tag the whole profit of a quarter as the owners'; its quarterly reports do not.
def test_a_table_that_calls_the_whole_profit_the_owners_is_not_believed_against_the_year():
    found = real("QSR@2021")
    assert found.trailing.net_income.value == 521_000_000
    values = [quarter(found, end).net_income.value for end in ("2020-03-31", "2020-06-30", "2020-09-30", "2020-12-31")]
    assert values == [144_000_000, 106_000_000, 145_000_000, 91_000_000]
    assert 164_000_000 in [said.value for said in quarter(found, "2020-06-30").net_income.earlier]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "day", "line", "value"),
    [
        ("MO@2021", "2012-07-26", NET_INCOME, None),
        ("UBSI@2021", "2018-05-09", REVENUE, 728_111_000),
        ("PLUG@2021", "2018-05-10", REVENUE, None),
        ("PLUG@2021", "2017-11-08", REVENUE, None),
        ("QSR@2021", "2018-04-24", NET_INCOME, 678_900_000),
        ("GOOGL@2021", "2019-04-30", REVENUE, 142_012_000_000),
        # Told without a holding that was sold since: so is the quarter a year ago, and all between.
        ("PNC@2021", "2021-05-05", REVENUE, 16_785_000_000),
    ],
)
def test_the_trailing_year_of_an_earlier_day_is_the_year_and_the_months_since(name, day, line, value):
    trailing = real(name, date.fromisoformat(day)).trailing
    assert line.of(trailing).value == value
    assert value is not None or line.of(trailing).reason


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPANIES)
def test_no_trailing_year_of_a_real_filer_is_far_off_the_year_and_the_months_since(name):
    """On the day of each tenth quarterly report: what the sum says, the reports to date say too."""
    case = CASES[name]
    days = {
        row.filed
        for units in case.filer.facts.concepts.values()
        for rows in units.values()
        for row in rows
        if row.form == "10-Q" and row.filed <= case.today
    }
    for day in sorted(days, reverse=True)[::10]:
        found = real(name, day)
        if not found.annual or found.trailing.end is None or found.trailing.end <= found.annual[0].end:
            continue
        since = [each for each in found.quarterly if each.end > found.annual[0].end]
        ago = [
            each
            for each in found.quarterly
            if any(abs(new.end - each.end - timedelta(days=364)) < timedelta(days=9) for new in since)
        ]
        for line in LINES:
            parts = [line.of(each).value for each in (*since, *ago)]
            whole, value = line.of(found.annual[0]).value, line.of(found.trailing).value
            if value is None or whole is None or None in parts or len(since) != len(ago):
                continue
            other = whole + sum(parts[: len(since)]) - sum(parts[len(since) :])
            assert abs(value - other) * 20 <= max(abs(value), abs(other)), (day, line.name)


RECAST = """
    Revenues USD 10000 2025-01-01 2025-03-31 10-Q 2025-05-10
    Revenues USD 11000 2025-04-01 2025-06-30 10-Q 2025-08-10
    Revenues USD 12000 2025-07-01 2025-09-30 10-Q 2025-11-10
    Revenues USD 33000 2025-01-01 2025-09-30 10-Q 2025-11-10
    Revenues USD 47000 2025-01-01 2025-12-31 10-K 2026-02-14
    Revenues USD 15000 2026-01-01 2026-03-31 10-Q 2026-05-10
    Revenues USD 9000 2025-01-01 2025-03-31 10-Q 2026-05-10
"""


def test_a_quarter_that_a_later_report_recasts_stands_as_recast_and_says_so():
    first = quarter(told(RECAST), "2025-03-31").revenue
    assert (first.value, first.earlier[0].value) == (9000, 10000)
    assert "recast" in first.reason
    assert quarter(told(RECAST), "2025-12-31").revenue.value == 14000


def test_a_quarter_a_thousand_times_off_is_no_recast():
    first = quarter(told(RECAST.replace("USD 9000", "USD 10")), "2025-03-31").revenue
    assert first.value == 10000
    assert 10 in [said.value for said in first.earlier]


def test_quarters_that_fit_no_year_are_unknown_and_what_was_told_is_listed():
    text = RECAST.replace("USD 47000", "USD 60000") + "Revenues USD 14000 2025-10-01 2025-12-31 10-K 2026-02-14"
    text = text.replace("USD 33000", "USD 41000")
    found = quarter(told(text, date(2026, 3, 1)), "2025-06-30").revenue
    assert (found.value, [said.value for said in found.earlier]) == (None, [11000])
    assert "does not add up" in found.reason


def test_a_quarter_that_does_not_make_the_months_to_date_is_unknown():
    text = (
        RECAST
        + """
        Revenues USD 16000 2026-04-01 2026-06-30 10-Q 2026-08-10
        Revenues USD 35000 2026-01-01 2026-06-30 10-Q 2026-08-10
    """
    )
    found = told(text)
    assert (quarter(found, "2026-03-31").revenue.value, quarter(found, "2026-06-30").revenue.value) == (None, 16000)
    assert found.trailing.revenue.value is None
    assert "2026-03-31" in found.trailing.revenue.reason


# The tables of its annual reports give quarters with excise; its quarterly reports prove them without.
def test_a_quarter_under_another_name_than_its_year_gives_way_to_one_under_the_same():
    found = real("PM@2021", date(2015, 10, 30))
    assert quarter(found, "2014-06-30").revenue.value == 7_797_000_000
    assert quarter(found, "2014-12-31").revenue.value is None
    assert found.trailing.revenue.value is None


QUARTERLY = [
    "AAPL@2021",
    "HD@2021",
    "BKNG@2021",
    "MA@2021",
    "STZ@2021",
    "SCHW@2021",
    "MO@2021",
    "ARE@2021",
    "NEE@2021",
    "COP@2021",
]


@pytest.mark.slow
@pytest.mark.parametrize("change", [lambda n: n * 1000, lambda n: Decimal(n) / 1000], ids=["x1000", "/1000"])
@pytest.mark.parametrize("name", QUARTERLY)
def test_a_report_in_a_wrong_scale_makes_no_quarter_and_no_trailing_year(name, change):
    case = CASES[name]

    def ask(facts):
        return series(facts, case.filer.company.fiscal_year_end, case.today)

    right = ask(case.filer.facts)
    newest = right.quarterly[0].net_income.accession
    for accession in (newest, right.annual[0].net_income.accession):
        found = ask(in_scale(case.filer.facts, accession, change))
        assert (found.trailing.revenue.value, found.trailing.net_income.value) == (None, None)
        for was, now in zip(right.quarterly, found.quarterly, strict=True):
            for line in LINES:
                item = line.of(was)
                # What an earlier filing said of the quarter was in its right scale.
                assert line.of(now).value in (None, item.value, *(said.value for said in item.earlier))


BESIDE = "2025-01-01 2025-12-31 10-K 2026-02-14"
SINCE = """
    contracts USD 110m 2026-01-01 2026-03-31 10-Q 2026-05-01
    contracts USD 130m 2026-04-01 2026-06-30 10-Q 2026-08-01
    NetIncomeLoss USD 30m 2026-04-01 2026-06-30 10-Q 2026-08-01
"""


def test_quarters_do_not_call_revenue_what_is_only_a_part_of_their_year():
    lost = told(f"""
        contracts USD 390m 2024-01-01 2024-12-31 10-K 2025-02-14
        netOfInterest USD 900m 2024-01-01 2024-12-31 10-K 2025-02-14
        contracts USD 400m {BESIDE}
        contracts USD 100m 2025-01-01 2025-03-31 10-Q 2025-05-01
        NetIncomeLoss USD 100m {BESIDE}
        {SINCE}
    """)
    assert lost.annual[0].revenue.value is None
    assert [each.revenue.value for each in lost.quarterly] == [None, None, None]
    assert "Only a part" in quarter(lost, "2026-06-30").revenue.reason
    assert quarter(lost, "2026-06-30").revenue.earlier[0].value == 130_000_000


def test_quarters_under_another_name_than_the_part_of_their_year_stand():
    found = told(f"""
        contracts USD 390m 2024-01-01 2024-12-31 10-K 2025-02-14
        netOfInterest USD 900m 2024-01-01 2024-12-31 10-K 2025-02-14
        contracts USD 400m {BESIDE}
        NetIncomeLoss USD 100m {BESIDE}
        {SINCE}
        netOfInterest USD 240m 2026-04-01 2026-06-30 10-Q 2026-08-01
    """)
    assert quarter(found, "2026-06-30").revenue.value == 240_000_000


# A profit after minority owners, and a bank's two parts: no filing tags the amount itself.
MADE = {
    "netIncome": (NET_INCOME, ("ProfitLoss", "NetIncomeLossAttributableToNoncontrollingInterest"), (1, -1)),
    "revenue": (REVENUE, ("InterestIncomeExpenseNet", "NoninterestIncome"), (1, 1)),
}


def made_rows(first, second, amounts, start, end, form, filed):
    whole, part = amounts
    return f"""
        {first} USD {whole}m {start} {end} {form} {filed}
        {second} USD {part}m {start} {end} {form} {filed}
        commonIncome USD 101m {start} {end} {form} {filed}"""


def made_year(name):
    _, (first, second), _ = MADE[name]
    months = (
        ((300, 10), "2024-01-01", "2024-03-31", "10-Q", "2024-05-01"),
        ((300, 10), "2024-04-01", "2024-06-30", "10-Q", "2024-08-01"),
        ((300, 10), "2024-07-01", "2024-09-30", "10-Q", "2024-11-01"),
        ((900, 30), "2024-01-01", "2024-09-30", "10-Q", "2024-11-01"),
        ((1200, 40), "2024-01-01", "2024-12-31", "10-K", "2025-02-20"),
    )
    return "".join(made_rows(first, second, *each) for each in months)


def next_year(name, amounts):
    """The report of the year after, with this said of the year before."""
    _, (first, second), _ = MADE[name]
    return made_rows(first, second, amounts, "2024-01-01", "2024-12-31", "10-K", "2026-02-20") + made_rows(
        first, second, (1400, 50), "2025-01-01", "2025-12-31", "10-K", "2026-02-20"
    )


@pytest.mark.parametrize("name", MADE)
def test_the_fourth_quarter_of_a_restated_year_made_of_two_lines_is_that_of_the_year_before_it_was(name):
    line, _, (_, sign) = MADE[name]
    found = told(made_year(name) + next_year(name, (1260, 40)))
    year, last = line.of(found.annual[1]), line.of(quarter(found, "2024-12-31"))
    assert year.value == 1_260_000_000 + sign * 40_000_000
    assert [said.value for said in year.earlier] == [1_200_000_000 + sign * 40_000_000]
    assert last.value == line.of(quarter(told(made_year(name)), "2024-12-31")).value == 300_000_000 + sign * 10_000_000
    assert "before the year was restated" in last.reason
    assert last.filed == date(2025, 2, 20)


@pytest.mark.parametrize("name", MADE)
def test_quarters_restated_before_their_year_stay_and_make_no_fourth_with_it(name):
    line, (first, second), (_, sign) = MADE[name]
    recast = (
        ((310, 10), "2024-01-01", "2024-03-31", "10-Q", "2025-05-01"),
        ((310, 10), "2024-04-01", "2024-06-30", "10-Q", "2025-08-01"),
        ((310, 10), "2024-07-01", "2024-09-30", "10-Q", "2025-11-01"),
        ((930, 30), "2024-01-01", "2024-09-30", "10-Q", "2025-11-01"),
    )
    text = made_year(name) + "".join(made_rows(first, second, *each) for each in recast)
    found = told(text + next_year(name, (1260, 40)))
    quarters = [line.of(quarter(found, end)) for end in ("2024-03-31", "2024-06-30", "2024-09-30", "2024-12-31")]
    now, before = 310_000_000 + sign * 10_000_000, 300_000_000 + sign * 10_000_000
    assert [each.value for each in quarters] == [now, now, now, None]
    assert [said.value for said in quarters[0].earlier] == [before]
    assert "restated" in quarters[3].reason


@pytest.mark.parametrize(("whole", "part"), [("1200.4", "40"), ("1200", "-40")], ids=["rounded", "sign of a minority"])
def test_a_sum_that_was_rounded_or_turned_in_sign_was_not_restated(whole, part):
    found = told(made_year("netIncome") + next_year("netIncome", (whole, part)))
    assert found.annual[1].net_income.earlier == ()
    assert quarter(found, "2024-12-31").net_income.value is not None


@pytest.mark.parametrize("name", MADE)
def test_a_newest_year_made_of_two_lines_that_an_amendment_restates_makes_no_trailing_year(name):
    line, (first, second), _ = MADE[name]
    text = made_year(name) + made_rows(first, second, (1206, 40), "2024-01-01", "2024-12-31", "10-K/A", "2025-04-20")
    for start, filed in (("2025", "2025-05-01"), ("2024", "2025-05-01")):
        text += made_rows(first, second, (300, 10), f"{start}-01-01", f"{start}-03-31", "10-Q", filed)
    trailing = line.of(told(text).trailing)
    assert trailing.value is None
    assert "restated" in trailing.reason


# As both banks announced them: the year less nine months of the same telling, whatever later reports made of the year.
@pytest.mark.parametrize(
    ("name", "line", "end", "value"),
    [
        ("PNC@2021", NET_INCOME, "2013-12-31", 1_048_000_000),
        ("PNC@2021", NET_INCOME, "2012-12-31", 718_000_000),
        ("UBSI@2021", REVENUE, "2013-12-31", 81_232_000),
    ],
)
def test_a_real_year_that_was_restated_makes_no_fourth_quarter_with_nine_months_told_before(name, line, end, value):
    found = real(name)
    assert line.of(quarter(found, end)).value == value
    assert line.of(next(year for year in found.annual if year.end.isoformat() == end)).earlier


RENAMED = """
    {old} USD 301m 2024-01-01 2024-03-31 10-Q 2024-05-01
    {old} USD 301m 2024-04-01 2024-06-30 10-Q 2024-08-01
    {old} USD 301m 2024-07-01 2024-09-30 10-Q 2024-11-01
    {old} USD 903m 2024-01-01 2024-09-30 10-Q 2024-11-01
    {old} USD 1201m 2024-01-01 2024-12-31 10-K 2025-02-20
    {old} USD 1261m 2024-01-01 2024-12-31 10-K 2026-02-20
    {new} USD 1261m 2024-01-01 2024-12-31 10-K 2026-02-20
    {old} USD 1401m 2025-01-01 2025-12-31 10-K 2026-02-20
    {new} USD 1401m 2025-01-01 2025-12-31 10-K 2026-02-20
"""


@pytest.mark.parametrize(
    ("line", "old", "new"), [(NET_INCOME, "ProfitLoss", "NetIncomeLoss"), (REVENUE, "contracts", "Revenues")]
)
def test_a_restated_year_is_known_by_the_name_it_had_before(line, old, new):
    found = told(RENAMED.format(old=old, new=new))
    year, last = line.of(found.annual[1]), line.of(quarter(found, "2024-12-31"))
    assert (year.value, [said.value for said in year.earlier]) == (1_261_000_000, [1_201_000_000])
    assert (last.value, last.reason) == (None, "The year was restated after its first nine months were reported.")


# The quarters are tagged as contracts too, and newer: they are strangers to a year of another name.
STRANGERS = """
    RevenuesNetOfInterestExpense USD 400m 2024-01-01 2024-12-31 10-K 2025-02-14
    NetIncomeLoss USD 40m 2024-01-01 2024-12-31 10-K 2025-02-14
    RevenuesNetOfInterestExpense USD {year} 2024-01-01 2024-12-31 10-K 2026-02-14
    NetIncomeLoss USD 40m 2024-01-01 2024-12-31 10-K 2026-02-14
    RevenuesNetOfInterestExpense USD 480m 2025-01-01 2025-12-31 10-K 2026-02-14
    NetIncomeLoss USD 44m 2025-01-01 2025-12-31 10-K 2026-02-14
    RevenuesNetOfInterestExpense USD 100m 2024-01-01 2024-03-31 10-Q 2024-05-10
    RevenuesNetOfInterestExpense USD 101m 2024-04-01 2024-06-30 10-Q 2024-08-10
    RevenuesNetOfInterestExpense USD 99m 2024-07-01 2024-09-30 10-Q 2024-11-10
    RevenuesNetOfInterestExpense USD {fourth} 2024-10-01 2024-12-31 10-K 2025-02-14
    contracts USD 60m 2024-01-01 2024-03-31 10-Q 2025-05-10
    NetIncomeLoss USD 10m 2024-01-01 2024-03-31 10-Q 2025-05-10
"""


@pytest.mark.parametrize(
    ("year", "fourth", "values", "reason"),
    [
        ("400m", "100m", [100, 99, 101, 100], None),
        ("450m", "100m", [100, 99, 101, 100], "as it was told before the year was restated"),
        ("450m", "120m", [None] * 4, "does not add up to it"),
    ],
)
def test_quarters_under_the_name_of_the_year_make_it_up_or_say_why_not(year, fourth, values, reason):
    found = told(STRANGERS.format(year=year, fourth=fourth))
    items = [each.revenue for each in found.quarterly if each.end.year == 2024]
    assert [item.value and item.value // 1_000_000 for item in items] == values
    assert all((reason in item.reason) if reason else item.reason is None for item in items)


# LabCorp's annual report of 2017 tags the whole year before in its first quarter.
YEAR_IN_A_QUARTER = """
    Revenues USD 2368 2025-01-01 2025-03-31 10-Q 2025-05-10
    Revenues USD 2390 2025-04-01 2025-06-30 10-Q 2025-08-10
    Revenues USD 2400 2025-07-01 2025-09-30 10-Q 2025-11-10
    Revenues USD 9553 2025-01-01 2025-12-31 10-K 2026-02-14
    Revenues USD 9642 2025-01-01 2025-03-31 10-K 2026-02-14
"""


def test_a_quarter_that_is_more_than_its_year_is_as_it_was_told_first():
    first = quarter(told(YEAR_IN_A_QUARTER), "2025-03-31").revenue
    assert (first.value, first.earlier[0].value) == (2368, 9642)
    alone = "\n".join(line for line in YEAR_IN_A_QUARTER.splitlines() if " 2368 " not in line)
    found = quarter(told(alone), "2025-03-31").revenue
    assert (found.value, found.earlier[0].value) == (None, 9642)
    assert "does not add up" in found.reason


# NortonLifeLock's, before a part of it was sold: its newest year is without that part, and nobody tells the quarters anew.
SOLD = """
    Revenues USD 1175 2025-01-01 2025-03-31 10-Q 2025-05-10
    Revenues USD 1240 2025-04-01 2025-06-30 10-Q 2025-08-10
    Revenues USD 1209 2025-07-01 2025-09-30 10-Q 2025-11-10
    Revenues USD 4834 2025-01-01 2025-12-31 10-K 2026-02-14
    Revenues USD 2559 2025-01-01 2025-12-31 10-K 2027-02-14
    Revenues USD 2456 2026-01-01 2026-12-31 10-K 2027-02-14
"""


def test_quarters_that_are_more_than_their_restated_year_say_so():
    found = told(SOLD, date(2027, 3, 1))
    for end, value in (("2025-03-31", 1175), ("2025-06-30", 1240), ("2025-09-30", 1209)):
        item = quarter(found, end).revenue
        assert item.value == value
        assert item.reason.startswith("Told before the year ended 2025-12-31 was restated")
    before = told(SOLD, date(2026, 3, 1))
    assert [quarter(before, end).revenue.reason for end in ("2025-03-31", "2025-06-30")] == [None, None]


SHELL = """
    Revenues USD 0 2025-04-01 2025-06-30 10-Q 2025-08-10
    NetIncomeLoss USD 0 2025-04-01 2025-06-30 10-Q 2025-08-10
    Revenues USD 0 2025-07-01 2025-09-30 10-Q 2025-11-10
    NetIncomeLoss USD -7 2025-07-01 2025-09-30 10-Q 2025-11-10
    Revenues USD 11946 2025-01-01 2025-12-31 10-K 2026-02-14
    NetIncomeLoss USD -670 2025-01-01 2025-12-31 10-K 2026-02-14
"""


def test_quarters_of_nothing_at_all_in_a_year_of_sales_are_a_shells():
    found = told(SHELL)
    empty = quarter(found, "2025-06-30")
    assert (empty.revenue.value, empty.net_income.value) == (None, None)
    # Who sold nothing but spent something may have sold it all in another quarter.
    assert quarter(found, "2025-09-30").revenue.value == 0


# KKR's year got another name later; its quarters tell only the oil.
OIL = """
    OilAndGasRevenue USD 13 2025-01-01 2025-03-31 10-Q 2025-05-10
    OilAndGasRevenue USD 65 2025-01-01 2025-12-31 10-K 2026-02-14
    Revenues USD 2040 2025-01-01 2025-12-31 10-K 2027-02-14
    Revenues USD 3282 2026-01-01 2026-12-31 10-K 2027-02-14
"""


def test_a_name_that_is_less_than_half_of_its_year_is_no_quarters_revenue():
    first = quarter(told(OIL, date(2027, 3, 1)), "2025-03-31").revenue
    assert first.value is None
    assert first.reason.startswith("Only a part of revenue")
