"""Traces by OpenTelemetry: from a request to the upstreams it asked and the statements it ran.

Imported only when `TICKYARD_TRACES_URL` is set (`tracing`): a few places are wrapped then. Kept answers are not traced,
they ask nobody. Spans carry route templates, names and statement texts, never a path, a query or a value.
"""

import contextlib
import time
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, Final

from opentelemetry import propagate, trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tickyard.doors.http.edge import ROUTE, Edge
from tickyard.observe import metrics
from tickyard.store.postgres.engine import PostgresTransaction
from tickyard.store.sqlite.engine import SqliteTransaction

_STATEMENT_MAX: Final = 500
_TRANSACTIONS: Final[tuple[Any, ...]] = (SqliteTransaction, PostgresTransaction)


class Tracing:
    """Spans into an exporter, for as long as the block lasts."""

    def __init__(self, exporter: SpanExporter, *, process: str) -> None:
        self._provider = TracerProvider(resource=Resource.create({"service.name": f"tickyard-{process}"}))
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("tickyard")
        self._extract = propagate.extract
        self._server, self._client = trace.SpanKind.SERVER, trace.SpanKind.CLIENT
        self._bad = trace.StatusCode.ERROR
        self._undo = contextlib.ExitStack()

    def start(self, edge: Edge | None = None) -> None:
        if edge is not None:
            edge.wrap(self._around)
        metrics.listeners.append(self._upstream)
        self._undo.callback(metrics.listeners.remove, self._upstream)
        for kind in _TRANSACTIONS:
            for name in ("execute", "fetch"):
                plain = getattr(kind, name)
                setattr(kind, name, self._statement(plain))
                self._undo.callback(setattr, kind, name, plain)

    def stop(self) -> None:
        self._undo.close()
        self._provider.shutdown()

    def _around(self, app: ASGIApp) -> ASGIApp:
        async def traced(scope: Scope, receive: Receive, send: Send) -> None:
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
            parent = self._extract(headers)
            with self._tracer.start_as_current_span(scope["method"], parent, kind=self._server) as span:

                async def noted(message: Message) -> None:
                    if message["type"] == "http.response.start":
                        span.set_attribute("http.response.status_code", message["status"])
                        if message["status"] >= 500:
                            span.set_status(self._bad)
                    await send(message)

                try:
                    await app(scope, receive, noted)
                finally:
                    span.update_name(f"{scope['method']} {scope[ROUTE]}")
                    span.set_attribute("http.route", scope[ROUTE])

        return traced

    def _upstream(self, name: str, outcome: str, seconds: float) -> None:
        """Told when a try is over: the span is put where it was."""
        end = time.time_ns()
        span = self._tracer.start_span(f"ask {name}", kind=self._client, start_time=end - int(seconds * 1e9))
        span.set_attribute("tickyard.outcome", outcome)
        if outcome not in ("ok", "missing", "unchanged"):
            span.set_status(self._bad)
        span.end(end)

    def _statement(self, plain: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        @wraps(plain)
        async def traced(tx: Any, statement: Any, *values: Any) -> Any:
            text = getattr(statement, "for_postgresql", None) or str(statement)
            with self._tracer.start_as_current_span(f"sql {text.split(None, 1)[0]}", kind=self._client) as span:
                span.set_attribute("db.query.text", text[:_STATEMENT_MAX])
                return await plain(tx, statement, *values)

        return traced
