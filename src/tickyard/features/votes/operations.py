"""Votes and vote power as callers see them."""

from typing import Annotated, Any, Protocol

from msgspec import Meta

from tickyard.chain.address import checksum
from tickyard.deps import Deps
from tickyard.features.votes.feed import REUSE, VoteFeed
from tickyard.features.votes.power import Stake, ranked, shares_text, total_text
from tickyard.kernel.operation import Kept, NoAsk
from tickyard.kernel.units import TokenAmount
from tickyard.kernel.wire import (
    AddressField,
    AddressText,
    Answer,
    Ask,
    ChainId,
    MultiplierText,
    SymbolField,
    Ticker,
    TokenText,
)
from tickyard.market.balances import read_holdings
from tickyard.market.listing.asset import multiplier_text
from tickyard.sources.votes import VoteEvent

SOURCE = "votes feed"

SharesText = Annotated[str, Meta(examples=["3.251839"], description="Shares with six decimals, rounded down.")]


class VoteDeps(Protocol):
    @property
    def votes(self) -> VoteFeed: ...


class Event(Answer):
    id: Annotated[str, Meta(examples=["vote_0d6be69b264717f2dd33652e"])]
    source: Annotated[str, Meta(examples=[SOURCE])]
    symbol: Ticker
    type: Annotated[str, Meta(examples=["ANNUAL_MEETING"])] | None
    status: Annotated[str, Meta(examples=["OPEN"])] | None
    process_date: Annotated[str, Meta(examples=["2026-11-20"], extra_json_schema={"format": "date"})] | None
    details: Annotated[dict[str, Any], Meta(description="What else the feed says of it.")]


class VotingState(Answer):
    live: bool
    status: Annotated[str, Meta(examples=["Not live: there is no votes feed yet."])]


class VoteList(Answer):
    events: list[Event]
    upstream_votes: Annotated[Any, Meta(description="The feed's own data; null while it is not live.")]
    voting: VotingState


class VotePowerAsk(Ask):
    address: AddressField
    symbol: SymbolField | None = None


class VotePosition(Answer):
    symbol: Ticker
    token_balance: TokenText
    multiplier: MultiplierText
    share_equivalent: SharesText


class VotePower(Answer):
    address: AddressText
    chain_id: ChainId
    positions: list[VotePosition]
    total_share_equivalent: SharesText


async def list_votes(deps: VoteDeps, _ask: NoAsk) -> Kept[VoteList]:
    """List shareholder votes that concern stock tokens. The issuer runs no votes yet, so the list is empty and
    `voting.live` is false; when a feed comes alive, its events appear here.

    Freshness: empty until the upstream feature is live, which `voting` tells.
    """
    voting = await deps.votes.read()
    book = voting.book
    answer = VoteList(
        events=[_event(event) for event in book.events] if book is not None else [],
        upstream_votes=book.raw if book is not None else None,
        voting=VotingState(live=book is not None, status=voting.status),
    )
    return Kept(answer, int(REUSE.total_seconds()))


async def get_vote_power(deps: Deps, ask: VotePowerAsk) -> VotePower:
    """Count the shares that a wallet's stock tokens stand for: balance times multiplier, read at one block, largest
    first. With a symbol, that one position, also when it is zero. Holding a token gives no vote by itself.

    Freshness: asked of the chain's newest block at the moment of the call, never reused.
    """
    registry = deps.market.registry
    assets = registry.all() if ask.symbol is None else [registry.find(ask.symbol)]
    now = deps.clock.now()
    if any(asset.address is not None for asset in assets):
        holdings = await read_holdings(deps.market, ask.address, assets)
        found = holdings.held if ask.symbol is None else holdings.all
        stakes = [Stake(each.asset.symbol, each.balance, each.multiplier_e18) for each in found]
    else:
        # A token that is nowhere on the chain is held by nobody; asked for by name, it is shown all the same.
        named = assets if ask.symbol is not None else []
        stakes = [Stake(asset.symbol, TokenAmount(0), asset.multiplier_e18(now)) for asset in named]
    shown = ranked(stakes)
    return VotePower(
        address=checksum(ask.address),
        chain_id=deps.settings.chain_id,
        positions=[_position(stake) for stake in shown],
        total_share_equivalent=total_text(shown),
    )


def _position(stake: Stake) -> VotePosition:
    return VotePosition(
        symbol=stake.symbol,
        token_balance=stake.balance.text(),
        multiplier=multiplier_text(stake.multiplier_e18),
        share_equivalent=shares_text(stake),
    )


def _event(event: VoteEvent) -> Event:
    return Event(
        id=event.id,
        source=SOURCE,
        symbol=event.symbol,
        type=event.type,
        status=event.status,
        process_date=event.process_date.isoformat() if event.process_date is not None else None,
        details=event.details,
    )
