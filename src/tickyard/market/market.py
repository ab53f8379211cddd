"""The market: one object with all that features read."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final, Self

from tickyard.chain.multicall import HEAVY_CALLS, Call
from tickyard.chain.rpc.client import Head
from tickyard.config.pinned import Contracts
from tickyard.kernel.errors import NoLiquidity, UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.market.listing.registry import Registry
from tickyard.market.mids import Mids
from tickyard.market.mirror.follow import LiveMarket
from tickyard.market.mirror.offers import fills_of
from tickyard.market.reading import CallTemplate, ChainReader, ChainReading
from tickyard.market.sampling.samples import LatestSamples
from tickyard.market.short_lived import SharedFlight
from tickyard.market.swaps.charts import FAR, NEAR, Chart, ChartReader, ChartReading, Crowded
from tickyard.market.swaps.fills import Fill, Question, Trade, tied_best
from tickyard.market.swaps.pools import Pool, PoolBook, moving_calls

_ASKED_AT_ONCE: Final = 16
"""Calls for the trades of a batch: a node that counts its callers' requests would refuse fifty of them."""


@dataclass(frozen=True, slots=True)
class Offer:
    """The complete fills of a trade at one block, at least all that are the best, and what else was asked for in the
    same breath."""

    fills: list[Fill]
    extra: list[bytes | None]
    at: datetime
    block: int | None = None
    """Its number, where it was named."""


@dataclass(frozen=True, slots=True)
class NamedBlock:
    number: int
    at: datetime
    hash: str

    @classmethod
    def of(cls, head: Head) -> Self:
        return cls(head.number, datetime.fromtimestamp(head.timestamp, UTC), head.hash)

    @classmethod
    def proven(cls, head: Head, at: datetime) -> Self:
        """A block whose header says the time that it had for what was read in it."""
        named = cls.of(head)
        if named.at != at:
            raise UpstreamDown("the chain node tells two times of one block")
        return named


@dataclass(frozen=True, slots=True)
class Market:
    registry: Registry
    mids: Mids
    pools: PoolBook
    reader: ChainReader
    charts: ChartReader
    contracts: Contracts
    live: LiveMarket | None = None
    """The mirror; None: it is switched off, and every answer takes its round trip."""
    samples: LatestSamples = field(default_factory=LatestSamples)
    _offers: SharedFlight[tuple[Address, Trade, tuple[Call, ...]], Offer] = field(default_factory=SharedFlight)
    _readings: SharedFlight[tuple[str, tuple[Call, ...]], ChainReading] = field(default_factory=SharedFlight)
    _filled: SharedFlight[tuple[CallTemplate, Address], ChainReading] = field(default_factory=SharedFlight)
    _looks: SharedFlight[tuple[tuple[Pool, ...], int, tuple[Call, ...]], ChartReading] = field(
        default_factory=SharedFlight
    )

    async def offer(self, token: Address, trade: Trade, extra: Sequence[Call] = ()) -> Offer:
        """Every pool at one block: from memory while that is proven and fresh, else in one round trip. Who asks the
        same meanwhile shares the answer. With extra calls there is always a trip, for those."""
        pools, deadline = self.pools.of(token), self.reader.deadline()
        if self.live is not None and pools:
            offer = await self._remembered(self.live, pools, trade, extra, deadline)
            if offer is not None:
                return offer
        question = Question.to(pools, trade, self.pools)
        if not question.asked:
            raise NoLiquidity("this asset has no TOKEN/USDG pool with a price")
        key = (token, trade, tuple(extra))
        return await self._offers.share(key, lambda: self._put(question, key[2], deadline))

    async def _remembered(
        self, live: LiveMarket, pools: Sequence[Pool], trade: Trade, extra: Sequence[Call], deadline: float
    ) -> Offer | None:
        """The offer from memory, and the extra calls at the same block. None: it must be asked for. So it is when what
        they return has changed since: who traded a moment ago would be told of an allowance that is spent."""
        served = live.offer(pools, trade)
        if served is None:
            return None
        head, fills = served
        words: list[bytes | None] = []
        if extra:
            try:
                unmoved = await self.reader.read_unmoved(extra, head.hash, deadline=deadline)
            except UpstreamDown:
                # The block may have left the chain meanwhile: the newest one knows.
                return None
            if unmoved is None:
                return None
            words = unmoved
        elif not fills and all(not self.pools.last_sqrt_price(pool) for pool in pools):
            return None
        return Offer(fills, words, datetime.fromtimestamp(head.timestamp, UTC), head.number)

    async def _put(self, question: Question, extra: Sequence[Call], deadline: float) -> Offer:
        offer = await self._ask_pools(question, extra, deadline)
        if question.is_outdated(self.pools, offer.fills):
            # Now the prices are fresh, and so is the question.
            question = Question.to([pool for pool, _ in question.asked], question.trade, self.pools)
            offer = await self._ask_pools(question, extra, deadline)
        return await self._with_depth(question.trade, offer, deadline)

    async def _with_depth(self, trade: Trade, offer: Offer, deadline: float) -> Offer:
        """Of equal fills the deeper pool's is taken: then, and only then, one must know how deep they are."""
        tied = tied_best(trade, offer.fills)
        if len(tied) < 2:
            return offer
        reading = await self.look([fill.before.pool for fill in tied], deadline=deadline)
        charts = {chart.spot.pool: chart.spot for chart in reading.charts}
        fills = [replace(fill, before=charts.get(fill.before.pool, fill.before)) for fill in offer.fills]
        return replace(offer, fills=fills)

    async def look(
        self, pools: Sequence[Pool], *, reach: int = NEAR, extra: Sequence[Call] = (), deadline: float | None = None
    ) -> ChartReading:
        """Pools with their ticks and what they hold, and extra calls, at one block. Who asks the same meanwhile
        shares the answer."""
        until = deadline or self.reader.deadline()
        key = (tuple(pools), reach, tuple(extra))
        served = self.live.serve(key[0]) if self.live is not None and pools else None
        if served is not None:
            head, charts = served
            at = datetime.fromtimestamp(head.timestamp, UTC)
            if not extra:
                return ChartReading(charts, [], at, head.number)
            try:
                words = (await self.read(key[2], block=head.hash, deadline=until)).results
            except UpstreamDown:
                words = None
            if words is not None:
                return ChartReading(charts, words, at, head.number)
        return await self._looks.share(key, lambda: self.charts.read(key[0], reach=reach, extra=key[2], deadline=until))

    async def look_at_block(self, pools: Sequence[Pool], *, reach: int) -> tuple["NamedBlock", list[Chart]]:
        """Pools with their ticks at a block that can be named. Without the mirror: its name is one more trip."""
        served = self.live.serve(pools) if self.live is not None and pools else None
        if served is not None:
            return NamedBlock.of(served[0]), served[1]
        named, reading = await self._look_at_newest(pools, reach, ())
        return named, reading.charts

    async def look_to_trade(self, pools: Sequence[Pool]) -> tuple["NamedBlock", list[tuple[Chart, bool]]]:
        """The same with all ticks that a trade may reach, and whether the pool can trade: where a token is paused, or
        blocks the pool, nothing leaves it, whatever its curve."""
        served = self.live.serve(pools, to_trade=True) if self.live is not None and pools else None
        if served is not None:
            return NamedBlock.of(served[0]), [(chart, True) for chart in served[1]]
        return await self._look_to_trade(pools)

    async def _look_to_trade(
        self, pools: Sequence[Pool], deadline: float | None = None
    ) -> tuple["NamedBlock", list[tuple[Chart, bool]]]:
        moving = [call for pool in pools for call in moving_calls(pool, self.contracts)]
        named, reading = await self._look_at_newest(pools, FAR, moving, deadline)
        both = zip(reading.extra[::2], reading.extra[1::2], strict=True)
        return named, [(chart, None not in moved) for chart, moved in zip(reading.charts, both, strict=True)]

    async def _look_at_newest(
        self, pools: Sequence[Pool], reach: int, extra: Sequence[Call], deadline: float | None = None
    ) -> tuple["NamedBlock", ChartReading]:
        deadline = deadline or self.reader.deadline()
        head = await self.reader.head(deadline=deadline)
        if not pools:
            named = NamedBlock.of(head)
            return named, ChartReading([], [], named.at)
        reading = await self.charts.read(pools, reach=reach, block=head.hash, extra=extra, deadline=deadline)
        return NamedBlock.proven(head, reading.at), reading

    async def look_at_each(self, pools: Sequence[Pool], *, reach: int) -> tuple["NamedBlock", dict[Pool, Chart]]:
        """Those pools that can be read, at the newest block."""
        head = await self.reader.head()
        charts, _, at = await self.charts.read_each(pools, reach=reach, block=head.hash, with_balances=False)
        return NamedBlock.proven(head, at), {chart.spot.pool: chart for chart in charts if isinstance(chart, Chart)}

    async def offers(self, trades: Sequence[tuple[Address, Trade]]) -> tuple["NamedBlock", list[list[Fill]]]:
        """The fills of many trades, the best among them, all at one block."""
        pools = {token: self.pools.of(token) for token, _ in trades}
        every = [pool for its in pools.values() for pool in its]
        served = self.live.serve(every, to_trade=True) if self.live is not None and every else None
        if self.live is not None and served is not None:
            head, charts = served[0], {chart.spot.pool: chart for chart in served[1]}
            return NamedBlock.of(head), [
                self.live.fills(head, [charts[pool] for pool in pools[token]], trade) for token, trade in trades
            ]
        return await self._ask_each(trades, self.reader.deadline())

    async def _ask_each(
        self, trades: Sequence[tuple[Address, Trade]], deadline: float
    ) -> tuple["NamedBlock", list[list[Fill]]]:
        """The same, asked of the quoter. Each trade in a call of its own: what another one has warmed would make it
        seem to need less gas than it does."""
        pools = {token: self.pools.of(token) for token, _ in trades}
        every = [pool for its in pools.values() for pool in its]
        head = await self.reader.head(deadline=deadline)
        reading = await self.charts.read(every, block=head.hash, deadline=deadline) if every else None
        spots = {chart.spot.pool: chart.spot for chart in reading.charts} if reading else {}
        # Limits set by how the pools stand at this very block: there is no second try as for a single quote.
        roots = {pool: spot.sqrt_price_x96 for pool, spot in spots.items()}
        questions = [Question(trade, ()).at({pool: roots[pool] for pool in pools[token]}) for token, trade in trades]
        asked = list(dict.fromkeys(question for question in questions if question.asked))
        room = asyncio.Semaphore(_ASKED_AT_ONCE)

        async def ask(question: Question) -> ChainReading:
            calls = question.calls(self.contracts)
            async with room:
                return await self.reader.read(
                    calls, block=head.hash, max_calls_per_chunk=HEAVY_CALLS, deadline=deadline
                )

        answers = await asyncio.gather(*map(ask, asked), return_exceptions=True)
        named, found = NamedBlock.of(head), dict[Question, list[Fill]]()
        for question, told in zip(asked, answers, strict=True):
            if isinstance(told, BaseException):
                raise told
            named = NamedBlock.proven(head, told.at)
            fills = question.fills(self.pools, told.results)
            found[question] = [replace(fill, before=spots[fill.before.pool]) for fill in fills]
        return named, [found.get(question, []) for question in questions]

    def remembered_offer(self, token: Address, trade: Trade) -> tuple["NamedBlock", list[Fill]] | None:
        """The fills of one trade at the mirror's block, the best among them; None: ask the chain."""
        pools = self.pools.of(token)
        served = self.live.offer(pools, trade) if self.live is not None and pools else None
        return None if served is None else (NamedBlock.of(served[0]), served[1])

    async def offer_at_block(
        self, token: Address, trade: Trade, *, deadline: float | None = None
    ) -> tuple["NamedBlock", list[Fill]]:
        """The same at the newest block, whose name is one trip more. Worked out as the mirror does it: where no pool's
        tokens move the quoter has no answer, and whoever checks a trade wants to know why."""
        pools = [pool for pool in self.pools.of(token) if self.pools.last_sqrt_price(pool)]
        if not pools:
            raise NoLiquidity("this asset has no TOKEN/USDG pool with a price")
        try:
            named, looked = await self._look_to_trade(pools, deadline)
        except Crowded:
            # Anybody can fill a pool with ticks for a few dollars. That must keep nobody from seeing what they sign.
            named, [fills] = await self._ask_each([(token, trade)], deadline or self.reader.deadline())
            return named, fills
        moving = [chart for chart, moves in looked if moves]
        return named, fills_of(moving or [chart for chart, _ in looked], trade)

    async def _ask_pools(self, question: Question, extra: Sequence[Call], deadline: float) -> Offer:
        if extra:
            calls = [*question.calls(self.contracts), *extra]
            reading = await self.reader.read(calls, max_calls_per_chunk=HEAVY_CALLS, deadline=deadline)
        else:
            reading = await self.reader.read_form(question.form(self.contracts), question.values, deadline=deadline)
        results = reading.results
        fills = question.fills(self.pools, results)
        if not fills and question.is_stuck(results):
            raise NoLiquidity("nothing can be traded now: the token or USDG is paused, or blocks each of its pools")
        return Offer(fills, results[len(results) - len(extra) :], reading.at)

    async def read(
        self, calls: Sequence[Call], *, block: str = "latest", deadline: float | None = None
    ) -> ChainReading:
        """Light calls at one block. Who asks the same meanwhile shares the answer."""
        key = (block, tuple(calls))
        return await self._readings.share(key, lambda: self.reader.read(key[1], block=block, deadline=deadline))

    async def read_form(self, form: CallTemplate, address: Address) -> ChainReading:
        """The same for a form."""
        return await self._filled.share((form, address), lambda: self.reader.read_form(form, (address,)))
