"""Finding rows for a crowd. Payments and signatures come from anybody and cost nothing until they are looked at:
thousands at the same moment must not take the store's connections from everybody else, nor be told that it is busy.

A few are looked up at once. Whoever comes then waits, holding nothing, and is served by the next that is free, one
after the other over the same connection.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

from tickyard.payments.books import statements as sql
from tickyard.payments.books.row import PaymentRow, read_row
from tickyard.payments.signed.key import Key
from tickyard.store.engine import Store, Transaction

AT_ONCE: Final = 4

Look = Callable[[Transaction], Awaitable[PaymentRow | None]]
"""One SELECT."""


class Turns:
    def __init__(self, store: Store, at_once: int = AT_ONCE) -> None:
        self._store = store
        self._at_once = at_once
        self._busy = 0
        self._waiting: deque[tuple[Look, asyncio.Future[PaymentRow | None]]] = deque()
        self._servers: set[asyncio.Task[None]] = set()

    async def find(self, key: Key) -> PaymentRow | None:
        return await self.look(lambda tx: _find(tx, key))

    async def look(self, look: Look) -> PaymentRow | None:
        if self._busy >= self._at_once:
            found: asyncio.Future[PaymentRow | None] = asyncio.get_running_loop().create_future()
            self._waiting.append((look, found))
            return await found
        self._busy += 1
        try:
            async with self._store.glance() as tx:
                return await look(tx)
        finally:
            self._busy -= 1
            if self._waiting:
                self._busy += 1
                server = asyncio.create_task(self._serve())
                self._servers.add(server)
                server.add_done_callback(self._servers.discard)

    async def _serve(self) -> None:
        mine: asyncio.Future[PaymentRow | None] | None = None
        try:
            async with self._store.glance() as tx:
                while self._waiting:
                    look, mine = self._waiting.popleft()
                    row = await look(tx)
                    if not mine.done():
                        mine.set_result(row)
        except Exception as trouble:  # noqa: BLE001  whatever it is belongs to those who wait: they would hear the same
            for each in self._left(mine):
                each.set_exception(trouble)
        except BaseException:
            for each in self._left(mine):
                each.cancel()
            raise
        finally:
            self._busy -= 1

    def _left(self, mine: asyncio.Future[PaymentRow | None] | None) -> list[asyncio.Future[PaymentRow | None]]:
        """Those who still wait, and the one whose turn it was."""
        left = [found for _, found in self._waiting]
        self._waiting.clear()
        return [each for each in (mine, *left) if each is not None and not each.done()]


async def _find(tx: Transaction, key: Key) -> PaymentRow | None:
    found = await sql.FIND.one(tx, sql.key_of(key))
    return None if found is None else read_row(found)
