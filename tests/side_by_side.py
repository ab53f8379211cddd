"""What needs no server, in four processes at once: `python tests/side_by_side.py [options of pytest]`.

Much of these tests is waiting: for sockets, for a limit to be over. Each process loads only what its own files need.
"""

import re
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Final

from proof import SEED

HERE: Final = Path(__file__).parent
NO_SERVER: Final = "not node and not database"
NONE_FOUND: Final = 5


def main(options: Sequence[str]) -> int:
    shares: dict[str, list[Path]] = {}
    with_servers = {*(HERE / "chain").iterdir(), *(HERE / "browser").iterdir()}
    for file in sorted(set(HERE.rglob("test_*.py")) - with_servers):
        shares.setdefault(_share(file), []).append(file)
    print(f"{sum(map(len, shares.values()))} files in {len(shares)} processes, what they say comes at their end")
    began, total, worst = time.monotonic(), 0, 0
    with ThreadPoolExecutor(len(shares)) as pool:
        runs = {pool.submit(_run, files, options): name for name, files in shares.items()}
        for done in as_completed(runs):
            run = done.result()
            # With options a share may well be left without any test.
            failed = run.returncode if not (options and run.returncode == NONE_FOUND) else 0
            if failed:
                print(run.stdout)
            passed = int((re.search(r"(\d+) passed", run.stdout) or [0, 0])[1])
            print(f"{passed:>6} passed {time.monotonic() - began:6.1f} s  {runs[done]}", flush=True)
            total, worst = total + passed, worst or failed
    print(f"TICKYARD_SEED={SEED} repeats this run's luck")
    print(f"{total} passed in {time.monotonic() - began:.0f} s" + (", and some failed" if worst else ""))
    return worst


def _share(file: Path) -> str:
    """About as many seconds each, as they are today."""
    folder, name = file.parent.name, file.stem
    if folder == "store" or (folder == "service" and name >= "test_t"):
        return "store and trading"
    if folder == "simulation" or (folder == "service" and "test_f" <= name < "test_n"):
        return "simulation, doors, payments"
    if folder == "service" and name >= "test_n":
        return "descriptions and far ends"
    return "rules and deliveries"


def _run(files: Sequence[Path], options: Sequence[str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-m", NO_SERVER, *options, *files]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
