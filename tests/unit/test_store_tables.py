"""Moments in columns: exact to the microsecond, before and after the epoch."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from tickyard.kernel.clock import WallClock
from tickyard.store.opening import open_store
from tickyard.store.postgres.engine import PostgresStore
from tickyard.store.sqlite.engine import SqliteStore
from tickyard.store.tables import from_micros, to_micros


@pytest.mark.parametrize(
    "moment",
    [
        datetime(2026, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, 1, tzinfo=UTC),
        datetime(9999, 1, 1, tzinfo=UTC),
        datetime(2026, 9, 16, 2, tzinfo=timezone(timedelta(hours=2))),
    ],
)
def test_a_moment_survives_its_column(moment):
    assert from_micros(to_micros(moment)) == moment


@pytest.mark.parametrize("address", ["postgresql://h/d", "postgres://u:p@h:5432/d?sslmode=require"])
def test_an_address_of_postgresql_opens_postgresql(address):
    assert isinstance(open_store(address, WallClock()), PostgresStore)


@pytest.mark.parametrize("address", ["data/tickyard.db", "sqlite:///data/tickyard.db"])
def test_anything_else_is_a_file(address):
    store = open_store(address, WallClock())
    assert isinstance(store, SqliteStore)
    assert str(store.path) == "data/tickyard.db"
