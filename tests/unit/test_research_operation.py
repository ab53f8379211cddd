"""Research without its upstreams: what is said about a filer, and how a figure reaches the wire."""

import json
from datetime import date
from decimal import Decimal

import msgspec
import pytest

from tickyard.features.research.answer import Research, show_fact
from tickyard.features.research.documents import FORM, form_of
from tickyard.features.research.filed.facts import Fact
from tickyard.features.research.portrait import Filer, describe
from tickyard.kernel.wire import encode
from tickyard.sources.filings.border import Company, CompanyFacts
from tickyard.sources.filings.concepts import WANTED
from tickyard.store.shared_pace import interval_micros, wait_micros

TODAY = date(2026, 10, 1)
SECOND = 1_000_000


def company(**fields):
    known = {"cik": 320193, "name": "Apple Inc.", "sic": "3571", "entity_type": "operating"}
    return Company(**(known | fields))


def facts(**concepts):
    return CompanyFacts(320193, {f"us-gaap:{name}": rows for name, rows in concepts.items()})


def test_nobody_behind_the_ticker():
    profile = describe("ZZZZ", None, TODAY)
    assert (profile.company, profile.study) == (None, None)
    assert profile.notes == ("No company files with the SEC under ZZZZ, so there are no fundamentals.",)


def test_a_trust_has_no_company_and_says_so():
    profile = describe("GLDX", Filer(company(sic="6221"), facts(), True), TODAY)
    assert profile.company is None
    assert "GLDX is a fund or trust" in profile.notes[0]


def test_unreadable_facts_never_make_a_fund_of_a_company():
    profile = describe("NEWCO", Filer(company(sic=None, name="Newco Lending Fund"), None, False), TODAY)
    assert profile.company is None
    assert profile.notes == ("Fundamentals are unknown: the facts in the filings database could not be read.",)


@pytest.mark.parametrize(("is_readable", "says"), [(True, "no machine-readable facts"), (False, "could not be read")])
def test_a_company_without_facts_is_still_a_company(is_readable, says):
    profile = describe("AAPL", Filer(company(), None, is_readable), TODAY)
    assert profile.company.name == "Apple Inc."
    assert says in profile.notes[0]
    assert profile.sources == ("SEC EDGAR submissions, CIK 0000320193",)


def test_a_copy_that_was_kept_before_a_concept_was_wanted_is_of_another_form():
    """The database says that its document has not changed, so nothing else would ever fetch what the copy lacks."""
    tags = WANTED["us-gaap"]
    assert form_of({**WANTED, "us-gaap": tags[:-1]}) != form_of(WANTED) == FORM
    assert 0 < FORM < 2**31


def a_fact(value):
    day = date(2025, 12, 31)
    return Fact(value, "EUR", date(2025, 1, 1), day, 2025, "20-F", "0000320193-26-000001", "x", day)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (391035000000, "391035000000"),
        (-5, "-5"),
        (Decimal("1234567890123.125"), "1234567890123.125"),
        (Decimal("-0.000000001"), "-0.000000001"),
        (Decimal("1.5E+3"), "1500"),
        (10**18 - 1, "999999999999999999"),
    ],
)
def test_a_figure_is_a_json_number_with_every_digit(value, text):
    body = encode(show_fact(a_fact(value))).decode()
    assert f'"value":{text},' in body
    assert isinstance(json.loads(body)["value"], int | float)


def test_a_figure_keeps_its_currency_and_its_period():
    assert json.loads(encode(show_fact(a_fact(7)))) == {
        "value": 7,
        "unit": "EUR",
        "periodStart": "2025-01-01",
        "periodEnd": "2025-12-31",
        "fiscalYear": 2025,
        "form": "20-F",
    }
    assert show_fact(None) is None


def test_the_description_calls_figures_numbers():
    schema = msgspec.json.schema(Research)["$defs"]
    assert schema["ReportedFact"]["properties"]["value"]["type"] == "number"
    assert set(schema["Facts"]["required"]) == {"revenue", "netIncome", "sharesOutstanding", "marketCap"}
    assert len(schema["Underlying"]["required"]) == 9
    assert len(schema["TokenQuote"]["required"]) == 4


def test_turns_are_spread_over_the_second():
    assert 8 * interval_micros(8) >= SECOND


@pytest.mark.parametrize(
    ("free_at", "now", "wait"),
    [
        (0, 50 * SECOND, 0),
        (50 * SECOND, 50 * SECOND, 0),
        (50 * SECOND + 1, 50 * SECOND, 1),
        (50 * SECOND + 130_000, 50 * SECOND, 130_000),
        (90 * SECOND, 50 * SECOND, 0),
    ],
)
def test_a_turn_is_waited_for_unless_the_clock_was_set_back(free_at, now, wait):
    assert wait_micros(free_at, now, interval_micros(8)) == wait
