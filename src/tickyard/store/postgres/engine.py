"""The store on PostgreSQL, for more than one machine.

Nothing here needs more than a PostgreSQL-compatible engine offers: no advisory locks, no LISTEN, no
session state that a connection pooler would lose but time limits.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final, TypeVar, cast

import psycopg
from sqlalchemy import Connection, ExceptionContext, Executable, event, make_url, text
from sqlalchemy.exc import DBAPIError, DisconnectionError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import UpstreamDown
from tickyard.observe.log import log
from tickyard.store.engine import Contended, Rows, Spelled, Store, Transaction, Values
from tickyard.store.tables import from_micros

T = TypeVar("T")

_POOL_SIZE: Final = 5
_POOL_OVERFLOW: Final = 5
_TRUSTED_S: Final = 1.0
_GLANCERS_MAX: Final = 2
_WAIT_S: Final = 5
_LIMITS: Final = {
    "statement_timeout": "10s",
    # A process that stops in the middle of a transaction must not keep its locks.
    "idle_in_transaction_session_timeout": "10s",
}
# A server that vanishes without a word (power, network) is noticed within about ten seconds.
_LINK: Final = {
    "connect_timeout": _WAIT_S,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
    # After a failover the old primary may come back read-only: never settle for it.
    "target_session_attrs": "read-write",
    "application_name": "tickyard",
}
_CONTENDED: Final = {"40001", "40P01"}
_BECAME_READ_ONLY: Final = "25006"


class PostgresTransaction(Transaction):
    is_sqlite = False

    def __init__(self, connection: AsyncConnection) -> None:
        self.connection = connection

    async def execute(self, statement: Executable, values: Values | Sequence[Values] | None = None) -> Rows:
        with _translated():
            return await self.connection.execute(statement, values)

    async def fetch(self, statement: Spelled, values: Values) -> list[tuple[Any, ...]]:
        with _translated():
            driver = driver_of(self.connection)
            try:
                return await (await driver.execute(statement.for_postgresql, values)).fetchall()
            except psycopg.Error:
                if driver.closed:
                    # SQLAlchemy did not see it: the pool must not lend this connection again.
                    await self.connection.invalidate()
                raise

    async def run_sync(self, work: Callable[[Connection], T]) -> T:
        with _translated():
            return await self.connection.run_sync(work)


class PostgresStore(Store):
    def __init__(self, url: str, clock: Clock, rng: Random) -> None:
        super().__init__(clock, rng)
        self._engine = _engine(url, clock)
        self._serializable = self._engine.execution_options(isolation_level="SERIALIZABLE")
        self._glancing = self._engine.execution_options(isolation_level="AUTOCOMMIT")
        self._reading = self._engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        self._glancers: list[tuple[AsyncConnection, float]] = []
        """Connections that were used a moment ago, and when: asking the pool costs as much as a small read."""

    @asynccontextmanager
    async def begin(self, *, serializable: bool = False) -> AsyncIterator[Transaction]:
        with _translated():
            async with (self._serializable if serializable else self._engine).begin() as connection:
                yield PostgresTransaction(connection)

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Transaction]:
        with _translated():
            async with self._reading.begin() as connection:
                yield PostgresTransaction(connection)

    @asynccontextmanager
    async def glance(self) -> AsyncIterator[Transaction]:
        with _translated():
            connection = await self._glancer()
            try:
                yield PostgresTransaction(connection)
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
        return await self._glancing.connect()

    async def now(self, tx: Transaction) -> datetime:
        micros = await tx.execute(_NOW)
        # The sandbox moves its own clock; the database's must follow it.
        offset: timedelta = getattr(self.clock, "offset", timedelta(0))
        return from_micros(micros.scalar_one()) + offset

    @property
    def lent(self) -> int:
        pool = self._engine.pool
        return pool.checkedout() if isinstance(pool, QueuePool) else 0

    async def close(self) -> None:
        while self._glancers:
            await self._glancers.pop()[0].close()
        await self._engine.dispose()


_NOW: Final = text("SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)")


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except PoolTimeout as error:
        raise UpstreamDown("the store is busy", retry_after_s=1) from error
    except (DBAPIError, psycopg.Error) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        state = getattr(cause, "sqlstate", None)
        if state in _CONTENDED:
            raise Contended("the store is busy", retry_after_s=1) from error
        is_lost = isinstance(error, DBAPIError) and error.connection_invalidated
        if not (is_lost or isinstance(cause, psycopg.OperationalError | psycopg.InterfaceError)):
            raise
        log.error("the store gives trouble", kind=type(cause).__name__, sqlstate=state)
        raise UpstreamDown("the store does not answer", retry_after_s=5) from error


def driver_of(connection: AsyncConnection) -> psycopg.AsyncConnection[tuple[Any, ...]]:
    """The driver's own connection under one of SQLAlchemy's."""
    lent = connection.sync_connection
    assert lent is not None
    return cast("psycopg.AsyncConnection[tuple[Any, ...]]", lent.connection.driver_connection)


def _engine(url: str, clock: Clock) -> AsyncEngine:
    engine = create_async_engine(
        make_url(url).set(drivername="postgresql+psycopg"),
        isolation_level="READ COMMITTED",
        pool_size=_POOL_SIZE,
        max_overflow=_POOL_OVERFLOW,
        pool_timeout=_WAIT_S,
        connect_args=_LINK,
        execution_options={"preserve_rowcount": True},
    )

    @event.listens_for(engine.sync_engine, "connect")
    def set_limits(connection: Any, _record: object) -> None:
        cursor = connection.cursor()
        for name, value in _LIMITS.items():
            cursor.execute(f"SET {name} = '{value}'")
        cursor.close()
        connection.commit()

    @event.listens_for(engine.sync_engine, "checkin")
    def note_use(_connection: Any, record: ConnectionPoolEntry) -> None:
        record.info["used"] = clock.monotonic()

    @event.listens_for(engine.sync_engine, "checkout")
    def ask_whether_it_lives(connection: Any, record: ConnectionPoolEntry, _proxy: object) -> None:
        # Only after a pause: asking each time would double the cost of a small read.
        if clock.monotonic() - record.info.get("used", clock.monotonic()) < _TRUSTED_S:
            return
        try:
            engine.dialect.do_ping(connection)
        except engine.dialect.loaded_dbapi.Error as error:
            raise DisconnectionError from error

    @event.listens_for(engine.sync_engine, "handle_error")
    def drop_old_primary(context: ExceptionContext) -> None:
        state = getattr(context.original_exception, "sqlstate", None)
        is_reading = context.connection and context.connection.get_execution_options().get("postgresql_readonly")
        if state == _BECAME_READ_ONLY and not is_reading:
            # Treated as a lost connection, so that the pool dials again and finds the new primary.
            context.is_disconnect = True

    return engine
