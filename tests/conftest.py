"""What tests of several folders start: a sandbox, a PostgreSQL server. Test folders are no packages: files are loaded
by their path."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).parent


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def running() -> ModuleType:
    """`running.Up()` is a whole sandbox; see tests/running.py."""
    return load(HERE / "running.py")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator:
    server = load(HERE / "store" / "postgres_server.py").PostgresServer()
    yield server
    server.stop()
