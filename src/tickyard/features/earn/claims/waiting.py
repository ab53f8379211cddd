"""Where reserved claims wait for their transaction hash: one look into the store for all of them."""

import asyncio
from collections import Counter
from typing import Final

from sqlalchemy import bindparam, select

from tickyard.features.earn.tables import earn_line
from tickyard.store.engine import Store

WAIT_S: Final = 10.0
_LOOK_S: Final = 0.25
_ASKED_AT_ONCE: Final = 500

_ACTED_ON: Final = select(earn_line.c.epoch, earn_line.c.address, earn_line.c.attempt).where(
    earn_line.c.epoch.in_(bindparam("epochs", expanding=True)),
    earn_line.c.address.in_(bindparam("addresses", expanding=True)),
    # One that is to be sent again is told of when it is.
    earn_line.c.state != "due",
)

Key = tuple[int, str, int]
"""Epoch, address, attempt."""


class WaitingRoom:
    def __init__(self) -> None:
        self._wanted: Counter[Key] = Counter()
        self._look: asyncio.Task[set[Key]] | None = None

    async def wait(self, store: Store, key: Key) -> bool:
        """Return when the agent has done something about this claim; False after ten seconds without."""
        deadline = store.clock.monotonic() + WAIT_S
        self._wanted[key] += 1
        try:
            while store.clock.monotonic() < deadline:
                if self._look is None or self._look.done():
                    self._look = asyncio.create_task(self._look_for_all(store))
                # Who is in a hurry must not take the look away from the others.
                if key in await asyncio.shield(self._look):
                    return True
            return False
        finally:
            self._wanted[key] -= 1
            if not self._wanted[key]:
                del self._wanted[key]

    async def _look_for_all(self, store: Store) -> set[Key]:
        await store.clock.sleep(_LOOK_S)
        found: set[Key] = set()
        wanted = list(self._wanted)
        for start in range(0, len(wanted), _ASKED_AT_ONCE):
            found |= await _acted_on(store, wanted[start : start + _ASKED_AT_ONCE])
        return found


async def _acted_on(store: Store, keys: list[Key]) -> set[Key]:
    async with store.glance() as tx:
        asked = {"epochs": sorted({epoch for epoch, _, _ in keys}), "addresses": [address for _, address, _ in keys]}
        found = await tx.execute(_ACTED_ON, asked)
        return {(row.epoch, row.address, row.attempt) for row in found} & set(keys)
