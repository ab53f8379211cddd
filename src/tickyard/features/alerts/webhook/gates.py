"""Bounded concurrency by key: so many at a time per host, per address."""

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager


class Gates:
    """One gate per key, each as wide as the others. A key nobody uses costs nothing."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._gates: dict[Hashable, tuple[asyncio.Semaphore, int]] = {}

    def __len__(self) -> int:
        return len(self._gates)

    @asynccontextmanager
    async def enter(self, key: Hashable) -> AsyncIterator[None]:
        """Wait for a place behind this key's gate. Those who wait here keep nobody else waiting."""
        gate, users = self._gates.get(key) or (asyncio.Semaphore(self._width), 0)
        self._gates[key] = gate, users + 1
        try:
            async with gate:
                yield
        finally:
            gate, users = self._gates[key]
            if users == 1:
                del self._gates[key]
            else:
                self._gates[key] = gate, users - 1
