"""The store on PostgreSQL, for more than one machine.

Nothing here needs more than a PostgreSQL-compatible engine offers: no advisory locks, no LISTEN, no session state that
a connection pooler would lose. A transaction brings its isolation and time limits along, in the words that begin it;
what is set in a session is for single SELECTs, which need it least.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar, cast

import psycopg
from sqlalchemy import URL, Connection, ExceptionContext, Executable, event, make_url, text
from sqlalchemy.exc import ArgumentError, DisconnectionError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

from tickyard.kernel.clock import Clock
from tickyard.store.engine import Rows, Spelled, Store, StoreRefused, Transaction, Values
from tickyard.store.postgres.room import must_have_room
from tickyard.store.postgres.trouble import translated
from tickyard.store.postgres.watch import Watch
from tickyard.store.tables import from_micros

T = TypeVar("T")

_POOL_SIZE: Final = 5
_POOL_OVERFLOW: Final = 5
_TRUSTED_S: Final = 1.0
_GLANCERS_MAX: Final = 2


@dataclass(frozen=True, slots=True)
class Patience:
    """How long each step may take, in seconds."""

    pool_s: float
    connect_s: int
    ping_s: float
    answer_s: float


CALM: Final = Patience(pool_s=5, connect_s=5, ping_s=2, answer_s=12)
HURRIED: Final = Patience(pool_s=1, connect_s=2, ping_s=1, answer_s=3)
"""For who must say within six seconds that the store does not answer."""
# A server that vanishes without a word (power, network) is noticed within about ten seconds.
_LINK: Final = {
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
    # After a failover the old primary may come back read-only: never settle for it.
    "target_session_attrs": "read-write",
    "application_name": "tickyard",
    # What is prepared lives in one session, and behind a pooler the next transaction may be in another.
    "prepare_threshold": None,
    # Whatever the database is encoded in: from one in SQL_ASCII the driver would hand over bytes.
    "client_encoding": "utf8",
}
_BECAME_READ_ONLY: Final = "25006"
_WRITING: Final = "BEGIN ISOLATION LEVEL READ COMMITTED"
_READING: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_ONLY_READS: Final = "tickyard_only_reads"
# Who stops in the middle must not keep their locks.
_IDLE_S: Final = 10


class PostgresTransaction(Transaction):
    is_sqlite = False

    def __init__(self, connection: AsyncConnection, limit_s: float, account: str) -> None:
        self.connection = connection
        self._account = account
        self.watch = Watch(driver_of(connection), limit_s)

    async def start(self, words: str) -> None:
        """Begin as these words say. Before anything else: without them each statement would land by itself."""
        with translated(self._account), self.watch:
            await self._by_driver(words)

    async def execute(self, statement: Executable, values: Values | Sequence[Values] | None = None) -> Rows:
        with translated(self._account), self.watch:
            return await self.connection.execute(statement, values)

    async def fetch(self, statement: Spelled, values: Values) -> list[tuple[Any, ...]]:
        with translated(self._account), self.watch:
            return await (await self._by_driver(statement.for_postgresql, values)).fetchall()

    async def _by_driver(self, words: str, values: Values | None = None) -> psycopg.AsyncCursor[tuple[Any, ...]]:
        driver = driver_of(self.connection)
        try:
            return await driver.execute(words, values)
        except psycopg.Error:
            if driver.closed:
                # SQLAlchemy did not see it: the pool must not lend this connection again.
                await self.connection.invalidate()
            raise

    async def run_sync(self, work: Callable[[Connection], T]) -> T:
        with translated(self._account), self.watch:
            return await self.connection.run_sync(work)


class PostgresStore(Store):
    def __init__(self, url: str, clock: Clock, patience: Patience = CALM) -> None:
        super().__init__(clock)
        self._patience = patience
        self._account = _read(url).username or ""
        self._limits = (
            f"SET LOCAL statement_timeout = {_before(patience.answer_s)}; "
            f"SET LOCAL idle_in_transaction_session_timeout = '{_IDLE_S}s'"
        )
        self._engine = _engine(url, clock, patience)
        self._reading = self._engine.execution_options(**{_ONLY_READS: True})
        self._glancers: list[tuple[AsyncConnection, float]] = []
        """Connections that were used a moment ago, and when: asking the pool costs as much as a small read."""

    @asynccontextmanager
    async def begin(self, *, patience_s: float | None = None) -> AsyncIterator[Transaction]:
        async with self._transaction(self._engine, _WRITING, patience_s or self._patience.answer_s) as tx:
            yield tx

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Transaction]:
        async with self._transaction(self._reading, _READING, self._patience.answer_s) as tx:
            yield tx

    @asynccontextmanager
    async def _transaction(self, engine: AsyncEngine, begin: str, limit_s: float) -> AsyncIterator[Transaction]:
        with translated(self._account), ExitStack() as ending:
            async with engine.begin() as connection:
                tx = PostgresTransaction(connection, limit_s, self._account)
                await tx.start(f"{begin}; {self._limits}")
                try:
                    yield tx
                finally:
                    # The commit or the rollback that follows is watched like any other step.
                    ending.enter_context(tx.watch)

    @asynccontextmanager
    async def glance(self) -> AsyncIterator[Transaction]:
        with translated(self._account):
            connection = await self._glancer()
            try:
                yield PostgresTransaction(connection, self._patience.answer_s, self._account)
            except BaseException:
                await connection.close()
                raise
            if len(self._glancers) < _GLANCERS_MAX:
                self._glancers.append((connection, self.clock.monotonic()))
            else:
                await connection.close()

    async def _glancer(self) -> AsyncConnection:
        while self._glancers:
            connection, used = self._glancers.pop()
            if self.clock.monotonic() - used < _TRUSTED_S:
                return connection
            # The pool asks whether it still lives before it lends it again.
            await connection.close()
        return await self._engine.connect()

    async def now(self, tx: Transaction) -> datetime:
        micros = await tx.execute(_NOW)
        # The sandbox moves its own clock; the database's must follow it.
        offset: timedelta = getattr(self.clock, "offset", timedelta(0))
        return from_micros(micros.scalar_one()) + offset

    async def must_have_room(self) -> None:
        # After a refusal the transaction can only be taken back: one of its own.
        with translated(self._account):
            async with self._engine.connect() as connection:
                tx = PostgresTransaction(connection, self._patience.answer_s, self._account)
                await tx.start(f"{_WRITING}; {self._limits}")
                await must_have_room(tx)

    @property
    def lent(self) -> int:
        pool = self._engine.pool
        return pool.checkedout() if isinstance(pool, QueuePool) else 0

    async def close(self) -> None:
        while self._glancers:
            await self._glancers.pop()[0].close()
        await self._engine.dispose()


_NOW: Final = text("SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)")


def driver_of(connection: AsyncConnection) -> psycopg.AsyncConnection[tuple[Any, ...]]:
    """The driver's own connection under one of SQLAlchemy's."""
    lent = connection.sync_connection
    assert lent is not None
    return cast("psycopg.AsyncConnection[tuple[Any, ...]]", lent.connection.driver_connection)


def _read(url: str) -> URL:
    """The address, looked at before the driver does: its own words would be a bug's."""
    try:
        read = make_url(url)
        psycopg.conninfo.make_conninfo(**{name: str(value) for name, value in read.query.items()})
    except (ArgumentError, ValueError, psycopg.Error) as error:
        # Never the whole address, which may hold a password.
        why = f" ({str(error).strip()})" if isinstance(error, psycopg.Error) else ""
        mend = "write it as postgresql://account:password@host:5432/database"
        raise StoreRefused(f"TICKYARD_DATABASE_URL cannot be understood{why}", mend) from None
    # The first @ behind a password ends it: the rest would be taken for the host, and told to every name server.
    if "@" in f"{read.host}{read.database}":
        mend = "write each @ of the password as %40, / as %2F and % as %25"
        raise StoreRefused("an @ ends the password in TICKYARD_DATABASE_URL too early", mend)
    return read


def _before(limit_s: float) -> int:
    """In milliseconds: the server gives up before we cut the connection."""
    return int(limit_s * 1000) - 200


def _engine(url: str, clock: Clock, patience: Patience) -> AsyncEngine:
    engine = create_async_engine(
        _read(url).set(drivername="postgresql+psycopg"),
        # The driver begins nothing by itself; it commits and rolls back what we have begun.
        isolation_level="AUTOCOMMIT",
        pool_size=_POOL_SIZE,
        max_overflow=_POOL_OVERFLOW,
        pool_timeout=patience.pool_s,
        connect_args={**_LINK, "connect_timeout": patience.connect_s},
        execution_options={"preserve_rowcount": True},
    )

    @event.listens_for(engine.sync_engine, "connect")
    def set_limits(connection: Any, record: ConnectionPoolEntry) -> None:
        info = cast("psycopg.AsyncConnection[Any]", record.driver_connection).info
        if (encoding := info.parameter_status("server_encoding")) != "UTF8":
            raise StoreRefused(
                f"the database is encoded in {encoding}, which does not hold every name",
                "make one with ENCODING 'UTF8' TEMPLATE template0, and name it in TICKYARD_DATABASE_URL",
            )
        cursor = connection.cursor()
        cursor.execute(f"SET statement_timeout = {_before(patience.answer_s)}")
        cursor.close()

    @event.listens_for(engine.sync_engine, "checkin")
    def note_use(_connection: Any, record: ConnectionPoolEntry) -> None:
        record.info["used"] = clock.monotonic()

    @event.listens_for(engine.sync_engine, "checkout")
    def ask_whether_it_lives(connection: Any, record: ConnectionPoolEntry, _proxy: object) -> None:
        # Only after a pause: asking each time would double the cost of a small read.
        if clock.monotonic() - record.info.get("used", clock.monotonic()) < _TRUSTED_S:
            return
        try:
            with Watch(cast("psycopg.AsyncConnection[Any]", record.driver_connection), patience.ping_s):
                engine.dialect.do_ping(connection)
        except engine.dialect.loaded_dbapi.Error as error:
            raise DisconnectionError from error

    @event.listens_for(engine.sync_engine, "handle_error")
    def drop_old_primary(context: ExceptionContext) -> None:
        state = getattr(context.original_exception, "sqlstate", None)
        is_reading = context.connection and context.connection.get_execution_options().get(_ONLY_READS)
        if state == _BECAME_READ_ONLY and not is_reading:
            # Treated as a lost connection, so that the pool dials again and finds the new primary.
            context.is_disconnect = True

    return engine
