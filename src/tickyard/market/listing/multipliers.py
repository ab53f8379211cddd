"""The multipliers of all tokens, as their contracts tell them at one block."""

from tickyard.chain.multicall import Call, aggregate
from tickyard.chain.rpc.client import Rpc
from tickyard.chain.stock_token import (
    EFFECTIVE_AT,
    NEW_UI_MULTIPLIER,
    UI_MULTIPLIER,
    read_multiplier,
    read_time,
)
from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.market.listing.asset import MultiplierSchedule
from tickyard.observe.log import log

_GETTERS = (UI_MULTIPLIER, NEW_UI_MULTIPLIER, EFFECTIVE_AT)


async def read_schedules(
    rpc: Rpc, multicall: Address, clock: Clock, tokens: list[Address]
) -> dict[Address, MultiplierSchedule]:
    """One round trip for all. A token that does not answer sensibly is left out: its registry value stands in."""
    if not tokens:
        return {}
    # Taken before the read: a flip between the two is then seen as still to come, and made by ourselves.
    read_at = clock.seconds()
    results = await aggregate(rpc, multicall, [Call(token, getter) for token in tokens for getter in _GETTERS])
    schedules = {}
    for index, token in enumerate(tokens):
        current, new, effective_at = results[3 * index : 3 * index + 3]
        if current is None or new is None or effective_at is None:
            log.warning("token has no multiplier views", token=token)
            continue
        try:
            schedules[token] = MultiplierSchedule(
                read_multiplier(current), read_multiplier(new), read_time(effective_at), read_at
            )
        except UpstreamDown:
            log.warning("token answers nonsense about its multiplier", token=token)
    return schedules
