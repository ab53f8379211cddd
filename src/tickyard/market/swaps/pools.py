"""The pools of every token: found through the pinned factory alone, checked, kept, and looked for again."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from tickyard.chain import erc20
from tickyard.chain.multicall import Call
from tickyard.chain.v3 import pools as v3
from tickyard.chain.v3.bitmap import fee_tick_spacing, read_spacing
from tickyard.chain.v3.depth import usdg_depth
from tickyard.chain.v3.math import PoolState
from tickyard.chain.v3.ticks import MAX_SQRT_RATIO, MIN_SQRT_RATIO
from tickyard.config.pinned import Contracts
from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.kernel.units import Price, UsdgAmount
from tickyard.market.reading import ChainReader
from tickyard.observe.log import log

DISCOVER_EVERY_S: Final = 240
_RETRY_S: Final = 5


@dataclass(frozen=True, slots=True)
class Pool:
    address: Address
    token: Address
    fee: int
    token_is_0: bool
    spacing: int = 0
    """Of its ticks. Zero: the pool itself has not been asked yet."""


@dataclass(frozen=True, slots=True)
class PoolSpot:
    pool: Pool
    sqrt_price_x96: int
    liquidity: int
    """In range. Without any, the pool's price means nothing."""
    curve: PoolState | None = None
    """With the ticks around the price, where they were asked for."""

    @property
    def is_usable(self) -> bool:
        return self.sqrt_price_x96 > 0 and self.liquidity > 0

    @property
    def price(self) -> Price | None:
        return v3.spot_price(self.sqrt_price_x96, self.pool.token_is_0) if self.is_usable else None

    @property
    def depth(self) -> UsdgAmount:
        """USDG that moves the price by 1 % over the real ticks, the smaller of both directions."""
        if not self.is_usable or self.curve is None:
            return UsdgAmount(0)
        return UsdgAmount(usdg_depth(self.curve, token_is_0=self.pool.token_is_0))


def deepest(states: Iterable[PoolSpot]) -> PoolSpot | None:
    """Whose price is shown and recorded: so a shallow pool speaks only where none is deeper."""
    usable = [state for state in states if state.is_usable]
    return max(usable, key=lambda state: state.depth, default=None)


def state_calls(pool: Pool) -> list[Call]:
    return [Call(pool.address, v3.SLOT0), Call(pool.address, v3.LIQUIDITY)]


def moving_calls(pool: Pool, contracts: Contracts) -> list[Call]:
    """Whether the pool could pay the quoter, in either token: one that cannot is of no use to anybody."""
    data = erc20.moves(pool.address, contracts.quoter)
    return [Call(contracts.usdg, data), Call(pool.token, data)]


def fee_calls(pool: Pool) -> list[Call]:
    """What has been earned in all, of token0 and of token1."""
    return [Call(pool.address, grown) for grown in v3.FEES_GROWN]


class PoolBook:
    def __init__(self, reader: ChainReader, contracts: Contracts, fee_tiers: Sequence[int], clock: Clock) -> None:
        self._reader = reader
        self._contracts = contracts
        self._fee_tiers = fee_tiers
        self._clock = clock
        self._pools: dict[tuple[Address, int], Pool] = {}
        self._by_token: dict[Address, tuple[Pool, ...]] | None = None
        self._prices: dict[Address, int] = {}
        self._told: dict[Address, tuple[bytes, bytes, PoolSpot]] = {}
        self._lost: set[Address] = set()
        """Pools of which a node said that they have no price, although they had one."""
        self.discovered = asyncio.Event()
        """Set once the pools of the first registry are known."""
        self._has_news = asyncio.Event()
        self.on_found: Callable[[Sequence[Pool]], Awaitable[object]] | None = None
        """Told of pools that are new, before anybody else hears of them."""

    def of(self, token: Address) -> tuple[Pool, ...]:
        """The token's pools by fee tier, the cheapest first. Empty: it has none."""
        if self._by_token is None:
            raise UpstreamDown("the pools have not been read from the chain yet", retry_after_s=_RETRY_S)
        return self._by_token.get(token, ())

    def every(self) -> Iterable[Pool]:
        """Every pool of every token; none while they have not been read."""
        return self._pools.values()

    def read_state(self, pool: Pool, slot0: bytes | None, liquidity: bytes | None) -> PoolSpot:
        """What the two calls of `state_calls` say of the pool."""
        if slot0 is None or liquidity is None:
            raise UpstreamDown("the chain node failed to read a pool")
        if not slot0:
            # No contract says nothing: the block that made the pool may have left the chain.
            self._doubt(pool)
            raise UpstreamDown("the chain node does not know a pool")
        told = self._told.get(pool.address)
        if told is not None and told[:2] == (slot0, liquidity):
            # Nobody has traded here since we last looked.
            return told[2]
        state = PoolSpot(pool, v3.read_slot0(slot0).sqrt_price_x96, v3.read_liquidity(liquidity))
        if state.sqrt_price_x96:
            if not MIN_SQRT_RATIO <= state.sqrt_price_x96 < MAX_SQRT_RATIO:
                raise UpstreamDown("the chain node tells a price that no pool can have")
            self._prices[pool.address] = state.sqrt_price_x96
        elif pool.address in self._prices:
            # A pool loses its price only with the block that gave it one. Whether that is so, or the node lies,
            # is found out where pools are looked for.
            self._doubt(pool)
            raise UpstreamDown("the chain node contradicts what it said before")
        self._told[pool.address] = (slot0, liquidity, state)
        return state

    def last_sqrt_price(self, pool: Pool) -> int | None:
        """The pool's price when we last looked. None: it had none."""
        return self._prices.get(pool.address)

    async def discover(self, tokens: Sequence[Address]) -> None:
        """Ask the factory for every pool we do not know yet, and check what it names: two round trips."""
        await self._forget_gone()
        unknown = [(token, fee) for token in tokens for fee in self._fee_tiers if (token, fee) not in self._pools]
        bare = [
            pool for pool in self._pools.values() if self.last_sqrt_price(pool) is None or pool.address in self._lost
        ]
        found = await self._checked([*await self._named(unknown), *bare])
        if self.on_found is not None and found:
            await self.on_found(found)
        for pool in found:
            self._pools[pool.token, pool.fee] = pool
        by_token: dict[Address, list[Pool]] = {}
        for (token, _), pool in sorted(self._pools.items()):
            by_token.setdefault(token, []).append(pool)
        self._by_token = {token: tuple(pools) for token, pools in by_token.items()}
        self.discovered.set()

    def _doubt(self, pool: Pool) -> None:
        if pool.address not in self._lost:
            self._lost.add(pool.address)
            self.look_soon()

    async def _forget_gone(self) -> None:
        """Pools that the factory has never made, now that another branch is the chain."""
        lost = {key: pool for key, pool in self._pools.items() if pool.address in self._lost}
        there = {pool.address for pool in await self._named([*lost])}
        for key, pool in lost.items():
            if pool.address not in there:
                log.warning("a pool is gone with the block that made it", pool=pool.address)
                del self._pools[key]
                self._lost.discard(pool.address)
                self._prices.pop(pool.address, None)
                self._told.pop(pool.address, None)

    async def _named(self, wanted: Sequence[tuple[Address, int]]) -> list[Pool]:
        """The pools that the factory has for these tokens and fees."""
        if not wanted:
            return []
        usdg = self._contracts.usdg
        calls = [Call(self._contracts.factory, v3.get_pool(token, usdg, fee)) for token, fee in wanted]
        tiers = [Call(self._contracts.factory, fee_tick_spacing(fee)) for fee in self._fee_tiers]
        reading = await self._reader.read([*calls, *tiers])
        if None in reading.results:
            raise UpstreamDown("the chain node failed to ask the factory")
        told = [data for data in reading.results if data is not None]
        pools = []
        for (token, fee), data in zip(wanted, told, strict=False):
            if (address := v3.read_pool(data)) is not None:
                spacing = read_spacing(told[len(wanted) + self._fee_tiers.index(fee)])
                pools.append(Pool(address, token, fee, v3.is_token0(token, usdg), spacing))
        return pools

    async def _checked(self, pools: list[Pool]) -> list[Pool]:
        """Those pools that themselves say what the factory said of them."""
        if not pools:
            return []
        getters = (v3.TOKEN0, v3.TOKEN1, v3.FEE, v3.SLOT0, v3.LIQUIDITY)
        reading = await self._reader.read([Call(pool.address, getter) for pool in pools for getter in getters])
        good = []
        for index, pool in enumerate(pools):
            token0, token1, fee, slot0, liquidity = reading.results[5 * index : 5 * index + 5]
            pair = (pool.token, self._contracts.usdg) if pool.token_is_0 else (self._contracts.usdg, pool.token)
            if token0 is None or token1 is None or fee is None:
                raise UpstreamDown("the chain node failed to read a pool")
            if not token0 and (pool.token, pool.fee) in self._pools:
                # It may be gone. The factory is asked at the next look; the others must not wait for that.
                self._doubt(pool)
                continue
            if (v3.read_token(token0), v3.read_token(token1), v3.read_fee(fee)) == (*pair, pool.fee):
                if pool.address in self._lost:
                    # In the same breath it has said who it is: its node does not just say nothing but zeros.
                    self._lost.discard(pool.address)
                    self._prices.pop(pool.address, None)
                    self._told.pop(pool.address, None)
                self.read_state(pool, slot0, liquidity)
                good.append(pool)
            else:
                log.error("a pool contradicts the factory, it is not used", pool=pool.address)
        return good

    def look_soon(self) -> None:
        """There may be new tokens: do not wait for the next turn."""
        self._has_news.set()

    async def keep_fresh(self, tokens: Callable[[], Sequence[Address]]) -> None:
        """Look for new pools for ever."""
        while True:
            self._has_news.clear()
            try:
                await self.discover(tokens())
                pause = DISCOVER_EVERY_S
            except UpstreamDown as failure:
                log.warning("pools not read from the chain", reason=failure.message)
                pause = _RETRY_S
            waits = {asyncio.ensure_future(self._clock.sleep(pause)), asyncio.ensure_future(self._has_news.wait())}
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for wait in waits:
                    wait.cancel()
