"""Who is behind a ticker, and whether it is a company at all."""

from tickyard.features.research import concepts
from tickyard.features.research.periods import ANNUAL_FORMS
from tickyard.sources.filings.border import Company, CompanyFacts

FUNDS = frozenset(
    {
        "ARKK", "BITO", "DIA", "EEM", "EFA", "ETHA", "FBTC", "GBTC", "GLD", "HYG", "IAU", "IBIT", "IEMG", "IJH", "IJR",
        "IVV", "IWF", "IWM", "KRE", "LQD", "MDY", "QQQ", "QQQM", "RSP", "SGOV", "SLV", "SMH", "SOXL", "SOXX", "SPY",
        "SQQQ", "TLT", "TQQQ", "UNG", "USO", "UVXY", "VEA", "VGT", "VNQ", "VOO", "VTI", "VUG", "VXX", "XBI", "XLE",
        "XLF", "XLK", "XLU", "XLV",
    }
)  # fmt: skip
"""Funds and trusts that are listed like companies; some are in the list of filers too."""

# Commodity pools and grantor trusts; unit trusts; funds. Operating companies are filed elsewhere.
_FUND_SICS = frozenset({"6221", "6722", "6726"})


def filer_ticker(symbol: str) -> str:
    """Our ticker as the filings database spells it: a class follows a dash."""
    return symbol.replace(".", "-")


def cik_text(cik: int) -> str:
    return f"{cik:010d}"


def exchange_of(company: Company, symbol: str) -> str | None:
    """Where this ticker is listed: an issuer of several securities may list them apart."""
    listed = dict(zip(company.tickers, company.exchanges, strict=True))
    return listed.get(filer_ticker(symbol))


def is_fund(symbol: str) -> bool:
    """Whether the ticker is known to be a fund's, so that nothing need be asked about it."""
    return symbol in FUNDS


def is_operating_company(company: Company, facts: CompanyFacts | None) -> bool:
    """Whether there is a business behind the filer. A ticker in the list of filers does not prove it.

    Codes decide first. Where the code is missing, or the filer calls itself anything but operating, only an annual
    report with revenue convinces: a trust may file a 10-K with a net income, but it sells nothing.
    """
    if FUNDS.intersection(company.tickers) or company.sic in _FUND_SICS:
        return False
    kind = (company.entity_type or "").lower()
    if kind == "investment":
        return False
    if company.sic is not None and kind == "operating":
        return True
    return facts is not None and _reports_revenue(facts)


def _reports_revenue(facts: CompanyFacts) -> bool:
    return any(
        row.form in ANNUAL_FORMS and row.value is not None and row.value > 0
        for concept in concepts.REVENUE
        for rows in facts.units(concept).values()
        for row in rows
    )
