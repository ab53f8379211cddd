"""A process that can be killed at any await, and the far ends as it sees them: a store and a node that fail."""

import asyncio
import sqlite3
from contextlib import asynccontextmanager
from typing import ClassVar

from sqlalchemy import create_engine

from tickyard.chain.rpc.client import Rpc
from tickyard.chain.rpc.trouble import Trouble as NodeTrouble
from tickyard.kernel.errors import UpstreamDown
from tickyard.store.sqlite.connection import Link
from tickyard.store.sqlite.engine import PATIENCE_S, SqliteStore, SqliteTransaction


class Killed(BaseException):
    """The process is gone. Nothing catches it, as nothing catches a kill -9."""


GONE = (Killed, asyncio.CancelledError)


class Doom:
    """Kills whoever comes to the n-th await, counted over all processes together, for each n given."""

    def __init__(self, *at):
        self._at = set(at)
        self.points = 0
        self.is_counting = False

    def strikes(self):
        if not self.is_counting:
            return False
        self.points += 1
        return self.points in self._at


class Process:
    """One life of one process. Every await on a far end passes through `point`."""

    def __init__(self, name, rng, faults, doom=None):
        self.name = name
        self.rng = rng
        self.faults = faults
        self._doom = doom or Doom()
        self.is_dead = False
        self.frailty = lambda: 1
        self.on_write = lambda: None
        # In the order in which they began: a seed must not depend on names or addresses.
        self.tasks = {}

    async def point(self):
        if self.is_dead:
            raise Killed
        if self._doom.strikes() or (self.faults.kill and self.rng.random() < self.faults.kill * self.frailty()):
            self.die()
            raise Killed
        if self.faults.interleave and self.rng.random() < self.faults.interleave:
            # Somebody else's turn.
            await asyncio.sleep(self.rng.choice((0, 0, 0.001, 0.05)))
            if self.is_dead:
                raise Killed

    def chance(self, name):
        chance = getattr(self.faults, name)
        return chance > 0 and self.rng.random() < chance

    def start(self, work):
        task = asyncio.get_running_loop().create_task(work)
        self.tasks[task] = None
        task.add_done_callback(lambda ended: self.tasks.pop(ended, None))
        return task

    def die(self):
        self.is_dead = True
        current = asyncio.current_task()
        for task in list(self.tasks):
            if task is not current:
                task.cancel()


# All connections speak one dialect and share what was compiled for it, over all lives of all processes.
_DIALECT = create_engine("sqlite://").dialect
_COMPILED = {}


class LentLink(Link):
    """A connection that outlives its process, rolled back: opening one takes longer than most of what is done with it."""

    spare: ClassVar = {}
    """By file: those that nobody has. A file that nobody keeps for lending has none."""

    def __init__(self, path, *, is_reader):
        super().__init__(path, is_reader=is_reader)
        self._kept_in = self.spare.get((path, is_reader))
        self.connection.dialect = _DIALECT
        self.connection = self.connection.execution_options(compiled_cache=_COMPILED)
        # Who holds the lock is in this very thread: waiting for it in real time would be for nothing.
        self._raw.execute("PRAGMA busy_timeout = 0")
        self._raw.create_function("probe", 0, int)

    @property
    def is_reading(self):
        """Whether a statement has rows left: it keeps the view it began with, also beyond the end of a transaction."""
        try:
            self._raw.create_function("probe", 0, int)
        except sqlite3.OperationalError:
            return True
        return False

    def close(self):
        # The list of a file that was replaced since is not the one that is asked any more.
        if self._kept_in is None or not any(self._kept_in is each for each in self.spare.values()):
            super().close()
            return
        self._raw.rollback()
        # Whoever was killed may have left a statement half read.
        if self.is_reading:
            super().close()
        else:
            self._kept_in.append(self)

    @classmethod
    def keep(cls, path):
        """From now on; those of a file that stood there before are thrown away."""
        cls.throw_away(path)
        cls.spare |= {(path, True): [], (path, False): []}

    @classmethod
    def throw_away(cls, path):
        for is_reader in (True, False):
            for link in cls.spare.pop((path, is_reader), ()):
                Link.close(link)


def connect(path, *, is_reader):
    spare = LentLink.spare.get((path, is_reader))
    return spare.pop() if spare else LentLink(path, is_reader=is_reader)


class Trouble:
    """What the store of a process does to it."""

    def __init__(self, process):
        self._process = process

    async def at_a_statement(self):
        await self._process.point()
        if self._process.chance("store_error"):
            raise UpstreamDown("the store does not answer")

    async def after_a_commit(self):
        self._process.on_write()
        await self._process.point()
        if self._process.chance("lost_commit"):
            raise UpstreamDown("the store does not answer")


class FrailTransaction(SqliteTransaction):
    def __init__(self, link, process):
        super().__init__(link)
        self._trouble = Trouble(process)

    async def execute(self, statement, values=None):
        await self._trouble.at_a_statement()
        return await super().execute(statement, values)

    async def fetch(self, statement, values):
        await self._trouble.at_a_statement()
        return await super().fetch(statement, values)

    async def run(self, statement, values):
        await self._trouble.at_a_statement()
        return await super().run(statement, values)

    async def run_each(self, statement, rows):
        await self._trouble.at_a_statement()
        await super().run_each(statement, rows)


class FrailStore(SqliteStore):
    """The real store, whose commits can fail before, after, or in the middle."""

    def __init__(self, path, clock, rng, process):
        super().__init__(path, clock, rng)
        self._process = process
        self._trouble = Trouble(process)

    def _start_writing(self):
        if self._writer is None:
            self._writer = connect(self.path, is_reader=False)
        return super()._start_writing()

    def _reader(self):
        return self._idle.pop() if self._idle else connect(self.path, is_reader=True)

    @asynccontextmanager
    async def begin(self, *, patience_s=PATIENCE_S):
        await self._process.point()
        try:
            async with super().begin(patience_s=patience_s) as tx:
                yield FrailTransaction(tx._link, self._process)
                await self._trouble.at_a_statement()
        except sqlite3.ProgrammingError:
            # It was killed, and its connection went with it while somebody else had their turn.
            if self._process.is_dead:
                raise Killed from None
            raise
        await self._trouble.after_a_commit()

    def let_go(self):
        """Its process is gone, and with it the connections."""
        for link in [*self._idle, *([self._writer] if self._writer else [])]:
            link.close()
        self._idle.clear()
        self._writer = None

    @asynccontextmanager
    async def read(self):
        await self._process.point()
        async with super().read() as tx:
            yield FrailTransaction(tx._link, self._process)
            assert not tx._link.is_reading, "the next to read over this connection would see yesterday"

    @asynccontextmanager
    async def glance(self):
        await self._process.point()
        async with super().glance() as tx:
            yield FrailTransaction(tx._link, self._process)
            assert not tx._link.is_reading, "the next to read over this connection would see yesterday"


class _Wire:
    """What stands in for sockets: a request may get lost, its reply may get lost, both may be late."""

    endpoints = ()

    def __init__(self, chain, clock, process, views):
        self._chain = chain
        self._clock = clock
        self._process = process
        self._views = views

    def deadline(self):
        return self._clock.monotonic() + 5

    def seek_newer(self, _than_s):
        """Which node answers is up to chance here."""

    async def ask(self, _method, body, read, _deadline=None, *, shows_age=False):
        await self._process.point()
        if self._process.chance("lost_request"):
            raise UpstreamDown("the chain node did not answer")
        if self._process.chance("slow"):
            await self._clock.sleep(self._process.rng.uniform(0, 4))
        answer = self._chain.handle(body, self._process.rng.choice(self._views) if self._views else None)
        await self._process.point()
        if self._process.chance("lost_reply"):
            raise UpstreamDown("the chain node did not answer")
        try:
            return read(answer)
        except NodeTrouble:
            raise UpstreamDown("the chain node did not answer") from None


class FrailRpc(Rpc):
    """The real client, with the chain in memory at the other end."""

    def __init__(self, chain, clock, process, views=()):
        super().__init__(["http://simulated"], chain_id=4663, clock=clock)
        self._nodes = _Wire(chain, clock, process, list(views))
