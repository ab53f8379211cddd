"""Noticing new rounds, whoever recorded them: every API process looks twice a second."""

from collections.abc import Callable
from typing import Final

from tickyard.features.history.reading import day_changes, newest_slot
from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import UpstreamDown
from tickyard.market.sampling.samples import LatestSamples
from tickyard.store.engine import Store

_LOOK_S: Final = 0.5


async def follow_rounds(
    store: Store, latest: LatestSamples, clock: Clock, on_round: Callable[[], None], *, look_s: float = _LOOK_S
) -> None:
    """Load the newest samples whenever there is a new round, and tell that what was kept is stale. For ever."""
    known: int | None = None
    while True:
        try:
            async with store.glance() as tx:
                newest = await newest_slot(tx)
            if newest is not None and newest != known:
                async with store.read() as tx:
                    latest.replace(await day_changes(tx))
                known = newest
                on_round()
        except UpstreamDown:
            # The store is away for a moment; what we know stays true until it is too old to be used.
            known = None
        await clock.sleep(look_s)
