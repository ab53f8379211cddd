"""Whether this machine's clock agrees with the store's, by which the windows are judged."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from tickyard.observe.log import log
from tickyard.store.engine import Store

DRIFT_MAX: Final = timedelta(milliseconds=250)
_EVERY_S: Final = 60.0


@dataclass(slots=True)
class DriftWatch:
    """Looks once a minute, however often it is asked."""

    _due_s: float | None = None

    async def measure(self, store: Store) -> timedelta | None:
        """The drift when it is worth an alarm, which is given here. None: there is none, or it is not time yet."""
        if self._due_s is not None and store.clock.monotonic() < self._due_s:
            return None
        self._due_s = store.clock.monotonic() + _EVERY_S
        drift = await clock_drift(store)
        if abs(drift) <= DRIFT_MAX:
            return None
        log.error("this machine's clock is not the store's", drift_ms=drift // timedelta(milliseconds=1))
        return drift


async def clock_drift(store: Store) -> timedelta:
    """How far the store's clock is ahead of ours, at the least: the time that asking took counts for us."""
    async with store.read() as tx:
        # The first asks for a connection as well; the second is one round trip.
        await store.now(tx)
        before = store.clock.now()
        theirs = await store.now(tx)
        after = store.clock.now()
    if theirs > after:
        return theirs - after
    return theirs - before if theirs < before else timedelta(0)
