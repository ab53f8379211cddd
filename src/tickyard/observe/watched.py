"""Figures that somebody else keeps anyway, read when a scrape asks for them; and those of the process itself."""

from collections.abc import Callable, Iterable

from prometheus_client import Counter, Gauge, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from tickyard.observe.lines import standard_error
from tickyard.observe.metrics import REGISTRY

protocol_refusals = Counter(
    "tickyard_protocol_refusals", "Connections refused before a request was read", ["status"], registry=REGISTRY
)
for _status in ("400", "431", "500", "501", "502"):
    # Shown from the start: an alarm on what is not there yet would never ring.
    protocol_refusals.labels(_status)
head_at = Gauge(
    "tickyard_head_timestamp_seconds", "When the newest block we have seen was made, Unix seconds", ["chain"],
    registry=REGISTRY,
)  # fmt: skip

head_ahead_s = Gauge(
    "tickyard_head_ahead_seconds", "How far the newest block we have seen was ahead of our own clock", ["chain"],
    registry=REGISTRY,
)  # fmt: skip
node_url_up = Gauge(
    "tickyard_node_url_up", "Whether one of several node URLs answers, by its place in the setting", ["chain", "place"],
    registry=REGISTRY,
)  # fmt: skip


def note_head(chain_id: int, made_at_s: int, now_s: float) -> None:
    """`now_s`: by our own clock, which may be wrong. The one of whoever reads this later may be right."""
    head_at.labels(str(chain_id)).set(made_at_s)
    head_ahead_s.labels(str(chain_id)).set(made_at_s - now_s)


class Watched(Collector):
    """Gauges by name, each with what it means and who knows it."""

    def __init__(self) -> None:
        self._figures: dict[str, tuple[str, Callable[[], float]]] = {}

    def add(self, name: str, meaning: str, read: Callable[[], float]) -> None:
        """The newest reader of a name wins: a process has one of each."""
        self._figures[name] = (meaning, read)

    def collect(self) -> Iterable[Metric]:
        for name, (meaning, read) in list(self._figures.items()):
            yield GaugeMetricFamily(name, meaning, value=read())


class LostLines(Collector):
    """What a full or closed standard error has swallowed."""

    def collect(self) -> Iterable[Metric]:
        lost = CounterMetricFamily("tickyard_log_lines_lost", "Log lines that could not be written")
        lost.add_metric([], standard_error().lost)
        return [lost]


watched = Watched()
REGISTRY.register(watched)
REGISTRY.register(LostLines())
# CPU, memory, open files and start time, under the names that everybody's dashboards know.
ProcessCollector(registry=REGISTRY)
