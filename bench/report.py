"""Rows of figures, and what they allow us to say."""

import platform
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from importlib.metadata import version
from statistics import median

from bench.load import Sample, Target, measure

SPREAD_MAX = 0.25


class Verdict(Enum):
    """The value is the exit code; the worst row decides."""

    OK = 0
    MISSED = 1
    TOO_NOISY = 3


@dataclass(frozen=True)
class Row:
    name: str
    goal: float
    service: list[Sample]
    reference: list[Sample]

    def ratios(self) -> list[float]:
        """Requests per second against the reference, of neighbours in time: the machine's moods cancel out."""
        return [ours.per_second / theirs.per_second for ours, theirs in zip(self.service, self.reference, strict=True)]

    @property
    def ratio(self) -> float:
        return median(self.ratios())

    @property
    def spread(self) -> float:
        """The widest of the figures that the verdict rests on."""
        return max(
            spread(self.ratios()), *(spread([s.cpu_us for s in side]) for side in (self.service, self.reference))
        )

    @property
    def is_client_bound(self) -> bool:
        return any(sample.is_client_bound for sample in self.reference)

    @property
    def verdict(self) -> Verdict:
        if self.spread > SPREAD_MAX or self.is_client_bound:
            return Verdict.TOO_NOISY
        return Verdict.OK if self.ratio >= self.goal else Verdict.MISSED


def spread(figures: list[float]) -> float:
    return (max(figures) - min(figures)) / median(figures)


async def compare(
    name: str,
    service: Target,
    reference: Target,
    goal: float,
    *,
    repetitions: int = 5,
    seconds: float = 1.5,
    connections: int = 32,
) -> Row:
    """Load both in turn, so that whatever slows the machine slows both."""
    samples: tuple[list[Sample], list[Sample]] = ([], [])
    await measure(service, connections=connections, seconds=0.5)
    await measure(reference, connections=connections, seconds=0.5)
    for _ in range(repetitions):
        for target, side in zip((service, reference), samples, strict=True):
            side.append(await measure(target, connections=connections, seconds=seconds))
    return Row(name, goal, *samples)


def versions() -> str:
    flags = sysconfig.get_config_var("CONFIG_ARGS") or ""
    optimised = "PGO" if "--enable-optimizations" in flags else "no PGO"
    linked = "LTO" if "--with-lto" in flags else "no LTO"
    libraries = " ".join(f"{name} {version(name)}" for name in ("uvicorn", "uvloop", "httptools"))
    return f"Python {platform.python_version()} ({optimised}, {linked}), {libraries}, {platform.machine()}"


_HEADINGS = ("case", "CPU us", "ref us", "req/s", "ref/s", "share", "goal", "spread", "verdict")


def show(rows: list[Row], *, say: Callable[[str], None] = print) -> int:
    """Print the table; returns the exit code."""
    say(versions())
    lines = [_HEADINGS, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(_HEADINGS))]
    for line in lines:
        say("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())
    if any(row.is_client_bound for row in rows):
        say("The load generator was the bottleneck: requests per second say nothing here.")
    worst = max((row.verdict for row in rows), key=lambda verdict: verdict.value)
    if worst is Verdict.TOO_NOISY:
        say(f"Too noisy for a verdict: a spread over {SPREAD_MAX:.0%}. Run it again on a quieter machine.")
    return worst.value


def _cells(row: Row) -> tuple[str, ...]:
    verdict = row.verdict.name.lower().replace("_", " ")
    return (
        row.name,
        f"{median(s.cpu_us for s in row.service):.1f}",
        f"{median(s.cpu_us for s in row.reference):.1f}",
        f"{median(s.per_second for s in row.service):.0f}",
        f"{median(s.per_second for s in row.reference):.0f}",
        f"{row.ratio:.0%}",
        f"{row.goal:.0%}",
        f"{row.spread:.0%}",
        verdict,
    )
