"""Which tests run a line, and how long each takes: what `make cover` has left behind."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from coverage import CoverageData

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / ".coverage"
UNKNOWN_S: Final = 1.0
# What is declared once and compared as a whole: the tables with the migrations.
DECLARATIONS: Final = ("tests/store/test_migrations.py",)


@dataclass
class CoverageMap:
    data: CoverageData
    seconds: dict[str, float]
    _lines: dict[str, dict[int, list[str]]] = field(default_factory=dict)

    @classmethod
    def read(cls) -> "CoverageMap":
        whole = CoverageData(no_disk=True)
        for file in sorted(FOLDER.glob("data.*")):
            part = CoverageData(str(file))
            part.read()
            whole.update(part)
        seconds = dict[str, float]()
        for file in FOLDER.glob("times.*"):
            for line in file.read_text().splitlines():
                taken, _, test = line.partition(" ")
                seconds[test] = max(float(taken), seconds.get(test, 0))
        return cls(whole, seconds)

    def tests(self, file: str, lines: Iterable[int]) -> list[str]:
        """The tests that run one of these lines. A line that runs when its file is imported, as a constant does, is
        everybody's: then those that run anything of the file, or else of its room."""
        by_line = self._of(file)
        chosen = {test for line in lines for test in by_line.get(line, ()) if test}
        if not chosen:
            if not any(line in by_line for line in lines):
                return []
            chosen = self._any([file]) or self._any(self._neighbours(file))
            return [*DECLARATIONS, *self._cheapest_first(chosen)]
        return self._cheapest_first(chosen)

    def is_run(self, file: str, line: int) -> bool:
        return line in self._of(file)

    def cost_s(self, tests: Sequence[str]) -> float:
        return sum(self.seconds.get(test, UNKNOWN_S) for test in tests)

    def _of(self, file: str) -> dict[int, list[str]]:
        if file not in self._lines:
            self._lines[file] = self.data.contexts_by_lineno(str(ROOT / file))
        return self._lines[file]

    def _any(self, files: Iterable[str]) -> set[str]:
        return {test for file in files for tests in self._of(file).values() for test in tests if test}

    def _neighbours(self, file: str) -> list[str]:
        return [str(path.relative_to(ROOT)) for path in (ROOT / file).parent.glob("*.py")]

    def _cheapest_first(self, tests: set[str]) -> list[str]:
        """File by file, because a file's tests share what they start."""
        files: dict[str, list[str]] = {}
        for test in sorted(tests):
            files.setdefault(test.partition("::")[0], []).append(test)
        order = sorted(files, key=lambda file: self.cost_s(files[file]) / len(files[file]))
        return [test for file in order for test in files[file]]
