"""Where a town keeps its books: a SQLite file, or a database of a real PostgreSQL server."""

import asyncio
import selectors
import shutil
from contextlib import asynccontextmanager

from sqlalchemy import text

from simulated.loop import VirtualLoop
from simulated.process import FrailStore, LentLink, Trouble
from simulated.template import template
from tickyard.store.opening import open_store
from tickyard.store.postgres.engine import PostgresStore, PostgresTransaction
from tickyard.store.tables import METADATA


class FileDisk:
    def __init__(self, path):
        self._path = path

    def open(self, clock, rng):
        shutil.copy(template(), self._path)
        LentLink.keep(self._path)
        return open_store(self._path, clock, rng)

    def frail(self, clock, process):
        return FrailStore(self._path, clock, process.rng, process)

    async def keep(self, store):
        async with store.begin():
            # With the one lock held nobody writes, and all that was written is in these files.
            return {name: path.read_bytes() for name in ("", "-wal") if (path := self._file(name)).exists()}

    async def put_back(self, kept, _store):
        for name in ("", "-wal", "-shm"):
            self._file(name).unlink(missing_ok=True)
        for name, content in kept.items():
            self._file(name).write_bytes(content)
        LentLink.keep(self._path)

    def _file(self, suffix):
        return self._path.with_name(self._path.name + suffix)

    async def close(self):
        LentLink.throw_away(self._path)


class ServerDisk:
    """A database with its schema, on a server. What is kept of it lies beside it, in a schema of its own."""

    def __init__(self, url):
        self._url = url
        self._tables = ", ".join(f"public.{name}" for name in METADATA.tables)
        self._closing = set()

    def open(self, clock, rng):
        return open_store(self._url, clock, rng)

    def frail(self, clock, process):
        return FrailPostgres(self._url, clock, process, self)

    async def keep(self, store):
        async with store.begin() as tx:
            # All tables of one moment.
            await tx.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
            await tx.execute(text("DROP SCHEMA IF EXISTS kept CASCADE"))
            await tx.execute(text("CREATE SCHEMA kept"))
            for name in METADATA.tables:
                await tx.execute(text(f"CREATE TABLE kept.{name} AS TABLE public.{name}"))

    async def put_back(self, _kept, store):
        async with store.begin() as tx:
            await tx.execute(text(f"TRUNCATE {self._tables}"))
            for name in METADATA.tables:
                await tx.execute(text(f"INSERT INTO public.{name} SELECT * FROM kept.{name}"))

    def ends(self, closing):
        """A process is gone; the server hears of it in its own time."""
        task = asyncio.get_running_loop().create_task(closing)
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def close(self):
        await asyncio.gather(*self._closing, return_exceptions=True)


class FrailPostgresTransaction(PostgresTransaction):
    def __init__(self, tx, process):
        self.connection, self.watch, self._account = tx.connection, tx.watch, tx._account
        self._trouble = Trouble(process)

    async def execute(self, statement, values=None):
        await self._trouble.at_a_statement()
        return await super().execute(statement, values)

    async def fetch(self, statement, values):
        await self._trouble.at_a_statement()
        return await super().fetch(statement, values)


class FrailPostgres(PostgresStore):
    """The real store on the real server, in a process that may be killed at any statement."""

    def __init__(self, url, clock, process, disk):
        super().__init__(url, clock)
        self._process = process
        self._trouble = Trouble(process)
        self._disk = disk

    async def now(self, tx):
        # The way to the server and back is real; its clock is the town's.
        await super().now(tx)
        return self.clock.now()

    def let_go(self):
        self._disk.ends(self.close())

    @asynccontextmanager
    async def begin(self, *, patience_s=None):
        await self._process.point()
        async with super().begin(patience_s=patience_s) as tx:
            yield FrailPostgresTransaction(tx, self._process)
            await self._trouble.at_a_statement()
        await self._trouble.after_a_commit()

    @asynccontextmanager
    async def read(self):
        await self._process.point()
        async with super().read() as tx:
            yield FrailPostgresTransaction(tx, self._process)

    @asynccontextmanager
    async def glance(self):
        await self._process.point()
        async with super().glance() as tx:
            yield FrailPostgresTransaction(tx, self._process)


class _WaitsForSockets(selectors.DefaultSelector):
    """While somebody waits for the server time stands still; unless who is to let go of a lock sleeps."""

    now = 0.0
    PATIENCE_S = 0.2

    def select(self, timeout=None):
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        # One is the loop's own; the driver has its socket here only while it waits.
        if len(self.get_map()) > 1 and (ready := super().select(self.PATIENCE_S)):
            return ready
        if timeout is None:
            return super().select(5)
        self.now += max(0, timeout)
        return []


class ServerLoop(VirtualLoop):
    selector = _WaitsForSockets
