"""Writes that land together: what many tasks want written at the same moment costs one commit.

A commit of SQLite is one wait for the disk, whatever it carries, so those who come while another one is under way go
along in the next. PostgreSQL groups commits by itself: there everybody has a transaction of their own, a few at once.
A crowd waits for its turn, holding nothing: it must not take the connections from everybody else, nor be told that the
store is busy when money has moved for it already.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from tickyard.kernel.clock import breathe
from tickyard.kernel.errors import UpstreamDown
from tickyard.store.engine import Contended, Store, Transaction
from tickyard.store.sqlite.engine import SqliteStore

T = TypeVar("T")
Work = Callable[[Transaction], Awaitable[T]]

_MOST: Final = 256
AT_ONCE: Final = 4
"""Connections that writers may have at PostgreSQL, where each has its own."""


class Together:
    """Work given to it must have no effect outside its transaction: when one piece fails, the others are run again."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._is_grouped = isinstance(store, SqliteStore)
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._trouble: UpstreamDown | None = None
        self._waiting: list[tuple[Work[Any], asyncio.Future[Any]]] = []
        self.task: asyncio.Task[None] | None = None

    async def write(self, work: Work[T]) -> T:
        """What the work returns, once it is on the disk."""
        if not self._is_grouped:
            return await self._write_in_turn(work)
        landed: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append((work, landed))
        if self.task is None:
            self.task = asyncio.create_task(self._write_all())
        return await landed

    async def _write_in_turn(self, work: Work[T]) -> T:
        known = self._trouble
        async with self._turns:
            if self._trouble is not None and self._trouble is not known:
                # The store itself, since we came: we would only wait as long to hear the same.
                raise self._trouble
            try:
                async with self._store.begin() as tx:
                    return await work(tx)
            except Contended:
                raise
            except UpstreamDown as trouble:
                self._trouble = trouble
                raise

    async def _write_all(self) -> None:
        try:
            while self._waiting:
                await self._gather()
                group, self._waiting = self._waiting[:_MOST], self._waiting[_MOST:]
                await self._land([each for each in group if not each[1].done()])
        finally:
            self.task = None
            for _, landed in self._waiting:
                landed.cancel()
            self._waiting = []

    async def _gather(self) -> None:
        """Let those who are on their way here arrive: for as long as each turn of the loop brings more."""
        count = 0
        while count < len(self._waiting) < _MOST:
            count = len(self._waiting)
            await breathe()

    async def _land(self, group: list[tuple[Work[Any], asyncio.Future[Any]]]) -> None:
        try:
            async with self._store.begin() as tx:
                results = [await work(tx) for work, _ in group]
        except UpstreamDown as trouble:
            # The store itself: the others would only wait as long to hear the same.
            for _, landed in group:
                _tell(landed, trouble=trouble)
            return
        except Exception as trouble:  # noqa: BLE001  whatever it is belongs to those who wait for it
            if len(group) == 1:
                _tell(group[0][1], trouble=trouble)
                return
            # Nothing of it landed. Each one by itself: the trouble of one is not that of the others.
            for each in group:
                await self._land([each])
            return
        except BaseException:
            for _, landed in group:
                landed.cancel()
            raise
        for (_, landed), result in zip(group, results, strict=True):
            _tell(landed, result)


def _tell(landed: asyncio.Future[Any], result: Any = None, *, trouble: Exception | None = None) -> None:
    if landed.done():
        # Nobody waits for it any more.
        return
    if trouble is None:
        landed.set_result(result)
    else:
        landed.set_exception(trouble)
