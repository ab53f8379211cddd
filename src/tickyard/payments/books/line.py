"""Waiting in line for the store. Whoever waits here holds none of its connections: a crowd of payments, which costs its
sender nothing, must not take them all from everybody else."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from tickyard.kernel.errors import UpstreamDown

AT_ONCE: Final = 4
PATIENCE_S: Final = 8.0


class Line:
    def __init__(self, at_once: int = AT_ONCE, patience_s: float = PATIENCE_S) -> None:
        self._places = asyncio.Semaphore(at_once)
        self._patience_s = patience_s

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Raises UpstreamDown when it does not come in time."""
        if self._places.locked():
            try:
                async with asyncio.timeout(self._patience_s):
                    await self._places.acquire()
            except TimeoutError:
                raise UpstreamDown("the store is busy", retry_after_s=1) from None
        else:
            await self._places.acquire()
        try:
            yield
        finally:
            self._places.release()
