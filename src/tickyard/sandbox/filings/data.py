"""Every document of the filings stand-in: the list of filers, and submissions and facts by filer.

Each is made on first use, always the same. All dates lie before AS_OF; a world that begins in a later year asks for
the same documents moved on by whole years (`years_after`), so that no count grows stale.
"""

import re
from collections.abc import Iterable
from datetime import date
from functools import cache
from typing import Any

from tickyard.kernel.wire import encode
from tickyard.sandbox.filings.abroad import ABROAD, FUNDS
from tickyard.sandbox.filings.companies import InventedCompany, filers
from tickyard.sandbox.filings.expected import Expected, ExpectedFact, ExpectedShares
from tickyard.sandbox.filings.ordinary import AS_OF, annual_rows, ordinary_answer
from tickyard.sandbox.filings.per_share import per_share_rows
from tickyard.sandbox.filings.quarters import newest_filed, quarterly_rows
from tickyard.sandbox.filings.rows import SHORT, FactRow, accession, company_facts, later, rows_of
from tickyard.sandbox.filings.traps import TRAPS, Answer, Trap, Usual

_ALL_TRAPS = TRAPS | ABROAD | FUNDS
_GROUPS = {
    "revenue": ("us-gaap:Revenues", SHORT["contracts"]),
    "income": ("us-gaap:NetIncomeLoss",),
    "cover": (SHORT["cover"],),
    "balance": (SHORT["balance"],),
    "average": (SHORT["average"], SHORT["averageDiluted"]),
}
TICKERS_PATH = "files/company_tickers.json"
_OF_A_FILER = re.compile(r"(?P<kind>submissions|api/xbrl/companyfacts)/CIK(?P<cik>[0-9]{10})\.json")
_COUNTS = {"cover", "balance", "average"}
# Other securities of the same filers, and a class written with a dash: the list has one line per security.
_MORE_TICKERS = {"GOOGL": ("GOOG",), "CCL": ("CUK",), "MSTR": ("STRK", "STRF")}
_STRANGERS = (("BRK-B", 1_067_983, "BERKSHIRE HATHAWAY INC"), ("BRK-A", 1_067_983, "BERKSHIRE HATHAWAY INC"))


def years_after(today: date) -> int:
    """By how many years to move the documents for a world that begins today."""
    return max(0, today.year - AS_OF.year - (1 if (today.month, today.day) < (AS_OF.month, AS_OF.day) else 0))


def document_at(path: str, years: int = 0) -> bytes | None:
    """What stands under a path. It is made by itself, so that nobody waits for the documents of all filers."""
    if path == TICKERS_PATH:
        return encode(_tickers())
    match = _OF_A_FILER.fullmatch(path)
    filer = _by_cik().get(int(match["cik"])) if match is not None else None
    return _made(filer, match["kind"], years) if match is not None and filer is not None else None


@cache
def _made(filer: InventedCompany, kind: str, years: int) -> bytes | None:
    trap = _ALL_TRAPS.get(filer.symbol)
    rows = _rows(filer, trap)
    if kind == "submissions":
        return encode(_submissions(filer, trap, rows, years))
    # A filer without facts is none that the database knows under this path.
    has_facts = trap is None or trap.has_facts
    return company_facts(filer.cik or 0, filer.title, rows, years) if has_facts else None


def paths() -> list[str]:
    """Of all documents that there may be."""
    kinds = ("submissions", "api/xbrl/companyfacts")
    return [TICKERS_PATH, *(f"{kind}/CIK{cik:010d}.json" for cik in _by_cik() for kind in kinds)]


@cache
def _by_cik() -> dict[int, InventedCompany]:
    return {filer.cik: filer for filer in filers() if filer.cik is not None}


@cache
def expected(years: int = 0) -> dict[str, Expected]:
    """What research must answer on AS_OF, for every listed asset."""
    return {filer.symbol: _expected(filer).later(years) for filer in filers()}


def _rows(filer: InventedCompany, trap: Trap | None) -> list[FactRow]:
    own = rows_of(trap.rows) if trap is not None else []
    without = trap.without if trap is not None else ()
    if "all" in without:
        return own
    gone = {concept for group in without for concept in _GROUPS[group]}
    told = [row for row in annual_rows(filer) if row.concept not in gone] + own
    uncounted = {concept for group in _COUNTS & set(without) for concept in _GROUPS[group]}
    told += [row for row in quarterly_rows(filer, told) if row.concept not in uncounted]
    return told + [row for row in per_share_rows(filer, told) if row.concept not in uncounted]


def _expected(filer: InventedCompany) -> Expected:
    if filer.cik is None:
        return Expected(is_company=False)
    trap = _ALL_TRAPS.get(filer.symbol)
    if trap is None:
        return ordinary_answer(filer, newest_filed(filer))
    if not trap.is_company:
        return Expected(is_company=False)
    usual = ordinary_answer(filer, newest_filed(filer))
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
