"""Noting which paid answers have left the house: soon, and many at a time, because nobody waits for it."""

import asyncio
from typing import Final

from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import UpstreamDown
from tickyard.observe.log import log
from tickyard.payments.books.ledger import Ledger
from tickyard.payments.signed.key import Key

_EVERY_S: Final = 1.0


class Deliveries:
    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self._made: dict[Key, None] = {}
        self._task: asyncio.Task[None] | None = None

    def add(self, key: Key) -> None:
        self._made[key] = None
        if self._task is None:
            self._task = asyncio.create_task(self._keep_writing())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
            self._task = None
        await self._write()

    async def _keep_writing(self) -> None:
        while self._made:
            await self._clock.sleep(_EVERY_S)
            await self._write()
        self._task = None

    async def _write(self) -> None:
        keys, self._made = self._made, {}
        if not keys:
            return
        try:
            await self._ledger.deliver(keys)
        except (UpstreamDown, asyncio.CancelledError) as trouble:
            # The next try writes them, or whoever stops us: an answer that is not noted is refunded by a person who
            # believes the list of those that nobody fetched.
            self._made = keys | self._made
            if not isinstance(trouble, UpstreamDown):
                raise
            log.warning("deliveries could not be written down", count=len(keys))
