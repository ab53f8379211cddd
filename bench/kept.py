"""Databases that take long to fill: made once, kept in the user's cache folder. Every run works on a copy.

SQLite is filled through the service's own code; PostgreSQL gets the same rows from there, in the order of time, as
they would have arrived.
"""

import asyncio
import hashlib
import shutil
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tickyard.kernel.clock import WallClock
from tickyard.sandbox.contracts.build import cache_dir
from tickyard.store import migrations
from tickyard.store.engine import Store
from tickyard.store.migrate import migrate
from tickyard.store.opening import open_store
from yards.postgres_server import PostgresServer

_BLOCK_ROWS = 10_000


@dataclass(frozen=True)
class Kept:
    """`fill` writes the rows; `tables` names those that get any, each with the columns of its order in time."""

    name: str
    fill: Callable[[Store], Awaitable[None]]
    tables: dict[str, str]

    @asynccontextmanager
    async def on_sqlite(self) -> AsyncIterator[str]:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "tickyard.db"
            shutil.copyfile(await self._sqlite(), copy)
            yield str(copy)

    @asynccontextmanager
    async def on_postgres(self) -> AsyncIterator[str]:
        # Its own default for memory: the suite's servers get less.
        server = PostgresServer(await self._postgres(), shared_buffers="128MB")
        try:
            yield server.url("t1")
        finally:
            server.stop()

    @asynccontextmanager
    async def on(self, database: str) -> AsyncIterator[str]:
        async with self.on_sqlite() if database == "SQLite" else self.on_postgres() as where:
            yield where

    def _place(self, kind: str) -> Path:
        # A new schema makes what was kept useless.
        schema = Path(migrations.__file__).parent.joinpath("versions")
        texts = [file.read_bytes() for file in sorted(schema.glob("v*.py"))]
        return cache_dir() / "bench" / f"{self.name}-{kind}-{hashlib.sha256(b''.join(texts)).hexdigest()[:12]}"

    async def _sqlite(self) -> Path:
        place = self._place("sqlite")
        if place.is_file():
            return place
        draft = self._draft(place)
        store = open_store(draft, WallClock())
        await migrate(store)
        await self.fill(store)
        await store.close()
        with sqlite3.connect(draft) as raw:
            raw.execute("PRAGMA journal_mode=DELETE")
        raw.close()
        return draft.rename(place)

    async def _postgres(self) -> Path:
        place = self._place("postgresql")
        if place.is_dir():
            return place
        source = await self._sqlite()
        draft = self._draft(place)
        server = PostgresServer(shared_buffers="128MB", max_wal_size="256MB")
        try:
            url = server.new_database()
            store = open_store(url, WallClock())
            await migrate(store)
            await store.close()
            await asyncio.to_thread(self._pour, source, url)
            server.keep(draft)
        finally:
            server.stop()
        return draft.rename(place)

    def _draft(self, place: Path) -> Path:
        print(f"making {place.name} in {place.parent} (once)", flush=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        for old in place.parent.glob(f"{place.name.rpartition('-')[0]}-*"):
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        return place.with_name(place.name + "-unfinished")

    def _pour(self, source: Path, url: str) -> None:
        with sqlite3.connect(source) as rows, psycopg.connect(url, autocommit=True) as books:
            for table, order in self.tables.items():
                found = rows.execute(f"SELECT * FROM {table} ORDER BY {order}")
                names = ", ".join(column[0] for column in found.description)
                with books.cursor().copy(f"COPY {table} ({names}) FROM STDIN") as copy:
                    while block := found.fetchmany(_BLOCK_ROWS):
                        for row in block:
                            copy.write_row(row)
            books.execute("VACUUM (FREEZE, ANALYZE)")
        rows.close()
