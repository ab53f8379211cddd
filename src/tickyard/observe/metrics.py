"""Prometheus metrics, served on a port of their own. Requests are counted in `requests`; `watched` asks others."""

import threading
from collections.abc import Callable
from functools import cache
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server

REGISTRY = CollectorRegistry()

upstream_calls = Counter(
    "tickyard_upstream_calls", "Calls to an upstream by outcome", ["upstream", "outcome"], registry=REGISTRY
)
upstream_seconds = Counter(
    "tickyard_upstream_seconds", "Time spent waiting for an upstream", ["upstream"], registry=REGISTRY
)
upstream_took = Histogram(
    "tickyard_upstream_duration_seconds",
    "How long one try of an upstream took",
    ["upstream"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
    registry=REGISTRY,
)
registry_assets = Gauge("tickyard_registry_assets", "Assets in the served registry", registry=REGISTRY)
registry_refreshes = Counter(
    "tickyard_registry_refreshes", "Registry refreshes by outcome", ["outcome"], registry=REGISTRY
)
registry_changed_identities = Gauge(
    "tickyard_registry_changed_identities",
    "Tokens that the issuer lists as others than we pinned, or in an entry that cannot be read",
    registry=REGISTRY,
)
registry_unlisted = Gauge(
    "tickyard_registry_unlisted", "Tokens that the issuer's list lacks by now, and that are served", registry=REGISTRY
)
registry_confirmed = Gauge(
    "tickyard_registry_confirmed_timestamp_seconds",
    "When the issuer last confirmed the list that is served, Unix seconds",
    registry=REGISTRY,
)
multiplier_differences = Counter(
    "tickyard_multiplier_differences", "Multipliers on which registry and chain disagreed", registry=REGISTRY
)

mirror_steps = Counter(
    "tickyard_mirror_steps", "Looks of the mirror at the chain by outcome", ["outcome"], registry=REGISTRY
)
mirror_drops = Counter("tickyard_mirror_drops", "What the mirror let go, by reason", ["reason"], registry=REGISTRY)
mirror_pools = Gauge("tickyard_mirror_pools", "Pools that the mirror can answer for", registry=REGISTRY)
mirror_feed = Gauge("tickyard_mirror_feed", "Whether a node tells us of new logs by itself", registry=REGISTRY)
mirror_audits = Counter(
    "tickyard_mirror_audits", "Quotes compared with the node by outcome", ["outcome"], registry=REGISTRY
)
for _outcome in ("same", "different"):
    mirror_audits.labels(_outcome)

stream_listeners = Gauge("tickyard_stream_listeners", "Connections of the event stream", registry=REGISTRY)
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
    "tickyard_payout_oldest_claim_seconds",
    "How long the oldest claim waits of which the chain has no transaction",
    registry=REGISTRY,
)
payout_unpaid_s = Gauge(
    "tickyard_payout_oldest_unpaid_seconds",
    "How long the oldest claim waits whose payment is not final",
    registry=REGISTRY,
)
payout_refused = Counter("tickyard_payout_refused", "Payout transactions that a node refused", registry=REGISTRY)
payout_halted = Gauge("tickyard_payout_halted", "1 while payouts are halted", registry=REGISTRY)
payouts = Counter("tickyard_payouts", "Payouts by how they ended", ["outcome"], registry=REGISTRY)
last_slot = Gauge(
    "tickyard_last_slot_seconds",
    "Start of the newest recorded slot, Unix seconds; before the first one, of the slot that was first tried",
    registry=REGISTRY,
)
coverage = Gauge("tickyard_coverage_samples", "Samples of the last 24 hours", ["symbol"], registry=REGISTRY)

task_up = Gauge("tickyard_task_up", "Whether a long-lived task is running", ["task"], registry=REGISTRY)
job_done = Gauge(
    "tickyard_job_done_timestamp_seconds",
    "When a look of this job last succeeded, or the process began, Unix seconds",
    ["task"],
    registry=REGISTRY,
)
task_deaths = Counter("tickyard_task_deaths", "Deaths of long-lived tasks", ["task"], registry=REGISTRY)


listeners: list[Callable[[str, str, float], None]] = []
"""Who else wants to know of each try: nobody, unless traces are on."""


def observe_upstream(name: str, outcome: str, seconds: float) -> None:
    """What clients of upstreams call after each try."""
    calls, waited, took = _upstream_counters(name, outcome)
    calls.inc()
    waited.inc(seconds)
    took.observe(seconds)
    for listener in listeners:
        listener(name, outcome, seconds)


@cache
def _upstream_counters(name: str, outcome: str) -> tuple[Counter, Counter, Histogram]:
    """Kept, because finding a counter by its labels costs more than counting."""
    return upstream_calls.labels(name, outcome), upstream_seconds.labels(name), upstream_took.labels(name)


def serve_metrics(port: int, host: str = "127.0.0.1") -> tuple[WSGIServer, threading.Thread]:
    """Serve the metrics until the returned server is shut down."""
    return start_http_server(port, addr=host, registry=REGISTRY)
