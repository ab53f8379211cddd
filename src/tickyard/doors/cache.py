"""The front cache: ready bytes for free GETs whose answer may be reused.

It stands before routing and validation, so a hit costs little more than sending the bytes. It is filled only
with validated 200 answers, under the one canonical spelling of their URL; it is bounded, and it never
stands in front of the payment gate (a paid path is never filled).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from starlette.types import Scope, Send

from tickyard.doors.answers import JSON, Headers, accepts_gzip, compress, etag_of, tag_matches
from tickyard.kernel.clock import Clock

_ENTRIES_MAX = 8192


@dataclass(slots=True)
class Entry:
    route: str
    made_at: float
    until: float
    etag: bytes
    plain: tuple[Headers, bytes]
    zipped: tuple[Headers, bytes] | None
    not_modified: Headers


class FrontCache:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: dict[bytes, Entry] = {}

    def get(self, target: bytes, now: float | None = None) -> Entry | None:
        entry = self._entries.get(target)
        if entry is None or entry.until > (self._clock.timestamp() if now is None else now):
            return entry
        del self._entries[target]
        return None

    def put(self, target: bytes, route: str, body: bytes, seconds: int, content_type: Headers = JSON) -> Entry:
        """Keep an answer; the oldest one makes room."""
        entry = _entry(route, body, seconds, self._clock.timestamp(), content_type)
        if seconds > 0:
            self._entries.pop(target, None)
            if len(self._entries) >= _ENTRIES_MAX:
                del self._entries[next(iter(self._entries))]
            self._entries[target] = entry
        return entry

    def clear(self) -> None:
        """Something the answers were made from has changed."""
        self._entries.clear()


def _entry(route: str, body: bytes, seconds: int, now: float, content_type: Headers) -> Entry:
    etag = etag_of(body)
    shared: Headers = [
        (b"etag", etag),
        (b"cache-control", b"public, max-age=%d" % seconds),
        (b"vary", b"accept-encoding"),
    ]
    squeezed = compress(body)
    return Entry(
        route=route,
        made_at=now,
        until=now + seconds,
        etag=etag,
        plain=([*content_type, *shared, _length(body)], body),
        zipped=([*content_type, *shared, (b"content-encoding", b"gzip"), _length(squeezed)], squeezed)
        if squeezed
        else None,
        not_modified=shared,
    )


def _length(body: bytes) -> tuple[bytes, bytes]:
    return (b"content-length", str(len(body)).encode())


def choose(entry: Entry, asked: Iterable[tuple[bytes, bytes]], now: float) -> tuple[int, Headers, bytes]:
    """What a caller with these request headers needs of a kept answer: nothing new, the compressed form, or the
    plain one. Status, headers, body."""
    headers, body, status = *entry.plain, 200
    for name, value in asked:
        if name == b"accept-encoding":
            if entry.zipped is not None and status == 200 and accepts_gzip(value):
                headers, body = entry.zipped
        elif name == b"if-none-match" and tag_matches(value, entry.etag):
            headers, body, status = entry.not_modified, b"", 304
    age = int(now - entry.made_at)
    return status, [*headers, (b"age", b"%d" % age)] if age > 0 else headers, body


async def send_entry(entry: Entry, scope: Scope, send: Send, now: float) -> None:
    status, headers, body = choose(entry, scope["headers"], now)
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
