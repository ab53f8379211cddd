"""Worlds over a deliberately broken house: each breakage in a process of its own, and what was found there.

python -m simulated.breaking simulated          every breakage of the reward program
python -m simulated.breaking paid "no reason"   those of payments with these words in their names

Starting Python anew for each took longer than the worlds. So everything is imported once and the house is thrown out
again; a forked child imports it with the breakage in it, from text that was never written to a disk.
"""

import argparse
import importlib
import json
import os
import signal
import sys
import tempfile
import traceback
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path

LONGEST_S = 300
"""A house so broken that its world never ends is told apart from one that is caught."""


class _Loader(SourceFileLoader):
    def __init__(self, name, path, texts, codes):
        super().__init__(name, path)
        self._texts, self._codes = texts, codes

    def get_code(self, fullname):
        if self.path in self._texts:
            return compile(self._texts[self.path], self.path, "exec")
        if self.path not in self._codes:
            self._codes[self.path] = super().get_code(fullname)
        return self._codes[self.path]


class _Finder:
    """Finds the modules of the house where they are, and hands some of them over with another text."""

    def __init__(self):
        self.texts, self._codes = {}, {}

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in ("tickyard", "simulated", "paid"):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(name, spec.origin, self.texts, self._codes)
        return spec


def _forget():
    """All of the house but the empty database, which no breakage concerns."""
    for name in list(sys.modules):
        if name.partition(".")[0] in ("tickyard", "paid") or (name.startswith("simulated.") and name not in KEPT):
            del sys.modules[name]


KEPT = ("simulated.template", "simulated.breaking")


def _live(finder, kind, sabotage, out):
    """In the child, which ends here: the worlds from its seed on, until one shows it."""
    signal.alarm(LONGEST_S)
    ended = 2
    with open(out, "w") as shown:
        try:
            ended = _worlds(finder, kind, sabotage, shown)
        finally:
            if sys.exc_info()[0] is not None:
                traceback.print_exc(file=shown)
            shown.flush()
            os._exit(ended)


def _worlds(finder, kind, sabotage, shown):
    finder.texts.update(sabotage.texts())
    _forget()
    tell = importlib.import_module(f"{kind}.run").tell
    for seed in range(sabotage.seed, sabotage.seed + sabotage.worlds):
        text, _, violations = tell(seed, *sabotage.how)
        print(text, file=shown, flush=True)
        if violations:
            return 1
    return 0


def run_all(kind, sabotages, at_once):
    """Yields each breakage with what became of its worlds: 1 is caught, 0 is missed, anything else is neither."""
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    # Twice: what the house needs from elsewhere is loaded by the first, its own compiled text is kept by the second.
    importlib.import_module("simulated.template").template()
    for _ in range(2):
        importlib.import_module(f"{kind}.run")
        _forget()
    waiting, running = list(sabotages), {}
    with tempfile.TemporaryDirectory(prefix="tickyard-sim-") as folder:
        while waiting or running:
            while waiting and len(running) < at_once:
                sabotage = waiting.pop(0)
                out = Path(folder) / str(len(waiting))
                pid = os.fork()
                if pid == 0:
                    _live(finder, kind, sabotage, out)
                running[pid] = sabotage, out
            pid, status = os.waitpid(-1, 0)
            sabotage, out = running.pop(pid)
            yield sabotage, os.waitstatus_to_exitcode(status), out.read_text()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("simulated", "paid"))
    parser.add_argument("names", nargs="*", help="their names, or parts of them; all when there is none")
    asked = parser.parse_args()
    every = importlib.import_module(f"{asked.kind}.sabotage").SABOTAGES
    chosen = [each for each in every if not asked.names or any(name in each.name for name in asked.names)]
    for sabotage, ended, text in run_all(asked.kind, chosen, os.cpu_count() or 1):
        print(json.dumps({"name": sabotage.name, "ended": ended, "text": text}), flush=True)


if __name__ == "__main__":
    main()
