"""`python tests/covered.py [--forget]`: how much of each room the tests have run, and whether that is still enough.

Measured is what runs in the process of a test. What runs only in a process of a sandbox counts as not run, so the
figures are too low rather than too high.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
FOLDER: Final = ROOT / ".coverage"
SOURCE: Final = "src/tickyard/"
# Percent of lines and of branches. What is reached today, less what the luck of a seed moves: raise them.
LEAST: Final = {
    "payments/": (96.4, 89),
    "payout/": (95.2, 86),
    "features/earn/": (96.8, 85),
    "features/trades/": (96.8, 88),
    "features/alerts/": (96.2, 90.5),
    "features/history/": (96.8, 89.5),
    "market/": (94.7, 87),
    "chain/": (96, 90),
}


def main(words: list[str]) -> int:
    if words == ["--forget"]:
        shutil.rmtree(FOLDER, ignore_errors=True)
        FOLDER.mkdir()
        return 0
    files = _files()
    too_little = 0
    for room, (least_lines, least_branches) in LEAST.items():
        own = [figures for file, figures in files.items() if file.startswith(SOURCE + room)]
        lines = _share(own, "covered_lines", "num_statements")
        branches = _share(own, "covered_branches", "num_branches")
        is_enough = lines >= least_lines and branches >= least_branches
        too_little += not is_enough
        note = "" if is_enough else f"  at least {least_lines} % and {least_branches} %: a test is missing"
        print(f"{room:<18} {lines:5.1f} % of lines {branches:5.1f} % of branches{note}")
    return 1 if too_little else 0


def _files() -> dict[str, dict[str, int]]:
    # Imported here: the tests start without it.
    from coverage import Coverage

    measured = Coverage(config_file=str(ROOT / "pyproject.toml"))
    measured.combine([str(FOLDER)], keep=True)
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        measured.json_report(outfile=report.name)
        files = json.loads(Path(report.name).read_text())["files"]
    return {file: figures["summary"] for file, figures in files.items()}


def _share(figures: list[dict[str, int]], part: str, whole: str) -> float:
    return 100 * sum(each[part] for each in figures) / max(1, sum(each[whole] for each in figures))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
