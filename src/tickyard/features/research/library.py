"""The library of filings: asks for a document once a day, keeps it in the store, and makes do with it for a week.

What a reader makes of a filer's documents is kept in memory instead of the documents, which are far larger.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final, Generic, TypeVar, cast

import msgspec

from tickyard.features.research import documents
from tickyard.features.research.documents import KeptDocument, State
from tickyard.features.research.portrait import Filer
from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import UpstreamDown
from tickyard.market.short_lived import SharedFlight
from tickyard.observe.log import log
from tickyard.sources.filings.border import Company, CompanyFacts, Registrant
from tickyard.sources.filings.database import (
    TICKERS_PATH,
    Document,
    Filings,
    Marks,
    Missing,
    Unchanged,
    Unreadable,
    company_path,
    facts_path,
)
from tickyard.store.engine import Store

T = TypeVar("T")

FRESH: Final = timedelta(hours=24)
STALE: Final = timedelta(days=7)
"""How long a copy stands in for a database that does not answer."""
_UNREADABLE_FRESH: Final = timedelta(minutes=10)
_LOOK_AHEAD_MAX: Final = 2 * FRESH
"""What is to be looked at later than this was dated by a clock that has been set back since."""
_RETRY: Final = timedelta(seconds=60)
"""How long we make do with an old copy before the next try."""

Answered = Document[Any] | Unchanged | Missing | Unreadable
Fetch = Callable[[Marks], Awaitable[Answered]]


@dataclass(frozen=True, slots=True)
class Reading(Generic[T]):
    """What was made of the documents, and since when the database has not vouched for them (None: it has)."""

    value: T
    stale_since: datetime | None


@dataclass(frozen=True, slots=True)
class _Made:
    day: date
    reading: Reading[Any]
    until: datetime


@dataclass(frozen=True, slots=True)
class _Got:
    kept: KeptDocument
    is_stale: bool
    until: datetime
    """When to look again."""


class Library:
    def __init__(self, filings: Filings, store: Store, clock: Clock) -> None:
        self._filings = filings
        self._store = store
        self._clock = clock
        self._tickers: tuple[_Got, dict[str, Registrant]] | None = None
        self._made: dict[tuple[str, str], _Made] = {}
        self._flight: SharedFlight[str, Any] = SharedFlight()

    async def read(
        self, ticker: str, day: date, make: Callable[[Filer | None], T], purpose: str = "portrait"
    ) -> Reading[T]:
        """What `make` makes of the filer behind a ticker; of None when nobody files under it.

        It is made once per day and change of the documents: a purpose must always come with the same `make`.
        """
        made = self._made.get((purpose, ticker))
        if made is None or made.day != day or self._is_over(made.until):
            made = await self._flight.share(f"{purpose} {ticker}", lambda: self._make(ticker, day, make, purpose))
        return cast(Reading[T], made.reading)

    async def _make(self, ticker: str, day: date, make: Callable[[Filer | None], T], purpose: str) -> _Made:
        listed, registrants = await self._flight.share(TICKERS_PATH, self._read_tickers)
        registrant = registrants.get(ticker)
        got = [listed]
        if registrant is not None:
            cik = registrant.cik
            company, facts = await asyncio.gather(
                self._get(company_path(cik), lambda marks: self._filings.company(cik, marks)),
                self._get(facts_path(cik), lambda marks: self._filings.facts(cik, marks)),
            )
            got += [company, facts]
        stale = [each.kept.seen_at for each in got if each.is_stale]
        kept = [each.kept for each in got[1:]]
        # Beside the loop: a document is as long as whoever wrote it likes, and others wait for their answers.
        value = await asyncio.to_thread(lambda: make(_filer(*kept) if kept else None))
        reading = Reading(value, min(stale, default=None))
        made = _Made(day, reading, min(each.until for each in got))
        self._made[purpose, ticker] = made
        return made

    async def _read_tickers(self) -> tuple[_Got, dict[str, Registrant]]:
        held = self._tickers
        if held is not None and not self._is_over(held[0].until):
            return held
        got = await self._get(TICKERS_PATH, self._filings.tickers)
        registrants = msgspec.json.decode(got.kept.body, type=dict[str, Registrant])
        self._tickers = (got, registrants)
        return self._tickers

    def _is_over(self, until: datetime) -> bool:
        now = self._clock.now()
        return not now < until <= now + _LOOK_AHEAD_MAX

    async def _get(self, path: str, fetch: Fetch) -> _Got:
        kept = await documents.load(self._store, path)
        began = self._clock.now()
        # A copy from the future is as old as it is young: nobody knows when it was made.
        age = abs(began - kept.seen_at) if kept is not None else None
        if kept is not None and age is not None and age < _fresh_for(kept):
            return _Got(kept, False, kept.seen_at + _fresh_for(kept))
        spare = kept if kept is not None and age is not None and age <= STALE and _is_sound(kept) else None
        try:
            answer = await fetch(kept.marks if kept is not None and kept.state is State.PRESENT else Marks())
        except UpstreamDown as failure:
            if spare is None:
                raise
            log.warning("filings not refreshed, an older copy stands in", path=path, reason=failure.message)
            return _Got(spare, True, began + _RETRY)
        # Beside the loop: two long documents are held against each other, once when one has changed.
        if spare is not None and await asyncio.to_thread(_is_taken_back, answer, spare, began.date()):
            log.warning("filings document lost what it said, an older copy stands in", path=path)
            return _Got(spare, True, began + _UNREADABLE_FRESH)
        fresh = await self._keep(path, kept, answer, began)
        return _Got(fresh, False, began + _fresh_for(fresh))

    async def _keep(self, path: str, old: KeptDocument | None, answer: Answered, seen_at: datetime) -> KeptDocument:
        if isinstance(answer, Unchanged) and old is not None:
            await documents.vouch(self._store, path, seen_at)
            return KeptDocument(old.state, old.marks, seen_at, old.body)
        match answer:
            case Document(value=value, marks=marks):
                fresh = KeptDocument(State.PRESENT, marks, seen_at, msgspec.json.encode(value))
            case Missing():
                fresh = KeptDocument(State.MISSING, Marks(), seen_at, b"")
            case _:
                fresh = KeptDocument(State.UNREADABLE, Marks(), seen_at, b"")
        await documents.keep(self._store, path, fresh)
        return fresh


def _filer(company: KeptDocument, facts: KeptDocument) -> Filer | None:
    if company.state is not State.PRESENT:
        return None
    is_readable = facts.state is not State.UNREADABLE
    decoded = msgspec.json.decode(facts.body, type=CompanyFacts) if facts.state is State.PRESENT else None
    return Filer(msgspec.json.decode(company.body, type=Company), decoded, is_readable)


def _is_taken_back(answer: Answered, spare: KeptDocument, day: date) -> bool:
    """Whether the database no longer says what it said: who has filed has filed, so this is its bad day, not the
    filer's. A copy of an earlier day, or one that lost a part, is as good JSON as any."""
    if isinstance(answer, Unreadable) or spare.state is not State.PRESENT:
        return isinstance(answer, Unreadable)
    match answer:
        case Document(value=CompanyFacts() as facts):
            return _has_lost(facts, msgspec.json.decode(spare.body, type=CompanyFacts), day)
        case Document(value=dict() as registrants):
            # Companies come and go one by one.
            return 2 * len(registrants) < len(msgspec.json.decode(spare.body, type=dict[str, Registrant]))
        case _:
            return isinstance(answer, Missing)


def _has_lost(facts: CompanyFacts, before: CompanyFacts, day: date) -> bool:
    """Whether the newest filing, or all that was ever told of a concept, is gone."""
    told, known = _newest_by_concept(facts, day), _newest_by_concept(before, day)
    return bool(known.keys() - told.keys()) or max(told.values(), default=date.min) < max(
        known.values(), default=date.min
    )


def _newest_by_concept(facts: CompanyFacts, day: date) -> dict[str, date]:
    """When each concept was told last. What is dated ahead is a slip, and may be set right."""
    return {
        concept: max(row.filed for row in rows)
        for concept, units in facts.concepts.items()
        if (rows := [row for each in units.values() for row in each if row.filed <= day])
    }


def _is_sound(kept: KeptDocument) -> bool:
    return kept.state is not State.UNREADABLE


def _fresh_for(kept: KeptDocument) -> timedelta:
    return FRESH if _is_sound(kept) else _UNREADABLE_FRESH
