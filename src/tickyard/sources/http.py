"""The shared client of the JSON upstreams: bounded in time, in size and in how often it asks.

Everything an upstream can do wrong ends in one failure, `UpstreamDown`, within the budget of the call.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from random import Random
from typing import TypeVar

import aiohttp
import msgspec
from yarl import URL

from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import UpstreamDown
from tickyard.sources.breaker import Breaker
from tickyard.sources.text import UNREADABLE

T = TypeVar("T")

Observe = Callable[[str, str, float], None]
"""Told (source, outcome, seconds) after each try. Outcomes are a small closed set, fit for metric labels."""

_FAULT_PAUSE_S = (0.05, 0.25)
# A throttled caller who comes back at once stays throttled.
_THROTTLE_PAUSE_S = (0.4, 0.8)
# A try that cannot even open a connection in the time left is not worth starting.
_SHORTEST_TRY_S = 0.05
_OUTCOMES = {403: "refused", 404: "missing", 429: "throttled"}


@dataclass(frozen=True, slots=True)
class Fetched:
    """A whole answer: JSON with status 200, or anything with a status that only the caller can judge (404, say)."""

    status: int
    body: bytes
    headers: Mapping[str, str]


class SourceRefused(Exception):
    """One try failed. `outcome` is for the metrics; nothing of it reaches a caller."""

    def __init__(self, outcome: str) -> None:
        super().__init__(outcome)
        self.outcome = outcome


class Source:
    """One upstream. Reads only, so every call may be repeated."""

    def __init__(
        self,
        name: str,
        base_url: str,
        *,
        clock: Clock,
        rng: Random,
        max_bytes: int,
        budget_s: float = 5.0,
        try_s: float = 4.0,
        tries: int = 2,
        headers: Mapping[str, str] | None = None,
        title: str | None = None,
        breaker: Breaker | None = None,
        observe: Observe | None = None,
        judged: Collection[int] = (404,),
        is_whole_checked: bool = True,
        before_try: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """`judged`: statuses besides 200 that are answers; what they mean is for `decode` to say.

        `is_whole_checked`: refuse what is no whole JSON. A reader that looks for itself can spare the second pass.
        `before_try`: awaited before every request; it may raise.
        """
        self.name = name
        self.clock = clock
        self.counts: Counter[str] = Counter()
        self._title = title or f"the {name}'s API"
        self._base_url = base_url.rstrip("/") + "/"
        self._rng = rng
        self._max_bytes = max_bytes
        self._budget_s = budget_s
        self._try_s = try_s
        self._tries = tries
        self._headers = {"Accept": "application/json", "Accept-Encoding": "gzip", **(headers or {})}
        self._breaker = breaker or Breaker()
        self._observe = observe
        self._judged = frozenset(judged)
        self._is_whole_checked = is_whole_checked
        self._before_try = before_try
        self._session: aiohttp.ClientSession | None = None

    async def start(self) -> None:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=32, ttl_dns_cache=60),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=self._headers,
            timeout=aiohttp.ClientTimeout(total=None),
            trust_env=False,
        )

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def get(self, path: str, *, headers: Mapping[str, str] | None = None) -> Fetched:
        """The answer to one path. UpstreamDown when no try brought a whole JSON answer."""
        return await self.read(path, lambda fetched: fetched, headers=headers)

    async def read(self, path: str, decode: Callable[[Fetched], T], *, headers: Mapping[str, str] | None = None) -> T:
        """Like `get`, with the answer decoded: what `decode` refuses is a failed try like any other.

        `decode` refuses by raising one of UNREADABLE, or SourceRefused.
        """
        now = self.clock.monotonic()
        if not self._breaker.allows(now):
            self._note("open", 0.0)
            raise UpstreamDown(f"{self._title} did not answer", retry_after_s=math.ceil(self._breaker.wait_s(now)))
        deadline = now + self._budget_s
        outcome = "timeout"
        for turn in range(self._tries):
            if turn:
                pause_s = self._rng.uniform(*(_THROTTLE_PAUSE_S if outcome == "throttled" else _FAULT_PAUSE_S))
                if self.clock.monotonic() + pause_s + _SHORTEST_TRY_S > deadline:
                    break
                await self.clock.sleep(pause_s)
            if self._before_try is not None:
                await self._before_try()
                if not turn:
                    # Standing in line is not the source's fault.
                    deadline = self.clock.monotonic() + self._budget_s
            started = self.clock.monotonic()
            if started + _SHORTEST_TRY_S > deadline:
                break
            try:
                async with asyncio.timeout(min(self._try_s, deadline - started)):
                    fetched = await self._try(path, headers)
                answer = decode(fetched)
            except SourceRefused as refusal:
                outcome = refusal.outcome
            except TimeoutError:
                outcome = "timeout"
            except (aiohttp.ClientError, OSError):
                outcome = "unreachable"
            except UNREADABLE:
                outcome = "malformed"
            else:
                self._note(_OUTCOMES.get(fetched.status, "ok"), self.clock.monotonic() - started)
                self._breaker.succeeded()
                return answer
            self._note(outcome, self.clock.monotonic() - started)
        self._breaker.failed(self.clock.monotonic())
        silent = outcome in ("timeout", "unreachable", "throttled")
        raise UpstreamDown(f"{self._title} {'did not answer' if silent else 'gave no usable answer'}")

    async def _try(self, path: str, headers: Mapping[str, str] | None) -> Fetched:
        if self._session is None:
            raise RuntimeError(f"source {self.name} was used before start()")
        url = URL(self._base_url + path.lstrip("/"), encoded=True)
        async with self._session.get(url, headers=headers, allow_redirects=False) as response:
            if response.status != 200 and response.status not in self._judged:
                response.close()  # nobody waits for the body of an error
                raise SourceRefused("throttled" if response.status == 429 else "status")
            body = bytearray()
            async for chunk in response.content.iter_any():
                body += chunk
                if len(body) > self._max_bytes:
                    response.close()
                    raise SourceRefused("oversize")
            if response.status == 200 and not _is_json(response.content_type, body, whole=self._is_whole_checked):
                # A throttle can arrive as plain text with status 200.
                raise SourceRefused("throttled")
            return Fetched(response.status, bytes(body), response.headers)

    def _note(self, outcome: str, seconds: float) -> None:
        self.counts[outcome] += 1
        if self._observe is not None:
            self._observe(self.name, outcome, seconds)


def _is_json(content_type: str, body: bytearray, *, whole: bool) -> bool:
    """Whether the answer claims to be JSON and begins like it. `whole`: ValueError when it is none (cut off, say)."""
    if content_type != "application/json" and not content_type.endswith("+json"):
        return False
    if not body.lstrip().startswith((b"{", b"[")):
        return False
    if whole:
        msgspec.json.decode(body, type=msgspec.Raw)
    return True
