"""The event stream: an iterator that comes back by itself and goes on where it was."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
import msgspec

from tickyard.client.caller import RawReply, failure_of
from tickyard.client.errors import ServiceError
from tickyard.kernel.clock import Clock

_SILENCE_S: Final = 40.0
"""The service says something every 15 s. Who hears nothing for longer hears nothing any more."""
_PAUSE_S: Final = 1.0
_PAUSE_MAX_S: Final = 30.0
_LINE_MAX: Final = 4 * 2**20


@dataclass(frozen=True, slots=True)
class StreamEvent:
    name: str
    """snapshot, price, sample, candle, action, status or gap."""
    id: str | None
    """Where to go on from; only what is kept has one."""
    data: dict[str, Any]


class NotAStream(Exception):
    """The service answered, and not with a stream."""

    def __init__(self, status: int, body: bytes, retry_after_s: int | None) -> None:
        super().__init__(status)
        self.status = status
        self.body = body
        self.retry_after_s = retry_after_s


class EventReader:
    """The lines of a stream, put together to events."""

    def __init__(self) -> None:
        self.retry_s: float | None = None
        self.last_id: str | None = None
        """How far all that was told goes. A sign of life says so too, without an event."""
        self._name = ""
        self._id: str | None = None
        self._data: list[str] = []

    def read(self, line: str) -> StreamEvent | None:
        """One line without its end; an event when this line completes it."""
        if not line:
            event = None
            if self._data:
                event = StreamEvent(self._name or "message", self._id, msgspec.json.decode("\n".join(self._data)))
            self.last_id = self._id or self.last_id
            self._name, self._id, self._data = "", None, []
            return event
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._name = value
        elif name == "data":
            self._data.append(value)
        elif name == "id":
            self._id = value
        elif name == "retry" and value.isascii() and value.isdigit():
            self.retry_s = int(value) / 1000
        return None


async def listen(
    url: str,
    clock: Clock,
    *,
    symbols: Iterable[str] | None = None,
    events: Iterable[str] | None = None,
    last_event_id: str | None = None,
) -> AsyncGenerator[StreamEvent, None]:
    """Events for ever. A connection that is lost, or a service that starts again, costs a pause and no event."""
    asked = {"symbols": ",".join(symbols or ()), "events": ",".join(events or ())}
    params = {name: value for name, value in asked.items() if value}
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=_SILENCE_S)
    pause_s = _PAUSE_S
    async with aiohttp.ClientSession(timeout=timeout, read_bufsize=_LINE_MAX) as session:
        while True:
            reader = EventReader()
            headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": last_event_id} if last_event_id else {})
            try:
                async with asyncio.timeout(_SILENCE_S):
                    opened = await session.get(f"{url}/v1/stream", params=params, headers=headers)
                async with opened as answer:
                    if answer.status != 200:
                        raise await _refused(answer)
                    while not answer.content.at_eof():
                        event = await _next(answer.content, reader)
                        last_event_id = reader.last_id or last_event_id
                        if event is not None:
                            pause_s = _PAUSE_S
                            yield event
            except (aiohttp.ClientError, TimeoutError, OSError, msgspec.DecodeError, UnicodeDecodeError):
                # Also an end in the middle of a letter.
                pause_s = min(pause_s * 2, _PAUSE_MAX_S)
            except NotAStream as refused:
                # Whoever stands in front of the service answers for it while it is away, with any of these.
                if refused.status < 500 and refused.status != 429:
                    raise _failure(refused) from None
                pause_s = float(refused.retry_after_s or min(pause_s * 2, _PAUSE_MAX_S))
            await clock.sleep(reader.retry_s if reader.retry_s is not None else pause_s)


async def _next(content: aiohttp.StreamReader, reader: EventReader) -> StreamEvent | None:
    """What comes next, whole: an event, or None for a sign of life and at the end. Bytes that drip through a line that
    is as good as gone tell nobody anything."""
    async with asyncio.timeout(_SILENCE_S):
        while raw := await content.readline():
            line = raw.decode("utf-8").rstrip("\r\n")
            event = reader.read(line)
            if not line:
                return event
    return None


async def _refused(answer: aiohttp.ClientResponse) -> NotAStream:
    after = answer.headers.get("Retry-After", "")
    async with asyncio.timeout(_SILENCE_S):
        body = await answer.read()
    return NotAStream(answer.status, body, int(after) if after.isdigit() and len(after) < 7 else None)


def _failure(refused: NotAStream) -> ServiceError:
    return failure_of(RawReply(refused.status, {}, refused.body))
