"""Every document of the filings stand-in: the list of filers, and submissions and facts by filer.

Made on first use, always the same. All dates lie before AS_OF; a world that begins in a later year asks for the same
documents moved on by whole years (`years_after`), so that no count grows stale.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Any

from tickyard.kernel.wire import encode
from tickyard.sandbox.filings.abroad import ABROAD, FUNDS
from tickyard.sandbox.filings.companies import InventedCompany, filers
from tickyard.sandbox.filings.expected import Expected, ExpectedFact, ExpectedShares
from tickyard.sandbox.filings.ordinary import AS_OF, ordinary_answer, ordinary_rows
from tickyard.sandbox.filings.rows import SHORT, FactRow, accession, company_facts, later, rows_of
from tickyard.sandbox.filings.traps import TRAPS, Answer, Trap, Usual

_ALL_TRAPS = TRAPS | ABROAD | FUNDS
_GROUPS = {
    "revenue": ("us-gaap:Revenues", SHORT["contracts"]),
    "income": ("us-gaap:NetIncomeLoss",),
    "cover": (SHORT["cover"],),
    "balance": (SHORT["balance"],),
    "average": (SHORT["average"],),
}
# Other securities of the same filers, and a class written with a dash: the list has one line per security.
_MORE_TICKERS = {"GOOGL": ("GOOG",), "CCL": ("CUK",), "MSTR": ("STRK", "STRF")}
_STRANGERS = (("BRK-B", 1_067_983, "BERKSHIRE HATHAWAY INC"), ("BRK-A", 1_067_983, "BERKSHIRE HATHAWAY INC"))


@dataclass(frozen=True, slots=True)
class FilingsData:
    company_tickers: bytes
    submissions: dict[int, bytes]
    """By CIK."""
    company_facts: dict[int, bytes]
    """By CIK; a filer that is missing here has no facts, which the database answers with 404."""

    def by_path(self) -> dict[str, bytes]:
        """The documents under the paths they are asked for."""
        return (
            {"files/company_tickers.json": self.company_tickers}
            | {f"submissions/CIK{cik:010d}.json": body for cik, body in self.submissions.items()}
            | {f"api/xbrl/companyfacts/CIK{cik:010d}.json": body for cik, body in self.company_facts.items()}
        )


def years_after(today: date) -> int:
    """By how many years to move the documents for a world that begins today."""
    return max(0, today.year - AS_OF.year - (1 if (today.month, today.day) < (AS_OF.month, AS_OF.day) else 0))


@cache
def documents(years: int = 0) -> FilingsData:
    submissions: dict[int, bytes] = {}
    facts: dict[int, bytes] = {}
    for filer in filers():
        if filer.cik is None:
            continue
        trap = _ALL_TRAPS.get(filer.symbol)
        rows = _rows(filer, trap)
        submissions[filer.cik] = encode(_submissions(filer, trap, rows, years))
        if trap is None or trap.has_facts:
            facts[filer.cik] = company_facts(filer.cik, filer.title, rows, years)
    return FilingsData(encode(_tickers()), submissions, facts)


@cache
def expected(years: int = 0) -> dict[str, Expected]:
    """What research must answer on AS_OF, for every listed asset."""
    return {filer.symbol: _expected(filer).later(years) for filer in filers()}


def _rows(filer: InventedCompany, trap: Trap | None) -> list[FactRow]:
    if trap is None:
        return ordinary_rows(filer)
    own = rows_of(trap.rows)
    if "all" in trap.without:
        return own
    gone = {concept for group in trap.without for concept in _GROUPS[group]}
    return [row for row in ordinary_rows(filer) if row.concept not in gone] + own


def _expected(filer: InventedCompany) -> Expected:
    if filer.cik is None:
        return Expected(is_company=False)
    trap = _ALL_TRAPS.get(filer.symbol)
    if trap is None:
        return ordinary_answer(filer)
    if not trap.is_company:
        return Expected(is_company=False)
    usual = ordinary_answer(filer)
    return Expected(
        is_company=True,
        revenue=_fact(trap.revenue, usual.revenue),
        net_income=_fact(trap.income, usual.net_income),
        shares=_shares(trap.shares, usual.shares),
        has_market_cap=trap.has_market_cap,
        says=trap.says,
    )


def _fact(answer: Answer, usual: ExpectedFact | None) -> ExpectedFact | None:
    if isinstance(answer, Usual):
        return usual
    return ExpectedFact.parse(answer) if answer is not None else None


def _shares(answer: Answer, usual: ExpectedShares | None) -> ExpectedShares | None:
    if isinstance(answer, Usual):
        return usual
    return ExpectedShares.parse(answer) if answer is not None else None


def _tickers() -> dict[str, dict[str, Any]]:
    lines = [
        (ticker, filer.cik, filer.title)
        for filer in filers()
        if filer.cik is not None
        for ticker in (filer.symbol, *_MORE_TICKERS.get(filer.symbol, ()))
    ]
    return {
        str(place): {"cik_str": cik, "ticker": ticker, "title": title}
        for place, (ticker, cik, title) in enumerate((*lines, *_STRANGERS))
    }


def _submissions(filer: InventedCompany, trap: Trap | None, rows: Iterable[FactRow], years: int) -> dict[str, Any]:
    tickers = [filer.symbol, *_MORE_TICKERS.get(filer.symbol, ())]
    assert filer.cik is not None
    by_accession = {accession(filer.cik, row, years): row for row in rows}
    filed = sorted(by_accession.items(), key=lambda each: each[1].filed, reverse=True)
    return {
        "cik": f"{filer.cik:010d}",
        "entityType": trap.entity_type if trap is not None else "operating",
        "sic": filer.sic,
        "sicDescription": filer.industry,
        "ownerOrg": None,
        "insiderTransactionForOwnerExists": 0,
        "insiderTransactionForIssuerExists": 1,
        "name": filer.title,
        "tickers": tickers,
        "exchanges": [filer.exchange for _ in tickers],
        "ein": "000000000",
        "lei": None,
        "description": "",
        "website": "",
        "investorWebsite": "",
        "category": "Large accelerated filer",
        "fiscalYearEnd": filer.year_end,
        "stateOfIncorporation": filer.state,
        "stateOfIncorporationDescription": filer.state,
        "phone": "",
        "flags": "",
        "formerNames": [],
        "filings": {
            "recent": {
                "accessionNumber": [number for number, _ in filed],
                "filingDate": [later(row.filed, years) for _, row in filed],
                "reportDate": [later(row.end, years) for _, row in filed],
                "form": [row.form for _, row in filed],
                "isXBRL": [1 for _ in filed],
                "primaryDocument": ["report.htm" for _ in filed],
            },
            "files": [],
        },
    }
