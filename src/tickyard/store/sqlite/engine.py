"""The store in one SQLite file: WAL, every commit synced, one writer at a time.

Statements run inline on the event loop: they take microseconds to milliseconds, and without threads a
simulation is repeatable. The one thing that could block the loop is another process holding the write
lock, so that wait is done with pauses of the Clock and a budget.
"""

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, Executable

from tickyard.kernel.clock import Clock
from tickyard.observe.log import log
from tickyard.store.engine import Busy, Rows, Spelled, Store, StoreRefused, Transaction, Values
from tickyard.store.sqlite.connection import Link, translated

T = TypeVar("T")

PATIENCE_S: Final = 5.0
"""How long a transaction waits for other processes before it gives up."""
_PAUSE_S: Final = (0.002, 0.02)
_IDLE_READERS_MAX: Final = 4


class SqliteTransaction(Transaction):
    is_sqlite = True

    def __init__(self, link: Link) -> None:
        self._link = link

    async def execute(self, statement: Executable, values: Values | Sequence[Values] | None = None) -> Rows:
        with translated:
            return self._link.connection.execute(statement, values)

    async def fetch(self, statement: Spelled, values: Values) -> list[tuple[Any, ...]]:
        with translated:
            return self._link.run(statement.for_sqlite, values).fetchall()

    async def run(self, statement: str, values: Sequence[Any]) -> sqlite3.Cursor:
        """A statement in the driver's own words."""
        with translated:
            return self._link.run(statement, values)

    async def run_each(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        with translated:
            self._link.run_each(statement, rows)

    async def run_sync(self, work: Callable[[Connection], T]) -> T:
        with translated:
            return work(self._link.connection)


class SqliteStore(Store):
    def __init__(self, path: Path, clock: Clock, rng: Random) -> None:
        super().__init__(clock)
        self._rng = rng
        self.path = path
        self._turn = asyncio.Lock()
        self._writer: Link | None = None
        self._idle: list[Link] = []
        self._file: tuple[int, int] | None = None
        """The file that was opened first, whatever stands under its name later."""

    @asynccontextmanager
    async def begin(self, *, patience_s: float | None = None) -> AsyncIterator[Transaction]:
        # The lock keeps our own tasks in line; IMMEDIATE keeps other processes.
        async with self._turn:
            link = await self._patiently(self._start_writing, patience_s or PATIENCE_S)
            try:
                yield SqliteTransaction(link)
                with translated:
                    link.commit()
            except BaseException:
                link.rollback()
                raise

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Transaction]:
        link = await self._patiently(self._start_reading, PATIENCE_S)
        with self._borrowed(link):
            yield SqliteTransaction(link)
            link.rollback()

    @asynccontextmanager
    async def glance(self) -> AsyncIterator[Transaction]:
        link = await self._patiently(self._reader, PATIENCE_S)
        with self._borrowed(link):
            yield SqliteTransaction(link)

    async def now(self, tx: Transaction) -> datetime:
        return self.clock.now()

    async def must_have_room(self) -> None:
        # All that is written goes to the end of one log: something tiny has told for the rest.
        return

    async def close(self) -> None:
        for link in [*self._idle, *([self._writer] if self._writer else [])]:
            link.close()
        self._idle.clear()
        self._writer = self._file = None

    def _start_writing(self) -> Link:
        self._look_at_file()
        if self._writer is None:
            self._writer = self._link(is_reader=False)
        self._writer.start("BEGIN IMMEDIATE")
        return self._writer

    def _reader(self) -> Link:
        # A block that waits for something else must not hold up the next reader: each has a connection of its own.
        self._look_at_file()
        return self._idle.pop() if self._idle else self._link(is_reader=True)

    def _link(self, *, is_reader: bool) -> Link:
        link = Link(self.path, is_reader=is_reader)
        self._file = self._file or _identity(self.path)
        return link

    def _look_at_file(self) -> None:
        """An open file can still be written when it was moved away or removed, and a new one made in its place: what is
        acknowledged then is in a file that nobody reads again."""
        if self._file is not None and _identity(self.path) != self._file:
            log.error("THE STORE'S FILE WAS MOVED OR REPLACED UNDER THIS PROCESS, NOTHING IS READ OR WRITTEN")
            raise StoreRefused(
                "the store's file was moved, removed or replaced while this process had it open",
                "stop every process, put the right file in its place, and start them again",
            )

    def _start_reading(self) -> Link:
        link = self._reader()
        try:
            link.start("BEGIN")
        except sqlite3.Error:
            link.close()
            raise
        return link

    @contextmanager
    def _borrowed(self, link: Link) -> Iterator[None]:
        try:
            yield
        except BaseException:
            # A connection that saw trouble is not kept.
            link.close()
            raise
        if len(self._idle) < _IDLE_READERS_MAX:
            self._idle.append(link)
        else:
            link.close()

    async def _patiently(self, start: Callable[[], Link], patience_s: float) -> Link:
        deadline = self.clock.monotonic() + patience_s
        while True:
            try:
                with translated:
                    return start()
            except Busy:
                if self.clock.monotonic() >= deadline:
                    raise
            await self.clock.sleep(self._rng.uniform(*_PAUSE_S))


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file this is. Asked without opening it: closing it again would drop the locks of this process."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
