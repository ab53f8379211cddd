"""Market cap: the shares at the price of the underlying, and what it was made of."""

from dataclasses import dataclass

from tickyard.features.research.depositary import SHARES_PER_SECURITY
from tickyard.features.research.shares import Shares
from tickyard.kernel.units import Price


@dataclass(frozen=True, slots=True)
class MarketCap:
    value: int
    """Whole dollars, rounded down."""
    basis: str


@dataclass(frozen=True, slots=True)
class Worth:
    market_cap: MarketCap | None
    notes: tuple[str, ...] = ()


def market_cap(shares: Shares | None, underlying_mid: Price | None, ticker: str, *, is_foreign: bool) -> Worth:
    """Shares times the mid of the equity quote, never that of the token.

    For a filer on 20-F or 40-F the count is of ordinary shares, the quote of depositary ones. A filer on 10-K whose
    security is depositary all the same is in the table too.
    """
    if shares is None:
        return Worth(None, ("marketCap: no usable share count.",))
    if underlying_mid is None:
        return Worth(None, ("marketCap: no usable quote of the underlying.",))
    per_security = SHARES_PER_SECURITY.get(ticker, None if is_foreign else 1)
    if per_security is None:
        reason = "how many ordinary shares one depositary share stands for is not known to us"
        return Worth(None, (f"marketCap: {reason}.",))
    value = shares.value * underlying_mid.num // (underlying_mid.den * per_security)
    divided = f", {per_security} to one depositary share," if per_security > 1 else ""
    basis = (
        f"{shares.value} shares as of {shares.as_of} ({shares.basis}, {shares.accession}){divided} "
        f"x {underlying_mid.text()} USD, the mid of the equity quote of {ticker}"
    )
    return Worth(MarketCap(value, basis))
