"""The health probes, and pages that are ready-made bytes."""

from starlette.types import Receive, Scope, Send

from tickyard.doors.http.answers import JSON, NO_STORE, Headers, send_bytes
from tickyard.doors.http.cache import FrontCache, send_entry
from tickyard.doors.http.readiness import Lookout
from tickyard.kernel.errors import UpstreamDown
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
    """The process can serve: what it depends on answers, and its tasks run."""

    def __init__(self, lookout: Lookout) -> None:
        self._lookout = lookout

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        report = await self._lookout.report()
        if report.problems:
            body = error_body(UpstreamDown.code, f"not ready: {'; '.join(report.problems)}")
            await send_bytes(send, 503, body, [*JSON, NO_STORE, (b"retry-after", b"2")])
            return
        shown = {
            "status": "ready",
            "headAgeSeconds": report.head_age_s,
            "registryAgeSeconds": report.registry_age_s,
            "tasks": report.tasks,
        }
        await send_bytes(send, 200, encode(shown), [*JSON, NO_STORE])
