"""Many symbols in one request: which ones are meant, and what became of each."""

from typing import Annotated, Final

from msgspec import Meta

from tickyard.kernel.errors import BadRequest, Failure
from tickyard.kernel.ids import SYMBOL_MAX, Symbol, read_symbol
from tickyard.kernel.wire import ErrorDetail
from tickyard.market.listing.asset import Asset
from tickyard.market.listing.registry import Registry

BATCH_MAX: Final = 50
_SAYS: Final = f"1 to {BATCH_MAX} tickers separated by commas"


def read_symbols(text: str) -> str:
    """Tickers as typed by a caller, each once, in the one spelling under which their answer is kept."""
    parts = text.split(",", BATCH_MAX)
    if len(parts) > BATCH_MAX:
        raise BadRequest(f"symbols must be {_SAYS}")
    return ",".join(dict.fromkeys(map(read_symbol, parts)))


SymbolsField = Annotated[
    str,
    Meta(
        examples=["AAPL,MSFT"],
        pattern=f"^[^,]{{1,{SYMBOL_MAX}}}(,[^,]{{1,{SYMBOL_MAX}}}){{0,{BATCH_MAX - 1}}}$",
        description=f"Up to {BATCH_MAX} tickers separated by commas, in any letter case; all assets when left out.",
        extra={"says": _SAYS, "read": read_symbols},
    ),
]
ItemError = Annotated[ErrorDetail, Meta(description="Why this one has no answer; null when it has one.")]


def chosen(registry: Registry, symbols: str | None) -> list[tuple[Symbol, Asset | Failure]]:
    """The assets that are asked for, in the order of the request. One that does not exist is its own failure."""
    if symbols is None:
        return [(asset.symbol, asset) for asset in registry.all()]
    return [(Symbol(symbol), _find(registry, Symbol(symbol))) for symbol in symbols.split(",")]


def _find(registry: Registry, symbol: Symbol) -> Asset | Failure:
    registry.all()  # without a list nothing can be said of any symbol: that failure is the whole request's
    try:
        return registry.find(symbol)
    except Failure as failure:
        return failure


def item_error(failure: Failure) -> ErrorDetail:
    return ErrorDetail(code=failure.code, message=failure.message)
