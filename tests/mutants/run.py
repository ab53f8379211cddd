"""`python -m mutants.run N [SEED]`: N breaks drawn by the seed, two at a time; those that no test noticed are printed.

Each break is made in a copy of the source, and the tests that run its line are run against the copy, also by the
processes they start. known.toml lists the breaks that survived once. Those that a test notices since must never come
back; those that harm nothing are not drawn.
"""

import argparse
import signal
import sys
import time
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from random import Random, SystemRandom
from typing import Any, Final

from mutants.coverage_map import ROOT, CoverageMap
from mutants.mutations import Mutation, mutations
from mutants.nursery import Job, Nursery, Verdict

SOURCE: Final = ROOT / "src" / "tickyard"
KNOWN: Final = Path(__file__).with_name("known.toml")
ROOMS: Final = (
    "chain",
    "market",
    "payments",
    "payout",
    "features/alerts",
    "features/earn",
    "features/history",
    "features/trades",
    "features/stats.py",
)
WANTED: Final = 0.90
# Below this many the share is luck.
ENOUGH: Final = 100
# Tests take turns on a busy machine; a break that hangs is noticed all the same.
PATIENCE: Final = 10
LEAST_S: Final = 60
# Every line of the kernel of a room is run by hundreds: those that know it best come first.
MOST_S: Final = 120
TOLD_EVERY: Final = 50


@dataclass
class Tally:
    killed: int = 0
    unnamed: int = 0
    """Killed by no test in particular: the code did not load, or hung."""
    survived: list[Mutation] = field(default_factory=list)
    unrun: list[Mutation] = field(default_factory=list)
    unproven: list[Mutation] = field(default_factory=list)
    back: list[Mutation] = field(default_factory=list)

    @property
    def share(self) -> float:
        judged = self.killed + len(self.survived) + len(self.unrun)
        return self.killed / judged if judged else 1.0


def main(words: list[str]) -> int:
    asked = _arguments(words)
    rng = Random(asked.seed)
    known = tomllib.loads(KNOWN.read_text()).get("known", [])
    everything = [m for file in _files(asked.rooms) for m in mutations(file, (ROOT / file).read_bytes())]
    by_identity = {mutation.identity: mutation for mutation in everything}
    map_ = CoverageMap.read()
    jobs = _known_jobs(known, by_identity)
    harmless = {_identity(entry) for entry in known if "harmless" in entry}
    fresh = [m for m in everything if m.identity not in harmless and m.identity not in {j.what.identity for j in jobs}]
    drawn = rng.sample(fresh, min(asked.n, len(fresh)))
    tally = Tally()
    for mutation in drawn:
        tests = map_.tests(mutation.file, {mutation.line, mutation.statement}, mutation.name)
        if tests:
            jobs.append(Job(mutation, *_within(tests, map_, asked.seconds)))
        else:
            tally.unrun.append(mutation)
    print(
        f"{len(everything)} breaks possible, {len(drawn)} drawn, {len(jobs) - len(drawn) + len(tally.unrun)} known ones"
    )
    began = time.monotonic()
    # A run that is told to stop ends what it has started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    told: list[tuple[Job, Verdict]] = []
    try:
        _judge(Nursery(ROOT, asked.seed).run(jobs, lambda job, verdict: _tell(job, verdict, told)), tally)
    except KeyboardInterrupt:
        print(f"left early: {len(told)} of {len(jobs)} were tried, and their tests not without them")
        _judge(told, tally)
    _say(tally, asked.seed, time.monotonic() - began)
    return 1 if tally.back or (len(drawn) >= ENOUGH and tally.share < WANTED) else 0


def _arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="mutants")
    parser.add_argument("n", type=int)
    parser.add_argument("seed", type=int, nargs="?", default=SystemRandom().randrange(10**9))
    parser.add_argument("--rooms", nargs="*", default=ROOMS, help="folders or files below src/tickyard")
    parser.add_argument("--seconds", type=float, default=MOST_S, help="of tests that one break is tried with")
    return parser.parse_args(words)


def _files(rooms: list[str]) -> list[str]:
    paths = [path for room in rooms for path in sorted((SOURCE / room).rglob("*.py")) or [SOURCE / room]]
    return [str(path.relative_to(ROOT)) for path in paths]


def _identity(entry: dict[str, Any]) -> tuple[str, str, str]:
    return entry["file"], entry["before"], entry["after"]


def _known_jobs(known: list[dict[str, Any]], by_identity: dict[tuple[str, str, str], Mutation]) -> list[Job]:
    """What survived once and must not again: the test written for it is enough."""
    jobs = []
    for entry in known:
        mutation = by_identity.get(_identity(entry))
        if "killed_by" in entry and mutation is not None:
            jobs.append(Job(mutation, [entry["killed_by"]], LEAST_S, is_known=True))
        elif mutation is None and entry["file"] in {file for file, _, _ in by_identity}:
            print(f"the code has moved on, take it off the list: {entry['file']}: {entry['before']}")
    return jobs


def _within(tests: list[str], map_: CoverageMap, most_s: float) -> tuple[list[str], float]:
    """Those that fit, and one at least: a slow one does not take the place of the many quick ones behind it."""
    chosen, cost_s = [], 0.0
    for test in tests:
        taken_s = map_.cost_s([test])
        if cost_s + taken_s <= most_s:
            chosen.append(test)
            cost_s += taken_s
    if not chosen:
        chosen, cost_s = tests[:1], map_.cost_s(tests[:1])
    return chosen, max(LEAST_S, PATIENCE * min(cost_s, most_s))


def _tell(job: Job, verdict: Verdict, told: list[tuple[Job, Verdict]]) -> None:
    """At once: a long run can be left early."""
    told.append((job, verdict))
    if len(told) % TOLD_EVERY == 0:
        print(f"{len(told)} tried", flush=True)
    if not verdict.is_killed:
        print(f"survived {len(job.tests)} tests: {job.what}", flush=True)


def _judge(verdicts: list[tuple[Job, Verdict]], tally: Tally) -> None:
    for job, verdict in verdicts:
        if job.is_known:
            if not verdict.is_killed:
                tally.back.append(job.what)
        elif verdict.is_doubtful:
            tally.unproven.append(job.what)
        elif verdict.is_killed:
            tally.killed += 1
            tally.unnamed += verdict.by is None
        else:
            tally.survived.append(job.what)


def _say(tally: Tally, seed: int, seconds: float) -> None:
    for title, found in (
        ("survived", tally.survived),
        ("no test of `make quick` runs the line of", tally.unrun),
        ("noticed only by a test that fails without it too", tally.unproven),
        ("KNOWN AND BACK", tally.back),
    ):
        for mutation in found:
            print(f"{title} {mutation}")
    missed = len(tally.survived) + len(tally.unrun)
    print(
        f"{tally.killed} noticed ({tally.unnamed} by not loading or by hanging), {missed} not, {len(tally.unproven)} unproven, {len(tally.back)} known ones back: "
        f"{tally.share:.1%} in {seconds:.0f} s, SEED={seed} draws them again"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
