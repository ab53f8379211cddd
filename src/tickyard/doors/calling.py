"""Calling an operation, once for every door: look into the cache, run, keep.

Doors differ in how an ask arrives and how an answer leaves. What happens in between is the same, here.
"""

from dataclasses import dataclass
from typing import Any

from tickyard.doors.http.answers import JSON, Headers
from tickyard.doors.http.binding import Binder
from tickyard.doors.http.cache import FrontCache, KeptEntry
from tickyard.kernel.operation import Kept, Operation
from tickyard.kernel.wire import Ask, StreamAnswer, TextAnswer, encode


@dataclass(frozen=True, slots=True)
class Fresh:
    """An answer for this caller alone, never to be kept by anybody."""

    body: bytes
    content_type: Headers


class Calling:
    """One operation with what it works on."""

    def __init__(self, operation: Operation, deps: Any, cache: FrontCache) -> None:
        self.operation = operation
        self.binder = Binder(operation)
        self.deps = deps
        self._cache = cache
        # Only what is read may be reused: the answer to a GET must never stand in for another method's.
        self._may_keep = operation.method == "GET"

    async def answer(self, ask: Ask) -> KeptEntry | Fresh | StreamAnswer:
        ask = ask.settled()
        target = self.binder.canonical_target(ask) if self._may_keep else b""
        if target and (entry := self._cache.get(target)) is not None:
            return entry
        answer = await self.operation.run(self.deps, ask)
        if isinstance(answer, StreamAnswer):
            return answer
        if not isinstance(answer, Kept):
            return Fresh(*_rendered(answer))
        body, content_type = _rendered(answer.answer)
        if not target:
            return Fresh(body, content_type)
        return self._cache.put(target, self.operation.path, body, answer.seconds, content_type)


def _rendered(answer: Any) -> tuple[bytes, Headers]:
    if isinstance(answer, TextAnswer):
        return answer.text.encode(), [(b"content-type", answer.content_type.encode())]
    return encode(answer), JSON
