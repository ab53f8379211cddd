"""Events as they travel: what each says, and which part of it a listener to some symbols gets."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from tickyard.features.history.stream.cursor import ActionPlace, RoundPlace
from tickyard.kernel.units import ratio_text

EVENTS: Final = ("price", "sample", "candle", "action", "status")
Symbols = frozenset[str] | None
"""Which symbols a listener wants; None: all of them."""

_MADE_MAX: Final = 64
"""Of one event, for so many choices of symbols: what is kept must not grow with what strangers think of."""
_encode: Final = msgspec.json.Encoder().encode


@dataclass(eq=False, slots=True)
class Told:
    """One event. Its bytes are made once for all who want the same symbols, of the first choices that there are."""

    name: str
    items: Mapping[str, Any]
    """What it says of each symbol."""
    around: Mapping[str, Any]
    """What it says besides."""
    list_name: str | None = None
    """The field that holds the items; None: an event of no symbol in particular."""
    round: RoundPlace | None = None
    action: ActionPlace | None = None
    _made: dict[Symbols, bytes] = field(default_factory=dict)

    def data(self, symbols: Symbols) -> bytes:
        """The event's fields without its id; empty: nothing in it is for this listener."""
        made = self._made.get(symbols)
        if made is None:
            made = self._make(symbols)
            if len(self._made) < _MADE_MAX:
                self._made[symbols] = made
        return made

    def _make(self, symbols: Symbols) -> bytes:
        said = dict(self.around)
        if self.list_name is not None:
            chosen = [item for symbol, item in self.items.items() if symbols is None or symbol in symbols]
            if not chosen and (self.items or symbols is not None):
                return b""
            said[self.list_name] = chosen
        elif symbols is not None and self.items and not symbols & self.items.keys():
            return b""
        return b"event: %b\ndata: %b\n\n" % (self.name.encode(), _encode(said))


def number(price_e9: int) -> msgspec.Raw:
    """Nano-dollars as a JSON number, exact."""
    return msgspec.Raw(ratio_text(price_e9, 10**9, 9).encode())


def framed(told: Told, symbols: Symbols, cursor: str | None) -> bytes:
    """The bytes for one listener, with the id under which they can go on after it."""
    data = told.data(symbols)
    return b"id: %b\n%b" % (cursor.encode(), data) if data and cursor is not None else data
