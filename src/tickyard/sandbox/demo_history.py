"""Synthetic history for a demo: what the sampler would have seen, clearly marked as made up."""

from datetime import datetime
from typing import Final

from tickyard.config.settings import HISTORY_START
from tickyard.features.history.store import mark_synthetic, record_all
from tickyard.kernel.clock import SLOT_S
from tickyard.kernel.ids import Address
from tickyard.market.rounds import Round, slot_number, slot_start
from tickyard.sandbox.listing import Listed, load
from tickyard.sandbox.walk import mid_e6
from tickyard.store.engine import Store
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
        slots = range(start, min(start + _ROUNDS_PER_WRITE, last))
        rounds = [_round(slot, listed, ids) for slot in slots]
        async with store.begin() as tx:
            await record_all(tx, rounds, history_start=datetime.fromisoformat(HISTORY_START))
    async with store.begin() as tx:
        await mark_synthetic(tx, last)


def _round(slot: int, listed: list[Listed], ids: dict[Address, int]) -> Round:
    moment = slot_start(slot)
    prices = {}
    for each in listed:
        assert each.address is not None
        prices[ids[each.address]] = mid_e6(each, moment) * 1000 * each.multiplier_e18 // _ONE_E18
    return Round(slot, 0, "0x" + "0" * 64, prices, 0, moment)
