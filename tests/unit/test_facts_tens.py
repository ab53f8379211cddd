"""Real filings with a slip of ten or a hundred: what is contradicted is unknown, and a good year is no slip."""

from datetime import date, timedelta

import pytest
from msgspec.structs import replace

from tickyard.features.research.filed.periods import is_year
from tickyard.features.research.study import study
from tickyard.sandbox.filings.rows import company_facts, rows_of
from tickyard.sources.filings.border import CompanyFacts, read_facts
from yards.filings import cases, slipped

CASES = {case["id"]: case for case in cases()}
TENS = pytest.mark.parametrize(
    "change", [lambda n: n * 10, lambda n: n // 10, lambda n: n * 100], ids=["x10", "/10", "x100"]
)


def asked(name, facts=None):
    case = CASES[name]
    return study(case.filer.company, facts if facts is not None else case.filer.facts, case.today)


def with_slip(name, concept, accession, change, period=None):
    facts = CASES[name].filer.facts
    return asked(name, slipped(facts, concept, accession, lambda n: change(int(n)), period))


@TENS
@pytest.mark.parametrize("name", ["NEE@2021", "HMC@2021", "RY@2021", "BABA@2021", "GIS@2021", "WMT@2026-07-24"])
def test_revenue_ten_times_off_the_year_before_is_unknown_where_the_lines_beside_it_stayed(name, change):
    right = asked(name).revenue
    period = (right.period_start, right.period_end)
    found = with_slip(name, right.concept, right.accession, change, period)
    assert found.revenue is None
    assert found.net_income == asked(name).net_income


@TENS
@pytest.mark.parametrize("name", ["NEE@2021", "RY@2021", "MO@2021", "NKE@2026-07-24"])
def test_a_report_that_repeats_last_year_in_the_same_digits_but_another_scale_is_not_believed(name, change):
    right = asked(name)
    for fact, figure in ((right.revenue, "revenue"), (right.net_income, "net_income")):
        found = with_slip(name, fact.concept, fact.accession, change)
        assert getattr(found, figure) is None


@TENS
@pytest.mark.parametrize("name", ["RY@2021", "NVS@2021", "HMC@2021"])
def test_one_filing_that_slips_does_not_refute_what_two_reports_say_of_the_year_before(name, change):
    right, facts = asked(name), CASES[name].filer.facts
    for fact, figure in ((right.revenue, "revenue"), (right.net_income, "net_income")):
        told = facts.units(fact.concept)[fact.unit]
        before = next(row for row in told if row.accession == fact.accession and is_year_before(row, fact))
        odd = replace(before, value=change(int(before.value)), accession="9999999999-26-000001")
        rows = {**facts.units(fact.concept), fact.unit: (*told, odd)}
        found = asked(name, CompanyFacts(facts.cik, {**facts.concepts, fact.concept: rows}, facts.unread))
        assert getattr(found, figure) == fact


def is_year_before(row, fact):
    return is_year(row) and abs(fact.period_start - row.end) <= timedelta(days=7)


@TENS
@pytest.mark.parametrize("name", ["SCHW@2021", "SPG@2021", "PNC@2021", "RY@2021", "QSR@2021"])
def test_a_profit_that_both_shares_and_taxes_contradict_is_unknown(name, change):
    """Preferred dividends and minorities keep its digits from those of profit per share."""
    right = asked(name).net_income
    base = right.concept.partition(" - ")[0]
    found = with_slip(name, base, right.accession, change, (right.period_start, right.period_end))
    assert found.net_income is None


def test_a_year_in_which_revenue_and_its_costs_grew_tenfold_is_believed():
    company = CASES["AAPL@2021"].filer.company
    facts = read_facts(company_facts(1, "Example", rows_of("""
        Revenues USD 900m 2023-01-01 2023-12-31 10-K 2024-02-20
        Revenues USD 90m 2022-01-01 2022-12-31 10-K 2024-02-20
        CostOfRevenue USD 500m 2023-01-01 2023-12-31 10-K 2024-02-20
        CostOfRevenue USD 60m 2022-01-01 2022-12-31 10-K 2024-02-20
        NetIncomeLoss USD 20m 2023-01-01 2023-12-31 10-K 2024-02-20
        NetIncomeLoss USD 10m 2022-01-01 2022-12-31 10-K 2024-02-20
    """)), 1)  # fmt: skip
    assert study(company, facts, date(2024, 9, 1)).revenue.value == 900_000_000


def test_a_profit_that_grew_tenfold_is_believed():
    """Micron's of 2025 was eleven times that of 2024, on half as much revenue again."""
    found = asked("MU@2026-07-24").net_income
    assert found.value == 8_539_000_000
