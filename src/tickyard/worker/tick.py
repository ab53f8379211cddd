"""One slot: read every price at one block, record, evaluate.

Samples cannot be taken again, so a slot is tried until it is over; and a slot that is over stays missing, because
a price of another time would be a lie.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from tickyard.chain.v3.pools import price_e9
from tickyard.deps import Deps
from tickyard.features.alerts.evaluate import evaluate
from tickyard.features.history.reading import latest_samples
from tickyard.features.history.store import record
from tickyard.kernel.clock import SLOT_S
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address, Symbol
from tickyard.market.sampling.rounds import Round, slot_number, slot_start
from tickyard.market.sampling.suspicion import equity_e9, suspects
from tickyard.market.swaps.charts import Chart
from tickyard.market.swaps.pools import PoolSpot, deepest
from tickyard.observe.log import log
from tickyard.store.leases import Lease, guard
from tickyard.store.tokens import token_ids

_PRICE_MAX_E9: Final = 10**18


@dataclass(frozen=True, slots=True)
class SlotPrices:
    """The price of every token that has one, all of one block."""

    slot: int
    block_number: int
    block_hash: str
    taken_at: datetime
    by_token: dict[Address, int]
    without: int
    """Tokens on the chain that had no usable pool, or none that made sense."""
    suspects: dict[Address, int]
    """Those far from what the equity quote says, with what it says."""


@dataclass(frozen=True, slots=True)
class Ticked:
    slot: int
    sampled: int
    skipped: int
    fired: int
    is_new: bool
    """False: the slot had been recorded before."""


async def run_slot(deps: Deps, lease: Lease | None = None) -> Ticked:
    """Sample the present slot, record it with its candles, and fire what it crossed, in one transaction.

    Harmless when it is done twice, here or anywhere else: the round's row decides who was first.
    """
    # Looked at once: a token that leaves the list while the chain is read was sampled all the same.
    symbols = {asset.address: asset.symbol for asset in deps.market.registry.all() if asset.address}
    prices = await read_prices(deps, list(symbols))
    async with deps.store.begin() as tx:
        if lease is not None:
            await guard(tx, lease)
        ids = await token_ids(tx, [(Symbol(symbols[address]), address) for address in prices.by_token])
        taken = Round(
            slot=prices.slot,
            block_number=prices.block_number,
            block_hash=prices.block_hash,
            prices={ids[address]: price for address, price in prices.by_token.items()},
            skipped=prices.without,
            taken_at=prices.taken_at,
            suspects={ids[address]: equity for address, equity in prices.suspects.items()},
        )
        previous = {token_id: price for token_id, (_, price) in (await latest_samples(tx, taken.slot)).items()}
        new = await record(tx, taken, history_start=deps.settings.history_start_at)
        fired = await evaluate(tx, taken, previous) if new else 0
    return Ticked(taken.slot, len(taken.prices), taken.skipped, fired, is_new=new > 0)


def _price_of(spots: list[PoolSpot]) -> int | None:
    """The price in the deepest pool. None: there is none with a price that makes sense."""
    best = deepest(spots)
    if best is None:
        return None
    price = price_e9(best.sqrt_price_x96, best.pool.token_is_0)
    return price if 0 < price < _PRICE_MAX_E9 else None


async def read_prices(deps: Deps, tokens: Sequence[Address]) -> SlotPrices:
    """Two round trips: which block is the newest, and every pool at that block, with the ticks we remember."""
    market = deps.market
    slot = slot_number(deps.clock.now())
    head = await deps.rpc.head()
    if head.timestamp < (slot - 1) * SLOT_S:
        raise UpstreamDown("the chain node shows no block of this slot or the one before")
    pools = [pool for token in tokens for pool in market.pools.of(token)]
    charts, _, _ = await market.charts.read_each(pools, block=head.hash, with_balances=False)
    spots: dict[Address, list[PoolSpot]] = {}
    for pool, chart in zip(pools, charts, strict=True):
        spots.setdefault(pool.token, [])
        if isinstance(chart, Chart):
            spots[pool.token].append(chart.spot)
        else:
            # One token that cannot be read must not cost the others their sample.
            log.warning("a pool could not be read, its token is skipped", pool=pool.address, reason=chart.message)
    spoiled = {pool.token for pool, chart in zip(pools, charts, strict=True) if not isinstance(chart, Chart)}
    by_token = {}
    for token, its in spots.items():
        if token not in spoiled and (price := _price_of(its)) is not None:
            by_token[token] = price
    now = deps.clock.now()
    if slot_number(now) != slot:
        raise UpstreamDown("the slot was over before its prices were read")
    # Never before the slot: an alert made in it, before this moment, is not crossed by these samples.
    taken_at = max(now, slot_start(slot))
    doubted = await _doubted(deps, by_token)
    return SlotPrices(slot, head.number, head.hash, taken_at, by_token, len(tokens) - len(by_token), doubted)


async def _doubted(deps: Deps, prices: dict[Address, int]) -> dict[Address, int]:
    """The prices that the equity market contradicts. A silent issuer contradicts nothing."""
    now = deps.clock.now()
    try:
        quotes = (await deps.market.mids.all()).value
    except UpstreamDown:
        return {}
    worth = {
        asset.address: equity
        for asset in deps.market.registry.all()
        if asset.address
        and asset.symbol in quotes
        and (equity := equity_e9(quotes[asset.symbol], asset.multiplier(now), now)) is not None
    }
    doubted = suspects(prices, worth)
    for address in doubted:
        log.warning("a sample is far from the equity quote", token=address)
    return doubted
