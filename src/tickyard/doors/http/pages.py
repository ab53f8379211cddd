"""The health probes, and pages that are ready-made bytes."""

from collections.abc import Awaitable, Callable

from starlette.types import Receive, Scope, Send

from tickyard.doors.http.answers import JSON, NO_STORE, Headers, send_bytes, send_failure
from tickyard.doors.http.cache import FrontCache, send_entry
from tickyard.kernel.errors import Failure, UpstreamDown
from tickyard.kernel.wire import encode, error_body

_PAGE_SECONDS = 300


class Page:
    """Bytes made at start, sent as they are."""

    def __init__(self, path: str, body: bytes, cache: FrontCache, content_type: Headers = JSON) -> None:
        self._path = path
        self._body = body
        self._cache = cache
        self._content_type = content_type

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        entry = self._cache.put(self._path.encode(), self._path, self._body, _PAGE_SECONDS, self._content_type)
        await send_entry(entry, scope, send)


class Health:
    """The process lives."""

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        await send_bytes(send, 200, encode({"status": "ok"}), [*JSON, NO_STORE])


class Readiness:
    """The process can serve: what it depends on answers."""

    def __init__(self, check: Callable[[], Awaitable[None]]) -> None:
        self._check = check

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        try:
            await self._check()
        except UpstreamDown as failure:
            body = error_body(failure.code, f"not ready: {failure.message}")
            await send_bytes(send, 503, body, [*JSON, NO_STORE, (b"retry-after", b"2")])
        except Failure as failure:
            await send_failure(send, failure)
        else:
            await send_bytes(send, 200, encode({"status": "ready"}), [*JSON, NO_STORE])
