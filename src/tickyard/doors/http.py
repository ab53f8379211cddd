"""The HTTP door: from catalog rows to routes.

One path is one route; its endpoint knows the operations of that path by method. An endpoint binds, runs and
renders; failures become the Error object; nothing here knows what an operation means.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from tickyard.doors.answers import (
    JSON,
    NO_STORE,
    Headers,
    accepts_gzip,
    compress,
    header,
    send_bytes,
    send_error,
    send_failure,
    send_too_many,
)
from tickyard.doors.binding import Binder
from tickyard.doors.cache import FrontCache, send_entry
from tickyard.doors.edge import ROUTE
from tickyard.doors.limits import TokenBuckets, Verdict, client_key
from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import Failure
from tickyard.kernel.operation import Kept, Operation
from tickyard.kernel.wire import Ask, TextAnswer, encode

BODY_MAX_BYTES: Final = 64 * 1024
ClientOf = Callable[[Mapping[str, Any]], str]


class BodyRefused(Exception):
    """A body that is not even looked at: its status and sentence."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Endpoint:
    """One operation, reachable over HTTP."""

    def __init__(
        self,
        operation: Operation,
        deps: Any,
        cache: FrontCache,
        clock: Clock,
        *,
        client_of: ClientOf = client_key,
        quota: int | None = None,
    ) -> None:
        self._operation = operation
        self._deps = deps
        self._cache = cache
        self._clock = clock
        self._client_of = client_of
        self._buckets = TokenBuckets(quota) if quota else None
        self.binder = Binder(operation)

    @property
    def has_quota(self) -> bool:
        return self._buckets is not None

    def take(self, client: str) -> Verdict:
        """Count one call of this client against the operation's own quota."""
        assert self._buckets is not None
        return self._buckets.take(client, self._clock.monotonic())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.has_quota:
            verdict = self.take(self._client_of(scope))
            if not verdict.is_allowed:
                await send_too_many(send, verdict.retry_after_s)
                return
        try:
            ask = await self._bind(scope, receive)
            await self._run(ask, scope, send)
        except Failure as failure:
            await send_failure(send, failure)
        except BodyRefused as refused:
            await send_error(send, refused.status, "bad_request", refused.message)

    async def _bind(self, scope: Scope, receive: Receive) -> Ask:
        values, binder = scope["path_params"], self.binder
        around = binder.around(scope["headers"], self._client_of(scope) if binder.client_names else "")
        if not binder.takes_body:
            return binder.from_url(values, scope["query_string"], around)
        return binder.from_body(values, await read_body(scope, receive), around)

    async def _run(self, ask: Ask, scope: Scope, send: Send) -> None:
        operation = self._operation
        target = b"" if self.binder.takes_body else self.binder.canonical_target(ask)
        entry = self._cache.get(target) if target else None
        if entry is None:
            answer = await operation.run(self._deps, ask)
            if not isinstance(answer, Kept):
                await _send_fresh(answer, operation.status, scope, send)
                return
            body, content_type = _rendered(answer.answer)
            entry = self._cache.put(target, operation.path, body, answer.seconds, content_type)
        await send_entry(entry, scope, send)


async def _send_fresh(answer: msgspec.Struct, status: int, scope: Scope, send: Send) -> None:
    """An answer for this caller alone, never to be kept by anybody."""
    body, content_type = _rendered(answer)
    headers: Headers = [*content_type, NO_STORE]
    if accepts_gzip(header(scope, b"accept-encoding")) and (squeezed := compress(body)):
        body = squeezed
        headers.append((b"content-encoding", b"gzip"))
    await send_bytes(send, status, body, headers)


def _rendered(answer: msgspec.Struct) -> tuple[bytes, Headers]:
    if isinstance(answer, TextAnswer):
        return answer.text.encode(), [(b"content-type", answer.content_type.encode())]
    return encode(answer), JSON


async def read_body(scope: Scope, receive: Receive) -> bytes:
    """A JSON body, counted as it streams in: Content-Length may lie."""
    content_type = (header(scope, b"content-type") or b"").partition(b";")[0].strip().lower()
    if content_type != b"application/json":
        raise BodyRefused(415, "the body must be application/json")
    if header(scope, b"content-encoding") is not None:
        raise BodyRefused(415, "a compressed body is not accepted")
    chunks = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise BodyRefused(400, "the body did not arrive whole")
        chunks += message.get("body", b"")
        if len(chunks) > BODY_MAX_BYTES:
            raise BodyRefused(413, f"the body is over {BODY_MAX_BYTES // 1024} KiB")
        if not message.get("more_body", False):
            return bytes(chunks)


class ByMethod:
    """The endpoints of one path."""

    def __init__(self, path: str, endpoints: Mapping[str, ASGIApp]) -> None:
        self._path = path
        self._endpoints = dict(endpoints)
        if "GET" in endpoints:
            # The server drops the body of an answer to HEAD by itself.
            self._endpoints["HEAD"] = endpoints["GET"]
        self._allow = ", ".join([*self._endpoints, "OPTIONS"])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[ROUTE] = self._path
        endpoint = self._endpoints.get(scope["method"])
        if endpoint is None:
            message = f"this path takes {self._allow}"
            await send_error(send, 405, "bad_request", message, [(b"allow", self._allow.encode())])
            return
        await endpoint(scope, receive, send)


async def no_route(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send_error(send, 404, "not_found", "no such route; GET / lists them all")


def build_router(endpoints: Iterable[tuple[str, str, ASGIApp]]) -> Router:
    """A router over (method, path, endpoint). Paths match exactly; nothing redirects."""
    by_path: dict[str, dict[str, ASGIApp]] = {}
    for method, path, endpoint in endpoints:
        by_path.setdefault(path, {})[method] = endpoint
    routes = [Route(path, ByMethod(path, methods)) for path, methods in by_path.items()]
    return Router(routes, redirect_slashes=False, default=no_route)
