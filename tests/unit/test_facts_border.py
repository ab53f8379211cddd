"""What of the filings database's JSON is let in, document by document and entry by entry."""

from datetime import date
from decimal import Decimal

import msgspec
import pytest

from tickyard.features.research.filed import concepts, costs
from tickyard.features.research.filed.discontinued import MINORITY_DISCONTINUED
from tickyard.sources.filings.border import Broken, Registrant, read_company, read_facts, read_tickers
from tickyard.sources.filings.concepts import WANTED
from tickyard.sources.filings.facts import read_number

ROW = {
    "start": "2025-01-01",
    "end": "2025-12-31",
    "val": 100,
    "accn": "0000000001-26-000001",
    "fy": 2025,
    "fp": "FY",
    "form": "10-K",
    "filed": "2026-02-14",
    "frame": "CY2025",
}
COMPANY = {
    "cik": "0001652044",
    "entityType": "operating",
    "sic": "7370",
    "sicDescription": "Services-Computer Programming, Data Processing, Etc.",
    "name": "Alphabet Inc.",
    "tickers": ["GOOGL", "GOOG"],
    "exchanges": ["Nasdaq", None],
    "fiscalYearEnd": "1231",
    "stateOfIncorporation": "DE",
    "filings": {"recent": {"form": ["10-K"]}, "files": []},
}


def tickers(entries):
    return read_tickers(msgspec.json.encode(entries))


def company(**changes):
    return read_company(msgspec.json.encode(COMPANY | changes), 1652044)


def revenues(*rows, unit="USD"):
    body = {"cik": 1, "entityName": "Example", "facts": {"us-gaap": {"Revenues": {"units": {unit: list(rows)}}}}}
    return read_facts(msgspec.json.encode(body), 1)


def values(facts):
    return [entry.value for entry in facts.units("us-gaap:Revenues")["USD"]]


def test_tickers_are_read_as_the_database_spells_them():
    found = tickers({"0": {"cik_str": 1067983, "ticker": "BRK-B", "title": "BERKSHIRE HATHAWAY INC"}})
    assert found == {"BRK-B": Registrant(1067983, "BERKSHIRE HATHAWAY INC")}


def test_one_bad_ticker_does_not_spoil_the_list():
    good = {"cik_str": 320193, "ticker": "aapl", "title": "Apple\u202e Inc."}
    bad = [{}, None, 7, {"cik_str": "1", "ticker": "X"}, {"cik_str": 0, "ticker": "X"}, {"cik_str": 1, "ticker": "A B"}]
    found = tickers({"0": good} | {str(place): entry for place, entry in enumerate(bad, start=1)})
    assert found == {"AAPL": Registrant(320193, "Apple Inc.")}


def test_the_first_of_two_owners_of_a_ticker_stays():
    one, two = ({"cik_str": cik, "ticker": "X", "title": ""} for cik in (1, 2))
    assert tickers({"0": one, "1": two})["X"].cik == 1


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b"null", b'{"0":1}', b"<html>", b'{"0":' + b"[" * 10**6])
def test_a_list_of_nothing_is_broken(body):
    with pytest.raises(Broken):
        read_tickers(body)


def test_a_company_is_read():
    found = company()
    assert (found.name, found.sic, found.state, found.fiscal_year_end) == ("Alphabet Inc.", "7370", "DE", "1231")
    assert found.tickers == ("GOOGL", "GOOG")
    assert found.exchanges == ("Nasdaq", None)
    assert company(cik=1652044) == found


def test_what_a_company_leaves_out_is_unknown():
    found = company(
        sic="", sicDescription="", stateOfIncorporation=None, fiscalYearEnd=None, exchanges=[], entityType=""
    )
    assert (found.sic, found.sic_description, found.state, found.fiscal_year_end) == (None, None, None, None)
    assert found.exchanges == (None, None)
    assert found.entity_type is None
    assert company(fiscalYearEnd="1331").fiscal_year_end is None
    assert company(sic="0100").sic == "0100"
    assert company(tickers=["GOOGL", None, "<script>"]).tickers == ("GOOGL",)


def test_text_of_a_company_is_cleaned():
    assert company(name="Alpha\u200bbet\x00 Inc.\u202e").name == "Alphabet Inc."


@pytest.mark.parametrize("changes", [{"cik": "0000000002"}, {"cik": "x"}, {"name": 7}, {"tickers": "GOOGL"}])
def test_another_companys_submissions_are_broken(changes):
    with pytest.raises(Broken):
        company(**changes)


def test_facts_are_exact_numbers():
    found = revenues(ROW, ROW | {"val": 1.5}, ROW | {"val": 2.0}, ROW | {"val": -3})
    assert values(found) == [100, Decimal("1.5"), 2, -3]
    assert [type(value) for value in values(found)] == [int, Decimal, int, int]


def test_a_number_that_is_none_leaves_its_period_behind():
    found = revenues(ROW, *(ROW | {"val": junk} for junk in ("100", None, True, [], {}, 10**18, -(10**30), 1e300)))
    assert values(found) == [100, *[None] * 8]
    assert found.unread == 0


def test_an_entry_without_a_place_is_left_out_and_counted():
    bad = [
        {key: value for key, value in ROW.items() if key != "end"},
        ROW | {"end": "2025-02-30"},
        ROW | {"end": "0001-01-01"},
        ROW | {"start": "2026-06-01"},
        ROW | {"accn": "1"},
        ROW | {"form": "<b>"},
        ROW | {"form": "12"},
        ROW | {"filed": None},
        "row",
        None,
    ]
    found = revenues(ROW, *bad)
    assert values(found) == [100]
    assert found.unread == len(bad)


def test_a_moment_has_no_start():
    (entry,) = revenues({key: value for key, value in ROW.items() if key != "start"}).units("us-gaap:Revenues")["USD"]
    assert entry.start is None
    assert entry.end == date(2025, 12, 31)


@pytest.mark.parametrize("part", ["us-gaap", "Revenues", "units", "USD"])
@pytest.mark.parametrize("junk", [None, 7, "text", [7], [[]]])
def test_a_part_of_another_shape_leaves_the_rest_readable(part, junk):
    shares = {"units": {"shares": [ROW | {"val": 5}]}}
    units = {"USD": junk} if part == "USD" else {"USD": [ROW]}
    concept = {"units": junk if part == "units" else units}
    taxonomy = {"Revenues": junk if part == "Revenues" else concept}
    facts = {"us-gaap": junk if part == "us-gaap" else taxonomy}
    facts["dei"] = {"EntityCommonStockSharesOutstanding": shares}
    found = read_facts(msgspec.json.encode({"cik": "0000000001", "facts": facts}), 1)
    assert [entry.value for entry in found.units(concepts.COVER_COUNT)["shares"]] == [5]
    assert not any(found.units("us-gaap:Revenues").values())
    assert found.unread >= 1


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[]",
        b'{"cik":1}',
        b'{"cik":2,"facts":{}}',
        b'{"cik":1,"facts":[]}',
        b'{"cik":1,"facts":{"us-gaap":{"Revenues":{"units":{"USD":[{"val":NaN}]}}}}}',
        b'{"cik":1,"facts":{"us-gaap":{"Other":' + b"[" * 500_000 + b"]" * 500_000 + b"}}}",
        b'{"cik":1,"facts":{"us-gaap":' + b'{"a":' * 200_000,
        b"<html></html>",
    ],
    ids=range(10),
)
def test_a_document_that_is_none_is_broken(body):
    with pytest.raises(Broken):
        read_facts(body, 1)


def test_an_unknown_filers_empty_document_is_an_empty_one():
    assert read_facts(b'{"cik":1,"entityName":"","facts":{}}', 1).concepts == {}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"0", 0),
        (b"-12", -12),
        (b"1e3", 1000),
        (b"1.25e1", Decimal("12.5")),
        (b"1e99", None),
        (b"1e400", None),
        (b"999999999999999999", 10**18 - 1),
        (b"1000000000000000000", None),
        (b"0.1", Decimal("0.1")),
        (b'"1"', None),
        (b"", None),
    ],
)
def test_numbers(text, value):
    assert read_number(text) == value


def test_every_concept_we_choose_from_is_decoded():
    wanted = {f"{taxonomy}:{tag}" for taxonomy, tags in WANTED.items() for tag in tags}
    assert wanted == {
        *concepts.REVENUE,
        *concepts.CHECKS,
        *concepts.INTEREST_SPENT,
        *concepts.NET_INCOME,
        *concepts.MINORITY,
        *concepts.MINORITY_DIVIDED,
        *MINORITY_DISCONTINUED,
        concepts.CONTINUING_PER_SHARE,
        *concepts.MINORITY_SIGNS,
        *concepts.OWNERS_COMPREHENSIVE,
        *concepts.OTHER_COMPREHENSIVE,
        *concepts.PREFERRED_DIVIDENDS,
        *concepts.SET_ASIDE,
        concepts.PREFERRED_PER_SHARE,
        *concepts.PER_SHARE,
        *concepts.DILUTED_PER_SHARE,
        *concepts.COUNTS,
        *concepts.DILUTED_COUNTS,
        *concepts.ISSUED_COUNTS,
        concepts.PUBLIC_FLOAT,
        concepts.DEPOSITARY_RATIO,
        concepts.EXCISE_OWED,
        concepts.TAXES,
        *costs.TRADE_COSTS,
    }
