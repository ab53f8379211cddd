"""Traces: a request, the upstreams it asked and the statements it ran are one tree; without them nothing is imported."""

import asyncio
import http.server
import subprocess
import sys
import threading

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from sqlalchemy import text

from tickyard.doors.http.cache import FrontCache
from tickyard.doors.http.edge import Edge
from tickyard.doors.routes import build_router
from tickyard.kernel.clock import WallClock
from tickyard.observe import metrics
from tickyard.observe.metrics import observe_upstream
from tickyard.processes.traces import Tracing
from tickyard.store.opening import open_store
from tickyard.store.sqlite.engine import SqliteTransaction
from yards import asgi
from yards.patience import STUCK_S

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_one_request_is_one_tree_from_the_door_to_the_store(tmp_path):
    spans = InMemorySpanExporter()
    plain = SqliteTransaction.execute

    async def scenario():
        store = open_store(str(tmp_path / "x.db"), WallClock())

        async def work(_scope, _receive, send):
            observe_upstream("node", "timeout", 0.25)
            async with store.read() as tx:
                await tx.execute(text("SELECT 1"))
            await send({"type": "http.response.start", "status": 502, "headers": []})
            await send({"type": "http.response.body", "body": b"{}"})

        clock = WallClock()
        router = build_router([("GET", "/v1/things/{name}", work)])
        edge = Edge(router, FrontCache(clock), clock, rate_limit=None, access_log=None, profile_header=None)
        tracing = Tracing(spans, process="test")
        tracing.start(edge)
        try:
            path = "/v1/things/secret-name?q=secret"
            return await asgi.ask_app(edge, "GET", path, headers={"traceparent": PARENT})
        finally:
            tracing.stop()
            await store.close()

    assert asyncio.run(scenario()).status == 502
    found = {span.name: span for span in spans.get_finished_spans()}
    request, asked, ran = found["GET /v1/things/{name}"], found["ask node"], found["sql SELECT"]
    assert format(request.context.trace_id, "032x") == PARENT.split("-")[1]
    assert asked.parent.span_id == ran.parent.span_id == request.context.span_id
    assert (asked.end_time - asked.start_time) // 1_000_000 == 250
    assert request.attributes["http.response.status_code"] == 502
    assert "secret" not in "".join(span.to_json() for span in found.values())
    # And all is as it was.
    assert SqliteTransaction.execute is plain
    assert metrics.listeners == []


@pytest.mark.slow
def test_without_an_address_nothing_of_it_is_imported():
    code = (
        "import sys, tickyard.processes.api, tickyard.processes.worker; "
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=STUCK_S, check=True)
    assert done.stdout == "[]\n"


def test_traces_reach_a_collector_as_it_wants_them(tmp_path):
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    received = []

    class Collector(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            received.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        exporter = OTLPSpanExporter(endpoint=f"http://127.0.0.1:{server.server_port}/v1/traces", timeout=5)
        tracing = Tracing(exporter, process="test")
        tracing.start()
        observe_upstream("issuer", "ok", 0.1)
        tracing.stop()
        server.shutdown()
    ((path, body),) = received
    assert path == "/v1/traces"
    assert b"ask issuer" in body
