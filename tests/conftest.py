"""What tests of several folders start: a sandbox, a PostgreSQL server."""

import gc
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import yards.running
from canary import Canary
from meter import Meter
from proof import MODE, SEED
from yards.postgres_server import PostgresServer
from yards.webhook_receiver import Authority


def pytest_configure(config: pytest.Config) -> None:
    # How long an example takes says how busy the machine is; pytest's own limit ends what hangs.
    at_ease: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
    settings.register_profile("house", **at_ease, **({"max_examples": 10} if MODE == "quick" else {}))
    settings.load_profile("house")
    # Its own luck is the run's too.
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = SEED
    config.pluginmanager.register(Canary(), "canary")
    config.pluginmanager.register(Meter(), "meter")
    _trust_one_authority(config)


def _trust_one_authority(config: pytest.Config) -> None:
    """No test leaves this machine, and reading all public authorities takes longer than opening a service."""
    folder = tempfile.TemporaryDirectory(prefix="tickyard-tests-")
    config.add_cleanup(folder.cleanup)
    bundle = Path(folder.name) / "authority.pem"
    bundle.write_bytes(Authority().pem)
    os.environ["SSL_CERT_FILE"] = str(bundle)


def pytest_collection_finish() -> None:
    # What was imported stays until the end; looking through it again and again takes one second in thirty.
    gc.collect()
    gc.freeze()


def pytest_runtest_setup() -> None:
    # Importing the signing library raises this to a depth at which the C stack ends first. The service never imports it.
    sys.setrecursionlimit(1000)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.line(f"TICKYARD_SEED={SEED} repeats this run's luck")


@pytest.fixture(scope="session")
def running(pytestconfig: pytest.Config) -> ModuleType:
    """`running.Up()` is a whole sandbox; see tests/yards/running.py."""
    yards.running.WATCH = pytestconfig.pluginmanager.get_plugin("canary").watch
    return yards.running


@pytest.fixture(scope="session")
def postgres_server() -> Iterator:
    server = PostgresServer()
    yield server
    server.stop()


@pytest.fixture
def doomed_server() -> Iterator:
    """A PostgreSQL server that the test may kill: nobody else uses it."""
    server = PostgresServer()
    yield server
    server.stop()
