"""Asks and answers: the shapes that cross the wire.

Python names are snake_case, wire names camelCase; the translation happens here and nowhere else.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Self

import msgspec
from msgspec import Meta

from tickyard.kernel.ids import ADDRESS_PATTERN, EXAMPLE_WALLET, SYMBOL_MAX, Address, Symbol, read_address, read_symbol
from tickyard.kernel.units import AMOUNT_MAX_CHARS, AMOUNT_PATTERN

# The vocabulary of fields. `says` completes the sentence "<field> must be ..."; `read` turns a caller's text
# into the house's own form. Examples build the examples of the API description.


def _text(example: str, says: str, **more: Any) -> Meta:
    return Meta(examples=[example], extra={"says": says, **more.pop("extra", {})}, **more)


SymbolField = Annotated[
    Symbol,
    _text(
        "AAPL",
        f"1 to {SYMBOL_MAX} characters long",
        min_length=1,
        max_length=SYMBOL_MAX,
        description="Ticker, in any letter case.",
        extra={"read": read_symbol},
    ),
]
AddressField = Annotated[
    Address,
    _text(
        EXAMPLE_WALLET,
        "0x followed by 40 hex digits",
        pattern=ADDRESS_PATTERN,
        description="An account or contract on the chain.",
        extra={"read": read_address},
    ),
]
AmountField = Annotated[
    str,
    _text(
        "100.5",
        "digits, optionally followed by a dot and digits",
        pattern=AMOUNT_PATTERN,
        max_length=AMOUNT_MAX_CHARS,
        description="A decimal string: dollars, or whole tokens, as denom says.",
    ),
]

Ticker = Annotated[str, Meta(examples=["AAPL"], description="Canonical ticker.")]
AddressText = Annotated[str, Meta(examples=["0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9"], pattern=ADDRESS_PATTERN)]
PriceText = Annotated[str, Meta(examples=["371.615"], description="Dollars, at most 18 decimals.")]
MoneyText = Annotated[str, Meta(examples=["1250.000000"], description="Dollars with six decimals.")]
TokenText = Annotated[str, Meta(examples=["3.25"], description="Whole tokens, exact.")]
MultiplierText = Annotated[
    str, Meta(examples=["1.000566080061092436"], description="Underlying shares that one token represents.")
]
Moment = Annotated[str, Meta(examples=["2026-10-03T14:23:10.223Z"], extra_json_schema={"format": "date-time"})]
ChainId = Annotated[int, Meta(examples=[4663])]


class Ask(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """What a caller may send. Unknown body fields are refused."""

    def settled(self) -> Self:
        """The ask that stands for all that get the same answer: what is kept is kept once for all of them."""
        return self


class Answer(msgspec.Struct, rename="camel", kw_only=True):
    """What we send. Every field is always present; unknown is null, never zero."""


class TextAnswer(Answer):
    """An answer that is not JSON, such as CSV."""

    text: str
    content_type: str


@dataclass(frozen=True, slots=True)
class StreamAnswer:
    """A file that is sent piece by piece, however large it is, and never changes."""

    parts: AsyncIterator[bytes]
    content_type: str
    etag: str
    seconds: int
    """How long anybody may keep it."""
    file_name: str


ERROR_CODES: Final = ("bad_request", "not_found", "no_liquidity", "upstream_error", "internal_error")


class ErrorDetail(Answer):
    code: Annotated[str, Meta(extra_json_schema={"enum": list(ERROR_CODES)})]
    message: str


class ErrorBody(Answer):
    """The one shape of every failure."""

    error: ErrorDetail


_encoder = msgspec.json.Encoder()
encode = _encoder.encode


def error_body(code: str, message: str) -> bytes:
    return encode(ErrorBody(error=ErrorDetail(code=code, message=message)))


def iso(moment: datetime) -> str:
    """ISO 8601 in UTC with a Z, to the millisecond when there is one."""
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds" if moment.microsecond else "seconds")
    return text.replace("+00:00", "Z")
