"""What a run costs, by part: how long its tests took, and how long they kept the machine busy.

The two differ where tests wait (sockets, limits) and where somebody else uses the machine: a part that got slower by
the clock and not by the machine was only disturbed. Under `make cover` it also tells which test ran a line and for how
long, which is how `make mutants` knows what to run.
"""

import os
import re
import resource
import sys
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

LOADING: Final = "loading"
LINE: Final = re.compile(r"^part (\w+) +(\d+) tests +([\d.]+) s +machine +([\d.]+) s$", re.MULTILINE)


@dataclass
class Cost:
    tests: int = 0
    seconds: float = 0
    machine_s: float = 0

    def add(self, other: "Cost") -> None:
        self.tests += other.tests
        self.seconds += other.seconds
        self.machine_s += other.machine_s


@dataclass(eq=False)
class Meter:
    began_s: float = field(default_factory=time.monotonic)
    parts: dict[str, Cost] = field(default_factory=dict)
    tests_s: dict[str, float] = field(default_factory=dict)
    """Machine time by test."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        test = item.nodeid.partition("[")[0]
        if (measured := _coverage()) is not None:
            measured.switch_context(test)
        began_s, busy_s = time.monotonic(), machine_s()
        try:
            return (yield)
        finally:
            part = item.path.relative_to(item.config.rootpath / "tests").parts[0]
            cost = Cost(1, time.monotonic() - began_s, machine_s() - busy_s)
            self.parts.setdefault(part, Cost()).add(cost)
            self.tests_s[test] = self.tests_s.get(test, 0) + cost.machine_s

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        whole = Cost(0, time.monotonic() - self.began_s, machine_s())
        for cost in self.parts.values():
            whole.seconds -= cost.seconds
            whole.machine_s -= cost.machine_s
        for line in shown({**self.parts, LOADING: whole}):
            terminalreporter.line(line)
        if (measured := _coverage()) is not None:
            file = Path(measured.get_option("run:data_file")).with_name(f"times.{os.getpid()}")
            file.write_text("".join(f"{seconds:.3f} {test}\n" for test, seconds in self.tests_s.items()))


def machine_s() -> float:
    """What this process and those it has waited for have used."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in used)


def shown(parts: dict[str, Cost]) -> list[str]:
    return [
        f"part {name:<12} {cost.tests:>5} tests {cost.seconds:7.1f} s  machine {cost.machine_s:7.1f} s"
        for name, cost in sorted(parts.items())
    ]


def read(text: str) -> dict[str, Cost]:
    """The parts that a run has shown."""
    return {name: Cost(int(tests), float(s), float(busy)) for name, tests, s, busy in LINE.findall(text)}


def _coverage() -> Any:
    """What measures this process, if anything does."""
    return sys.modules["coverage"].Coverage.current() if "coverage" in sys.modules else None
