"""A feed of votes. None exists yet, so its shape is unknown: whatever JSON it sends is cleaned and passed on, and what
looks like a vote is understood as one."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from random import Random
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from tickyard.kernel.clock import Clock
from tickyard.sources.http import Fetched, Observe, Source
from tickyard.sources.text import clean

MAX_BYTES: Final = 256 * 1024
EVENTS_MAX: Final = 500
_DEPTH_MAX: Final = 8
_TEXT_MAX: Final = 500
_FIELD_MAX: Final = 80

_LISTS: Final = ("events", "votes", "proposals", "items", "results", "data")
_IDS: Final = ("id", "eventId", "voteId", "proposalId")
_SYMBOLS: Final = ("symbol", "tokenSymbol", "underlyingSymbol", "ticker")
_TYPES: Final = ("type", "voteType", "eventType", "kind")
_STATUSES: Final = ("status", "state", "voteStatus")
_DATES: Final = ("processDate", "meetingDate", "recordDate", "deadline", "date")
_SYMBOL: Final = re.compile(r"[A-Z0-9][A-Z0-9.]{0,15}")
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

# Numbers with a fraction keep their digits: nothing here is computed with.
_decode = msgspec.json.Decoder(float_hook=lambda text: msgspec.Raw(text.encode())).decode
_canonical = msgspec.json.Encoder(order="deterministic").encode


@dataclass(frozen=True, slots=True)
class VoteEvent:
    id: str
    symbol: str
    type: str | None
    status: str | None
    process_date: date | None
    details: dict[str, Any]


@dataclass(frozen=True, slots=True)
class VoteBook:
    raw: Any
    """The feed's own JSON with its texts cleaned."""
    events: tuple[VoteEvent, ...]


class Votes:
    """Start and close its `source` like any other."""

    def __init__(self, url: str, *, clock: Clock, rng: Random, observe: Observe | None = None) -> None:
        parts = urlsplit(url)
        folder, _, name = parts.path.rpartition("/")
        base = f"{parts.scheme}://{parts.netloc}{folder}"
        self._path = name + (f"?{parts.query}" if parts.query else "")
        self.source = Source(
            "votes", base, clock=clock, rng=rng, max_bytes=MAX_BYTES, title="the votes feed", observe=observe
        )

    async def read(self) -> VoteBook | None:
        """What the feed says now. None: there is no such feed (yet)."""
        return await self.source.read(self._path, _read)


def _read(fetched: Fetched) -> VoteBook | None:
    return read_votes(fetched.body) if fetched.status == 200 else None


def read_votes(body: bytes) -> VoteBook:
    """ValueError (or msgspec's) for what is no JSON, nested absurdly, or cannot be shown."""
    raw = _clean(_decode(body), _DEPTH_MAX)
    found = (_event(entry) for entry in _entries(raw))
    return VoteBook(raw, tuple({event.id: event for event in found if event is not None}.values())[:EVENTS_MAX])


def _clean(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return clean(value, _TEXT_MAX)
    if not isinstance(value, dict | list):
        return value
    if depth == 0:
        raise ValueError("the feed is nested too deep")
    if isinstance(value, list):
        return [_clean(item, depth - 1) for item in value]
    return {clean(key, _FIELD_MAX): _clean(item, depth - 1) for key, item in value.items()}


def _entries(raw: Any) -> list[Any]:
    if isinstance(raw, dict):
        lists = [raw[name] for name in _LISTS if isinstance(raw.get(name), list | dict)]
        return _entries(lists[0]) if lists else []
    return raw if isinstance(raw, list) else []


def _event(entry: Any) -> VoteEvent | None:
    """A vote names the asset it is about; anything else is left to the raw data."""
    if not isinstance(entry, dict):
        return None
    symbol = _text(entry, _SYMBOLS)
    if symbol is None or not _SYMBOL.fullmatch(symbol):
        return None
    inner = entry.get("details")
    return VoteEvent(
        # Without an id of its own, an event is the same as long as it says the same.
        id=_text(entry, _IDS) or "vote_" + sha256(_canonical(entry)).hexdigest()[:24],
        symbol=symbol,
        type=_text(entry, _TYPES),
        status=_text(entry, _STATUSES),
        process_date=next((day for name in _DATES if (day := _day(entry.get(name))) is not None), None),
        details=inner if isinstance(inner, dict) else entry,
    )


def _text(entry: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    for name in names:
        value = entry.get(name)
        if (isinstance(value, str) and value) or (isinstance(value, int) and not isinstance(value, bool)):
            return str(value)[:_FIELD_MAX]
    return None


def _day(value: Any) -> date | None:
    try:
        match value:
            case {"year": int(year), "month": int(month), "day": int(day)}:
                return date(year, month, day)
            case str() if found := _DAY.match(value):
                return date.fromisoformat(found[0])
    except (ValueError, OverflowError):
        return None
    return None
