"""Counts of shares of real filers: on earlier days, and after slips that filers do make."""

from datetime import date

import pytest

from tickyard.features.research.study import study
from tickyard.sandbox.filings.rows import company_facts, rows_of
from tickyard.sources.filings.border import CompanyFacts, Entry, read_facts
from yards.filings import cases, slipped

CASES = {case["id"]: case for case in cases()}
COVER = "dei:EntityCommonStockSharesOutstanding"
COVERED = [
    name
    for name, case in CASES.items()
    if not case.told.get("noUnderlying")
    and (found := study(case.filer.company, case.filer.facts, case.today).shares) is not None
    and found.concept == COVER
    and "sum of" not in found.basis
]


def ask(name, facts=None, today=None):
    case = CASES[name]
    day = date.fromisoformat(today) if today else case.today
    return study(case.filer.company, facts or case.filer.facts, day)


@pytest.mark.parametrize(
    ("name", "day", "value", "says"),
    [
        # Listed after the balance sheet, or within the time of the average.
        ("AFRM@2021", "2021-03-15", None, "before the filer's first report"),
        ("SNOW@2025-06-15", "2020-12-15", None, "before the filer's first report"),
        ("NIO@2021", "2019-06-15", None, "before the filer's first report"),
        ("FB@2021", "2012-08-15", None, "before the filer's first report"),
        ("SHOP@2021", "2016-06-15", None, "before the filer's first report"),
        # A merger added a class between the end of the quarter and the report.
        ("SCHW@2021", "2020-11-20", None, "no longer gave a single count"),
        ("SCHW@2021", "2021-05-20", 1_882_000_000, "weighted average"),
        # The tables are of the company before the merger, the cover is of the day.
        ("LPA@2025-05-01", "2024-06-15", 31_709_747, None),
        ("QSR@2021", "2015-03-15", 202_124_433, None),
        # Offerings and acquisitions since the end of the period, and splits.
        ("PLUG@2021", "2013-04-15", 63_799_068, None),
        ("COP@2021", "2021-02-20", 1_354_734_727, None),
        ("NVDA@2026-07-09", "2024-08-29", 24_530_000_000, None),
        ("DD@2021", "2019-08-07", 745_482_399, None),
        ("SNOW@2025-06-15", "2021-04-15", 288_700_000, None),
        # The cover of the year before was left standing; the average was made anew.
        ("GIS@2021", "2011-07-15", 642_700_000, "is that of 2010-06-18 to the last digit"),
        # A smaller class is left out of every cover: a sixth of all shares, which the averages count.
        ("MA@2021", "2010-02-20", 129_838_000, "is below the average number of shares, as the one before was"),
        # Shares were exchanged for those of a part that went: two averages are of a time before, and the second less so.
        ("DD@2021", "2021-05-07", 532_142_336, None),
        # A count in tens of millions comes back by itself.
        ("NVDA@2026-07-09", "2024-03-01", 2_500_000_000, None),
    ],
)
def test_a_count_is_of_the_company_that_is_listed_on_the_day(name, day, value, says):
    found = ask(name, today=day)
    assert (found.shares.value if found.shares else None) == value
    assert says is None or says in found.note


FACTORS = {"x1000": (1000, 1), "/1000": (1, 1000), "x10": (10, 1), "x100": (100, 1), "/10": (1, 10)}


@pytest.mark.slow
@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("name", COVERED)
def test_a_cover_that_slips_is_never_the_answer(name, factor):
    right = ask(name).shares
    more, less = FACTORS[factor]
    facts = slipped(CASES[name].filer.facts, COVER, right.accession, lambda value: int(value) * more // less)
    found = ask(name, facts)
    assert found.shares is None or abs(found.shares.value - right.value) * 10 <= right.value
    assert found.shares is not None or "sharesOutstanding" in found.note


@pytest.mark.parametrize("factor", [2, 3])
@pytest.mark.parametrize("name", ["AAPL@2021", "HD@2021", "EQR@2021", "NEE@2021", "PNC@2021"])
def test_twice_what_all_others_say_is_a_dispute(name, factor):
    right = ask(name).shares
    found = ask(name, slipped(CASES[name].filer.facts, COVER, right.accession, lambda value: value * factor))
    assert found.shares is None
    assert "which agree" in found.note


def test_a_class_that_the_cover_leaves_out_is_seen_by_average_and_balance_sheet():
    facts = CASES["BF-B@2021"].filer.facts
    cover = Entry(None, date(2021, 5, 31), 309_800_000, "0000014693-21-000091", "10-K", date(2021, 6, 21))
    found = ask("BF-B@2021", CompanyFacts(facts.cik, {**facts.concepts, COVER: {"shares": (cover,)}}))
    assert found.shares.value == 478_729_000
    assert "may leave out a class" in found.note


def test_an_amendment_that_slips_gives_way_to_the_report_it_amends():
    right = ask("AMD@2026-04-27").shares
    assert right.form == "10-K/A"
    facts = slipped(CASES["AMD@2026-04-27"].filer.facts, COVER, right.accession, lambda value: value * 1000)
    found = ask("AMD@2026-04-27", facts).shares
    assert (found.value, found.form) == (right.value, "10-K")


@pytest.mark.parametrize("factor", [2, 8, 20])
@pytest.mark.parametrize("name", ["AMD@2026-04-27", "GIS@2021", "AAPL@2021", "COP@2021"])
def test_after_a_reverse_split_the_table_and_the_cover_before_are_no_answer(name, factor):
    """An amendment is filed months after its report, and its cover alone knows what happened since."""
    right = ask(name).shares
    found = ask(name, slipped(CASES[name].filer.facts, COVER, right.accession, lambda value: value // factor))
    assert found.shares is None
    assert "as after a reverse split" in found.note


THOUSANDS = """
    Revenues USD 5m 2023-01-01 2023-12-31 10-K 2024-02-20
    NetIncomeLoss USD -45m 2023-01-01 2023-12-31 10-K 2024-02-20
    dei:EntityPublicFloat USD 300m - 2023-06-30 10-K 2024-02-20
    cover shares 150m - 2024-02-10 10-K 2024-02-20
    balance shares 150100 - 2023-12-31 10-K 2024-02-20
    average shares 149000 2023-01-01 2023-12-31 10-K 2024-02-20
    Revenues USD 4m 2022-01-01 2022-12-31 10-K 2023-02-20
"""


def made(text):
    company = CASES["AAPL@2021"].filer.company
    return study(company, read_facts(company_facts(1, "Example", rows_of(text)), 1), date(2024, 3, 1))


def test_a_table_in_thousands_does_not_outvote_the_cover_and_the_float():
    assert made(THOUSANDS).shares.value == 150_000_000


def test_a_table_in_thousands_and_a_cover_without_other_witnesses_are_a_dispute():
    text = "\n".join(line for line in THOUSANDS.splitlines() if "PublicFloat" not in line)
    found = made(text)
    assert found.shares is None
    assert "a thousand times off" in found.note


# The cover of its report for the third quarter is dated three days after the report was filed.
def test_a_cover_dated_after_its_filing_counts_on_the_day_of_the_filing():
    case = CASES["HIG@2021"]
    for day in (date(2013, 10, 28), date(2013, 12, 1), date(2014, 2, 20)):
        found = study(case.filer.company, case.filer.facts, day).shares
        assert (found.value, found.as_of) == (447_083_233, date(2013, 10, 28))


@pytest.mark.parametrize("change", [lambda n: n * 10, lambda n: n // 10, lambda n: n * 100], ids=["x10", "/10", "x100"])
@pytest.mark.parametrize(
    "name", ["MA@2021", "FB@2021", "SCHW@2021", "IBKR@2021", "SHOP@2021", "TEAM@2021", "GOOGL@2021"]
)
def test_a_count_without_a_cover_that_is_tens_off_profit_per_share_or_the_count_before_is_unknown(name, change):
    right = ask(name).shares
    facts = slipped(CASES[name].filer.facts, right.concept, right.accession, change)
    assert ask(name, facts).shares is None


SEVERAL = """
    NetIncomeLoss USD 150m 2023-01-01 2023-12-31 10-K 2024-02-20
    EarningsPerShareBasic USD/shares 1.50 2023-01-01 2023-12-31 10-K 2024-02-20
    WeightedAverageNumberOfSharesOutstandingBasic shares 100m 2023-01-01 2023-12-31 10-K 2024-02-20
    CommonStockSharesOutstanding shares {count} - 2023-12-31 10-K 2024-02-20
    NetIncomeLoss USD 140m 2021-01-01 2021-12-31 10-K 2022-02-20
"""


@pytest.mark.parametrize(("count", "value"), [("80m", 100_000_000), ("95m", 95_000_000)])
def test_a_balance_sheet_of_one_class_only_gives_way_to_the_average(count, value):
    """No cover gives one count, so there are several classes."""
    facts = read_facts(company_facts(1, "Example", rows_of(SEVERAL.format(count=count))), 1)
    found = ask("AAPL@2021", facts, "2024-06-15")
    assert found.shares.value == value
    assert "no single count stands on the cover" in found.note
