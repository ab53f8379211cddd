"""The outermost layer: what every answer has in common.

Request id, CORS, rate limit, the front cache, access line and metrics, and the last resort that turns a crash
into an Error object. It is one class and not a stack of middlewares because each layer would cost every request.
"""

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tickyard.doors.http.answers import JSON, NO_STORE, Headers, is_worth_squeezing, send_error, send_too_many
from tickyard.doors.http.cache import FrontCache, KeptEntry, head_lines, send_entry
from tickyard.doors.http.heads import GOOD_HOSTS
from tickyard.doors.http.limits import LimitVerdict, RateLimit
from tickyard.kernel.clock import Clock
from tickyard.kernel.wire import iso
from tickyard.observe.log import AccessLog, log
from tickyard.observe.requests import request_counts

ROUTE: Final = "tickyard.route"
"""The scope key under which an endpoint leaves its path template, for log and metrics."""

_SAFE_ID: Final = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")
_ID_MAX: Final = 64
Ready = tuple[bytes, bytes]
"""The head of an answer as it travels, without the empty line at its end, and its body."""
AtOnce = Callable[[bytes], bytes | None]
"""From a query to the body of a JSON answer for this caller alone; None: it takes the long way."""
_FRESH: Final = b"HTTP/1.1 200 OK\r\n" + head_lines([*JSON, NO_STORE]) + b"content-length: %d\r\n"
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "DELETE", "OPTIONS", "PUT", "PATCH"})

_EXPOSED: Final = (
    b"PAYMENT-REQUIRED, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE, ETag, RateLimit, RateLimit-Policy, Retry-After, "
    b"X-Request-Id"
)
_ALLOWED: Final = (
    b"PAYMENT-SIGNATURE, X-PAYMENT, Content-Type, If-None-Match, Authorization, X-Request-Id, X-Svc-Alert-Secret, "
    b"Mcp-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-ID, SIGN-IN-WITH-X, Accept, "
    # The stock payment client sends this one as if it were a request header.
    b"Access-Control-Expose-Headers"
)
_CORS: Final[Headers] = [
    (b"access-control-allow-origin", b"*"),
    (b"access-control-expose-headers", _EXPOSED),
    (b"x-content-type-options", b"nosniff"),
]
_PREFLIGHT: Final[Headers] = [
    (b"access-control-allow-methods", b"GET, HEAD, POST, DELETE, OPTIONS"),
    (b"access-control-allow-headers", _ALLOWED),
    (b"access-control-max-age", b"86400"),
]
# Never limited: probes, and the paid twins, whose callers must meet the challenge first.
_READINESS: Final = b"/readyz"
_UNLIMITED: Final = (b"/v1/x402/", b"/healthz", _READINESS)


@dataclass(slots=True)
class _Exchange:
    """What happened to one request, for the access line."""

    send: Send
    extra: Headers
    status: int = 0
    size: int = 0
    has_started: bool = field(default=False)

    async def forward(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_started = True
            self.status = message["status"]
            message["headers"] = [*message.get("headers", []), *self.extra]
        else:
            self.size += len(message.get("body", b""))
        await self.send(message)


class Edge:
    def __init__(
        self,
        app: ASGIApp,
        cache: FrontCache,
        clock: Clock,
        *,
        rate_limit: RateLimit | None,
        access_log: AccessLog | None,
        profile_header: bytes | None,
    ) -> None:
        self._app = app
        self._cache = cache
        self._clock = clock
        self._limit = rate_limit
        self._access_log = access_log
        self._extra = [*_CORS, *([(b"x-tickyard-profile", profile_header)] if profile_header else [])]
        self._extra_lines = head_lines(self._extra)
        self._id_prefix = secrets.token_hex(6).encode()
        self._id_count = 0
        self._second = (0, "")
        self.at_once: Mapping[bytes, AtOnce] = {}
        """Paths whose answer is often there without waiting."""
        self.is_leaving = False
        """This process is about to end: whoever decides where requests go should send them elsewhere."""

    def wrap(self, around: Callable[[ASGIApp], ASGIApp]) -> None:
        """Put something between the edge and what answers."""
        self._app = around(self._app)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        began = time.perf_counter_ns()
        method, asked = scope["method"], dict(scope["headers"])
        request_id = self._request_id(asked)
        extra = [(b"x-request-id", request_id), *self._extra]
        verdict = self._count(scope)
        if verdict is not None:
            extra += verdict.headers
        exchange = _Exchange(send, extra)
        if verdict is not None and not verdict.is_allowed:
            await send_too_many(exchange.forward, verdict.retry_after_s)
            route = "(limited)"
        elif (entry := self._kept(scope)) is not None:
            await send_entry(entry, scope, exchange.forward)
            route = entry.route
        else:
            route = await self._answer(scope, receive, exchange)
        self._note(began, method, route, exchange.status, exchange.size, request_id)

    def ready(self, method: str, target: bytes, headers: Headers, client: tuple[str, int] | None) -> Ready | None:
        """An answer that is kept or can be made at once, as it travels: its head without the empty line, and its body.
        None: ask the long way.

        The one hot path. For a server that can write to its socket by itself, this costs half of what a scope, a task
        and two messages do. Kept flat: a call more is felt by every request.
        """
        entry = self._cache.get(target, self._clock.timestamp())
        path, _, query = target.partition(b"?") if entry is None else (b"", b"", b"")
        answer = self.at_once.get(path)
        if (entry is None and answer is None) or self.is_leaving:
            return None
        began = time.perf_counter_ns()
        asked = dict(headers)
        if b"content-length" in asked or b"transfer-encoding" in asked:
            return None
        # A header given twice, or a host nobody has looked at yet, is looked at on the long way.
        if len(asked) != len(headers) or asked.get(b"host") not in GOOD_HOSTS:
            return None
        if entry is not None:
            form = entry.choose(asked)
            status, start, body, route = form.status, form.head, form.body, entry.route
        else:
            assert answer is not None
            made = answer(query)
            if made is None or is_worth_squeezing(made):
                return None
            status, start, body, route = 200, _FRESH % len(made), made, path.decode()
        limits = b""
        if self._limit is not None:
            verdict = self._limit.take({"client": client, "headers": headers}, self._clock.monotonic())
            if not verdict.is_allowed:
                return None
            limits = head_lines(verdict.headers)
        request_id = self._request_id(asked)
        head = b"%b%b%bx-request-id: %b\r\n" % (start, self._extra_lines, limits, request_id)
        body = body if method == "GET" else b""
        self._note(began, method, route, status, len(body), request_id)
        return head, body

    def _note(self, began: int, method: str, route: str, status: int, size: int, request_id: bytes) -> None:
        micros = (time.perf_counter_ns() - began) // 1000
        request_counts.add(route, status, micros)
        if self._access_log is not None:
            method = method if method in _METHODS else "OTHER"
            self._access_log.add(self._timestamp(), method, route, status, micros, size, request_id.decode())

    def _request_id(self, asked: Mapping[bytes, bytes]) -> bytes:
        given = asked.get(b"x-request-id")
        if given and len(given) <= _ID_MAX and _SAFE_ID.issuperset(given):
            return given
        self._id_count += 1
        return b"%b-%x" % (self._id_prefix, self._id_count)

    def _kept(self, scope: Scope) -> KeptEntry | None:
        if scope["method"] not in ("GET", "HEAD"):
            return None
        target, query = scope["raw_path"], scope["query_string"]
        return self._cache.get(target + b"?" + query if query else target, self._clock.timestamp())

    def _count(self, scope: Scope) -> LimitVerdict | None:
        """Count the request against its client's limit. None: it does not count."""
        if self._limit is None or scope["method"] == "OPTIONS" or scope["raw_path"].startswith(_UNLIMITED):
            return None
        return self._limit.take(scope, self._clock.monotonic())

    async def _answer(self, scope: Scope, receive: Receive, exchange: _Exchange) -> str:
        """Answer what is not kept; returns the request's route template."""
        if scope["method"] == "OPTIONS":
            await exchange.forward({"type": "http.response.start", "status": 204, "headers": [*_PREFLIGHT]})
            await exchange.forward({"type": "http.response.body", "body": b""})
            return "OPTIONS"
        # Routes match the path as it was sent: an encoded slash or dot is then just a character of a parameter.
        scope["path"] = scope["raw_path"].decode("latin-1")
        scope[ROUTE] = "(none)"
        if self.is_leaving and scope["raw_path"] == _READINESS:
            await send_error(exchange.forward, 503, "upstream_error", "not ready: this process is stopping")
            return _READINESS.decode()
        try:
            await self._app(scope, receive, exchange.forward)
        except asyncio.CancelledError:
            if not self.is_leaving:
                raise
            if not exchange.has_started:
                message = "the service was restarted before it could answer; send the same request again"
                await send_error(exchange.forward, 502, "upstream_error", message, [(b"retry-after", b"1")])
        except Exception:  # noqa: BLE001  the last resort: whatever escapes is a bug and becomes a 500
            log.exception("request crashed", route=scope[ROUTE], request_id=exchange.extra[0][1].decode())
            if not exchange.has_started:
                message = "something went wrong on our side; the request id is in the X-Request-Id header"
                await send_error(exchange.forward, 500, "internal_error", message)
        return str(scope[ROUTE])

    def _timestamp(self) -> str:
        second = self._clock.seconds()
        if second != self._second[0]:
            self._second = (second, iso(self._clock.now().replace(microsecond=0)))
        return self._second[1]
