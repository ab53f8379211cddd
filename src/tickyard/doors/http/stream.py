"""`GET /v1/stream`: server-sent events. One connection, one listener of the hub; the rest is the hub's."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Any, Final

from starlette.types import Receive, Scope, Send

from tickyard.doors.http.answers import NO_STORE, Headers, send_bytes, send_failure, send_too_many
from tickyard.doors.http.binding import Binder
from tickyard.doors.http.edge import ROUTE
from tickyard.features.history.stream.ask import StreamAsk
from tickyard.features.history.stream.hub import GOODBYE, Hub, TooManyListeners
from tickyard.features.history.stream.listener import Listener
from tickyard.features.history.stream.told import EVENTS
from tickyard.kernel.errors import Failure
from tickyard.kernel.operation import Operation
from tickyard.kernel.wire import TextAnswer
from tickyard.observe.log import log

PATH: Final = "/v1/stream"
_AGAIN_AFTER_S: Final = 10
_HEAD: Final[Headers] = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    NO_STORE,
    # Proxies that collect an answer before passing it on would make a stream of nothing.
    (b"x-accel-buffering", b"no"),
    # Who comes back must not come back to a process that is going away.
    (b"connection", b"close"),
]


async def _unused(_deps: Any, _ask: Any) -> None:
    """The stream is no call: it has an ask and no answer."""


class StreamDoor:
    def __init__(self, hub: Hub, client_of: Callable[[Mapping[str, Any]], str]) -> None:
        self._hub = hub
        self._client_of = client_of
        self._binder = Binder(
            Operation(name="stream", method="GET", path=PATH, run=_unused, answer=TextAnswer, tag="", ask=StreamAsk)
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[ROUTE] = PATH
        client = self._client_of(scope)
        try:
            ask = self._binder.from_url({}, scope["query_string"], self._binder.around(scope["headers"], client))
            assert isinstance(ask, StreamAsk)
            if scope["method"] == "HEAD":
                await send_bytes(send, 200, b"", _HEAD)
                return
            if self._hub.is_closed:
                # A browser takes any status but 200 for the end of all: it would never try again.
                await send_bytes(send, 200, GOODBYE, _HEAD)
                return
            symbols = frozenset(ask.symbols.split(",")) if ask.symbols is not None else None
            events = frozenset(ask.events.split(",") if ask.events is not None else EVENTS)
            listener = await self._hub.join(client, symbols, events, ask.last_event_id)
        except Failure as failure:
            await send_failure(send, failure)
            return
        except TooManyListeners:
            await send_too_many(send, _AGAIN_AFTER_S)
            return
        gone = asyncio.ensure_future(_gone(receive, listener))
        task = asyncio.current_task()
        assert task is not None
        listener.on_cut = task.cancel
        try:
            await self._speak(listener, send, is_resumed=ask.last_event_id is not None)
        except asyncio.CancelledError:
            if not listener.is_cut:
                raise
            log.info("a listener was too slow", client=client)
        finally:
            self._hub.leave(listener)
            gone.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await gone

    async def _speak(self, listener: Listener, send: Send, *, is_resumed: bool) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [*_HEAD]})
        async for data in self._hub.past(listener, is_resumed=is_resumed):
            await send({"type": "http.response.body", "body": data, "more_body": True})
            if listener.is_over:
                break
        while data := await listener.next():
            await send({"type": "http.response.body", "body": data, "more_body": True})
        if not listener.is_cut:
            await send({"type": "http.response.body", "body": b""})


async def _gone(receive: Receive, listener: Listener) -> None:
    """Wait until the client hangs up."""
    while (await receive())["type"] != "http.disconnect":
        pass
    listener.end()
