"""How many requests were answered, how, and how fast.

Counting a request must cost next to nothing, so requests are counted in plain lists and turned into metric families
only when somebody scrapes.
"""

from bisect import bisect_left
from collections.abc import Iterable
from typing import Final

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from tickyard.observe.metrics import REGISTRY

BOUNDS_US: Final = (
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
    5_000_000, 10_000_000, 30_000_000,
)  # fmt: skip
_BUCKETS: Final = len(BOUNDS_US) + 1


class RequestCounts(Collector):
    """Requests and time by route template and status; how long they took, by route template."""

    def __init__(self) -> None:
        self._cells: dict[tuple[str, int], list[int]] = {}
        """Requests, microseconds, and how many took up to each bound."""

    def expect(self, routes: Iterable[str]) -> None:
        """Show their crashes from the start: an alarm on what is not there yet would not ring for the first."""
        for route in routes:
            self._cells.setdefault((route, 500), [0] * (_BUCKETS + 2))

    def add(self, route: str, status: int, micros: int) -> None:
        cell = self._cells.get((route, status))
        if cell is None:
            cell = self._cells[route, status] = [0] * (_BUCKETS + 2)
        cell[0] += 1
        cell[1] += micros
        cell[2 + bisect_left(BOUNDS_US, micros)] += 1

    def collect(self) -> Iterable[Metric]:
        requests = CounterMetricFamily("tickyard_requests", "Requests answered", labels=["route", "status"])
        seconds = CounterMetricFamily("tickyard_request_seconds", "Time to answer", labels=["route", "status"])
        routes: dict[str, list[int]] = {}
        for (route, status), cell in list(self._cells.items()):
            requests.add_metric([route, str(status)], cell[0])
            seconds.add_metric([route, str(status)], cell[1] / 1e6)
            routes[route] = [mine + more for mine, more in zip(routes.get(route, [0] * len(cell)), cell, strict=True)]
        took = HistogramMetricFamily("tickyard_request_duration_seconds", "Time to answer", labels=["route"])
        for route, cell in routes.items():
            if not cell[0]:
                continue
            took.add_metric([route], _cumulated(cell[2:]), sum_value=cell[1] / 1e6)
        return [requests, seconds, took]


def _cumulated(counts: list[int]) -> list[tuple[str, float]]:
    """As the format wants it: each bucket holds all that are faster as well."""
    total, buckets = 0, []
    for bound, count in zip([*(f"{bound / 1e6:g}" for bound in BOUNDS_US), "+Inf"], counts, strict=True):
        total += count
        buckets.append((bound, float(total)))
    return buckets


request_counts = RequestCounts()
REGISTRY.register(request_counts)
