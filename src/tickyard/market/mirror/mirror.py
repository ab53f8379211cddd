"""The mirror: every pool of every listed token, in memory, at one block.

Logs say what has changed, and the node's own state at the block's hash says whether that was all: price, liquidity,
every tick that we hold or that went, what the pool holds and whether it could pay are read at each step for every pool
that is served. So a log that is hidden, repeated, altered or of another branch can cost a pool its place here until it
is read anew, and can never give a wrong figure. Where the chain of blocks is broken everything is read anew. Pools that
nobody asks about are followed by their logs, proven in turn, and served only at a block at which they were. When nobody
has asked for a minute nothing is looked at, and nothing is served.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from tickyard.chain.abi import read_uint
from tickyard.chain.aggregate3 import CallPart, piece_of
from tickyard.chain.multicall import Call, aggregate_pieces
from tickyard.chain.rpc.client import Head, Rpc
from tickyard.config.pinned import Contracts
from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.market.mirror.held import Held, Misfit
from tickyard.market.mirror.logs import PoolLogReader
from tickyard.market.reading import BLOCK_TIME
from tickyard.market.swaps.charts import FAR, Chart, ChartReader, Crowded
from tickyard.market.swaps.pools import Pool, moving_calls
from tickyard.observe import metrics
from tickyard.observe.log import log

QUIET_S: Final = 60.0
"""The pools are followed for so long after somebody asked about one."""
_OTHERS_A_STEP: Final = 40
"""Pools that nobody asks about and that are proven in one step: all of a real market's within seconds."""
_POOLS_MAX: Final = 400
"""Where there are more, those that were asked about last are held."""
_TICKS_MAX: Final = 1_000
"""Of one pool; a real one has dozens. Every tick is read again at each step, and anybody can make tens of thousands."""
_TICKS_IN_ALL: Final = 20_000
_CROWDED_S: Final = 60.0
"""A pool with too many is looked at again after so long; who asks about it takes the round trip."""
NEVER: Final = -(10**9)
_BUILT_AT_ONCE = _CHECKED_AT_ONCE = 20
_BUILDING_S_A_STEP: Final = 0.5
_ANSWER_S: Final = 1.5
_REST_S: Final = 1.0
"""A step that is not over in time is of no use. One that waits for a node which has fallen silent would keep us from
seeing that it is back."""
_GAP_MAX: Final = 1_000
"""Blocks over which logs are read; after a longer sleep the pools are read anew."""


class Mirror:
    def __init__(
        self,
        rpc: Rpc,
        charts: ChartReader,
        contracts: Contracts,
        clock: Clock,
        *,
        fresh_s: float,
        calls_max: int,
        every: Callable[[], Iterable[Pool]] = tuple,
    ) -> None:
        """`every`: the pools that there are; they are held as soon as somebody asks about any."""
        self._rpc = rpc
        self._logs = PoolLogReader(rpc)
        self._charts = charts
        self._contracts = contracts
        self._clock = clock
        self.fresh_s = fresh_s
        self._calls_max = calls_max
        self._every = every
        self._held: dict[Address, Held] = {}
        self._asked: dict[Pool, float] = {}
        self._crowded: dict[Address, float] = {}
        """Pools with more ticks than we can bear, and when they are looked at again."""
        self._confirmed_at: float = NEVER
        self._turn = self._others_at = 0
        self.block: Head | None = None

    def serve(self, pools: Sequence[Pool], *, to_trade: bool = False) -> tuple[Head, list[Chart]] | None:
        """These pools at one block, proven there and fresh; None: ask the chain. Asking is what keeps us awake.

        `to_trade`: only if their tokens move, for where they do not the quoter has no answer."""
        now = self._clock.monotonic()
        asked, held, block = self._asked, self._held, self.block
        for pool in pools:
            asked[pool] = now
        if block is None or now - self._confirmed_at > self.fresh_s:
            return None
        charts = []
        for pool in pools:
            one = held.get(pool.address)
            if one is None or one.block != block.hash or (to_trade and not one.moves):
                return None
            charts.append(one.chart)
        return block, charts

    def hot(self) -> list[Pool]:
        """The pools that somebody has asked about within the last minute, the latest first. None: we sleep."""
        since = self._clock.monotonic() - QUIET_S
        self._asked = {pool: at for pool, at in self._asked.items() if at > since}
        self._crowded = {pool: at for pool, at in self._crowded.items() if at > since + QUIET_S}
        return sorted(self._asked, key=lambda pool: -self._asked[pool])[:_POOLS_MAX]

    def followed(self) -> list[Pool]:
        """Those and, while there are any, all others."""
        hot = self.hot()
        return list(dict.fromkeys([*hot, *self._every()]))[:_POOLS_MAX] if hot else []

    def drop(self, reason: str) -> None:
        """Forget everything: what we hold is not to be trusted."""
        metrics.mirror_drops.labels(reason).inc()
        self._charts.forget([held.pool for held in self._held.values()])
        self._held = {}
        self.block = None

    async def step(self) -> frozenset[Address]:
        """Go to the newest block; the tokens whose pools have moved. UpstreamDown: nothing was learned."""
        asked_at = self._clock.monotonic()
        until = asked_at + max(self.fresh_s, _ANSWER_S)
        head = await self._rpc.head(deadline=until)
        until += _REST_S
        pools, hot = self._bearable(self.followed()), self._bearable(self.hot())
        turn = [*hot, *self._turn_of(pools[len(hot) :])]
        before = self._held
        if self.block is not None and head.hash == self.block.hash:
            # What was proven of it is not for this answer to change.
            head = self.block
            watched, believed = [pool for pool in turn if not self._is_proven(pool, head)], self._held
        else:
            if self.block is not None and head.number < self.block.number and self._is_fresh(asked_at):
                # A node that lags, or a branch that is gone: who could tell? Until it is clear we serve nothing.
                metrics.mirror_steps.labels("behind").inc()
                self._confirmed_at = NEVER
                return frozenset()
            watched, believed = turn, await self._follow(head, until)
        proven, broken = await self._witness(head, watched, believed, until)
        if self._held is not before:
            # Dropped meanwhile, over a quote that differed: what we believe comes from there.
            return frozenset()
        moved = frozenset(
            held.pool.token
            for address, held in proven.items()
            if address not in before or before[address].chart.spot != held.chart.spot
        )
        wanted = {pool.address for pool in pools}
        self._held = {at: held for at, held in {**believed, **proven}.items() if at in wanted}
        for pool in broken:
            self._held.pop(pool.address, None)
        self.block, self._confirmed_at = head, asked_at
        built = await self._build(head, broken)
        self._lighten()
        metrics.mirror_steps.labels("ok").inc()
        metrics.mirror_pools.set(sum(held.moves and held.block == head.hash for held in self._held.values()))
        return moved | built

    def _bearable(self, pools: list[Pool]) -> list[Pool]:
        return [pool for pool in pools if pool.address not in self._crowded]

    def _crowd(self, pool: Pool) -> None:
        metrics.mirror_drops.labels("crowded").inc()
        log.warning("a pool has too many ticks to be held", pool=pool.address)
        self._crowded[pool.address] = self._clock.monotonic() + _CROWDED_S
        self._held.pop(pool.address, None)

    def _lighten(self) -> None:
        """Many pools with many ticks are as bad as one with too many: the worst go first."""
        ticks = {address: len(held.chart.ticks) for address, held in self._held.items()}
        excess = sum(ticks.values()) - _TICKS_IN_ALL
        for address in sorted(ticks, key=ticks.__getitem__, reverse=True) if excess > 0 else ():
            if excess <= 0:
                break
            excess -= ticks[address]
            self._crowd(self._held[address].pool)

    def _turn_of(self, others: list[Pool]) -> list[Pool]:
        """Some of the pools that nobody asks about: looked at now and then, they are known when somebody does."""
        first = self._others_at % len(others) if others else 0
        self._others_at = first + _OTHERS_A_STEP
        return others[first : first + _OTHERS_A_STEP]

    def _is_fresh(self, now: float) -> bool:
        return now - self._confirmed_at <= self.fresh_s

    def _is_proven(self, pool: Pool, head: Head) -> bool:
        held = self._held.get(pool.address)
        return held is not None and held.block == head.hash

    async def _follow(self, head: Head, until: float) -> dict[Address, Held]:
        """What the logs since our block make of the pools that we hold. A pool that they do not fit is let go; where
        they do not go on from our block, all are: on another branch there may be ticks that we never heard of."""
        block = self.block
        if block is None or not self._held:
            return {}
        logs = None
        if 0 < head.number - block.number <= _GAP_MAX:
            logs = await self._logs.read([*self._held], block, head, until)
        if logs is None:
            metrics.mirror_drops.labels("branch").inc()
            log.warning("the chain does not go on from our block, every pool is read anew", block=head.number)
            return {}
        believed = dict(self._held)
        for entry in logs:
            held = believed.get(entry.pool)
            if held is None:
                continue
            try:
                believed[entry.pool] = held.after(entry.event)
            except Misfit as misfit:
                metrics.mirror_drops.labels("misfit").inc()
                log.warning("a log does not fit", pool=entry.pool, reason=str(misfit))
                del believed[entry.pool]
        return believed

    def _next_to_audit(self, known: Sequence[Held]) -> Held | None:
        """One pool a step, of which the whole bitmap is compared: a tick that we never heard of would be found."""
        self._turn += 1
        return known[self._turn % len(known)] if known else None

    async def _witness(
        self, head: Head, pools: Sequence[Pool], believed: dict[Address, Held], until: float
    ) -> tuple[dict[Address, Held], list[Pool]]:
        """Those pools that stand at this block as we believe, and those that do not or are not known."""
        bearable = {at: held for at, held in believed.items() if len(held.chart.ticks) <= _TICKS_MAX}
        known = [bearable[pool.address] for pool in pools if pool.address in bearable]
        broken = [pool for pool in pools if pool.address not in bearable]
        asked = [held.witness(self._contracts) for held in known]
        audited = self._next_to_audit([held for held in known if held.map_words])
        # The map goes first: where the request must be halved it is the heaviest.
        pieces = ([audited.map_piece()] if audited else []) + asked
        at, calls_max = self._contracts.multicall3, self._calls_max
        if pieces:
            pieces.append(piece_of([Call(at, BLOCK_TIME)]))
        told = await aggregate_pieces(self._rpc, at, pieces, block=head.hash, calls_max=calls_max, deadline=until)
        if told:
            [word] = told.pop().results()
            _check_time(head, read_uint(word) if word is not None else None)
        mapped = told.pop(0) if audited else None
        proven = {}
        for index, (held, piece, part) in enumerate(zip(known, asked, told, strict=True)):
            if index % _CHECKED_AT_ONCE == 0:
                # After a build every pool is new to us: callers must not wait for all of them to be looked through.
                await self._clock.sleep(0)
            if _is_so(held.is_borne_out, part) and held.covers(FAR):
                proven[held.pool.address] = held.proven(head.hash, piece, part)
            else:
                broken.append(held.pool)
        if audited is not None and mapped is not None and audited.pool.address in proven:
            self._audit(audited, mapped)
        return proven, broken

    def _audit(self, held: Held, mapped: CallPart) -> None:
        is_same = _is_so(held.is_mapped, mapped)
        metrics.mirror_audits.labels("same" if is_same else "different").inc()
        if not is_same:
            log.error("THE MIRROR AND THE NODE DISAGREE ABOUT A POOL", pool=held.pool.address)
            self.drop("audit")
            raise UpstreamDown("the chain node contradicts what it said before")

    async def _build(self, head: Head, pools: Sequence[Pool]) -> frozenset[Address]:
        """Read pools from nothing, at the block where the others stand."""
        built, until = set[Address](), self._clock.monotonic() + _BUILDING_S_A_STEP
        for first in range(0, len(pools), _BUILT_AT_ONCE):
            if self._clock.monotonic() > until:
                # The others must not grow old over it: the rest comes with the next step.
                break
            part = pools[first : first + _BUILT_AT_ONCE]
            moving = [call for pool in part for call in moving_calls(pool, self._contracts)]
            charts, moved, at = await self._charts.read_each(
                part, reach=FAR, block=head.hash, extra=moving, ticks_max=_TICKS_MAX
            )
            if int(at.timestamp()) != head.timestamp:
                self.drop("time")
            _check_time(head, int(at.timestamp()))
            for chart, *moves in zip(charts, moved[::2], moved[1::2], strict=True):
                if isinstance(chart, Crowded):
                    self._crowd(chart.pool)
                    continue
                if isinstance(chart, UpstreamDown):
                    log.warning("a pool could not be read", reason=chart.message)
                    continue
                self._held[chart.spot.pool.address] = Held(chart, head.hash, moves=None not in moves)
                built.add(chart.spot.pool.token)
        return frozenset(built)


def _check_time(head: Head, seconds: int | None) -> None:
    """`asOf` is the block's time: the one it has for those who run in it, whatever its header says."""
    if seconds != head.timestamp:
        raise UpstreamDown("the chain node tells two times of one block")


def _is_so(claim: Callable[[CallPart], bool], part: CallPart) -> bool:
    """What makes no sense does not bear anything out."""
    try:
        return claim(part)
    except UpstreamDown:
        return False
