"""Several node URLs as one: which to ask, when to ask again, and when to give up.

The URL that answered last is asked first. One that failed rests for a growing time; while all of them rest,
the one whose rest ends first is tried all the same, so that a recovered node is noticed at once.
Only a throttle is obeyed strictly, and only as long as a caller could wait.
"""

import asyncio
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from random import Random
from typing import Final, TypeVar

from tickyard.chain.rpc.endpoint import NodeUrl
from tickyard.chain.rpc.freshness import HEAD_CHECK, BlockAge, read_head_time
from tickyard.chain.rpc.trouble import (
    ForeignChain,
    Lagging,
    NodeUnreachable,
    Refused,
    RpcError,
    Stale,
    Throttled,
    Trouble,
)
from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import UpstreamDown

T = TypeVar("T")
Observe = Callable[[int, str, str, float], None]
"""Told after each try: index of the URL, method, outcome, seconds. Never the URL: it may hold a key."""

_PAUSE_S: Final = 0.1
_SEEK_EVERY_S: Final = 2.0
_LOOK_S: Final = 1.0


class Failover:
    def __init__(
        self,
        endpoints: Sequence[NodeUrl],
        *,
        clock: Clock,
        rng: Random,
        budget_s: float,
        try_s: float,
        observe: Observe | None,
        age: BlockAge | None = None,
    ) -> None:
        """With `age`, a URL whose newest block is older than that is passed over like one that is silent."""
        self.endpoints = list(endpoints)
        self._clock = clock
        self._rng = rng
        self._budget_s = budget_s
        self._try_s = try_s
        self._max_tries = max(3, len(endpoints) + 1)
        self._observe = observe
        self._age = age
        self._preferred = 0
        self._seeks_at = 0.0
        self._seeking: asyncio.Task[None] | None = None

    def deadline(self) -> float:
        return self._clock.monotonic() + self._budget_s

    async def ask(
        self,
        method: str,
        body: bytes,
        read: Callable[[bytes], T],
        deadline: float | None = None,
        *,
        shows_age: bool = False,
    ) -> T:
        """Try until an answer can be read, the tries are used up, or the time is.

        `shows_age`: reading the answer judges the age of its block, so the URL need not be asked for it.
        """
        deadline = self.deadline() if deadline is None else deadline
        trouble: Trouble | None = None
        refusal: Refused | None = None
        asked: list[NodeUrl] = []
        refusing: list[NodeUrl] = []
        for tried in range(self._max_tries):
            if refusing and all(each in refusing or each.is_foreign for each in self.endpoints):
                break
            started, first = self._clock.monotonic(), self._preferred
            endpoint = self.endpoints[first]
            if endpoint in refusing or endpoint.is_resting(started):
                endpoint = self._choose(started, asked, refusing, deadline)
                await self._pause(endpoint, tried, deadline)
                started = self._clock.monotonic()
            asked.append(endpoint)
            left_s = deadline - started
            if left_s <= 0:
                break
            outcome = "cancelled"
            try:
                async with asyncio.timeout(min(self._try_s, left_s)):
                    result = await self._post(endpoint, body, read, shows_age=shows_age)
            except TimeoutError:
                trouble, outcome = NodeUnreachable(), "timeout"
            except Trouble as caught:
                trouble, outcome = caught, caught.outcome
            except Refused as caught:
                # It needs no rest: it may do everything else. Who answers is asked first from then on.
                refusal, outcome = caught, "refused"
                refusing.append(endpoint)
                continue
            except RpcError:
                outcome = "rpc_error"
                self._settle_on(endpoint, first)
                raise
            else:
                outcome = "ok"
                self._settle_on(endpoint, first)
                return result
            finally:
                if self._observe:
                    self._observe(endpoint.index, method, outcome, self._clock.monotonic() - started)
            endpoint.note_trouble(trouble, self._clock.monotonic(), self._rng, self._budget_s)
        raise refusal or _gave_up(trouble)

    async def _post(self, endpoint: NodeUrl, body: bytes, read: Callable[[bytes], T], *, shows_age: bool) -> T:
        """An answer of a node that is where the chain is. Its newest block is looked at beside, every few seconds."""
        if self._age is None or self._clock.monotonic() < endpoint.is_fresh_until:
            return await endpoint.post(body, read)
        if shows_age:
            result = await endpoint.post(body, read)
        else:
            looking = asyncio.ensure_future(endpoint.post(HEAD_CHECK, self._age.judged(read_head_time), is_check=True))
            try:
                result = await endpoint.post(body, read)
                await looking
            except RpcError:
                # A refusal of a node that is behind is no answer either.
                await looking
                raise
            finally:
                looking.cancel()
                await asyncio.gather(looking, return_exceptions=True)
        endpoint.is_fresh_until = self._clock.monotonic() + self._age.look_every_s
        return result

    async def look(self) -> list[bool]:
        """Which of the URLs answer, whether somebody asks them or not: of one that is passed over nobody else knows."""
        return list(await asyncio.gather(*map(self._answers, self.endpoints)))

    async def _answers(self, endpoint: NodeUrl) -> bool:
        if endpoint.is_throttled and endpoint.is_resting(self._clock.monotonic()):
            return False
        read = read_head_time if self._age is None else self._age.judged(read_head_time)
        try:
            async with asyncio.timeout(self._try_s):
                await endpoint.post(HEAD_CHECK, read, is_check=True)
        except (TimeoutError, Trouble):
            return False
        return True

    def seek_newer(self, than_s: int) -> None:
        """If this is rather old for the newest block, see whether another URL has a newer one: it is asked from then.

        A node that is stuck answers everything: who came to one while a better one was away would stay there until it
        is too old for anybody. Nobody waits for it. Where the whole chain is quiet it costs a question now and then.
        """
        now = self._clock.monotonic()
        is_under_way = self._seeking is not None and not self._seeking.done()
        if self._age is None or is_under_way or now < self._seeks_at or not self._age.is_still(than_s):
            return
        self._seeks_at = now + _SEEK_EVERY_S
        self._seeking = asyncio.create_task(self._seek(self._age, than_s, now))

    async def _seek(self, age: BlockAge, than_s: int, now: float) -> None:
        for endpoint in self.endpoints:
            is_obeyed = endpoint.is_throttled and endpoint.is_resting(now)
            if endpoint.index == self._preferred or endpoint.is_foreign or is_obeyed:
                continue
            with suppress(TimeoutError, Trouble):
                async with asyncio.timeout(_LOOK_S):
                    at_s = await endpoint.post(HEAD_CHECK, age.judged(read_head_time), is_check=True)
                if at_s > than_s:
                    self._settle_on(endpoint, self._preferred)
                    return

    async def close(self) -> None:
        if self._seeking is not None:
            self._seeking.cancel()
            await asyncio.gather(self._seeking, return_exceptions=True)
        for endpoint in self.endpoints:
            await endpoint.close()

    def _settle_on(self, endpoint: NodeUrl, first: int) -> None:
        """It is asked first from now on, unless somebody has found another one since `first` was."""
        endpoint.note_well()
        if self._preferred == first:
            self._preferred = endpoint.index

    def _choose(self, now: float, asked: Sequence[NodeUrl], refusing: Sequence[NodeUrl], deadline: float) -> NodeUrl:
        """When the URL that worked last rests: the next one that does not, else whose rest is over first.

        Of those that rest, one that this caller has not asked yet goes before: it may have recovered, while a second
        look at one that was just found stuck would find the same.
        """
        in_order = self.endpoints[self._preferred :] + self.endpoints[: self._preferred]
        in_order = [endpoint for endpoint in in_order if endpoint not in refusing]
        for endpoint in in_order:
            if not endpoint.is_resting(now):
                return endpoint
        ours = [endpoint for endpoint in in_order if not endpoint.is_foreign]
        if not ours:
            raise _gave_up(ForeignChain())
        return min(
            ours,
            key=lambda each: (self._rests_too_long(each, deadline), asked.count(each), each.rests_until),
        )

    def _rests_too_long(self, endpoint: NodeUrl, deadline: float) -> bool:
        """Whether a throttle would have us wait until too little time is left for an answer."""
        return endpoint.is_throttled and endpoint.rests_until + self._budget_s / 4 >= deadline

    async def _pause(self, endpoint: NodeUrl, tried: int, deadline: float) -> None:
        """Before a resting URL is asked. A throttle is obeyed; after other failures a short pause will do."""
        now = self._clock.monotonic()
        if not endpoint.is_resting(now):
            return
        wait_s = endpoint.rests_until - now
        if endpoint.is_throttled:
            if self._rests_too_long(endpoint, deadline):
                raise _gave_up(Throttled(retry_after_s=math.ceil(wait_s)))
        elif tried == 0:
            return
        else:
            wait_s = min(wait_s, _PAUSE_S * 2**tried * self._rng.uniform(0.5, 1.0))
        await self._clock.sleep(min(wait_s, max(deadline - now, 0.0)))


def _gave_up(trouble: Trouble | None) -> UpstreamDown:
    """What callers are told. No URL, no text of the node."""
    if isinstance(trouble, ForeignChain):
        return UpstreamDown("the chain node serves another chain")
    if isinstance(trouble, Throttled):
        return UpstreamDown("the chain node is throttling requests", retry_after_s=trouble.retry_after_s)
    if isinstance(trouble, Stale):
        return UpstreamDown("the chain node is behind the chain")
    if isinstance(trouble, Lagging):
        return UpstreamDown("the chain node does not have this block")
    return UpstreamDown("the chain node did not answer")
