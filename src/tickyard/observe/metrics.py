"""Prometheus metrics, served on a loopback port of their own.

Counting a request must cost next to nothing, so requests are counted in plain dictionaries and turned into
metric families only when somebody scrapes.
"""

import threading
from collections.abc import Iterable
from functools import cache
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, Counter, Gauge, start_http_server
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

REGISTRY = CollectorRegistry()

upstream_calls = Counter(
    "tickyard_upstream_calls", "Calls to an upstream by outcome", ["upstream", "outcome"], registry=REGISTRY
)
upstream_seconds = Counter(
    "tickyard_upstream_seconds", "Time spent waiting for an upstream", ["upstream"], registry=REGISTRY
)
registry_assets = Gauge("tickyard_registry_assets", "Assets in the served registry", registry=REGISTRY)
registry_refreshes = Counter(
    "tickyard_registry_refreshes", "Registry refreshes by outcome", ["outcome"], registry=REGISTRY
)
multiplier_differences = Counter(
    "tickyard_multiplier_differences", "Multipliers on which registry and chain disagreed", registry=REGISTRY
)

samples_recorded = Counter("tickyard_samples", "Samples recorded", registry=REGISTRY)
samples_skipped = Counter("tickyard_samples_skipped", "Tokens without a price in a round", registry=REGISTRY)
alerts_fired = Counter("tickyard_alerts_fired", "Alerts fired", registry=REGISTRY)
deliveries = Counter("tickyard_deliveries", "Webhook deliveries by how they ended", ["outcome"], registry=REGISTRY)
for _outcome in ("delivered", "failed", "unknown"):
    # Shown from the start: an alarm on what is not there yet would never ring.
    deliveries.labels(_outcome)
outbox_pending = Gauge("tickyard_outbox_pending", "Webhooks that wait to be sent", registry=REGISTRY)
outbox_overdue_s = Gauge(
    "tickyard_outbox_overdue_seconds", "How long the webhook that is longest due has been waiting", registry=REGISTRY
)
earn_late_epochs = Gauge("tickyard_earn_late_epochs", "Epochs with a step that is overdue", registry=REGISTRY)
earn_owed = Gauge("tickyard_earn_owed_microdollars", "What the payout account must be able to pay", registry=REGISTRY)
earn_balance = Gauge("tickyard_earn_balance_microdollars", "What the payout account holds", registry=REGISTRY)
earn_allowance = Gauge(
    "tickyard_earn_allowance_microdollars", "What the desk may still move for the payout account", registry=REGISTRY
)
payout_oldest_s = Gauge(
    "tickyard_payout_oldest_claim_seconds", "How long the oldest claim without a transaction waits", registry=REGISTRY
)
payout_refused = Counter("tickyard_payout_refused", "Payout transactions that a node refused", registry=REGISTRY)
payout_halted = Gauge("tickyard_payout_halted", "1 while payouts are halted", registry=REGISTRY)
payouts = Counter("tickyard_payouts", "Payouts by how they ended", ["outcome"], registry=REGISTRY)
last_slot = Gauge("tickyard_last_slot_seconds", "Start of the newest recorded slot, Unix seconds", registry=REGISTRY)
coverage = Gauge("tickyard_coverage_samples", "Samples of the last 24 hours", ["symbol"], registry=REGISTRY)


class RequestCounts(Collector):
    """Requests and time by route template and status."""

    def __init__(self) -> None:
        self._cells: dict[tuple[str, int], list[int]] = {}
        """Requests and microseconds."""

    def add(self, route: str, status: int, micros: int) -> None:
        cell = self._cells.get((route, status))
        if cell is None:
            cell = self._cells[route, status] = [0, 0]
        cell[0] += 1
        cell[1] += micros

    def collect(self) -> Iterable[Metric]:
        requests = CounterMetricFamily("tickyard_requests", "Requests answered", labels=["route", "status"])
        seconds = CounterMetricFamily("tickyard_request_seconds", "Time to answer", labels=["route", "status"])
        for (route, status), (count, micros) in list(self._cells.items()):
            requests.add_metric([route, str(status)], count)
            seconds.add_metric([route, str(status)], micros / 1e6)
        return [requests, seconds]


request_counts = RequestCounts()
REGISTRY.register(request_counts)


def observe_upstream(name: str, outcome: str, seconds: float) -> None:
    """What clients of upstreams call after each try."""
    calls, waited = _upstream_counters(name, outcome)
    calls.inc()
    waited.inc(seconds)


@cache
def _upstream_counters(name: str, outcome: str) -> tuple[Counter, Counter]:
    """Kept, because finding a counter by its labels costs more than counting."""
    return upstream_calls.labels(name, outcome), upstream_seconds.labels(name)


def serve_metrics(port: int) -> tuple[WSGIServer, threading.Thread]:
    """Serve the metrics on loopback until the returned server is shut down."""
    return start_http_server(port, addr="127.0.0.1", registry=REGISTRY)
