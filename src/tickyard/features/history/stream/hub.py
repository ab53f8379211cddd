"""Everybody who listens at this process, and what they are told.

Durable events come from the store, whoever wrote them, so every replica tells the same. Prices come from the pools in
memory, once a second at most, and are not kept: who was away hears the newest.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Container
from typing import Any, Final

from tickyard.deps import Deps
from tickyard.features.history.stream import replay
from tickyard.features.history.stream.cursor import LAST_PART, Cursor
from tickyard.features.history.stream.listener import Listener
from tickyard.features.history.stream.prices import PriceFeed
from tickyard.features.history.stream.told import Symbols, Told, framed
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.wire import iso
from tickyard.market.sampling.rounds import slot_start
from tickyard.observe import metrics

LOOK_S: Final = 0.5
HEARTBEAT_S: Final = 15.0
PRICES_S: Final = 1.0
BACK_AFTER_MS: Final = 2_000
_ROUNDS_AT_ONCE: Final = 2
_REST_S: Final = 0.02
"""After these of a long past, which take about as long: the others have half of the time at least."""
GOODBYE: Final = b"retry: %d\n: going away, come back soon\n\n" % BACK_AFTER_MS


class TooManyListeners(Exception):
    """No more connections: of this client, or of all."""


class Hub:
    def __init__(self, deps: Deps) -> None:
        settings = deps.settings
        self._deps = deps
        self._listeners: set[Listener] = set()
        self._per_client: Counter[str] = Counter()
        self._max, self._max_per_client = settings.stream_max, settings.stream_max_per_client
        self._bytes_max = settings.stream_buffer_kb * 1024
        self._cursor: Cursor | None = None
        self._rounds = replay.Rounds()
        self._turns = asyncio.Lock()
        self._samples: dict[str, Any] = {}
        self._prices = PriceFeed(deps)
        self.is_closed = False
        """This process is going away: whoever comes is told when to come back."""

    def admit(self, client: str) -> None:
        if len(self._listeners) >= self._max or self._per_client[client] >= self._max_per_client:
            raise TooManyListeners

    async def join(self, client: str, symbols: Symbols, events: frozenset[str], last_id: str | None) -> Listener:
        """A new listener, counted. What they hear first is `past`; only after that they hear what happens."""
        self.admit(client)
        since = Cursor.parse(last_id) if last_id is not None else None
        listener = Listener(client, symbols, events, since, self._bytes_max)
        self._listeners.add(listener)
        self._per_client[client] += 1
        metrics.stream_listeners.set(len(self._listeners))
        try:
            if self._cursor is None:
                await self._begin()
        except BaseException:
            self.leave(listener)
            raise
        return listener

    def leave(self, listener: Listener) -> None:
        if listener in self._listeners:
            self._listeners.discard(listener)
            self._per_client[listener.client] -= 1
            if not self._per_client[listener.client]:
                del self._per_client[listener.client]
            metrics.stream_listeners.set(len(self._listeners))

    async def past(self, listener: Listener, *, is_resumed: bool) -> AsyncIterator[bytes]:
        """Everything behind their last id, a few rounds at a time, or else a snapshot. Then they are here."""
        yield b"retry: %d\n\n" % BACK_AFTER_MS
        reason = await self._why_not(listener.cursor)
        if listener.cursor is None or reason is not None:
            if is_resumed and reason is not None:
                yield self._gap(reason)
            here = self._here()
            listener.cursor, listener.is_here = here, True
            yield self._snapshot(listener, here) + self._live(listener, besides=self._samples)
            return
        while True:
            here = self._here()
            is_far = here.round[0] - listener.cursor.round[0] > replay.ROUNDS_KEPT
            end = (listener.cursor.round[0] + _ROUNDS_AT_ONCE, LAST_PART) if is_far else here.round
            target = Cursor(end, here.action)
            with listener.waiting():
                if is_far:
                    # It is work: they take turns and rest, so that one client is not felt by all the others.
                    async with self._turns:
                        told, actions = await self._between(listener.cursor, target)
                        await self._deps.clock.sleep(_REST_S)
                else:
                    told, actions = await self._between(listener.cursor, target)
            if len(actions) == replay.ACTIONS_MAX:
                # There may be more: those are told in the next turn.
                target = Cursor(target.round, actions[-1].action or target.action)
            told += actions
            if data := listener.framed(told):
                yield data
            listener.move_to(target)
            if listener.cursor.is_at_least(here) and self._here() == here:
                # Nothing was awaited since the comparison, so nothing was told that they did not hear.
                listener.is_here = True
                if data := self._live(listener):
                    yield data
                return

    async def _between(self, since: Cursor, until: Cursor) -> tuple[list[Told], list[Told]]:
        async with self._deps.store.read() as tx:
            told = await self._rounds.between(tx, since.round, until.round)
            return told, await replay.actions_between(tx, since.action, until.action)

    async def _why_not(self, since: Cursor | None) -> str | None:
        """What keeps us from telling everything since then; None: nothing."""
        if since is None:
            return "this is not an id of ours"
        here = self._here()
        if here.round[0] - since.round[0] > replay.ROUNDS_MAX:
            return "you were away for more than a day"
        if here.is_at_least(since):
            return None
        # Another replica may be ahead of this process, and never of the store: an id from there is of another one, or
        # of one that was put back, and whoever brought it would hear nothing until it is overtaken.
        async with self._deps.store.read() as tx:
            there = await replay.position(tx)
        return None if there.is_at_least(since) else "this id is ahead of all that has happened here"

    def _here(self) -> Cursor:
        """Where this process is. It stays known while anybody listens."""
        assert self._cursor is not None
        return self._cursor

    @property
    def _present(self) -> list[Listener]:
        return [listener for listener in self._listeners if listener.is_here]

    @property
    def _following(self) -> list[Listener]:
        return [listener for listener in self._listeners if "price" in listener.events]

    def _snapshot(self, listener: Listener, here: Cursor) -> bytes:
        newest = here.round[0]
        around = {
            "asOf": iso(self._deps.clock.now()),
            "chainId": self._deps.settings.chain_id,
            "lastSlot": iso(slot_start(newest)) if newest else None,
        }
        last = {symbol: told.around for symbol, told in self._prices.latest.items()}
        live = {symbol: {**item, "live": last.get(symbol)} for symbol, item in self._samples.items()}
        told = Told("snapshot", live, around, "prices")
        nothing = Told("snapshot", {}, {**around, "prices": []})
        return framed(told, listener.symbols, here.text()) or framed(nothing, None, here.text())

    def _live(self, listener: Listener, besides: Container[str] = ()) -> bytes:
        """The prices as they were last told, of all symbols but these. Prices are not kept: whoever was away while one
        moved would else take the one before it for the newest until it moves again."""
        return listener.framed(told for symbol, told in self._prices.latest.items() if symbol not in besides)

    def _gap(self, reason: str) -> bytes:
        return framed(Told("gap", {}, {"reason": reason}), None, None)

    async def _begin(self) -> None:
        async with self._deps.store.read() as tx:
            cursor = await replay.position(tx)
            samples = await replay.latest_prices(tx, cursor.round[0])
        if self._cursor is None:
            self._cursor, self._samples = cursor, samples

    async def keep(self) -> None:
        """Tell what happens, for ever. Each thing by itself: a node or an issuer that is silent for seconds keeps back
        neither what the store knows nor the signs of life, and a store that is keeps back no sign of life."""
        async with asyncio.TaskGroup() as strands:
            for strand in (self._keep_durable, self._keep_prices, self._keep_quotes, self._keep_beating):
                strands.create_task(strand())

    async def _keep_durable(self) -> None:
        while True:
            if self._listeners:
                await self._tell_durable()
            else:
                # Nobody listens: who comes next begins where the store is then.
                self._cursor = None
            await self._deps.clock.sleep(LOOK_S)

    async def _keep_prices(self) -> None:
        while True:
            await self._tell_prices()
            await self._deps.clock.sleep(PRICES_S)

    async def _keep_quotes(self) -> None:
        while True:
            if self._following:
                await self._prices.ask_issuer()
            await self._deps.clock.sleep(PRICES_S)

    async def _keep_beating(self) -> None:
        clock = self._deps.clock
        beat = clock.monotonic()
        while True:
            if not self._listeners:
                beat = clock.monotonic()
            elif clock.monotonic() - beat > HEARTBEAT_S - LOOK_S:
                beat = clock.monotonic()
                self._beat()
            await clock.sleep(LOOK_S)

    def _beat(self) -> None:
        """A sign of life to those who are here. Who stands still on the way here, from one sign to the next, is as deaf
        as those for whom too much waits."""
        for listener in [*self._listeners]:
            if listener.is_here:
                listener.beat()
            elif listener.is_stuck():
                listener.cut()

    async def _tell_durable(self) -> None:
        here = self._cursor
        if here is None:
            return
        try:
            async with self._deps.store.read() as tx:
                there = await replay.position(tx)
                if there == here:
                    return
                told = await self._rounds.between(tx, here.round, there.round)
                actions = await replay.actions_between(tx, here.action, there.action)
        except UpstreamDown:
            # The store is away for a moment; what happened meanwhile is told then.
            return
        rounds = [event for event in told if event.name == "sample"]
        if rounds:
            self._samples = {**self._samples, **rounds[-1].items}
            told.append(self._status(rounds[-1]))
        told += actions
        heard = actions[-1].action if actions else None
        self._cursor = Cursor(there.round if rounds else here.round, heard or here.action)
        for listener in self._present:
            listener.hear(told)

    def _status(self, newest: Told) -> Told:
        doubted = sorted(symbol for symbol, item in newest.items.items() if item["suspect"])
        live = self._deps.market.live
        block = live.mirror.block if live is not None else None
        said = {
            "asOf": iso(self._deps.clock.now()),
            "lastSlot": newest.around["slot"],
            "sampled": len(newest.items),
            "suspect": doubted,
            # A mirror that sleeps stands where it fell asleep.
            "blockNumber": max(block.number if block is not None else 0, newest.around["blockNumber"]),
        }
        return Told("status", {}, said)

    async def _tell_prices(self) -> None:
        if not self._following:
            self._prices.forget()
            return
        symbols: set[str] | None = set()
        for listener in self._following:
            if listener.symbols is None:
                symbols = None
                break
            assert symbols is not None
            symbols |= listener.symbols
        told = await self._prices.moved(symbols)
        if told:
            for listener in self._present:
                listener.hear(told)

    def close(self) -> None:
        """Say goodbye, and when to come back."""
        self.is_closed = True
        for listener in [*self._listeners]:
            listener.push(GOODBYE)
            listener.end()
