"""A copy of everything while the service goes on running. Samples cannot be taken again.

From SQLite the copy is a SQLite file; from PostgreSQL a zip archive with one CSV file per table, all read in one
transaction. Either way it shows one moment, and a copy that did not finish never has its final name.
"""

import asyncio
import os
import sqlite3
import zipfile
from pathlib import Path
from typing import Final

import msgspec
from sqlalchemy import Connection, inspect, text

from tickyard.kernel.wire import iso
from tickyard.store.engine import Store
from tickyard.store.migrate import LOCK, current_version
from tickyard.store.outbox import UNSENT_IS_UNKNOWN
from tickyard.store.postgres.copy import copy_out
from tickyard.store.postgres.engine import PostgresStore, PostgresTransaction
from tickyard.store.sqlite.engine import SqliteStore

MANIFEST: Final = "manifest.json"
VERSION_TABLE: Final = "alembic_version"


class Manifest(msgspec.Struct):
    """What a PostgreSQL copy holds."""

    schema_version: str
    taken_at: str
    columns: dict[str, list[str]]
    rows: dict[str, int]


class BackupRefused(Exception):
    """A copy cannot be made or brought back. The message is one sentence for the operator."""


async def backup(store: Store, target: Path) -> None:
    """Copy the whole store to a new file."""
    unfinished = _new_file(target)
    if isinstance(store, SqliteStore):
        # Off the loop: a year of samples takes seconds to copy, and the writer must not wait for it.
        await asyncio.to_thread(copy_sqlite, store.path, unfinished)
    elif isinstance(store, PostgresStore):
        await _copy_postgres(store, unfinished)
    finish(unfinished, target)


def _new_file(target: Path) -> Path:
    if target.exists():
        raise BackupRefused("the target exists already; a copy is never overwritten")
    return unfinished_beside(target)


def unfinished_beside(target: Path) -> Path:
    """An empty file that becomes the target once it is whole."""
    unfinished = target.with_name(target.name + ".unfinished")
    unfinished.unlink(missing_ok=True)
    # Nobody but the operator reads it.
    os.close(os.open(unfinished, os.O_CREAT | os.O_WRONLY, 0o600))
    return unfinished


def finish(unfinished: Path, target: Path) -> None:
    with unfinished.open("rb") as file:
        os.fsync(file.fileno())
    unfinished.rename(target)


def copy_sqlite(source: Path, target: Path) -> None:
    """One step for all pages: a single read of one moment, which a writer neither stops nor restarts.

    In the copy nothing waits to be sent: whoever is copied goes on and sends it.
    """
    reader = sqlite3.connect(f"file:{source.resolve()}?mode=rw", uri=True)
    writer = sqlite3.connect(target)
    try:
        reader.backup(writer, pages=-1)
        if writer.execute("SELECT 1 FROM sqlite_master WHERE name = 'outbox'").fetchone():
            writer.execute(UNSENT_IS_UNKNOWN)
            writer.commit()
        # The copy is one file of its own, without a log beside it.
        writer.execute("PRAGMA journal_mode=DELETE")
        if writer.execute("PRAGMA quick_check").fetchone() != ("ok",):
            raise BackupRefused("the copy is damaged")
    finally:
        writer.close()
        reader.close()


async def _copy_postgres(store: PostgresStore, target: Path) -> None:
    async with store.read() as tx:
        assert isinstance(tx, PostgresTransaction)
        await tx.execute(text("SET LOCAL statement_timeout = 0"))
        version = await tx.run_sync(current_version)
        if version is None:
            raise BackupRefused("the database has no schema yet")
        columns = await tx.run_sync(table_columns)
        taken_at = iso(await store.now(tx))
        rows = {}
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
            for table, names in columns.items():
                with archive.open(f"{table}.csv", "w", force_zip64=True) as file:
                    rows[table] = await copy_out(tx, table, names, file.write)
            archive.writestr(MANIFEST, msgspec.json.encode(Manifest(version, taken_at, columns, rows)))


def table_columns(connection: Connection) -> dict[str, list[str]]:
    """Every table that holds data of ours, and its columns in order."""
    found = inspect(connection)
    return {
        table: [column["name"] for column in found.get_columns(table)]
        for table in sorted(found.get_table_names())
        if table not in (LOCK, VERSION_TABLE)
    }
