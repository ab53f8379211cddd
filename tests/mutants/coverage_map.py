"""Which tests run a line, and how long each takes: what `make cover` has left behind."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from coverage import CoverageData

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / ".coverage"
UNKNOWN_S: Final = 1.0
OVERHEAD_S: Final = 0.5
# What is declared once and compared as a whole: tables with the migrations, and with the rules for all of them.
OF_TABLES: Final = ["tests/unit/test_store_tables.py", "tests/store/test_migrations.py"]
# What these start takes longer than a constant is worth.
HEAVY: Final = ("tests/chain/", "tests/browser/")


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
        files = Counter[str]()
        for test, taken_s in seconds.items():
            files[test.partition("::")[0]] += taken_s
        return cls(whole, seconds | files)

    def tests(self, file: str, lines: Iterable[int], constant: str = "") -> list[str]:
        """The tests that run one of these lines. A line that runs when its file is imported, as a constant does, is
        everybody's: then those that import it themselves, those that run a line with its name, and those that run
        anything of the file, or else of its room."""
        by_line = self._of(file)
        chosen = {test for line in lines for test in by_line.get(line, ()) if test}
        if not chosen:
            if not any(line in by_line for line in lines):
                return []
            users = self._tellers_first(self._naming(constant), file) if constant else []
            chosen = self._any([file]) or self._any(self._neighbours(file))
            first = [*(OF_TABLES if " = Table(" in (ROOT / file).read_text() else ()), *self._importing(file)]
            others = [*users, *self._tellers_first(chosen - set(users), file)]
            return [*first, *(test for test in others if test.partition("::")[0] not in first)]
        return self._tellers_first(chosen, file)

    def _importing(self, file: str) -> list[str]:
        """The test files that import this one, the quickest first: who holds a table of words against another's runs
        none of its lines."""
        module = file.removeprefix("src/").removesuffix(".py").replace("/", ".")
        room, _, name = module.rpartition(".")
        by_name = rf"from {re.escape(room)} import [^\n]*\b{name}\b"
        imports = re.compile(rf"^(?:from {re.escape(module)} import|{by_name})", re.MULTILINE)
        paths = (str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py"))
        found = [path for path in paths if not path.startswith(HEAVY) and imports.search((ROOT / path).read_text())]
        return sorted(found, key=lambda path: (self.cost_s([path]), path))

    def _naming(self, name: str) -> set[str]:
        """The tests that run a line with this name in it, in whatever file: a constant works where it is used."""
        named = re.compile(rf"\b{re.escape(name)}\b")
        found = set[str]()
        for path in sorted((ROOT / "src").rglob("*.py")):
            text = path.read_text()
            if named.search(text):
                by_line = self._of(str(path.relative_to(ROOT)))
                numbers = (number for number, line in enumerate(text.splitlines(), 1) if named.search(line))
                found |= {test for number in numbers for test in by_line.get(number, ()) if test}
        return found

    def is_run(self, file: str, line: int) -> bool:
        return line in self._of(file)

    def cost_s(self, tests: Sequence[str]) -> float:
        """Of tests, or of whole files of them."""
        return sum(self.seconds.get(test, UNKNOWN_S) for test in tests)

    def _of(self, file: str) -> dict[int, list[str]]:
        if file not in self._lines:
            self._lines[file] = self.data.contexts_by_lineno(str(ROOT / file))
        return self._lines[file]

    def _any(self, files: Iterable[str]) -> set[str]:
        return {test for file in files for tests in self._of(file).values() for test in tests if test}

    def _neighbours(self, file: str) -> list[str]:
        return [str(path.relative_to(ROOT)) for path in (ROOT / file).parent.glob("*.py")]

    def _tellers_first(self, tests: set[str], file: str) -> list[str]:
        """Who runs what few others run of a file knows most about it: those come first, one that takes long later.
        Test file by test file, because a file's tests share what they start."""
        knows = Counter[str]()
        for runners in self._of(file).values():
            for test in runners:
                knows[test] += 1 / len(runners)
        telling = {test: knows[test] / (OVERHEAD_S + self.cost_s([test])) for test in tests}
        files: dict[str, list[str]] = {}
        for test in sorted(tests, key=lambda test: (-telling[test], test)):
            files.setdefault(test.partition("::")[0], []).append(test)
        return [test for named in files.values() for test in named]
