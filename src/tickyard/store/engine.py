"""The store: transactions over one database, SQLite or PostgreSQL, with the same statements.

    async with store.begin() as tx:      # everything inside lands together, or not at all
        await tx.execute(update(...))
    async with store.read() as tx:       # one consistent view, nothing can be written
        rows = await tx.execute(select(...))

Rooms write SQLAlchemy Core, or the statements of `statement.py`, and never ask which database it is. Trouble with the
database becomes `UpstreamDown`; a broken constraint or a wrong statement is a bug and passes through.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection, CursorResult, Executable

from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import UpstreamDown

T = TypeVar("T")
Values = Mapping[str, Any]
Rows = CursorResult[*tuple[Any, ...]]


class Spelled(Protocol):
    """One of the busiest statements (`statement.py`), in the words of each driver."""

    @property
    def for_sqlite(self) -> str: ...
    @property
    def for_postgresql(self) -> str: ...


class Busy(UpstreamDown):
    """Somebody else is at it: the store is well, and another moment may do."""


class Contended(Busy):
    """Another transaction won. The same work may succeed when it is run again from its beginning."""


class StoreRefused(UpstreamDown):
    """The database answers, and will not have us as we are: nothing heals until a person mends it.

    They are told what was found and what to do; callers hear no more than of a store that does not answer.
    """

    def __init__(self, found: str, mend: str) -> None:
        super().__init__("the store does not answer", retry_after_s=5)
        self.found = found
        self.mend = mend


class Transaction(ABC):
    """What a room does inside `begin` or `read`."""

    is_sqlite: bool

    @abstractmethod
    async def execute(self, statement: Executable, values: Values | Sequence[Values] | None = None) -> Rows:
        """Run one statement, once per entry when `values` is a list. `rowcount` counts what it changed."""

    @abstractmethod
    async def fetch(self, statement: Spelled, values: Values) -> list[tuple[Any, ...]]:
        """All rows of one of the busiest statements, as the driver gives them."""

    @abstractmethod
    async def run_sync(self, work: Callable[[Connection], T]) -> T:
        """Lend the plain connection to code that is not asynchronous (migrations, reflection)."""


class Store(ABC):
    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    @abstractmethod
    def begin(self, *, patience_s: float | None = None) -> AbstractAsyncContextManager[Transaction]:
        """A write transaction: committed at the end of the block, rolled back when the block raises.

        `patience_s`: how long the database may take, when it is not the usual.
        """

    @abstractmethod
    def read(self) -> AbstractAsyncContextManager[Transaction]:
        """A read-only transaction that sees one moment of the database."""

    def glance(self) -> AbstractAsyncContextManager[Transaction]:
        """Like `read`, for a single SELECT: that sees one moment by itself and needs no transaction around it."""
        return self.read()

    @abstractmethod
    async def now(self, tx: Transaction) -> datetime:
        """The one clock that all processes on this database share."""

    @abstractmethod
    async def must_have_room(self) -> None:
        """UpstreamDown when its disk is full, where writing something tiny does not tell."""

    @property
    def lent(self) -> int:
        """Connections to the database in use right now; 0 where there is no pool."""
        return 0

    @abstractmethod
    async def close(self) -> None: ...
