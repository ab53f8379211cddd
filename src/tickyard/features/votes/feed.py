"""The votes feed, asked at most once a minute. It is asked from the first day on, so that nothing needs to be deployed
when it comes alive."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import UpstreamDown
from tickyard.market.short_lived import Copies
from tickyard.sources.votes import VoteBook, Votes

REUSE: Final = timedelta(seconds=60)
_STALE: Final = timedelta(minutes=15)
_NOT_OFFERED: Final = "Not live: there is no votes feed yet. Events appear here by themselves as soon as there is one."
_SILENT: Final = "Not live: the votes feed gives no usable answer at the moment."
_LIVE: Final = "Live."


@dataclass(frozen=True, slots=True)
class Voting:
    """What the feed says; no book while it says nothing."""

    book: VoteBook | None
    status: str


class VoteFeed:
    def __init__(self, votes: Votes | None, clock: Clock) -> None:
        """`votes` None: no address is configured."""
        self._votes = votes
        self._copies: Copies[None, Voting] = Copies(self._fetch, clock, reuse=REUSE, stale=_STALE)

    async def read(self) -> Voting:
        """Never fails: a feed that does not answer is simply not live."""
        if self._votes is None:
            return Voting(None, _NOT_OFFERED)
        try:
            return (await self._copies.get(None)).value
        except UpstreamDown:
            return Voting(None, _SILENT)

    async def _fetch(self, _key: None) -> Voting:
        assert self._votes is not None
        book = await self._votes.read()
        return Voting(book, _LIVE) if book is not None else Voting(None, _NOT_OFFERED)
