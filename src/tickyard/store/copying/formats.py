"""The two shapes of a copy, as something that can be poured into PostgreSQL."""

import contextlib
import sqlite3
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec
from sqlalchemy import create_engine
from sqlalchemy.pool import StaticPool

from tickyard.store.copying.backup import MANIFEST, BackupRefused, Manifest, table_columns
from tickyard.store.copying.seal import is_whole
from tickyard.store.migrate import current_version
from tickyard.store.postgres.copy import copy_in, copy_rows
from tickyard.store.postgres.engine import PostgresTransaction

_DAMAGED: Final = "this file is not a copy of a store, or it is damaged: it is not what was written"
# What the archive's reader makes of a byte that is not what it was: its length, its kind, a flag, its content.
_DAMAGES: Final = (
    zipfile.BadZipFile,
    zlib.error,
    msgspec.MsgspecError,
    NotImplementedError,
    RuntimeError,
    EOFError,
    OSError,
    ValueError,
)
_BLOCK_BYTES: Final = 256 * 1024


class Copied(ABC):
    schema_version: str
    columns: dict[str, list[str]]
    rows: dict[str, int]

    @abstractmethod
    async def pour(self, tx: PostgresTransaction, table: str) -> None:
        """Write all rows of one table."""


class Archive(Copied):
    """A copy of a PostgreSQL database: CSV files in a zip."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        manifest = msgspec.json.decode(archive.read(MANIFEST), type=Manifest)
        self.schema_version = manifest.schema_version
        self.columns = manifest.columns
        self.rows = manifest.rows

    async def pour(self, tx: PostgresTransaction, table: str) -> None:
        with self._archive.open(f"{table}.csv") as file:
            await copy_in(tx, table, self.columns[table], iter(lambda: file.read(_BLOCK_BYTES), b""))


class SqliteFile(Copied):
    """A copy of a SQLite database: the database itself."""

    def __init__(self, raw: sqlite3.Connection) -> None:
        self._raw = raw
        engine = create_engine("sqlite://", creator=lambda: raw, poolclass=StaticPool)
        with engine.connect() as connection:
            version = current_version(connection)
            self.columns = table_columns(connection)
        if version is None:
            raise BackupRefused("this file is not a copy of a store")
        self.schema_version = version
        self.rows = {table: self._count(table) for table in self.columns}

    async def pour(self, tx: PostgresTransaction, table: str) -> None:
        columns = self.columns[table]
        names = ", ".join(f'"{name}"' for name in columns)
        rows = self._raw.execute(f'SELECT {names} FROM "{table}"')  # noqa: S608  names of our own schema
        await copy_rows(tx, table, columns, rows)

    def _count(self, table: str) -> int:
        (count,) = self._raw.execute(f'SELECT count(*) FROM "{table}"').fetchone()  # noqa: S608
        return int(count)


def _archive(source: Path) -> zipfile.ZipFile:
    """Read to its end before the target is touched: half of a copy in a database is neither empty nor a store."""
    try:
        archive = zipfile.ZipFile(source)
        if MANIFEST not in archive.namelist():
            raise BackupRefused("this file is not a copy of a store")
        manifest = msgspec.json.decode(archive.read(MANIFEST), type=Manifest)
        is_damaged = archive.testzip() is not None
    except _DAMAGES:
        raise BackupRefused(_DAMAGED) from None
    if is_damaged or {f"{table}.csv" for table in manifest.columns} - set(archive.namelist()):
        raise BackupRefused(_DAMAGED)
    return archive


@contextmanager
def opened(source: Path) -> Iterator[Copied]:
    """A copy, whichever database it was made from."""
    if not source.is_file():
        raise BackupRefused("there is no such copy")
    if zipfile.is_zipfile(source):
        with contextlib.closing(_archive(source)) as archive:
            yield Archive(archive)
        return
    if not is_whole(source):
        raise BackupRefused(_DAMAGED)
    raw = sqlite3.connect(f"file:{source.resolve()}?mode=ro", uri=True)
    try:
        raw.execute("PRAGMA schema_version")
        yield SqliteFile(raw)
    except sqlite3.DatabaseError as error:
        raise BackupRefused("this file is not a copy of a store") from error
    finally:
        raw.close()
