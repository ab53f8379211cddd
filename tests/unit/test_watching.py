"""What is watched: every alarm and every panel asks for a metric that exists, and each alarm has its two series."""

import json
import re
from pathlib import Path

import yaml
from prometheus_client.parser import text_string_to_metric_families

from tickyard.observe.metrics import REGISTRY, observe_upstream, serve_metrics
from tickyard.observe.requests import RequestCounts
from tickyard.observe.watched import watched
from tickyard.processes import api, worker
from yards.running import read_metrics

DEPLOY = Path(__file__).parents[2] / "deploy"
# Read when a process serves, of Prometheus itself, or of the system.
OTHERS = {
    "up", "process_resident_memory_bytes", "process_open_fds", "process_max_fds", "process_cpu_seconds_total",
    "tickyard_http_connections", "tickyard_http_running", "tickyard_front_cache_bytes", "tickyard_store_connections",
    "tickyard_requests_total", "tickyard_request_duration_seconds_bucket",
}  # fmt: skip


def rules():
    return [
        rule
        for group in yaml.safe_load((DEPLOY / "prometheus/alerts.yaml").read_text())["groups"]
        for rule in group["rules"]
    ]


def queries():
    panels = json.loads((DEPLOY / "grafana/tickyard.json").read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel["targets"]]


def metrics():
    observe_upstream("node", "ok", 0.1)
    names = set(OTHERS)
    for family in REGISTRY.collect():
        kinds = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}.get(family.type, [""])
        names |= {family.name + ending for ending in kinds}
    return names


def asked(expression):
    return set(re.findall(r"\b(?:tickyard|process)_[a-z0-9_]+\b|\bup\b(?=\{)", expression))


def test_alarms_and_panels_ask_for_metrics_that_exist():
    known = metrics()
    for expression in (*(rule["expr"] for rule in rules()), *queries()):
        assert asked(expression), expression
        assert asked(expression) <= known, expression


def test_what_a_process_shows_only_while_it_serves_is_registered_by_it():
    source = "".join(Path(module.__file__).read_text() for module in (api, worker))
    source += (Path(api.__file__).parent / "metrics.py").read_text()
    for name in OTHERS:
        if name.startswith(("tickyard_http", "tickyard_front", "tickyard_store")):
            assert f'watched.add("{name}"' in source


def test_every_alarm_is_proven_to_ring_and_to_be_silent_and_says_what_is_wrong():
    names = [rule["alert"] for rule in rules()]
    proven = [test["name"] for test in yaml.safe_load((DEPLOY / "prometheus/alerts.test.yaml").read_text())["tests"]]
    # More may be proven of one: "rings for one chain alone".
    told = sorted({f"{name} {how}" for each in proven for name, how in re.findall(r"^(\w+) (rings|is silent)\b", each)})
    assert told == sorted(f"{name} {how}" for name in names for how in ("rings", "is silent"))
    assert len(set(proven)) == len(proven)
    for rule in rules():
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert rule["annotations"]["summary"]


def test_a_histogram_holds_every_request_once():
    counts = RequestCounts()
    for micros in (50, 100, 101, 4_000, 90_000_000):
        counts.add("/v1/quote", 200 if micros < 1_000_000 else 502, micros)
    requests, seconds, took = counts.collect()
    assert sum(sample.value for sample in requests.samples) == 5
    assert sum(sample.value for sample in seconds.samples) == 90_004_251 / 1e6
    buckets = {s.labels["le"]: s.value for s in took.samples if s.name.endswith("_bucket")}
    assert (buckets["0.0001"], buckets["0.00025"], buckets["0.005"], buckets["30"], buckets["+Inf"]) == (2, 3, 4, 4, 5)


def test_a_crash_that_is_expected_is_none_yet_and_has_taken_no_time():
    counts = RequestCounts()
    counts.expect(["/v1/quote"])
    requests, _, took = counts.collect()
    assert [(sample.labels["status"], sample.value) for sample in requests.samples] == [("500", 0)]
    assert took.samples == []
    counts.add("/v1/quote", 500, 10)
    counts.expect(["/v1/quote"])
    assert [sample.value for sample in counts.collect()[0].samples] == [1]


def test_what_is_scraped_can_be_read():
    watched.add("tickyard_test_gauge", "A test", lambda: 7)
    server, _ = serve_metrics(0)
    try:
        text = read_metrics(server.server_port)
    finally:
        server.shutdown()
        server.server_close()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert families["tickyard_test_gauge"].samples[0].value == 7
    assert "process_resident_memory_bytes" in families
    assert families["tickyard_protocol_refusals"].type == "counter"
