"""The route index at `GET /`, the health probes and other ready-made pages of the HTTP door."""

from collections.abc import Awaitable, Callable, Iterable

from starlette.types import Receive, Scope, Send

from tickyard.doors.answers import JSON, NO_STORE, Headers, send_bytes, send_failure
from tickyard.doors.cache import FrontCache, send_entry
from tickyard.doors.discovery import DOCUMENT_PATHS
from tickyard.kernel.errors import Failure, UpstreamDown
from tickyard.kernel.operation import Operation
from tickyard.kernel.wire import Answer, encode, error_body
from tickyard.payments.bazaar import paid_path

OWN_PAGES = ("/openapi.json", "/docs", *DOCUMENT_PATHS, "/healthz", "/readyz")
_PAGE_SECONDS = 300


class Index(Answer):
    name: str
    description: str
    chain_id: int
    docs: str
    endpoints: list[str]


def endpoint_lines(rows: Iterable[Operation], sandbox_rows: Iterable[Operation]) -> list[str]:
    """`METHOD /path` of everything, the specified routes first."""
    lines = []
    for row in rows:
        lines.append(f"{row.method} {row.path}")
        if row.price is not None:
            lines.append(f"{row.method} {paid_path(row)}")
    own = [f"GET {path}" for path in OWN_PAGES]
    return ["GET /", *lines, "ANY /mcp", *own, *(f"{row.method} {row.path}" for row in sandbox_rows)]


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
