"""What tests of several folders start: a sandbox, a PostgreSQL server. Test folders are no packages: files are loaded
by their path."""

import importlib.util
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import settings

from proof import MODE

HERE = Path(__file__).parent


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    # Dataclasses look their module up.
    sys.modules[path.stem] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pytest_configure(config: pytest.Config) -> None:
    if "TICKYARD_SEED" not in os.environ:
        # One for the whole run, and for the processes it is spread over.
        os.environ["TICKYARD_SEED"] = str(random.SystemRandom().randrange(10**9))
    if MODE == "quick":
        settings.register_profile("quick", max_examples=20)
        settings.load_profile("quick")
    config.pluginmanager.register(load(HERE / "canary.py").Canary(), "canary")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.line(f"TICKYARD_SEED={os.environ['TICKYARD_SEED']} repeats this run's luck")


@pytest.fixture(scope="session")
def running(pytestconfig: pytest.Config) -> ModuleType:
    """`running.Up()` is a whole sandbox; see tests/running.py."""
    module = load(HERE / "running.py")
    module.WATCH = pytestconfig.pluginmanager.get_plugin("canary").watch
    return module


@pytest.fixture(scope="session")
def postgres_server() -> Iterator:
    server = load(HERE.parent / "bench" / "postgres_server.py").PostgresServer()
    yield server
    server.stop()


@pytest.fixture
def doomed_server() -> Iterator:
    """A PostgreSQL server that the test may kill: nobody else uses it."""
    server = load(HERE.parent / "bench" / "postgres_server.py").PostgresServer()
    yield server
    server.stop()
