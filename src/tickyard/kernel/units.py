"""Amounts and prices as exact integers. No float lives here or below the wire.

`TokenAmount` and `UsdgAmount` count base units (18 and 6 decimals). They are ints, so comparing
and adding them is plain arithmetic; only reading and showing them knows about decimals.
`Price` is an exact ratio: a pool price is a quotient of two large integers and stays one.
"""

import re
from dataclasses import dataclass
from typing import ClassVar, Self

from tickyard.kernel.errors import BadRequest, NoLiquidity

_DECIMAL = re.compile(r"[0-9]+(?:\.[0-9]+)?")
AMOUNT_PATTERN = r"^[0-9]+(\.[0-9]+)?$"
AMOUNT_MAX_CHARS = 100
# The v3 pool takes amounts as int256: a larger one can never be filled.
AMOUNT_MAX_RAW = 2**255 - 1


class Amount(int):
    """A number of base units."""

    DECIMALS: ClassVar[int]
    NOUN: ClassVar[str]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a caller's decimal text. Never rounds: what does not fit the unit is refused."""
        if len(text) > AMOUNT_MAX_CHARS or not _DECIMAL.fullmatch(text):
            raise BadRequest("amount must be digits, optionally followed by a dot and digits, at most 100 characters")
        whole, _, fraction = text.partition(".")
        if fraction[cls.DECIMALS :].strip("0"):
            raise BadRequest(f"amount has more than {cls.DECIMALS} decimals, which {cls.NOUN} does not have")
        raw = int(whole + fraction[: cls.DECIMALS].ljust(cls.DECIMALS, "0"))
        if raw == 0:
            raise BadRequest("amount must be positive")
        if raw > AMOUNT_MAX_RAW:
            raise NoLiquidity("no pool can fill an amount this large")
        return cls(raw)

    def text(self) -> str:
        """Whole units, exact, without trailing zeros."""
        return ratio_text(self, 10**self.DECIMALS, self.DECIMALS)


class TokenAmount(Amount):
    DECIMALS = 18
    NOUN = "a stock token"


class UsdgAmount(Amount):
    DECIMALS = 6
    NOUN = "USDG"

    def text(self) -> str:
        """Dollars with exactly six decimals."""
        return money_text(self)


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars per unit as the exact ratio `num / den`, both positive."""

    num: int
    den: int

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read an upstream's decimal text. None when it is not a plain positive decimal."""
        if len(text) > AMOUNT_MAX_CHARS or not _DECIMAL.fullmatch(text):
            return None
        whole, _, fraction = text.partition(".")
        num = int(whole + fraction)
        return cls(num, 10 ** len(fraction)) if num else None

    def __lt__(self, other: "Price") -> bool:
        return self.num * other.den < other.num * self.den

    def __le__(self, other: "Price") -> bool:
        return self.num * other.den <= other.num * self.den

    def equals(self, other: "Price") -> bool:
        return self.num * other.den == other.num * self.den

    def midway(self, other: "Price") -> "Price":
        return Price(self.num * other.den + other.num * self.den, 2 * self.den * other.den)

    def times(self, factor: "Price") -> "Price":
        return Price(self.num * factor.num, self.den * factor.den)

    def text(self) -> str:
        """At most 18 decimals, rounded toward zero, no trailing zeros."""
        return ratio_text(self.num, self.den, 18)

    def value_of(self, amount: TokenAmount) -> UsdgAmount:
        """What this many tokens are worth at this price, rounded down to the base unit."""
        return UsdgAmount(amount * self.num // (self.den * 10**12))


def ratio_text(num: int, den: int, places: int) -> str:
    """`num / den` (num >= 0) as decimal text, cut toward zero after `places`, no trailing zeros, no exponent."""
    whole, rest = divmod(num, den)
    if not rest:
        return str(whole)
    digits = str(rest * 10**places // den).rjust(places, "0").rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)


def money_text(raw: int) -> str:
    """Base units of a six-decimal dollar as text with exactly six decimals."""
    return f"{raw // 1_000_000}.{raw % 1_000_000:06d}"


def percent_text(num: int, den: int) -> str:
    """`num / den` as a percentage with four decimals, half even; `num` may be negative."""
    scaled, rest = divmod(abs(num) * 1_000_000, den)
    if rest * 2 > den or (rest * 2 == den and scaled % 2):
        scaled += 1
    sign = "-" if num < 0 and scaled else ""
    return f"{sign}{scaled // 10_000}.{scaled % 10_000:04d}"
