"""A filer as a whole: whether it is a company, what it reported, what it is worth at a price, and what must be said."""

from dataclasses import dataclass
from datetime import date
from typing import Final

from tickyard.features.research.company.profile import is_operating_company
from tickyard.features.research.company.worth import Worth, market_cap
from tickyard.features.research.study import Absence, Study, study
from tickyard.kernel.units import Price
from tickyard.sources.filings.border import Company, CompanyFacts

_TICKERS: Final = "SEC EDGAR company tickers"


@dataclass(frozen=True, slots=True)
class Filer:
    """Everything we have of one filer."""

    company: Company
    facts: CompanyFacts | None
    """None: there are none, or they could not be read."""
    is_readable: bool


@dataclass(frozen=True, slots=True)
class Portrait:
    """What there is to say about the company, whatever the price."""

    company: Company | None
    study: Study | None
    notes: tuple[str, ...]
    sources: tuple[str, ...]


def describe(symbol: str, filer: Filer | None, today: date) -> Portrait:
    """Everything about a filer that does not depend on a price."""
    if filer is None:
        note = f"No company files with the SEC under {symbol}, so there are no fundamentals."
        return Portrait(None, None, (note,), (_TICKERS,))
    absence = Absence.NOT_FILED if filer.is_readable else Absence.UNREADABLE
    if not is_operating_company(filer.company, filer.facts):
        if not filer.is_readable:
            # Neither the codes nor the facts tell what it is.
            return Portrait(None, None, (f"Fundamentals are unknown: {absence.value}.",), ())
        return no_company(symbol)
    found = study(filer.company, filer.facts if filer.facts is not None else absence, today)
    return Portrait(filer.company, found, found.notes, found.sources)


def no_company(symbol: str) -> Portrait:
    return Portrait(None, None, (f"{symbol} is a fund or trust: no company and no fundamentals of its own.",), ())


def appraise(found: Study | None, mid: Price | None, symbol: str) -> Worth:
    """What the company is worth at a price of the underlying."""
    if found is None:
        return Worth(None)
    return market_cap(
        found.shares,
        mid,
        symbol,
        is_foreign=found.is_foreign,
        tagged_ratio=found.tagged_ratio,
        public_float=found.public_float,
        is_abroad=found.is_abroad,
        is_borne_out=found.is_count_borne_out,
        today=found.today,
    )
