"""The front cache: ready bytes for free GETs whose answer may be reused.

It stands before routing and validation, so a hit costs little more than sending the bytes. It is filled only
with validated 200 answers, under the one canonical spelling of their URL; it is bounded, and it never
stands in front of the payment gate (a paid path is never filled).
"""

from collections.abc import Iterable

from starlette.types import Scope, Send

from tickyard.doors.answers import JSON, Headers, accepts_gzip, compress, etag_of, tag_matches
from tickyard.kernel.clock import Clock

_ENTRIES_MAX = 8192


class Entry:
    """A kept answer in its forms. Their headers say how many seconds are left, and are renewed when that changes."""

    __slots__ = (
        "_first",
        "_left",
        "_tagged",
        "_zipped_body",
        "body",
        "etag",
        "not_modified",
        "plain",
        "route",
        "until",
        "zipped",
    )

    def __init__(self, route: str, body: bytes, until: float, content_type: Headers) -> None:
        self.route = route
        self.body = body
        self.until = until
        self.etag = etag_of(body)
        self._zipped_body = compress(body)
        self._first = content_type
        self._tagged: Headers = [(b"etag", self.etag), (b"vary", b"accept-encoding")]
        self._left = -1
        self.plain: tuple[Headers, bytes]
        self.zipped: tuple[Headers, bytes] | None = None
        self.not_modified: Headers

    def renew(self, now: float) -> None:
        # To the nearest second: an answer made a moment ago has all of its time left.
        left = int(self.until - now + 0.5)
        if left == self._left:
            return
        self._left = left
        shared: Headers = [*self._tagged, (b"cache-control", b"public, max-age=%d" % max(left, 0))]
        self.not_modified = shared
        self.plain = ([*self._first, *shared, _length(self.body)], self.body)
        if (zipped := self._zipped_body) is not None:
            self.zipped = ([*self._first, *shared, (b"content-encoding", b"gzip"), _length(zipped)], zipped)


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
        entry = Entry(route, body, self._clock.timestamp() + seconds, content_type)
        if seconds > 0:
            self._entries.pop(target, None)
            if len(self._entries) >= _ENTRIES_MAX:
                del self._entries[next(iter(self._entries))]
            self._entries[target] = entry
        return entry

    def clear(self) -> None:
        """Something the answers were made from has changed."""
        self._entries.clear()


def _length(body: bytes) -> tuple[bytes, bytes]:
    return (b"content-length", str(len(body)).encode())


def choose(entry: Entry, asked: Iterable[tuple[bytes, bytes]], now: float) -> tuple[int, Headers, bytes]:
    """What a caller with these request headers needs of a kept answer: nothing new, the compressed form, or the
    plain one. Status, headers, body."""
    entry.renew(now)
    headers, body, status = *entry.plain, 200
    for name, value in asked:
        if name == b"accept-encoding":
            if entry.zipped is not None and status == 200 and accepts_gzip(value):
                headers, body = entry.zipped
        elif name == b"if-none-match" and tag_matches(value, entry.etag):
            headers, body, status = entry.not_modified, b"", 304
    return status, headers, body


async def send_entry(entry: Entry, scope: Scope, send: Send, now: float) -> None:
    status, headers, body = choose(entry, scope["headers"], now)
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
