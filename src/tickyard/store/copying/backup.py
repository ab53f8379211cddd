"""A copy of everything while the service goes on running. Samples cannot be taken again.

From SQLite the copy is a SQLite file; from PostgreSQL a zip archive with one CSV file per table, all read in one
transaction. Either way it shows one moment, and a copy that did not finish never has its final name.
"""

import asyncio
import fcntl
import os
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec
from sqlalchemy import Connection, inspect, text

from tickyard.kernel.wire import iso
from tickyard.store.copying.seal import seal
from tickyard.store.engine import Store
from tickyard.store.migrate import LOCK, current_version, schema_version
from tickyard.store.outbox import UNSENT_IS_UNKNOWN
from tickyard.store.postgres.copy import copy_out
from tickyard.store.postgres.engine import PostgresStore, PostgresTransaction
from tickyard.store.sqlite.engine import SqliteStore

MANIFEST: Final = "manifest.json"
VERSION_TABLE: Final = "alembic_version"
_BROKEN: Final = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


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
    if await schema_version(store) is None:
        raise BackupRefused("the store has no schema yet: run `tickyard migrate` first")
    _check_is_new(target)
    with growing_into(target) as unfinished:
        # Once more, now that nobody else writes it: the same job started twice may have been done meanwhile.
        _check_is_new(target)
        if isinstance(store, SqliteStore):
            # Off the loop: a year of samples takes seconds to copy, and the writer must not wait for it.
            await asyncio.to_thread(copy_sqlite, store.path, unfinished)
            await asyncio.to_thread(seal, unfinished)
        elif isinstance(store, PostgresStore):
            await _copy_postgres(store, unfinished)


def _check_is_new(target: Path) -> None:
    with _in_words(target):
        if target.exists():
            raise BackupRefused("the target exists already; a copy is never overwritten")


@contextmanager
def growing_into(target: Path) -> Iterator[Path]:
    """An empty file that becomes the target once it is whole, and is gone when it does not get there. Who finds another
    at it is refused: two that wrote one file would leave neither's."""
    unfinished = target.with_name(target.name + ".unfinished")
    with _in_words(target), _alone_at(unfinished) as file:
        try:
            yield unfinished
            os.fsync(file)
            unfinished.rename(target)
        except BaseException:
            with suppress(OSError):
                unfinished.unlink()
            raise


@contextmanager
def _alone_at(path: Path) -> Iterator[int]:
    """An empty file that is ours, whatever a killed run has left there. Nobody but the operator reads it."""
    # SQLite's own locks are of another kind: closing this file takes none of them away.
    file = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BackupRefused(f"{path} is being written by another run") from None
        # Whoever had it until a moment ago may have given it its final name.
        if not path.exists() or not os.path.samestat(os.fstat(file), path.stat()):
            raise BackupRefused(f"{path} was being written by another run")
        os.fchmod(file, 0o600)
        os.ftruncate(file, 0)
        yield file
    finally:
        os.close(file)


@contextmanager
def _in_words(target: Path) -> Iterator[None]:
    """Neither database is to blame for a disk without room or a folder that is not there."""
    try:
        yield
    except OSError as error:
        raise BackupRefused(f"{target} cannot be written: {error.strerror or 'the system refused'}") from None


def copy_sqlite(source: Path, target: Path) -> None:
    """One step for all pages: a single read of one moment, which a writer neither stops nor restarts.

    In the copy nothing waits to be sent: whoever is copied goes on and sends it.
    """
    with _read(source) as reader:
        writer = sqlite3.connect(target)
        try:
            _copy(reader, writer)
        except sqlite3.DatabaseError as error:
            if (getattr(error, "sqlite_errorcode", 0) & 0xFF) in _BROKEN:
                raise BackupRefused(f"{source} is damaged, and cannot be copied: {error}") from None
            raise BackupRefused(f"{target} cannot be written: {error}") from None
        finally:
            writer.close()


@contextmanager
def _read(source: Path) -> Iterator[sqlite3.Connection]:
    """The file as SQLite reads it; what is wrong with it is found before anything is written."""
    try:
        reader = sqlite3.connect(f"{source.resolve().as_uri()}?mode=rw", uri=True)
    except sqlite3.OperationalError as error:
        raise BackupRefused(f"{source} cannot be read: {error}") from None
    try:
        reader.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
        yield reader
    except sqlite3.DatabaseError as error:
        raise BackupRefused(f"{source} cannot be read: {error}") from None
    finally:
        reader.close()


def _copy(reader: sqlite3.Connection, writer: sqlite3.Connection) -> None:
    reader.backup(writer, pages=-1)
    if writer.execute("SELECT 1 FROM sqlite_master WHERE name = 'outbox'").fetchone():
        writer.execute(UNSENT_IS_UNKNOWN)
        writer.commit()
    # The copy is one file of its own, without a log beside it.
    writer.execute("PRAGMA journal_mode=DELETE")
    if writer.execute("PRAGMA quick_check").fetchone() != ("ok",):
        raise BackupRefused("the copy is damaged")


async def _copy_postgres(store: PostgresStore, target: Path) -> None:
    async with store.read() as tx:
        assert isinstance(tx, PostgresTransaction)
        await tx.execute(text("SET LOCAL statement_timeout = 0"))
        version = await tx.run_sync(current_version)
        assert version is not None
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
