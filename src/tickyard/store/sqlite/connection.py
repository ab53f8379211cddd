"""One connection to the SQLite file, and what its errors mean."""

import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from sqlalchemy import create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import StaticPool

from tickyard.observe.log import log
from tickyard.store.engine import Busy, StoreRefused

# How long one try may hold the event loop for another process.
_BUSY_S: Final = 0.005
_WAL_MAX_BYTES: Final = 64 * 1024 * 1024
# A round that fires thousands of alerts touches pages all over their indexes; the 2 MB by default are too few.
_CACHE_KIB: Final = {True: 2_048, False: 16_384}

_BUSY: Final = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
# What the machine did, not our statement.
_TROUBLE: Final = {
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
}
_LOOK: Final = "look at the file, at who owns it and its folder, and at the room on the disk"
_BESIDE: Final = ("-wal", "-shm")
"""What SQLite keeps next to the file: the newest of what was acknowledged may be in there alone."""


class Link:
    def __init__(self, path: Path, *, is_reader: bool) -> None:
        self._raw = _connect(path, is_reader=is_reader)
        self._is_reader = is_reader
        engine = create_engine(
            "sqlite://",
            creator=lambda: self._raw,
            poolclass=StaticPool,
            execution_options={"preserve_rowcount": True},
        )
        self.connection = engine.connect()

    def start(self, begin: str) -> None:
        self._raw.execute(begin)
        if self._is_reader:
            # A deferred transaction has no view yet; touching the schema takes it here, where waiting is possible.
            try:
                self._raw.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
            except sqlite3.Error:
                self._raw.rollback()
                raise

    def run(self, statement: str, values: Mapping[str, Any] | Sequence[Any]) -> sqlite3.Cursor:
        return self._raw.execute(statement, values)

    def run_each(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        self._raw.executemany(statement, rows)

    def commit(self) -> None:
        self._raw.commit()

    def rollback(self) -> None:
        self._raw.rollback()

    def close(self) -> None:
        self.connection.close()
        self.connection.engine.dispose()
        self._raw.close()


def _make_file(path: Path) -> None:
    """The rows hold webhook addresses: nobody but the service reads the file. WAL and shm inherit its mode.

    A file that is there is never opened beside SQLite: closing any descriptor of it drops all locks of this process,
    and the next one that ends takes itself for the last and removes the log from under those who still write.
    """
    try:
        file = path.resolve()
        _must_not_be_bereft(file)
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        raise StoreRefused(f"the store's file {path} cannot be opened: {error.strerror}", _LOOK) from error


def _must_not_be_bereft(file: Path) -> None:
    """SQLite removes the log that it finds beside an empty file. Where a file was moved away alone, that log is the end
    of what was acknowledged, and perhaps somebody still writes it."""
    # In this order: who makes a file makes it before its log.
    left = [beside for end in _BESIDE if (beside := file.with_name(file.name + end)).exists()]
    if left and not file.exists():
        raise StoreRefused(
            f"the store's file {file} is gone, and {' and '.join(each.name for each in left)} of it are still there",
            "stop every process; then put the file back in its place, or move these along with it",
        )


def _connect(path: Path, *, is_reader: bool) -> sqlite3.Connection:
    _make_file(path)
    # Without an isolation level the driver never begins or commits by itself.
    raw = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
    try:
        for pragma in (
            "journal_mode=WAL",
            "synchronous=FULL",
            "foreign_keys=ON",
            f"journal_size_limit={_WAL_MAX_BYTES}",
            "temp_store=MEMORY",
            f"cache_size=-{_CACHE_KIB[is_reader]}",
            f"query_only={int(is_reader)}",
        ):
            raw.execute(f"PRAGMA {pragma}")
    except sqlite3.Error:
        raw.close()
        raise
    return raw


class _Translated:
    """Around every statement, so a plain object: a generator would cost as much as a small statement."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, _traceback: object) -> None:
        if isinstance(error, DBAPIError | sqlite3.Error):
            _translate(error)


translated: Final = _Translated()
"""Trouble of the file as a failure of the house; anything else is a bug and passes through."""


def _translate(error: DBAPIError | sqlite3.Error) -> None:
    cause = error.orig if isinstance(error, DBAPIError) else error
    # The low byte is the primary code.
    code = (getattr(cause, "sqlite_errorcode", None) or 0) & 0xFF
    if code in _BUSY:
        raise Busy("the store is busy", retry_after_s=1) from error
    if code in _TROUBLE:
        log.error("the store's file gives trouble", code=getattr(cause, "sqlite_errorname", ""))
        found = f"the store's file gives trouble: {cause}"
        raise StoreRefused(found, _LOOK) from error
    if code == sqlite3.SQLITE_ERROR and str(cause).startswith("no such table"):
        # An empty file in the store's place, or one of another program.
        log.error("the store refuses us", found=str(cause))
        raise StoreRefused(f"the store's file has {cause}", "run `tickyard migrate`") from error
