"""What research and votes read: the filings database at a shared pace, and the votes feed, if there is one."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from random import Random

from tickyard.config.settings import Settings
from tickyard.features.research.library import Library
from tickyard.features.votes.feed import VoteFeed
from tickyard.kernel.clock import Clock
from tickyard.observe.metrics import observe_upstream
from tickyard.sources.filings.database import PER_SECOND, QUIET_S, Filings, open_source
from tickyard.sources.votes import Votes
from tickyard.store.engine import Store
from tickyard.store.shared_pace import SharedPace

_SANDBOX_QUIET_S = 2


@dataclass(frozen=True, slots=True)
class OpenedResearch:
    filings: Library
    votes: VoteFeed


@contextlib.asynccontextmanager
async def open_research(settings: Settings, store: Store, clock: Clock, rng: Random) -> AsyncIterator[OpenedResearch]:
    pace = SharedPace(store, "filings", per_second=PER_SECOND)
    urls = {"filings": settings.filings_url, "filings-files": settings.filings_files_url}
    data, files = [
        open_source(name, url, settings.filings_contact, pace, clock=clock, rng=rng, observe=observe_upstream)
        for name, url in urls.items()
    ]
    feed = Votes(settings.votes_url, clock=clock, rng=rng, observe=observe_upstream) if settings.votes_url else None
    async with contextlib.AsyncExitStack() as stack:
        for source in (data, files, *([feed.source] if feed else [])):
            await source.start()
            stack.push_async_callback(source.close)
        quiet_s = _SANDBOX_QUIET_S if settings.is_sandbox else QUIET_S
        yield OpenedResearch(Library(Filings(data, files, pace, quiet_s=quiet_s), store, clock), VoteFeed(feed, clock))
