"""How often somebody may waste our time: a bounded count per minute and name, in the memory of this process.

A place in the budget is taken before the work begins and given back when it was worth it. While all places are taken,
others wait: whoever comes with good payments waits for a moment, whoever comes with bad ones for their verdict.
"""

import asyncio
from collections import OrderedDict, deque
from typing import Final

from tickyard.kernel.clock import Clock
from tickyard.payments.refusal import TooManyPayments

WINDOW_S: Final = 60
PATIENCE_S: Final = 8.0
_NAMES_MAX: Final = 50_000


class Place:
    """One place in a budget. What became of it is said once; the first word counts."""

    __slots__ = ("_budget", "_is_open", "_name")

    def __init__(self, budget: "Budget", name: str) -> None:
        self._budget = budget
        self._name = name
        self._is_open = True

    def give_back(self) -> None:
        if self._is_open:
            self._is_open = False
            self._budget._end(self._name, is_spent=False)

    def spend(self) -> None:
        if self._is_open:
            self._is_open = False
            self._budget._end(self._name, is_spent=True)


class Budget:
    """At most `quota` places in any minute for each name. None: no limit."""

    def __init__(self, quota: int | None, clock: Clock, message: str, *, patience_s: float = PATIENCE_S) -> None:
        self._quota = quota
        self._clock = clock
        self._message = message
        self._patience_s = patience_s
        # The name spent on least recently first: the one to forget.
        self._spent: OrderedDict[str, deque[float]] = OrderedDict()
        self._taken: dict[str, int] = {}
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    async def take(self, name: str) -> Place:
        """A place, after a while if need be. Raises TooMany."""
        if self._quota is None:
            return Place(self, name)
        deadline = self._clock.monotonic() + self._patience_s
        while True:
            now = self._clock.monotonic()
            wait_s = self._wait_s(name, now)
            if wait_s:
                raise TooManyPayments(self._message, wait_s)
            if self._taken.get(name, 0) + len(self._spent.get(name, ())) < self._quota:
                self._taken[name] = self._taken.get(name, 0) + 1
                return Place(self, name)
            await self._turn(name, deadline - now)

    async def exchange(self, place: Place, name: str) -> Place:
        """A place under another name for this one. Raises TooMany; then this one is spent."""
        try:
            other = await self.take(name)
        except TooManyPayments:
            place.spend()
            raise
        place.give_back()
        return other

    async def _turn(self, name: str, patience_s: float) -> None:
        """Until somebody leaves the queue's place to us."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(name, deque()).append(turn)
        try:
            async with asyncio.timeout(max(0.0, patience_s)):
                await self._called_up(name, turn)
        except TimeoutError:
            raise TooManyPayments(self._message, 1) from None
        finally:
            # By now the queue may be another, or gone: whoever leaves a place takes those who wait no more out of it.
            queue = self._waiting.get(name)
            if queue is not None and turn in queue:
                queue.remove(turn)
            if not queue:
                self._waiting.pop(name, None)

    async def _called_up(self, name: str, turn: asyncio.Future[None]) -> None:
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                # Called up in the very moment of giving up or of being ended: the next one is.
                self._call_up(name, 1)
            raise

    def _wait_s(self, name: str, now: float) -> int:
        """Seconds until this name may spend again; 0: now. `now` is monotonic seconds."""
        moments = self._spent.get(name)
        if moments is None or self._quota is None:
            return 0
        while moments and moments[0] <= now - WINDOW_S:
            moments.popleft()
        if not moments:
            del self._spent[name]
            return 0
        return 0 if len(moments) < self._quota else int(moments[0] + WINDOW_S - now) + 1

    def _end(self, name: str, *, is_spent: bool) -> None:
        if self._quota is None:
            return
        self._taken[name] -= 1
        if not self._taken[name]:
            del self._taken[name]
        if is_spent:
            if name not in self._spent and len(self._spent) >= _NAMES_MAX:
                self._spent.popitem(last=False)
            self._spent.setdefault(name, deque(maxlen=self._quota)).append(self._clock.monotonic())
            self._spent.move_to_end(name)
        # After something was spent everybody looks: there may be nothing left to wait for.
        self._call_up(name, len(self._waiting.get(name, ())) if is_spent else 1)

    def _call_up(self, name: str, count: int) -> None:
        queue = self._waiting.get(name)
        while queue and count:
            turn = queue.popleft()
            if not turn.done():
                turn.set_result(None)
                count -= 1
