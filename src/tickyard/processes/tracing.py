"""Whether traces are made. Off by default: whoever runs without pays nothing, not even an import."""

import contextlib

from tickyard.config.settings import Settings
from tickyard.doors.http.edge import Edge
from tickyard.observe.log import log


def start_tracing(settings: Settings, process: str, stack: contextlib.AsyncExitStack, edge: Edge | None = None) -> None:
    """Until the end of the stack; nothing at all without an address to send traces to."""
    if not settings.traces_url:
        return
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    from tickyard.processes.traces import Tracing

    tracing = Tracing(OTLPSpanExporter(endpoint=f"{settings.traces_url}/v1/traces", timeout=5), process=process)
    tracing.start(edge)
    stack.callback(tracing.stop)
    log.info("tracing")
