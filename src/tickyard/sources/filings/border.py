"""The filings database's shapes, held to the rules of the border, and the plain values the house keeps of them.

Company facts have a file of their own (`filings_facts.py`); their names are given out here as well.
"""

import re

import msgspec
from msgspec import Raw, Struct

from tickyard.sources.filings.facts import Broken, CompanyFacts, Entry, attempt, read_cik, read_facts
from tickyard.sources.text import clean

__all__ = ["Broken", "Company", "CompanyFacts", "Entry", "Registrant", "read_company", "read_facts", "read_tickers"]

_TICKER = re.compile(r"[A-Z0-9][A-Z0-9.-]{0,15}")
_SIC = re.compile(r"[0-9]{3,4}")
_YEAR_END = re.compile(r"(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])")
_CIK_MAX = 10**10 - 1


class Registrant(Struct, frozen=True):
    """Who stands behind a ticker."""

    cik: int
    title: str


class Company(Struct, frozen=True, kw_only=True):
    """A filer as its submissions describe it. Unknown is None."""

    cik: int
    name: str
    tickers: tuple[str, ...] = ()
    exchanges: tuple[str | None, ...] = ()
    """One for each ticker, in the same order."""
    sic: str | None = None
    sic_description: str | None = None
    state: str | None = None
    state_described: str | None = None
    fiscal_year_end: str | None = None
    entity_type: str | None = None


class _Ticker(Struct):
    cik_str: int
    ticker: str
    title: str = ""


class _Submissions(Struct, rename="camel"):
    cik: str | int
    name: str
    tickers: list[str | None] | None = None
    exchanges: list[str | None] | None = None
    sic: str | int | None = None
    sic_description: str | None = None
    state_of_incorporation: str | None = None
    state_of_incorporation_description: str | None = None
    fiscal_year_end: str | None = None
    entity_type: str | None = None


_decode_tickers = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_ticker = msgspec.json.Decoder(_Ticker).decode
_decode_all_tickers = msgspec.json.Decoder(dict[str, _Ticker]).decode
_decode_submissions = msgspec.json.Decoder(_Submissions).decode


def read_tickers(body: bytes) -> dict[str, Registrant]:
    """`company_tickers.json`: ticker, spelled as the SEC does (BRK-B), to registrant. The first of equals stays."""
    entries = attempt(_decode_all_tickers, body)
    if entries is None:
        raws = attempt(_decode_tickers, body)
        if raws is None:
            raise Broken("the list of tickers is no object of entries")
        read = ((key, attempt(_decode_ticker, raw)) for key, raw in raws.items())
        entries = {key: entry for key, entry in read if entry is not None}
    found: dict[str, Registrant] = {}
    for entry in entries.values():
        ticker = entry.ticker.upper()
        if _TICKER.fullmatch(ticker) and 0 < entry.cik_str <= _CIK_MAX:
            found.setdefault(ticker, Registrant(entry.cik_str, clean(entry.title, 150)))
    if not found:
        raise Broken("the list of tickers has no readable entry")
    return found


def read_company(body: bytes, cik: int) -> Company:
    """`submissions/CIK##########.json` of this filer."""
    seen = attempt(_decode_submissions, body)
    if seen is None or read_cik(seen.cik) != cik:
        raise Broken("the submissions are not those of this filer")
    exchanges = seen.exchanges or []
    pairs = [
        (ticker.upper(), _text(exchanges[place] if place < len(exchanges) else None, 40))
        for place, ticker in enumerate(seen.tickers or [])
        if ticker and _TICKER.fullmatch(ticker.upper())
    ]
    sic = str(seen.sic or "")
    year_end = seen.fiscal_year_end or ""
    return Company(
        cik=cik,
        name=clean(seen.name, 150),
        tickers=tuple(ticker for ticker, _ in pairs),
        exchanges=tuple(exchange for _, exchange in pairs),
        sic=sic.rjust(4, "0") if _SIC.fullmatch(sic) and int(sic) else None,
        sic_description=_text(seen.sic_description, 120),
        state=_text(seen.state_of_incorporation, 40),
        state_described=_text(seen.state_of_incorporation_description, 60),
        fiscal_year_end=year_end if _YEAR_END.fullmatch(year_end) else None,
        entity_type=_text(seen.entity_type, 40),
    )


def _text(value: str | None, max_length: int) -> str | None:
    return clean(value or "", max_length) or None
