"""The HTTP door: from catalog rows to routes.

One path is one route; its endpoint knows the operations of that path by method. An endpoint binds, runs and
renders; failures become the Error object; nothing here knows what an operation means.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from tickyard.doors.calling import Calling, Fresh
from tickyard.doors.http.answers import (
    NO_STORE,
    accepts_gzip,
    compress,
    header,
    send_bytes,
    send_error,
    send_failure,
    send_stream,
    send_too_many,
)
from tickyard.doors.http.bodies import BodyRefused, read_json_body
from tickyard.doors.http.cache import FrontCache, send_entry
from tickyard.doors.http.edge import ROUTE
from tickyard.doors.http.limits import LimitVerdict, TokenBuckets, client_key
from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import Failure
from tickyard.kernel.operation import Operation
from tickyard.kernel.wire import Ask, StreamAnswer, encode

ClientOf = Callable[[Mapping[str, Any]], str]


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
        self.calling = Calling(operation, deps, cache)
        self._clock = clock
        self._client_of = client_of
        self._buckets = TokenBuckets(quota) if quota else None

    @property
    def has_quota(self) -> bool:
        return self._buckets is not None

    def take(self, client: str) -> LimitVerdict:
        """Count one call of this client against the operation's own quota."""
        assert self._buckets is not None
        return self._buckets.take(client, self._clock.monotonic())

    def at_once(self, query: bytes) -> bytes | None:
        """The answer to a GET whose parameters are all in its query, if nothing has to be waited for."""
        calling = self.calling
        assert calling.operation.at_once is not None
        try:
            answer = calling.operation.at_once(calling.deps, calling.binder.from_url({}, query).settled())
        except Failure:
            # Told on the long way, where all failures are.
            return None
        return None if answer is None else encode(answer)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.has_quota:
            verdict = self.take(self._client_of(scope))
            if not verdict.is_allowed:
                await send_too_many(send, verdict.retry_after_s)
                return
        try:
            answer = await self.calling.answer(await self._bind(scope, receive))
            if isinstance(answer, StreamAnswer):
                await send_stream(answer, scope, send)
            elif isinstance(answer, Fresh):
                await _send_fresh(answer, self.calling.operation.status, scope, send)
            else:
                await send_entry(answer, scope, send)
        except Failure as failure:
            await send_failure(send, failure)
        except BodyRefused as refused:
            await send_error(send, refused.status, "bad_request", refused.message)

    async def _bind(self, scope: Scope, receive: Receive) -> Ask:
        values, binder = scope["path_params"], self.calling.binder
        around = binder.around(scope["headers"], self._client_of(scope) if binder.client_names else "")
        if not binder.takes_body:
            return binder.from_url(values, scope["query_string"], around)
        return binder.from_body(values, await read_json_body(scope, receive), around)


async def _send_fresh(fresh: Fresh, status: int, scope: Scope, send: Send) -> None:
    body, headers = fresh.body, [*fresh.content_type, NO_STORE]
    if accepts_gzip(header(scope, b"accept-encoding")) and (squeezed := compress(body)):
        body = squeezed
        headers.append((b"content-encoding", b"gzip"))
    await send_bytes(send, status, body, headers)


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


class ExactRouter(Router):
    """Paths without a parameter are looked up, and only the others are compared with one pattern after the other."""

    def __init__(self, by_path: Mapping[str, ASGIApp]) -> None:
        self._exact = {path: endpoint for path, endpoint in by_path.items() if "{" not in path}
        routes = [Route(path, endpoint) for path, endpoint in by_path.items()]
        super().__init__(routes, redirect_slashes=False, default=no_route)

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = self._exact.get(scope["path"])
        if endpoint is None:
            await super().app(scope, receive, send)
            return
        scope["path_params"] = {}
        await endpoint(scope, receive, send)


def build_router(endpoints: Iterable[tuple[str, str, ASGIApp]]) -> Router:
    """A router over (method, path, endpoint). Paths match exactly; nothing redirects."""
    by_path: dict[str, dict[str, ASGIApp]] = {}
    for method, path, endpoint in endpoints:
        by_path.setdefault(path, {})[method] = endpoint
    return ExactRouter({path: ByMethod(path, methods) for path, methods in by_path.items()})
