"""Rows of times next to a reference's: how many times as long we take, and whether that is within the goal."""

import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from statistics import median

from bench.report import SPREAD_MAX, Verdict, spread, versions

Work = Callable[[int], Awaitable[object]]


@dataclass(frozen=True)
class Times:
    """Blocks of neighbouring times in milliseconds; each block gives one ratio."""

    name: str
    goal: float
    ours: list[float]
    reference: list[float]
    note: str = ""

    @property
    def ratios(self) -> list[float]:
        return [ours / theirs for ours, theirs in zip(self.ours, self.reference, strict=True)]

    @property
    def ratio(self) -> float:
        return median(self.ratios)

    @property
    def verdict(self) -> Verdict:
        if spread(self.ratios) > SPREAD_MAX and min(self.ratios) <= self.goal < max(self.ratios):
            return Verdict.TOO_NOISY
        return Verdict.OK if self.ratio <= self.goal else Verdict.MISSED


def is_machine_busy() -> bool:
    """Whether more wants to run than there are cores, beyond the process and the server that a bench keeps busy."""
    return os.getloadavg()[0] > (os.cpu_count() or 1) + 1


@dataclass(frozen=True)
class Figure:
    """A figure with a limit of its own, or none."""

    name: str
    value: float
    unit: str
    goal: float | None = None
    is_floor: bool = False
    is_disturbed: bool = field(default_factory=is_machine_busy)
    """It has no reference beside it: on a machine that others keep busy it cannot be missed."""

    @property
    def verdict(self) -> Verdict:
        if self.goal is None:
            return Verdict.OK
        is_met = self.value >= self.goal if self.is_floor else self.value <= self.goal
        if is_met:
            return Verdict.OK
        return Verdict.TOO_NOISY if self.is_disturbed else Verdict.MISSED


async def side_by_side(
    name: str, ours: Work, reference: Work, goal: float, *, blocks: int = 7, each: int = 40, note: str = ""
) -> Times:
    """Call both in turn, who is first changing each time, and take the median of every block.

    Both get the same number, so that they may do the same thing, and no number comes twice.
    """
    rows: tuple[list[float], list[float]] = ([], [])
    at = 0
    for block in range(blocks + 1):
        took: tuple[list[float], list[float]] = ([], [])
        for _ in range(each):
            at += 1
            pairs = [(ours, took[0]), (reference, took[1])]
            for work, times in pairs if at % 2 else reversed(pairs):
                began = time.perf_counter()
                await work(at)
                times.append((time.perf_counter() - began) * 1000)
        # The first block warms up.
        if block:
            for side, times in zip(rows, took, strict=True):
                side.append(median(times))
    return Times(name, goal, *rows, note=note)


_HEADINGS = ("case", "ms", "ref ms", "ratio", "goal", "spread", "verdict", "")


def show(rows: list[Times], figures: list[Figure]) -> int:
    """Print the tables; returns the exit code."""
    print(versions())
    lines = [_HEADINGS, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(_HEADINGS))]
    for line in lines:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())
    for figure in figures:
        goal = "" if figure.goal is None else f"   goal {'>=' if figure.is_floor else '<='} {figure.goal:g}"
        verdict = "" if figure.goal is None else f"   {_word(figure.verdict)}"
        print(f"{figure.name:56} {figure.value:9.2f} {figure.unit}{goal}{verdict}")
    worst = max((each.verdict for each in (*rows, *figures)), key=lambda verdict: verdict.value)
    if worst is Verdict.TOO_NOISY:
        print(
            f"Too noisy for a verdict: a spread over {SPREAD_MAX:.0%} around a goal, or a busy machine. Run it again."
        )
    return worst.value


def _cells(row: Times) -> tuple[str, ...]:
    def number(ratio: float) -> str:
        return f"{ratio:.2f}x" if row.goal >= 1 else f"{ratio:.2%}"

    return (
        row.name,
        f"{median(row.ours):.3f}",
        f"{median(row.reference):.3f}",
        number(row.ratio),
        number(row.goal),
        f"{spread(row.ratios):.0%}",
        _word(row.verdict),
        row.note,
    )


def _word(verdict: Verdict) -> str:
    return verdict.name.lower().replace("_", " ")
