"""The front cache: ready bytes for free GETs whose answer may be reused.

It stands before routing and validation, so a hit costs little more than sending the bytes. It is filled only
with validated 200 answers, under the one canonical spelling of their URL; it is bounded in bytes, and it never
stands in front of the payment gate (a paid path is never filled).
"""

from collections.abc import Mapping
from typing import Final

from starlette.types import Scope, Send

from tickyard.doors.http.answers import JSON, Headers, accepts_gzip, compress, etag_of, tag_matches
from tickyard.kernel.clock import Clock

_BYTES_MAX: Final = 64 * 1024 * 1024
_FRAME_BYTES: Final = 4096
"""What an entry weighs beside its bodies: its forms, their headers and heads, its key."""

_STATUS_LINES: Final = {200: b"HTTP/1.1 200 OK\r\n", 304: b"HTTP/1.1 304 Not Modified\r\n"}


class Form:
    """One way to send an answer."""

    __slots__ = ("body", "head", "headers", "status")

    def __init__(self, status: int, headers: Headers, body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body
        self.head = _STATUS_LINES[status] + head_lines(headers)
        """Status line and headers as they travel, for whoever writes to the socket itself."""


def head_lines(headers: Headers) -> bytes:
    return b"".join([b"%b: %b\r\n" % pair for pair in headers])


class KeptEntry:
    """A kept answer in its forms. Their headers say how many seconds are left, so they are renewed every second."""

    __slots__ = (
        "_first",
        "_tagged",
        "_zipped_body",
        "body",
        "etag",
        "not_modified",
        "plain",
        "renewed_at",
        "route",
        "size",
        "turns_at",
        "until",
        "zipped",
    )

    def __init__(self, route: str, body: bytes, until: float, content_type: Headers) -> None:
        self.route = route
        self.body = body
        self.until = until
        self.renewed_at = self.turns_at = 0.0
        """The moment at which the forms are to be renewed, or the answer is too old."""
        self.etag = etag_of(body)
        self._zipped_body = compress(body)
        self.size = _FRAME_BYTES + len(body) + len(self._zipped_body or b"")
        self._first = content_type
        self._tagged: Headers = [(b"etag", self.etag), (b"vary", b"accept-encoding")]
        self.plain: Form
        self.zipped: Form | None = None
        self.not_modified: Form

    def renew(self, now: float) -> None:
        # To the nearest second: an answer made a moment ago has all of its time left.
        left = max(int(self.until - now + 0.5), 0)
        self.renewed_at = now
        self.turns_at = self.until - left + 0.5 if left else self.until
        shared: Headers = [*self._tagged, (b"cache-control", b"public, max-age=%d" % left)]
        self.not_modified = Form(304, shared, b"")
        self.plain = Form(200, [*self._first, *shared, _length(self.body)], self.body)
        if (zipped := self._zipped_body) is not None:
            self.zipped = Form(200, [*self._first, *shared, (b"content-encoding", b"gzip"), _length(zipped)], zipped)

    def choose(self, asked: Mapping[bytes, bytes]) -> Form:
        """What a caller with these request headers needs: nothing new, the compressed form, or the plain one."""
        tags = asked.get(b"if-none-match")
        if tags is not None and tag_matches(tags, self.etag):
            return self.not_modified
        if self.zipped is not None and accepts_gzip(asked.get(b"accept-encoding")):
            return self.zipped
        return self.plain


class FrontCache:
    def __init__(self, clock: Clock, bytes_max: int = _BYTES_MAX) -> None:
        self._clock = clock
        self._bytes_max = bytes_max
        self._entries: dict[bytes, KeptEntry] = {}
        self.size = 0
        """Bytes held, about."""

    def get(self, target: bytes, now: float | None = None) -> KeptEntry | None:
        entry = self._entries.get(target)
        if now is None:
            now = self._clock.timestamp()
        if entry is not None and not entry.renewed_at <= now < entry.turns_at:
            # Also when the clock was set back: by the new time it would be kept for as long as that was.
            if entry.until <= now or now < entry.renewed_at:
                self._forget(target)
                return None
            entry.renew(now)
        return entry

    def put(self, target: bytes, route: str, body: bytes, seconds: int, content_type: Headers = JSON) -> KeptEntry:
        """Keep an answer; the oldest ones make room."""
        now = self._clock.timestamp()
        entry = KeptEntry(route, body, now + seconds, content_type)
        entry.renew(now)
        if seconds > 0:
            if target in self._entries:
                self._forget(target)
            self.size += entry.size
            self._entries[target] = entry
            # One that is too large for all of the room goes with the others.
            while self.size > self._bytes_max:
                self._forget(next(iter(self._entries)))
        return entry

    def clear(self) -> None:
        """Something the answers were made from has changed."""
        self._entries.clear()
        self.size = 0

    def __len__(self) -> int:
        return len(self._entries)

    def _forget(self, target: bytes) -> None:
        self.size -= self._entries.pop(target).size


def _length(body: bytes) -> tuple[bytes, bytes]:
    return (b"content-length", str(len(body)).encode())


async def send_entry(entry: KeptEntry, scope: Scope, send: Send) -> None:
    form = entry.choose(dict(scope["headers"]))
    await send({"type": "http.response.start", "status": form.status, "headers": form.headers})
    await send({"type": "http.response.body", "body": form.body})
