"""The issuer's stock-token API: what is listed, what the equity quotes are, what companies did.

One broken entry is dropped and counted; an answer with many of them, or one that contradicts itself,
is refused as a whole.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from tickyard.kernel.ids import Symbol
from tickyard.sources.http import Fetched, Source
from tickyard.sources.issuer.border import (
    SYMBOL,
    BrokenEntry,
    IssuerAction,
    IssuerQuote,
    ListedAsset,
    Shape,
    must,
    read_action,
    read_asset,
    read_broken,
    read_quote,
)
from tickyard.sources.text import UNREADABLE

__all__ = ["CHAIN_ID", "MAX_BYTES", "Issuer", "IssuerAction", "IssuerQuote", "ListedAsset", "Listing"]

T = TypeVar("T")

MAX_BYTES = 5 * 1024 * 1024
CHAIN_ID = 4663
_GRPC_NOT_FOUND = 5


@dataclass(frozen=True, slots=True)
class Listing:
    assets: tuple[ListedAsset, ...]
    broken: tuple[BrokenEntry, ...] = ()


class _Assets(Shape):
    assets: list[msgspec.Raw]


class _Quotes(Shape):
    quotes: list[msgspec.Raw]


class _Actions(Shape):
    corp_actions: list[msgspec.Raw]


class _GrpcError(Shape):
    code: int


class Issuer:
    def __init__(self, source: Source, *, chain_id: int = CHAIN_ID) -> None:
        self.source = source
        self.refused: Counter[str] = Counter()
        """Entries dropped so far, by path."""
        self._chain_id = chain_id

    async def assets(self) -> Listing:
        return await self.source.read("assets", self._read_listing)

    async def quotes(self) -> dict[Symbol, IssuerQuote]:
        """Every quote. The issuer leaves range and volume out of this form: they are None here."""
        return await self.source.read("prices", self._read_quotes)

    async def quote(self, symbol: str) -> IssuerQuote | None:
        """The quote of one symbol with its day's range and volume. None: the issuer knows no such symbol."""
        if not SYMBOL.fullmatch(symbol):
            return None
        return await self.source.read(f"prices/{symbol}", lambda fetched: self._read_quote(fetched, symbol))

    async def corporate_actions(self) -> list[IssuerAction]:
        """The issuer's present window of actions, in no particular order."""
        return await self.source.read("corporate-actions", self._read_actions)

    def _read_listing(self, fetched: Fetched) -> Listing:
        entries = _body(fetched, _Assets).assets
        assets, refused = self._keep(entries, "assets", lambda raw: read_asset(raw, self._chain_id))
        must(not _is_mostly_broken(len(refused), entries))
        return Listing(tuple(assets), tuple(map(read_broken, refused)))

    def _read_quotes(self, fetched: Fetched) -> dict[Symbol, IssuerQuote]:
        entries = _body(fetched, _Quotes).quotes
        now = self.source.clock.now()
        quotes, refused = self._keep(entries, "prices", lambda raw: read_quote(raw, self._chain_id, now))
        must(not _is_mostly_broken(len(refused), entries))
        by_symbol = {quote.symbol: quote for quote in quotes}
        must(len(by_symbol) == len(quotes))
        return by_symbol

    def _read_quote(self, fetched: Fetched, symbol: str) -> IssuerQuote | None:
        if fetched.status == 404:
            # A proxy's 404 is not the issuer's word on a symbol.
            must(msgspec.json.decode(fetched.body, type=_GrpcError).code == _GRPC_NOT_FOUND)
            return None
        entries = _body(fetched, _Quotes).quotes
        must(len(entries) == 1)
        quote = read_quote(entries[0], self._chain_id, self.source.clock.now())
        must(quote.symbol == symbol)
        return quote

    def _read_actions(self, fetched: Fetched) -> list[IssuerAction]:
        entries = _body(fetched, _Actions).corp_actions
        # A month without actions is possible, and what is not archived is lost: keep every good entry.
        actions, refused = self._keep(entries, "corporate-actions", read_action)
        must(not entries or len(refused) < len(entries))
        return actions

    def _keep(
        self, entries: list[msgspec.Raw], path: str, read: Callable[[msgspec.Raw], T]
    ) -> tuple[list[T], list[msgspec.Raw]]:
        """What can be read, and what cannot."""
        kept, refused = [], []
        for raw in entries:
            try:
                kept.append(read(raw))
            except UNREADABLE:
                refused.append(raw)
        self.refused[path] += len(refused)
        return kept, refused


def _body(fetched: Fetched, shape: type[T]) -> T:
    must(fetched.status == 200)
    return msgspec.json.decode(fetched.body, type=shape)


def _is_mostly_broken(refused: int, entries: list[msgspec.Raw]) -> bool:
    """More than one entry in twenty, or nothing at all: the shape has changed under us."""
    return not entries or refused * 20 > len(entries)
