"""Keeping the mirror at the newest block while anybody asks, and asleep while nobody does.

A step takes three requests whatever the traffic, and steps are counted: where a node tells of new logs by itself there
is one right then, and between them fewer. Of the quotes served from memory one in five hundred is asked of the
node as well, at the same block: a single difference drops the mirror and rings.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from tickyard.chain.multicall import HEAVY_CALLS
from tickyard.chain.rpc.client import Head
from tickyard.chain.rpc.feed import LogFeed
from tickyard.config.pinned import Contracts
from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.market.mirror.mirror import Mirror
from tickyard.market.mirror.offers import fills_of, winning_fills
from tickyard.market.reading import ChainReader
from tickyard.market.swaps.charts import Chart
from tickyard.market.swaps.fills import Fill, Question, Trade
from tickyard.market.swaps.pools import Pool, PoolBook
from tickyard.observe import metrics
from tickyard.observe.log import log

STEP_S: Final = 0.95
"""From one step to the next. With three requests of four calls each, an hour takes some 15,000 calls of the node."""
FED_STEP_S: Final = 1.1
"""The same where a node tells of new logs: nothing to look at is the usual case."""
_MARGIN_S: Final = 0.1
"""No step takes just as long as the one before."""
AUDITED_ONE_IN: Final = 500


class StepBudget:
    """With a feed, time earns steps: 4,000 an hour and no more, some of them the moment that something happens."""

    EARNED_S: Final = 0.9
    SAVED_MAX: Final = 5.0

    def __init__(self) -> None:
        self._saved = 0.0

    @property
    def has_spare(self) -> bool:
        return self._saved >= 1

    def spend_one_after(self, seconds: float) -> None:
        self._saved = min(self.SAVED_MAX, max(0.0, self._saved + seconds / self.EARNED_S - 1))


class LiveMarket:
    """The mirror and who keeps it."""

    def __init__(
        self,
        mirror: Mirror,
        reader: ChainReader,
        book: PoolBook,
        contracts: Contracts,
        clock: Clock,
        feed: LogFeed | None = None,
    ) -> None:
        self.mirror = mirror
        self._reader = reader
        self._book = book
        self._contracts = contracts
        self._clock = clock
        self._feed = feed
        self._budget = StepBudget()
        self._wanted = asyncio.Event()
        self._quotes = 0
        self._audit: asyncio.Task[None] | None = None
        self.on_move: list[Callable[[frozenset[Address]], None]] = []
        """Told which tokens' pools have moved."""

    def serve(self, pools: Sequence[Pool], *, to_trade: bool = False) -> tuple[Head, list[Chart]] | None:
        served = self.mirror.serve(pools, to_trade=to_trade)
        if served is None and not self._wanted.is_set():
            self._wanted.set()
        return served

    def offer(self, pools: Sequence[Pool], trade: Trade) -> tuple[Head, list[Fill]] | None:
        """The fills of these pools at one block, the best among them; None: ask the chain."""
        served = self.serve(pools, to_trade=True)
        if served is None:
            return None
        head, charts = served
        return head, self.fills(head, charts, trade)

    def fills(self, head: Head, charts: Sequence[Chart], trade: Trade) -> list[Fill]:
        """Of pools that were served at this block. Every so many are compared with what the quoter says."""
        self._quotes += 1
        if not charts or self._quotes % AUDITED_ONE_IN or (self._audit is not None and not self._audit.done()):
            return winning_fills(charts, trade)
        fills = fills_of(charts, trade)
        self._audit = asyncio.create_task(self._compare(head, charts, trade, fills))
        return fills

    async def keep(self) -> None:
        """Follow for ever."""
        while True:
            pools = self.mirror.followed()
            if self._feed is not None:
                self._feed.follow(frozenset(pool.address for pool in pools))
            if not pools:
                self._wanted.clear()
                await self._wanted.wait()
            began = self._clock.monotonic()
            if self._feed is not None:
                self._feed.news.clear()
            await self.step()
            await self._pause(began)

    async def _pause(self, began: float) -> None:
        """Until the next step is due, or earned and worth it."""
        feed, took_s = self._feed, self._clock.monotonic() - began
        if feed is None or not feed.is_on:
            await self._clock.sleep(max(0.05, self._due_s(STEP_S, took_s) - took_s))
            return
        due = asyncio.ensure_future(self._clock.sleep(max(0.05, self._due_s(FED_STEP_S, took_s) - took_s)))
        told = asyncio.ensure_future(feed.news.wait())
        try:
            await asyncio.wait({due, told} if self._budget.has_spare else {due}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            due.cancel()
            told.cancel()
        self._budget.spend_one_after(self._clock.monotonic() - began)

    def _due_s(self, usual_s: float, took_s: float) -> float:
        """From the last step to the next, which has to be over before what the last one confirmed is too old: until
        then everybody who asks would take the round trip. Never more steps than an hour may have."""
        in_time_s = self.mirror.fresh_s - took_s - _MARGIN_S
        return min(usual_s, max(in_time_s, StepBudget.EARNED_S))

    async def step(self) -> None:
        """One step. Trouble with the node is no trouble here: what is not confirmed is not served."""
        try:
            moved = await self.mirror.step()
        except UpstreamDown as failure:
            metrics.mirror_steps.labels("failed").inc()
            log.warning("the mirror did not reach the newest block", reason=failure.message)
            return
        if moved:
            for tell in self.on_move:
                tell(moved)

    async def close(self) -> None:
        if self._audit is not None and not self._audit.done():
            self._audit.cancel()

    async def _compare(self, head: Head, charts: Sequence[Chart], trade: Trade, fills: Sequence[Fill]) -> None:
        """Ask the quoter the same at the same block."""
        question = Question.to([chart.spot.pool for chart in charts], trade, self._book)
        # The limits must be those of the pools as they stood there.
        question = question.at({chart.spot.pool: chart.spot.sqrt_price_x96 for chart in charts})
        try:
            reading = await self._reader.read(
                question.calls(self._contracts), block=head.hash, max_calls_per_chunk=HEAVY_CALLS
            )
            told = question.fills(self._book, reading.results)
        except UpstreamDown:
            return
        is_same = [_essence(fill) for fill in told] == [_essence(fill) for fill in fills]
        metrics.mirror_audits.labels("same" if is_same else "different").inc()
        if not is_same:
            log.error(
                "THE MIRROR AND THE NODE DISAGREE ABOUT A QUOTE", block=head.number, pool=charts[0].spot.pool.address
            )
            self.mirror.drop("audit")


def _essence(fill: Fill) -> tuple[Pool, int, int]:
    return fill.before.pool, int(fill.usdg), int(fill.token)
