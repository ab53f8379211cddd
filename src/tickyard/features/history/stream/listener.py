"""One who listens: what is on its way to them, how far they have heard, and when they are too slow."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from tickyard.features.history.stream.cursor import Cursor
from tickyard.features.history.stream.told import Symbols, Told, framed


class Listener:
    __slots__ = (
        "_bytes_max",
        "_is_waiting",
        "_queue",
        "_queued",
        "_ready",
        "_taken",
        "client",
        "cursor",
        "events",
        "is_cut",
        "is_here",
        "is_over",
        "on_cut",
        "symbols",
    )

    def __init__(
        self, client: str, symbols: Symbols, events: frozenset[str], cursor: Cursor | None, bytes_max: int
    ) -> None:
        self.client = client
        self.symbols = symbols
        self.events = events
        self.cursor = cursor
        """How far they have heard. None: they have just come."""
        self.is_here = False
        """They have heard the past, and hear what happens."""
        self.is_over = False
        self.is_cut = False
        """Too slow: what waits for them has grown over the bound."""
        self.on_cut: Callable[[], object] | None = None
        self._bytes_max = bytes_max
        self._is_waiting = False
        self._queue: deque[bytes] = deque()
        self._queued = 0
        self._ready: asyncio.Future[None] | None = None
        self._taken: Cursor | None = None

    def hear(self, told: Iterable[Told]) -> None:
        """Queue what is news to this listener."""
        if data := self.framed(told):
            self.push(data)

    def framed(self, told: Iterable[Told]) -> bytes:
        """The bytes of what is news to this listener; they have heard it then."""
        return b"".join([data for event in told if (data := self._one(event))])

    def move_to(self, there: Cursor) -> None:
        """They have heard everything up to there, also where there was nothing to hear."""
        assert self.cursor is not None
        self.cursor = Cursor(max(self.cursor.round, there.round), max(self.cursor.action, there.action))

    def _one(self, event: Told) -> bytes:
        assert self.cursor is not None
        if event.round is not None:
            if event.round <= self.cursor.round:
                return b""
            self.cursor = self.cursor.heard_round(event.round)
        elif event.action is not None:
            if event.action <= self.cursor.action:
                return b""
            self.cursor = self.cursor.heard_action(event.action)
        if event.name not in self.events:
            return b""
        is_durable = event.round is not None or event.action is not None
        return framed(event, self.symbols, self.cursor.text() if is_durable else None)

    def beat(self) -> None:
        """A sign of life. It says how far they have heard: who waits for something rare would else come back with an
        id that is days old, and be taken for somebody who was away for so long."""
        assert self.cursor is not None
        self.push(b"id: %b\n: still here\n\n" % self.cursor.text().encode())

    def push(self, data: bytes) -> None:
        if self.is_over:
            return
        if self._queued > self._bytes_max:
            # What waited before this came is what they did not take: a long round alone makes nobody slow.
            self.cut()
            return
        self._queued += len(data)
        self._queue.append(data)
        self._wake()

    def is_stuck(self) -> bool:
        """Whether they have taken nothing of the past since this was last asked, and not because we were reading it."""
        if self._is_waiting:
            self._taken = None
            return False
        before, self._taken = self._taken, self.cursor
        return before is not None and before == self.cursor

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Meanwhile it is they who wait for us."""
        self._is_waiting = True
        try:
            yield
        finally:
            self._is_waiting = False

    def cut(self) -> None:
        self.is_cut = True
        self.end()
        if self.on_cut is not None:
            self.on_cut()

    def end(self) -> None:
        self.is_over = True
        self._wake()

    def _wake(self) -> None:
        if self._ready is not None and not self._ready.done():
            self._ready.set_result(None)

    async def next(self) -> bytes:
        """All that waits, as one piece; empty: it is over."""
        if not self._queue and not self.is_over:
            self._ready = asyncio.get_running_loop().create_future()
            try:
                await self._ready
            finally:
                self._ready = None
        if self.is_cut:
            return b""
        data = b"".join(self._queue)
        self._queue.clear()
        self._queued = 0
        return data
