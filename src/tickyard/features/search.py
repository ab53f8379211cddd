"""Finding an asset by what somebody knows of it: a ticker, a name, an ISIN or an address."""

import re
import unicodedata
from collections.abc import Iterable
from typing import Annotated, Final, Literal, NamedTuple

from msgspec import Meta

from tickyard.deps import Deps
from tickyard.kernel.ids import ADDRESS_PATTERN
from tickyard.kernel.operation import Kept
from tickyard.kernel.wire import AddressText, Answer, Ask, Ticker
from tickyard.market.listing.asset import Asset
from tickyard.market.listing.registry import REFRESH_S
from tickyard.market.listing.view import Isin, Name

Match = Literal["symbol", "name", "isin", "address"]

_ADDRESS: Final = re.compile(ADDRESS_PATTERN)
_BLANKS: Final = "\t\n\r"
_UNSEEN: Final = frozenset({"Cc", "Cf"})
"""Control characters, and signs that only say how to set others: copying brings them along."""
_WORDS: Final = re.compile(r"[^\W_]+")
_LEGAL: Final = re.compile(
    r"(inc|incorporated|corp|corporation|co|company|ltd|limited|plc|llc|lp|sa|ag|nv|se|holdings|group|the)"
)
"""What people write behind a company's name, and the issuer often does not."""
_QUERY_MAX: Final = 100


class SearchAsk(Ask):
    q: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=_QUERY_MAX,
            examples=["apple"],
            description="A ticker, a name or the beginning of its words, an ISIN, or a token's address.",
            extra={"says": f"1 to {_QUERY_MAX} characters long"},
        ),
    ]
    limit: Annotated[int, Meta(ge=1, le=50, examples=[10], description="Assets at most.")] = 10


class FoundAsset(Answer):
    symbol: Ticker
    name: Name
    address: AddressText | None
    isin: Isin
    match: Annotated[Match, Meta(examples=["name"], description="What of it the query was found in.")]


class FoundAssets(Answer):
    query: Annotated[str, Meta(examples=["apple"])]
    count: Annotated[int, Meta(examples=[1])]
    assets: list[FoundAsset]


class Known(NamedTuple):
    """What an asset can be found by."""

    symbol: str
    name: str
    isin: str
    address: str | None


def find_match(query: str, known: Known) -> tuple[int, Match] | None:
    """How well the query fits (0 is best) and what of the asset it fits; None: not at all.

    An address is compared whole and with nothing else: a token is its address, and one that is not listed must find
    nothing, however much it looks like a name.
    """
    # Both are printed in groups, and some write an address in capitals from its first letter on.
    compact = "".join(query.split()).lower()
    if _ADDRESS.fullmatch(compact):
        return (0, "address") if known.address is not None and compact == known.address.lower() else None
    if known.isin and compact == known.isin.lower():
        return 0, "isin"
    wanted, name = query.casefold(), known.name.casefold()
    if wanted == known.symbol.casefold():
        return 0, "symbol"
    if wanted == name:
        return 1, "name"
    if known.symbol.casefold().startswith(wanted):
        return 2, "symbol"
    if name.startswith(wanted):
        return 3, "name"
    asked, words = _WORDS.findall(wanted), _WORDS.findall(name)
    missed = [part for part in asked if not any(word.startswith(part) for word in words)]
    if asked and not missed:
        return 4, "name"
    if all(map(_LEGAL.fullmatch, missed)) and not all(map(_LEGAL.fullmatch, asked)):
        return 5, "name"
    return None


def read_query(text: str) -> str:
    """What was typed or pasted, with one blank between words: wide letters as letters, and nothing that is not seen."""
    read = unicodedata.normalize("NFKC", text)
    seen = (each for each in read if each in _BLANKS or unicodedata.category(each) not in _UNSEEN)
    return " ".join("".join(seen).split())


async def search_assets(deps: Deps, ask: SearchAsk) -> Kept[FoundAssets]:
    """Find assets by ticker, name, ISIN or token address, the best match first. An address finds the one asset whose
    token it is, or nothing: this is how to check that an address is really the token of a ticker.

    Freshness: the registry is read every minute.
    Limits: at most 50 assets a call.
    Advice: Use this before any other tool when a ticker is not certain.
    """
    query = read_query(ask.q)
    # Blanks are as long as the description wants it, and are in no name.
    found = _ranked(query, deps.market.registry.all())[: ask.limit] if query else []
    answer = FoundAssets(
        query=query,
        count=len(found),
        assets=[
            FoundAsset(
                symbol=asset.symbol,
                name=asset.name,
                address=asset.shown_address,
                isin=asset.listed.isin,
                match=match,
            )
            for asset, match in found
        ],
    )
    return Kept(answer, REFRESH_S)


def _ranked(query: str, assets: Iterable[Asset]) -> list[tuple[Asset, Match]]:
    ranked = [
        (fit[0], asset.symbol, asset, fit[1])
        for asset in assets
        if (fit := find_match(query, Known(asset.symbol, asset.name, asset.listed.isin, asset.address))) is not None
    ]
    ranked.sort(key=lambda each: each[:2])
    return [(asset, match) for _, _, asset, match in ranked]
