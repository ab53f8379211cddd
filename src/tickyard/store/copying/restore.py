"""Bringing a copy back into an empty database. A copy made from SQLite also moves to PostgreSQL."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from sqlalchemy import MetaData, create_engine, delete, func, inspect, select, text

from tickyard.kernel.clock import Clock
from tickyard.store.copying.backup import VERSION_TABLE, BackupRefused, copy_sqlite, growing_into
from tickyard.store.copying.formats import Archive, Copied, opened
from tickyard.store.migrate import LOCK, alone, current_version, is_known, migrate, schema_version, upgrade
from tickyard.store.opening import open_store
from tickyard.store.outbox import UNSENT_IS_UNKNOWN
from tickyard.store.postgres.engine import PostgresStore, PostgresTransaction
from tickyard.store.sqlite.engine import SqliteStore

_PATIENCE_S: Final = 3600.0
"""Counting a table of years takes its time."""
_NOT_COPIED: Final = {LOCK, VERSION_TABLE}


async def restore(source: Path, where: str, clock: Clock) -> None:
    """Fill an empty database from a copy and bring its schema up to date."""
    store = open_store(where, clock)
    try:
        if isinstance(store, PostgresStore):
            with opened(source) as copied:
                await _into_postgres(store, copied)
        elif isinstance(store, SqliteStore):
            await _into_sqlite(store, source, where)
        await migrate(store)
    finally:
        await store.close()


async def _into_sqlite(store: SqliteStore, source: Path, where: str) -> None:
    with opened(source) as copied:
        if isinstance(copied, Archive):
            raise BackupRefused("a copy made from PostgreSQL can only be brought back into PostgreSQL")
        _check_version(copied.schema_version)
        # What names a schema of ours may be anybody's all the same.
        with create_engine("sqlite://").begin() as scratch:
            upgrade(scratch, copied.schema_version)
            _check_tables(inspect(scratch).get_table_names(), copied)
    _check_is_empty(await schema_version(store))
    await store.close()
    # Whole or not at all: half of it must not look like a store that somebody may start on.
    with growing_into(store.path) as unfinished:
        # Once more, now that nobody else brings one back: the service may have been started on that by now.
        again = open_store(where, store.clock)
        try:
            _check_is_empty(await schema_version(again))
        finally:
            await again.close()
        await asyncio.to_thread(copy_sqlite, source, unfinished)


async def _into_postgres(store: PostgresStore, copied: Copied) -> None:
    """Whole or not at all: a good schema without its rows is a store that everything would start on."""
    _check_version(copied.schema_version)
    # Before anything is made in it, be it only the lock.
    _check_is_empty(await schema_version(store))
    async with alone(store, _PATIENCE_S) as tx:
        assert isinstance(tx, PostgresTransaction)
        await tx.execute(text("SET LOCAL statement_timeout = 0"))
        _check_is_empty(await tx.run_sync(current_version))
        # The schema of the copy's own day; newer steps follow once the data is in.
        await tx.run_sync(lambda connection: upgrade(connection, copied.schema_version))
        present = MetaData()
        await tx.run_sync(present.reflect)
        tables = [table for table in present.sorted_tables if table.name not in _NOT_COPIED]
        _check_tables((table.name for table in tables), copied)
        for table in reversed(tables):
            # Rows that a step of the schema put in are in the copy too.
            await tx.execute(delete(table))
        for table in tables:
            await copied.pour(tx, table.name)
            arrived = (await tx.execute(select(func.count()).select_from(table))).scalar_one()
            if arrived != copied.rows[table.name]:
                raise BackupRefused(f"{table.name} did not arrive whole")
        if "outbox" in copied.columns:
            # It may have been sent since the copy was made: never again.
            await tx.execute(text(UNSENT_IS_UNKNOWN))


def _check_is_empty(target_version: str | None) -> None:
    if target_version is not None:
        raise BackupRefused("the target is not empty")


def _check_tables(expected: Iterable[str], copied: Copied) -> None:
    if set(expected) - _NOT_COPIED != set(copied.columns):
        raise BackupRefused("the target has tables that the copy does not know, or the other way round")


def _check_version(version: str) -> None:
    if not is_known(version):
        raise BackupRefused("the copy was made by a newer version of the service")
