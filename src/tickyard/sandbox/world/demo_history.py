"""Synthetic history for a demo: what the sampler would have seen, clearly marked as made up.

    python -m tickyard.sandbox.world.demo_history NOW DAYS      into the store that TICKYARD_DATABASE_URL names

It is a process of its own: a month of samples is half a minute of work, and those who build the market beside it
must not wait for that.
"""

import asyncio
import contextlib
import os
import sys
from datetime import datetime
from typing import Final

from tickyard.config.settings import HISTORY_START
from tickyard.features.history.store import mark_synthetic, record_all
from tickyard.kernel.clock import SLOT_S, WallClock
from tickyard.kernel.ids import Address
from tickyard.market.sampling.rounds import Round, slot_number, slot_start
from tickyard.sandbox.lifeline import on_parent_gone
from tickyard.sandbox.world.listing import Listed, load
from tickyard.sandbox.world.walk import mids_e6
from tickyard.store.engine import Store
from tickyard.store.opening import open_store
from tickyard.store.tokens import token_ids

_ROUNDS_PER_WRITE: Final = 288
_ONE_E18: Final = 10**18


async def fill_history(store: Store, now: datetime, days: int) -> None:
    """Every slot of so many days before the present one, for every token that has a pool."""
    listed = [
        each for each in load() if each.address is not None and any(p.shape not in ("bare", "away") for p in each.pools)
    ]
    async with store.begin() as tx:
        ids = await token_ids(tx, [(each.symbol, each.address) for each in listed if each.address])
    last = slot_number(now)
    first = last - days * 24 * 3600 // SLOT_S
    for start in range(first, last, _ROUNDS_PER_WRITE):
        rounds = _rounds(range(start, min(start + _ROUNDS_PER_WRITE, last)), listed, ids)
        async with store.begin() as tx:
            await record_all(tx, rounds, history_start=datetime.fromisoformat(HISTORY_START))
        # A place to be stopped at.
        await store.clock.sleep(0)
    async with store.begin() as tx:
        await mark_synthetic(tx, last)


def _rounds(slots: range, listed: list[Listed], ids: dict[Address, int]) -> list[Round]:
    rounds = [Round(slot, 0, "0x" + "0" * 64, {}, 0, slot_start(slot)) for slot in slots]
    seconds = range(slots.start * SLOT_S, slots.stop * SLOT_S, SLOT_S)
    for each in listed:
        assert each.address is not None
        token_id = ids[each.address]
        for taken, mid in zip(rounds, mids_e6(each, seconds), strict=True):
            taken.prices[token_id] = mid * 1000 * each.multiplier_e18 // _ONE_E18
    return rounds


async def _run(where: str, now: datetime, days: int) -> None:
    work = asyncio.current_task()
    assert work is not None
    on_parent_gone(work.cancel)
    store = open_store(where, WallClock())
    try:
        await fill_history(store, now, days)
    finally:
        await store.close()


if __name__ == "__main__":
    _name, _now, _days = sys.argv
    with contextlib.suppress(asyncio.CancelledError):
        asyncio.run(_run(os.environ["TICKYARD_DATABASE_URL"], datetime.fromisoformat(_now), int(_days)))
