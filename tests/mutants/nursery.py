"""Two processes at a time, each with a break of its own.

They are forked from this one, which has the large libraries loaded and nothing of ours: loading them takes longer than
most tests. A child reads our code from its own copy of the source.
"""

import contextlib
import gc
import importlib
import json
import os
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import pytest

from mutants.mutations import Mutation

AT_ONCE: Final = 2
CONTROL_S: Final = 600
LIBRARIES: Final = (
    *("aiohttp", "aiohttp.web", "alembic.command", "coincurve", "sha3", "cryptography.x509", "eth_abi"),
    *("eth_account", "hypothesis", "hypothesis.stateful", "msgspec", "prometheus_client", "psycopg", "sqlalchemy"),
    *("sqlalchemy.dialects.postgresql", "sqlalchemy.ext.asyncio", "starlette.applications", "uvicorn", "uvloop"),
)


@dataclass(frozen=True)
class Job:
    what: Mutation | None
    tests: Sequence[str]
    limit_s: float
    is_known: bool = False


@dataclass(frozen=True)
class Verdict:
    is_killed: bool
    failed: Sequence[str] = ()
    is_doubtful: bool = False

    @property
    def by(self) -> str | None:
        """The test that noticed. None: the code did not load, or it hung."""
        return self.failed[0] if self.failed else None


@dataclass
class _Child:
    job: Job
    pid: int
    said: int
    until: float
    text: bytes = b""


@dataclass(eq=False)
class _Witness:
    """Which test noticed."""

    failed: list[str] = field(default_factory=list)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid.partition("[")[0])


class Nursery:
    def __init__(self, root: Path, seed: int):
        self._root = root
        self._environment = {"TICKYARD_PROVE": "quick", "TICKYARD_SEED": str(seed), "PYTHONDONTWRITEBYTECODE": "1"}
        for name in LIBRARIES:
            importlib.import_module(name)
        gc.collect()
        gc.freeze()

    def run(self, jobs: Sequence[Job], tell: Callable[[Job, Verdict], None]) -> list[tuple[Job, Verdict]]:
        with tempfile.TemporaryDirectory(prefix="tickyard-mutants-") as folder:
            copies = [Path(folder) / str(number) for number in range(AT_ONCE)]
            for copy in copies:
                shutil.copytree(self._root / "src", copy / "src")
            # A break may keep the tests from being found, and so may a list of tests that is too old.
            everyone = Job(None, ["--collect-only", *sorted({test for job in jobs for test in job.tests})], CONTROL_S)
            if any(verdict.is_killed for _, verdict in self._all([everyone], copies, lambda *_: None)):
                raise RuntimeError("some tests are not there, or do not load: make cover again")
            return self._controlled(self._all(jobs, copies, tell), copies)

    def _controlled(self, verdicts: list[tuple[Job, Verdict]], copies: list[Path]) -> list[tuple[Job, Verdict]]:
        """A test that fails without any break has noticed none: those that did are run once more on whole code."""
        killers = sorted({verdict.by for _, verdict in verdicts if verdict.by})
        shares = [killers[number::AT_ONCE] for number in range(AT_ONCE)]
        control = [Job(None, share, CONTROL_S) for share in shares if share]
        liars = {test for _, verdict in self._all(control, copies, lambda *_: None) for test in verdict.failed}
        return [(job, replace(verdict, is_doubtful=verdict.by in liars)) for job, verdict in verdicts]

    def _all(
        self, jobs: Sequence[Job], copies: list[Path], tell: Callable[[Job, Verdict], None]
    ) -> list[tuple[Job, Verdict]]:
        children: dict[Path, _Child] = {}
        try:
            return self._each(jobs, list(copies), children, tell)
        finally:
            for child in children.values():
                _end(child)

    def _each(
        self,
        jobs: Sequence[Job],
        free: list[Path],
        children: dict[Path, _Child],
        tell: Callable[[Job, Verdict], None],
    ) -> list[tuple[Job, Verdict]]:
        waiting, verdicts = list(reversed(jobs)), []
        while waiting or children:
            while waiting and free:
                copy = free.pop()
                children[copy] = self._born(waiting.pop(), copy)
            for copy, child in list(children.items()):
                if (verdict := _verdict(child)) is not None:
                    self._restore(child.job, copy)
                    del children[copy]
                    free.append(copy)
                    verdicts.append((child.job, verdict))
                    tell(child.job, verdict)
            soonest = min((child.until for child in children.values()), default=0) - time.monotonic()
            if children and not (free and waiting):
                select.select([child.said for child in children.values()], [], [], max(0, soonest))
        return verdicts

    def _restore(self, job: Job, copy: Path) -> None:
        # With its old time, so that what was compiled before is valid again.
        if job.what is not None:
            shutil.copy2(self._root / job.what.file, copy / job.what.file)

    def _born(self, job: Job, copy: Path) -> _Child:
        if job.what is not None:
            (copy / job.what.file).write_bytes(job.what.source)
        said, say = os.pipe()
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            os.close(said)
            self._live(job, copy, say)
        os.close(say)
        os.set_blocking(said, False)
        return _Child(job, pid, said, time.monotonic() + job.limit_s)

    def _live(self, job: Job, copy: Path, say: int) -> None:
        code, witness, trouble = 3, _Witness(), ""
        try:
            os.setsid()
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nowhere, stream)
            os.chdir(self._root)
            os.environ.update(self._environment, PYTHONPATH=str(copy / "src"))
            sys.path.insert(0, str(copy / "src"))
            # pytest wants to see its plugins before anybody has imported them; here they are.
            options = ["-x"] if job.what is not None else []
            options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
            code = pytest.main([*options, *job.tests], plugins=[witness])
        except BaseException:
            trouble = traceback.format_exc()
            raise
        finally:
            os.write(say, json.dumps({"code": int(code), "failed": witness.failed, "trouble": trouble}).encode())
            os._exit(0)


def _verdict(child: _Child) -> Verdict | None:
    """None: it still runs."""
    ended = False
    with contextlib.suppress(BlockingIOError):
        while chunk := os.read(child.said, 65536):
            child.text += chunk
        ended = True
    if not ended and time.monotonic() < child.until:
        return None
    _end(child)
    if not child.text:
        return Verdict(is_killed=True)
    result = json.loads(child.text)
    # A break may leave something open that is only found when pytest clears up: the test has failed all the same.
    if result["trouble"] and not result["failed"]:
        raise RuntimeError(f"pytest could not run {child.job.tests[:3]}: {result['trouble']}")
    return Verdict(result["code"] != 0, result["failed"])


def _end(child: _Child) -> None:
    """And what its tests have started and a failure has left behind."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    os.waitpid(child.pid, 0)
    os.close(child.said)
