"""Who is a company, what it is worth, and what is said when there is nothing to say."""

from dataclasses import replace
from datetime import date

import pytest

from tickyard.features.research.company.depositary import SHARES_PER_SECURITY
from tickyard.features.research.company.places import place_name
from tickyard.features.research.company.profile import (
    cik_text,
    company_name,
    exchange_of,
    filer_ticker,
    is_fund,
    is_operating_company,
)
from tickyard.features.research.company.worth import Float, market_cap
from tickyard.features.research.portrait import appraise
from tickyard.features.research.shares.choice import Shares
from tickyard.features.research.study import Absence, study
from tickyard.kernel.units import Price
from tickyard.sandbox.filings.rows import company_facts, rows_of
from tickyard.sources.filings.border import Company, read_facts

TODAY = date(2026, 9, 16)
YEAR = "2025-01-01 2025-12-31 10-K 2026-02-14"
SHARES = Shares(
    value=1_000_001,
    as_of=date(2026, 8, 1),
    basis="the cover of the 10-Q",
    form="10-Q",
    accession="0000000001-26-000009",
    concept="dei:EntityCommonStockSharesOutstanding",
    filed=date(2026, 8, 10),
)


def company(**changes):
    usual = {"cik": 1, "name": "Example", "tickers": ("EXM",), "exchanges": ("NYSE",)}
    return Company(**(usual | {"sic": "7372", "entity_type": "operating"} | changes))


def facts(text):
    return read_facts(company_facts(1, "Example", rows_of(text)), 1)


SELLING = facts(f"Revenues USD 100m {YEAR}\nNetIncomeLoss USD 1m {YEAR}")
EARNING = facts(f"NetIncomeLoss USD 1m {YEAR}")


@pytest.mark.parametrize(
    ("who", "known", "answer"),
    [
        (company(), SELLING, True),
        (company(), EARNING, True),
        (company(), None, True),
        (company(sic="6221"), EARNING, False),
        (company(sic="6221"), SELLING, False),
        (company(sic="6726", entity_type="other"), None, False),
        # Listed abroad or over the counter only: no code, no facts, and still a company.
        (company(sic=None), None, True),
        (company(sic=None, entity_type="other", tickers=(), exchanges=()), None, True),
        (company(sic=None, entity_type="other", tickers=("EXMPF",), exchanges=("OTC",)), EARNING, True),
        (company(sic=None), SELLING, True),
        (company(entity_type="other"), EARNING, True),
        (company(sic=None, name="Example Index Funds", entity_type="other"), None, False),
        (company(sic=None, name="Example Trust", entity_type="other"), EARNING, False),
        (company(sic=None, name="Example Trust"), SELLING, False),
        (company(sic=None, name="Example Lending Fund"), SELLING, True),
        (company(sic=None, name="Example Lending Fund"), None, False),
        (company(sic="6022", name="Northern Example Trust Corp"), SELLING, True),
        (company(sic="6798", name="Example Realty Trust"), SELLING, True),
        (company(sic="6798", name="Copper Example Pass Through Trust"), SELLING, True),
        (company(sic="6792", name="Example Oil Royalty Trust"), SELLING, True),
        (company(name="Example CurrencyShares Euro Trust"), SELLING, False),
        (company(name="EXAMPLE SILVER TRUST"), SELLING, False),
        (company(name="Example States Oil Fund, LP"), SELLING, False),
        (company(name="Golden Example Mining Corp"), SELLING, True),
        (company(entity_type="other"), SELLING, True),
        (company(entity_type="investment"), SELLING, False),
        (company(entity_type=None), SELLING, True),
        (company(tickers=("SPY",)), SELLING, False),
    ],
)
def test_a_ticker_is_not_yet_a_company(who, known, answer):
    assert is_operating_company(who, known) is answer


@pytest.mark.parametrize(
    ("filed", "shown"),
    [
        ("BANK OF EXAMPLE CORP /DE/", "BANK OF EXAMPLE CORP"),
        ("EXAMPLE BANKSHARES INC/WV", "EXAMPLE BANKSHARES INC"),
        ("EXAMPLE WHOLESALE CORP /NEW", "EXAMPLE WHOLESALE CORP"),
        ("EXAMPLE BANCORP \\DE\\", "EXAMPLE BANCORP"),
        ("EXAMPLE MOTOR CORP/", "EXAMPLE MOTOR CORP"),
        ("BANK OF EXAMPLE /CAN/", "BANK OF EXAMPLE"),
        ("EXAMPLE BROKERS GROUP,\u00a0INC.", "EXAMPLE BROKERS GROUP, INC."),
        ("EXAMPLE NORDISK A/S", "EXAMPLE NORDISK A/S"),
        ("/DE/", "/DE/"),
    ],
)
def test_a_name_is_shown_without_the_mark_that_tells_namesakes_apart(filed, shown):
    assert company_name(company(name=filed)) == shown


@pytest.mark.parametrize(
    ("code", "described", "name"),
    [
        ("2M", None, "Germany"),
        ("2M", "2M", "Germany"),
        ("E9", "Cayman Islands", "Cayman Islands"),
        ("V8", "V8 Switzerland", "Switzerland"),
        ("P8", "", "Netherlands Antilles"),
        ("DE", "DE", "Delaware"),
        ("A6", None, "Ontario, Canada"),
        ("??", None, None),
        (None, "Germany", None),
    ],
)
def test_a_code_of_a_place_can_be_read(code, described, name):
    assert place_name(code, described) == name


def test_tickers_and_numbers_are_spelled_as_the_database_does():
    assert filer_ticker("BRK.B") == "BRK-B"
    assert cik_text(320193) == "0000320193"
    assert is_fund("SPY")
    assert not is_fund("AAPL")


def test_each_security_has_its_own_exchange():
    two = company(tickers=("BRK-A", "BRK-B"), exchanges=("NYSE", None))
    assert exchange_of(two, "BRK.A") == "NYSE"
    assert exchange_of(two, "BRK.B") is None
    assert exchange_of(two, "XYZ") is None


def test_market_cap_is_whole_dollars_rounded_down():
    worth = market_cap(SHARES, Price(1999, 1000), "EXM", is_foreign=False)
    assert worth.market_cap.value == 1_999_001
    assert worth.market_cap.basis == (
        "1000001 shares as of 2026-08-01 (the cover of the 10-Q, 0000000001-26-000009) "
        "x 1.999 USD, the mid of the equity quote of EXM"
    )
    assert worth.notes == ()


def test_depositary_shares_are_counted_by_their_ratio():
    worth = market_cap(SHARES, Price(100, 1), "TSM", is_foreign=True)
    assert worth.market_cap.value == 20_000_020
    assert "5 to one depositary share" in worth.market_cap.basis
    assert all(ratio >= 1 for ratio in SHARES_PER_SECURITY.values())


@pytest.mark.parametrize(
    ("ticker", "cap"),
    [
        ("NVS", 100_000_100),
        ("BHP", 50_000_050),
        ("VOD", 10_000_010),
        ("NU", 100_000_100),
        ("PBR", 50_000_050),
        ("TLK", 1_000_001),
    ],
)
def test_the_ratios_of_the_large_banks_and_makers_abroad_are_known(ticker, cap):
    assert market_cap(SHARES, Price(100, 1), ticker, is_foreign=True).market_cap.value == cap


def test_of_several_receipts_to_one_share_no_market_cap_is_made():
    then = replace(SHARES, as_of=date(2020, 12, 31))
    before = market_cap(then, Price(100, 1), "BIDU", is_foreign=True, today=date(2021, 1, 31))
    since = market_cap(then, Price(100, 1), "BIDU", is_foreign=True, today=date(2021, 7, 24))
    assert before.market_cap is None
    assert since.market_cap is None
    assert "changed after they were counted" in since.notes[0]


def test_the_ratio_belongs_to_the_security_and_not_to_the_form():
    on_10k = market_cap(SHARES, Price(130, 1), "BGNE", is_foreign=False)
    assert on_10k.market_cap.value == 10_000_010
    tagged = market_cap(SHARES, Price(100, 1), "EXM", is_foreign=True, tagged_ratio=4)
    assert tagged.market_cap.value == 25_000_025
    assert market_cap(SHARES, Price(100, 1), "TSM", is_foreign=True, tagged_ratio=4).market_cap.value == 20_000_020


def test_a_newcomer_from_abroad_without_a_float_may_have_listed_receipts():
    worth = market_cap(SHARES, Price(100, 1), "EXM", is_foreign=False, is_abroad=True)
    assert worth.market_cap is None
    assert "no public float bears out" in worth.notes[0]
    assert market_cap(SHARES, Price(100, 1), "QSR", is_foreign=False, is_abroad=True).market_cap is not None


@pytest.mark.parametrize(
    ("value", "is_believed"),
    [(100_000_100, True), (300_000_300, True), (300_000_301, False), (33_333_367, True), (33_333_366, False)],
)
def test_a_market_cap_more_than_three_times_off_the_public_float_is_not_believed(value, is_believed):
    day = date(2026, 6, 30)
    held = Float(value, day, "10-K", "0000000001-26-000001", day)
    worth = market_cap(SHARES, Price(100, 1), "EXM", is_foreign=False, public_float=held)
    assert (worth.market_cap is not None) is is_believed
    assert is_believed or "more than 3 times off the public float" in worth.notes[0]


@pytest.mark.parametrize(
    ("shares", "price", "is_foreign", "reason"),
    [
        (None, Price(1, 1), False, "marketCap: no usable share count."),
        (SHARES, None, False, "marketCap: no usable quote of the underlying."),
        (SHARES, Price(1, 1), True, "is not known to us."),
    ],
)
def test_no_market_cap_without_all_its_parts(shares, price, is_foreign, reason):
    worth = market_cap(shares, price, "EXM", is_foreign=is_foreign)
    assert worth.market_cap is None
    assert reason in worth.notes[0]


@pytest.mark.parametrize("absence", Absence)
def test_without_facts_everything_is_unknown_and_said(absence):
    found = study(company(), absence, TODAY)
    assert (found.revenue, found.net_income, found.shares) == (None, None, None)
    assert absence.value in found.note
    assert found.sources == ("SEC EDGAR submissions, CIK 0000000001",)


def test_sources_name_each_filing_once():
    text = f"Revenues USD 100m {YEAR}\nNetIncomeLoss USD 1m {YEAR}\ncover shares 50m - 2026-08-01 10-Q 2026-08-10"
    found = study(company(fiscal_year_end="1231"), facts(text), TODAY)
    assert found.sources == (
        "SEC EDGAR submissions, CIK 0000000001",
        "SEC EDGAR company facts, CIK 0000000001",
        f"10-K filed 2026-02-14, accession number {found.revenue.accession}",
        f"10-Q filed 2026-08-10, accession number {found.shares.accession}",
    )
    assert not found.is_foreign


def test_an_amount_without_its_beginning_is_passed_over_and_said():
    found = study(company(), facts(f"Revenues USD 100m {YEAR}\nRevenues USD 120m - 2026-06-30 10-K 2026-08-14"), TODAY)
    assert found.revenue.value == 100 * 10**6
    assert "could not be read and were left out" in found.note


def test_a_filer_is_foreign_by_its_newest_report():
    moved = f"Revenues USD 90m 2024-01-01 2024-12-31 20-F 2025-04-01\nRevenues USD 100m {YEAR}"
    assert not study(company(), facts(moved), TODAY).is_foreign
    stayed = moved + "\nRevenues USD 100m 2025-01-01 2025-12-31 40-F 2026-04-01"
    assert study(company(), facts(stayed), TODAY).is_foreign


@pytest.mark.parametrize(("form", "tagged", "ratio"), [("40-F", "", 1), ("40-F/A", "", 1), ("20-F", "", None), (
    "40-F", "dei:EntityListingDepositoryReceiptRatio pure 4 - 2025-12-31 40-F 2026-03-01", 4,
)])  # fmt: skip
def test_a_filer_on_40_f_lists_the_share_itself(form, tagged, ratio):
    """The form is for Canadian companies only, and no bank puts depositary shares between them and New York."""
    text = f"Revenues CAD 100m 2025-01-01 2025-12-31 {form} 2026-03-01\ncover shares 50m - 2025-12-31 {form} 2026-03-01"
    found = study(company(state="A8"), facts(f"{text}\n{tagged}"), TODAY)
    assert found.tagged_ratio == ratio
    worth = appraise(found, Price(100, 1), "EXM")
    assert (worth.market_cap.value if worth.market_cap else None) == (5 * 10**9 // ratio if ratio else None)


@pytest.mark.parametrize(("filed", "is_fresh"), [("2026-02-14", True), ("2023-02-14", False)])
def test_an_old_float_and_an_old_ratio_are_not_held_against_today(filed, is_fresh):
    day = f"{int(filed[:4]) - 1}-06-30"
    text = (
        f"Revenues USD 100m {YEAR}\ndei:EntityPublicFloat USD 5m - {day} 10-K {filed}\n"
        f"dei:EntityListingDepositoryReceiptRatio pure 4 - {day} 10-K {filed}"
    )
    found = study(company(), facts(text), TODAY)
    assert (found.tagged_ratio, found.public_float is not None) == ((4, True) if is_fresh else (None, False))
