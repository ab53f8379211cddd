"""What needs no server, in four processes at once: `python tests/side_by_side.py [--cover] [options of pytest]`.

Much of these tests is waiting: for sockets, for a limit to be over. Each process loads only what its own files need.
At the end it says what each part of the tests cost, and with --cover it leaves behind which test ran which lines.
"""

import re
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Final

import meter
from proof import MODE, SEED

HERE: Final = Path(__file__).parent
NO_SERVER: Final = "not node and not database"
QUICK: Final = f"{NO_SERVER} and not slow"
NONE_FOUND: Final = 5
COVER: Final = "--cover"


def main(options: Sequence[str]) -> int:
    how, chosen = ["pytest"], QUICK if MODE == "quick" else NO_SERVER
    if COVER in options:
        chosen = NO_SERVER
        how = ["coverage", "run", "-m", "pytest"]
        options = [option for option in options if option != COVER]
    shares: dict[str, list[Path]] = {}
    with_servers = {*(HERE / "chain").iterdir(), *(HERE / "browser").iterdir()}
    for file in sorted(set(HERE.rglob("test_*.py")) - with_servers):
        shares.setdefault(_share(file), []).append(file)
    print(f"{sum(map(len, shares.values()))} files in {len(shares)} processes, what they say comes at their end")
    began, total, worst = time.monotonic(), 0, 0
    parts: dict[str, meter.Cost] = {}
    with ThreadPoolExecutor(len(shares)) as pool:
        runs = {pool.submit(_run, [*how, "-m", chosen], files, options): name for name, files in shares.items()}
        for done in as_completed(runs):
            run = done.result()
            # With options a share may well be left without any test.
            failed = run.returncode if not (options and run.returncode == NONE_FOUND) else 0
            if failed:
                print(run.stdout)
            passed = int((re.search(r"(\d+) passed", run.stdout) or [0, 0])[1])
            print(f"{passed:>6} passed {time.monotonic() - began:6.1f} s  {runs[done]}", flush=True)
            total, worst = total + passed, worst or failed
            for name, cost in meter.read(run.stdout).items():
                parts.setdefault(name, meter.Cost()).add(cost)
    print(*meter.shown(parts), sep="\n")
    print(f"TICKYARD_SEED={SEED} repeats this run's luck")
    print(f"{total} passed in {time.monotonic() - began:.0f} s" + (", and some failed" if worst else ""))
    return worst


def _share(file: Path) -> str:
    """About as many seconds each, as they are today."""
    folder, name = file.parent.name, file.stem
    if folder == "store" or (folder == "service" and name >= "test_t"):
        return "store and trading"
    if folder in ("simulation", "property") or (folder == "service" and "test_e" <= name < "test_n"):
        return "simulation, properties, doors"
    if folder == "service" and name >= "test_n":
        return "descriptions and far ends"
    return "rules and deliveries"


def _run(how: Sequence[str], files: Sequence[Path], options: Sequence[str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", *how, *options, *files]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
