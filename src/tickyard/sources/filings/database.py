"""The public filings database: who files under which ticker, who they are, and what they reported.

It wants to know who asks (the User-Agent carries a contact), it counts the requests of all our machines together,
and it locks out who asks too often until there has been silence for a while. So every request waits for its turn,
and a refusal makes all of us silent.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Final, Generic, NoReturn, Protocol, TypeVar

import msgspec

from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import UpstreamDown
from tickyard.sources.filings.border import (
    Broken,
    Company,
    CompanyFacts,
    Registrant,
    read_company,
    read_facts,
    read_tickers,
)
from tickyard.sources.http import Fetched, Observe, Source

T = TypeVar("T")

MAX_BYTES: Final = 24 * 1024 * 1024
"""The largest filers' facts are close to ten megabytes."""
PER_SECOND: Final = 8
"""The database allows ten over all machines together."""
QUIET_S: Final = 600
"""How long nobody may ask after a refusal before the database forgives."""
TICKERS_PATH: Final = "company_tickers.json"

_BUDGET_S: Final = 8.0
_TRY_S: Final = 5.0
_TITLE: Final = "the filings database"
_JUDGED: Final = (304, 403, 404, 429)
_VALIDATOR_MAX_CHARS: Final = 200


class Pace(Protocol):
    """Whose turn it is, among all processes that share the database's patience."""

    async def turn(self) -> None:
        """Wait for a turn. UpstreamDown when it would take too long, or while silence is kept."""
        ...

    async def hush(self, seconds: int) -> None:
        """Nobody asks for so long."""
        ...


@dataclass(frozen=True, slots=True)
class Marks:
    """What a document was marked with when we got it: enough to ask whether it has changed."""

    etag: str | None = None
    last_modified: str | None = None

    def headers(self) -> dict[str, str]:
        asked = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in asked.items() if value}


@dataclass(frozen=True, slots=True)
class Document(Generic[T]):
    value: T
    marks: Marks


class Unchanged:
    """The document is still the one we have."""


class Missing:
    """The database has no such document."""


class Unreadable:
    """The document is whole, but makes no sense."""


def open_source(
    name: str,
    url: str,
    contact: str,
    pace: Pace,
    *,
    clock: Clock,
    rng: Random,
    observe: Observe | None = None,
    budget_s: float = _BUDGET_S,
    try_s: float = _TRY_S,
) -> Source:
    """One of the database's two hosts, asked with manners. Start it before use, close it after."""
    return Source(
        name,
        url,
        clock=clock,
        rng=rng,
        max_bytes=MAX_BYTES,
        budget_s=budget_s,
        try_s=try_s,
        headers={"User-Agent": f"tickyard {contact}"},
        title=_TITLE,
        observe=observe,
        judged=_JUDGED,
        is_whole_checked=False,
        before_try=pace.turn,
    )


class Filings:
    def __init__(self, data: Source, files: Source, pace: Pace, *, quiet_s: int = QUIET_S) -> None:
        self._data = data
        self._files = files
        self._pace = pace
        self._quiet_s = quiet_s

    async def tickers(self, known: Marks) -> Document[dict[str, Registrant]] | Unchanged:
        """Every ticker and who files under it."""
        answer = await self._read(self._files, TICKERS_PATH, known, read_tickers)
        return answer if isinstance(answer, Document | Unchanged) else _unusable()

    async def company(self, cik: int, known: Marks) -> Document[Company] | Unchanged | Missing:
        """A filer's description of itself."""
        answer = await self._read(self._data, company_path(cik), known, lambda body: read_company(body, cik))
        return answer if not isinstance(answer, Unreadable) else _unusable()

    async def facts(self, cik: int, known: Marks) -> Document[CompanyFacts] | Unchanged | Missing | Unreadable:
        """What a filer reported. Missing is common: new and thin filers have no facts."""
        return await self._read(self._data, facts_path(cik), known, lambda body: read_facts(body, cik))

    async def _read(
        self, source: Source, path: str, known: Marks, read: Callable[[bytes], T]
    ) -> Document[T] | Unchanged | Missing | Unreadable:
        headers = known.headers()

        def decode(fetched: Fetched) -> Document[T] | Unchanged | Missing | Unreadable | int:
            match fetched.status:
                case 403 | 429:
                    return fetched.status
                case 404:
                    return Missing()
                case 304 if headers:
                    return Unchanged()
                case 200:
                    return _document(fetched, read)
                case _:
                    raise Broken("an answer to a question that was not asked")

        answer = await source.read(path, decode, headers=headers)
        if isinstance(answer, int):
            # Asking again, for whatever document, would only prolong the lock-out.
            await self._pace.hush(self._quiet_s)
            raise UpstreamDown(f"{_TITLE} did not answer", retry_after_s=self._quiet_s)
        return answer


def company_path(cik: int) -> str:
    return f"submissions/CIK{cik:010d}.json"


def facts_path(cik: int) -> str:
    return f"api/xbrl/companyfacts/CIK{cik:010d}.json"


def _document(fetched: Fetched, read: Callable[[bytes], T]) -> Document[T] | Unreadable:
    try:
        return Document(read(fetched.body), _marks(fetched.headers))
    except Broken:
        # Cut off on the way is a failed try; nonsense from end to end is what the database has to say.
        if not _is_whole(fetched.body):
            raise
        return Unreadable()


def _is_whole(body: bytes) -> bool:
    try:
        msgspec.json.decode(body, type=msgspec.Raw)
    except RecursionError:
        return True
    except msgspec.MsgspecError:
        return False
    return True


def _marks(headers: Mapping[str, str]) -> Marks:
    return Marks(_mark(headers.get("ETag")), _mark(headers.get("Last-Modified")))


def _mark(text: str | None) -> str | None:
    """A validator goes back out in a header, so only a plain one is kept."""
    return text if text and len(text) <= _VALIDATOR_MAX_CHARS and text.isascii() and text.isprintable() else None


def _unusable() -> NoReturn:
    raise UpstreamDown(f"{_TITLE} gave no usable answer")
