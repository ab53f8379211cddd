"""Market cap: the shares at the price of the underlying, and what it was made of."""

from dataclasses import dataclass
from datetime import date
from typing import Final

from tickyard.features.research.company.depositary import ratio_on
from tickyard.features.research.filed.amounts import slip
from tickyard.features.research.shares.choice import Shares
from tickyard.kernel.units import Price

_FLOAT_FACTOR: Final = 3
_SQUARE: Final = _FLOAT_FACTOR * _FLOAT_FACTOR
_NEAR_TENTHS: Final = 15


@dataclass(frozen=True, slots=True)
class Float:
    """What the shares outside the hands of insiders were worth, in whole dollars, as an annual report says."""

    value: int
    as_of: date
    form: str
    accession: str
    filed: date


@dataclass(frozen=True, slots=True)
class MarketCap:
    value: int
    """Whole dollars, rounded down."""
    basis: str


@dataclass(frozen=True, slots=True)
class Worth:
    market_cap: MarketCap | None
    notes: tuple[str, ...] = ()


def market_cap(
    shares: Shares | None,
    underlying_mid: Price | None,
    ticker: str,
    *,
    is_foreign: bool,
    tagged_ratio: int | None = None,
    public_float: Float | None = None,
    is_abroad: bool = False,
    is_borne_out: bool = False,
    today: date | None = None,
) -> Worth:
    """Shares times the mid of the equity quote, never that of the token.

    For a filer on 20-F or 40-F the count is of ordinary shares, the quote of depositary ones. A filer on 10-K whose
    security is depositary all the same is in the table, has tagged the ratio, or is found out by its public float: for
    one incorporated abroad the market cap may be little more, or nothing tells that the share itself is listed. A count
    that profit per share bears out does not give way to a float in a wrong scale.
    """
    if shares is None:
        return Worth(None, ("marketCap: no usable share count.",))
    if underlying_mid is None:
        return Worth(None, ("marketCap: no usable quote of the underlying.",))
    listed = ratio_on(ticker, today or date.max)
    if listed != ratio_on(ticker, shares.as_of):
        reason = f"the shares to one depositary share were changed after they were counted on {shares.as_of}"
        return Worth(None, (f"marketCap: {reason}.",))
    per_security = listed or tagged_ratio or (None if is_foreign else 1)
    if per_security is None:
        reason = "how many ordinary shares one depositary share stands for is not known to us"
        return Worth(None, (f"marketCap: {reason}.",))
    value = shares.value * underlying_mid.num // (underlying_mid.den * per_security)
    notes: tuple[str, ...] = ()
    if public_float is not None and is_borne_out and (factor := _float_slip(value, public_float.value)):
        notes = (f"marketCap: the public float is tagged a factor of {factor} too small, and was not held against it.",)
        public_float = None
    if public_float is not None and not public_float.value <= value * _FLOAT_FACTOR <= public_float.value * _SQUARE:
        reason = (
            f"{value} USD is more than {_FLOAT_FACTOR} times off the public float of {public_float.value} USD "
            f"({public_float.as_of}), so count and quote may not be of the same security"
        )
        return Worth(None, (f"marketCap: {reason}.",))
    # A ratio that is not known makes too much of the shares, never too little.
    is_assumed = is_abroad and not (listed or tagged_ratio)
    if is_assumed and (public_float is None or value * 10 > public_float.value * _NEAR_TENTHS):
        reason = "the filer is incorporated abroad, and no public float bears out that the share itself is listed"
        return Worth(None, (f"marketCap: {reason}.",))
    divided = f", {per_security} to one depositary share," if per_security > 1 else ""
    basis = (
        f"{shares.value} shares as of {shares.as_of} ({shares.basis}, {shares.accession}){divided} "
        f"x {underlying_mid.text()} USD, the mid of the equity quote of {ticker}"
    )
    return Worth(MarketCap(value, basis), notes)


def _float_slip(value: int, held: int) -> int | None:
    """The factor by which a public float is too small, when it was tagged in thousands or millions."""
    return slip(value, held, _FLOAT_FACTOR) if value > held else None
