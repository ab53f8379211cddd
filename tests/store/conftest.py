"""One suite, two databases: every test that takes `where` runs on SQLite and on a real PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.database)])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of an empty database of the test's own."""
    yield from _empty(request.param == "sqlite", request, tmp_path / "tickyard.db")


@pytest.fixture
def other_where(where: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A second empty database of the same kind."""
    yield from _empty(not where.startswith("postgresql"), request, tmp_path / "other.db")


def _empty(is_sqlite: bool, request: pytest.FixtureRequest, file: Path) -> Iterator[str]:
    if is_sqlite:
        yield str(file)
        return
    server = request.getfixturevalue("postgres_server")
    url = server.new_database()
    yield url
    server.take_back(url)
