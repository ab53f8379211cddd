"""Who is behind a ticker, and whether it is a company at all."""

import re

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.periods import ANNUAL_FORMS
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
# Landlords and owners of royalties: trusts by law, and companies all the same, whatever their names are made of.
_TRUST_SICS = frozenset({"6792", "6798"})
# Names that only a fund bears, whatever code it was given.
_FUND_BRAND = re.compile(r"\b(?:etfs?|etns?|ishares|proshares|spdr|currencyshares)\b", re.IGNORECASE)
_POOL = re.compile(
    r"\b(?:gold|silver|platinum|palladium|metals|copper|bitcoin|ethereum|ether|crypto|currency|commodity|commodities|vix)\b"
    r".*\b(?:trust|fund)\b"
    r"|\b(?:oil|gas|gasoline|agriculture|commodity|index)\b.*\bfund\b",
    re.IGNORECASE,
)
_VEHICLE = re.compile(r"\b(?:trusts?|funds?)\b", re.IGNORECASE)
# The state or the age of a registrant behind its name: "/DE/", "/NEW", "\DE\".
_MARK = re.compile(r"\s*[/\\](?:[A-Z]{2,4}|[A-Z][0-9])?[/\\]?\s*$")


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


def company_name(company: Company) -> str:
    """The name as people write it: one space between words, without the mark that tells namesakes apart."""
    name = " ".join(company.name.split())
    return _MARK.sub("", name).rstrip(" ,") or name


def is_operating_company(company: Company, facts: CompanyFacts | None) -> bool:
    """Whether there is a business behind the filer. A ticker in the list of filers does not prove it.

    The code of its industry decides, and a name that only funds bear. A filer without a code is a fund when its name
    says so: many that are listed abroad or over the counter have none, and are companies all the same. That a trust
    tags revenue makes no company of it.
    """
    if FUNDS.intersection(company.tickers) or company.sic in _FUND_SICS:
        return False
    kind = (company.entity_type or "").lower()
    is_pool = company.sic not in _TRUST_SICS and _POOL.search(company.name) is not None
    if kind == "investment" or _FUND_BRAND.search(company.name) or is_pool:
        return False
    if company.sic is not None or not (vehicle := _VEHICLE.search(company.name)):
        return True
    # Lenders that are regulated as funds have no code either, but a business, and say that they operate.
    is_lender = kind == "operating" and vehicle[0].lower().startswith("fund")
    return is_lender and facts is not None and _reports_revenue(facts)


def _reports_revenue(facts: CompanyFacts) -> bool:
    return any(
        row.form in ANNUAL_FORMS and row.value is not None and row.value > 0
        for concept in concepts.REVENUE
        for rows in facts.units(concept).values()
        for row in rows
    )
