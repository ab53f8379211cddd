"""Short-lived copies of what an upstream said.

Each key is asked for once at a time: callers who come meanwhile share the answer. A copy is reused for a few
seconds, and stands in for the source for a few more when the source is down; after that the failure shows.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, TypeVar

from tickyard.kernel.clock import Clock, Stamp, seconds_since, stamp
from tickyard.kernel.errors import UpstreamDown

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Copy(Generic[V]):
    value: V
    fetched: Stamp


class SharedFlight(Generic[K, V]):
    """One call per key at a time; whoever asks for the same thing meanwhile waits for that one.

    The first to ask makes the call itself: nearly always nobody else comes, and a task of its own would cost more
    than all the rest. When the first goes away, one of those who waited makes the call again.
    """

    def __init__(self) -> None:
        self._waiting: dict[K, list[asyncio.Future[V]]] = {}

    async def share(self, key: K, start: Callable[[], Awaitable[V]]) -> V:
        while (waiting := self._waiting.get(key)) is not None:
            answer: asyncio.Future[V] = asyncio.get_running_loop().create_future()
            waiting.append(answer)
            try:
                return await answer
            except _Abandoned:
                continue
        self._waiting[key] = waiting = []
        failure: BaseException = _Abandoned()
        try:
            value = await start()
        except Exception as error:
            failure = error
            raise
        else:
            for answer in waiting:
                if not answer.done():
                    answer.set_result(value)
            return value
        finally:
            del self._waiting[key]
            for answer in waiting:
                if not answer.done():
                    answer.set_exception(failure)


class _Abandoned(Exception):
    """Whoever made the call was cancelled before it was answered."""


class Copies(Generic[K, V]):
    def __init__(self, fetch: Callable[[K], Awaitable[V]], clock: Clock, *, reuse: timedelta, stale: timedelta) -> None:
        self._fetch = fetch
        self._clock = clock
        self._reuse_s = reuse.total_seconds()
        self._stale_s = stale.total_seconds()
        self._copies: dict[K, Copy[V]] = {}
        self._flight: SharedFlight[K, Copy[V]] = SharedFlight()

    async def get(self, key: K) -> Copy[V]:
        if (copy := self._held(key, self._reuse_s)) is not None:
            return copy
        try:
            return await self._flight.share(key, lambda: self._refresh(key))
        except UpstreamDown:
            if (copy := self.held(key)) is not None:
                return copy
            raise

    def held(self, key: K) -> Copy[V] | None:
        """What may be told of it without asking the source."""
        return self._held(key, self._stale_s)

    def seconds_left(self, copy: Copy[V]) -> int:
        """How long an answer made from this copy may be reused without breaking a promise."""
        age_s = seconds_since(self._clock, copy.fetched)
        if age_s < self._reuse_s:
            # Never zero: in the last second of every copy each request would be worked out anew.
            return max(1, int(self._reuse_s - age_s))
        return max(0, int(self._stale_s - age_s))

    def _held(self, key: K, at_most_s: float) -> Copy[V] | None:
        copy = self._copies.get(key)
        if copy is None or seconds_since(self._clock, copy.fetched) > at_most_s:
            return None
        return copy

    async def _refresh(self, key: K) -> Copy[V]:
        # Dated before the request leaves: a copy is never younger than it claims.
        began = stamp(self._clock)
        copy = Copy(await self._fetch(key), began)
        self._copies[key] = copy
        return copy
