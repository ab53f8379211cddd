"""Moments in columns: exact to the microsecond, before and after the epoch."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy import Integer

from tickyard.features.earn import retired, tables
from tickyard.kernel.clock import WallClock
from tickyard.store.engine import StoreRefused
from tickyard.store.opening import open_store
from tickyard.store.postgres.engine import PostgresStore
from tickyard.store.sqlite.engine import SqliteStore
from tickyard.store.tables import METADATA, from_micros, to_micros


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


def test_no_key_is_counted_by_the_database():
    """A number that a row is known by is a day, a block or a place in a file: who forgets it must not be given one."""
    assert {tables.earn_line.name, retired.earn_payout.name} <= set(METADATA.tables)
    keys = [column for table in METADATA.tables.values() for column in table.primary_key]
    numbers = [column for column in keys if isinstance(column.type, Integer)]
    assert len(numbers) > 10
    assert [str(column) for column in numbers if column.autoincrement is not False] == []


def test_a_number_of_256_bits_is_32_bytes_in_the_order_of_numbers():
    kind = tables.Uint256()
    numbers = [0, 1, 255, 256, 10**24, 2**255, 2**256 - 1]
    kept = [kind.process_bind_param(number, None) for number in numbers]
    assert {len(each) for each in kept} == {32}
    assert kept == sorted(kept)
    assert [kind.process_result_value(memoryview(each), None) for each in kept] == numbers
    assert (kind.process_bind_param(None, None), kind.process_result_value(None, None)) == (None, None)


@pytest.mark.parametrize("address", ["u:head@tail@h:5432/d", "u:head@tail/d@h:5432/d", "u:head@tail%25@h/d", "u:@@h/d"])
def test_an_at_sign_in_a_password_is_refused_before_anybody_is_asked_where_the_rest_of_it_lives(address):
    with pytest.raises(StoreRefused) as refused:
        open_store(f"postgresql://{address}", WallClock())
    assert "%40" in refused.value.mend
    assert not any(part in refused.value.found + refused.value.mend for part in ("head", "tail"))


@pytest.mark.parametrize(
    "address", ["u:pass%40word%25@h/d", "u@server:password@h/d", "u:pass:w/rd@h/d", "h/d?user=a@b"]
)
def test_an_address_whose_host_is_not_in_doubt_opens_postgresql(address):
    assert isinstance(open_store(f"postgresql://{address}", WallClock()), PostgresStore)
