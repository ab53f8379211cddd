"""HTTP/1.1 under limits: what a client may make us hold, and for how long.

uvicorn leaves three things open: it collects headers of any size, it waits for ever for the rest of a request, and
for a client that does not read. This protocol closes them and answers what it refuses with our Error object.

The limits cost next to nothing on a healthy connection. A request that arrives in one piece never arms a timer
and is never measured: both happen only when a piece ends in the middle of a request. What is left is paid for by
the keep-alive timer, which uvicorn makes anew for each answer: ours lasts.
"""

from asyncio import TimerHandle, Transport
from typing import Any, Final

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from tickyard.doors.http.heads import check_head, head_size, without_upgrade
from tickyard.doors.http.refusal import ProtocolRefusal, reason_of

NO_REQUEST: Final[list[tuple[bytes, bytes]]] = []
"""Stands for the headers while no request has begun. The parser puts a new list in its place."""


class LimitedProtocol(HttpToolsProtocol):
    """uvicorn's httptools protocol with bounds on size and time."""

    HEAD_MAX = 32 * 1024
    """Request line and headers together. The same bound holds for chunk framing and trailers."""
    AHEAD_MAX = 100
    """Pipelined requests that may wait for their turn on one connection."""
    HEAD_S = 10.0
    """From the first byte of a request (or from the accept) to the end of its headers."""
    BODY_S = 20.0
    """From the end of the headers to the end of the body."""
    UNREAD_S = 30.0
    """How long a client may leave our answer unread once the buffers are full."""
    LINGER_S = 2.0
    """How long we go on reading, and dropping, after a refusal: closing at once could destroy the answer."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.headers = NO_REQUEST
        self._in_body = False
        self._is_refused = False
        self._fed = 0
        self._piece_max = self.HEAD_MAX // 2
        self._deadline: TimerHandle | None = None
        self._deadline_for = NO_REQUEST
        self._unread: TimerHandle | None = None
        self._idle_since: float | None = None
        self._idle_watch: TimerHandle | None = None
        self._answering: RequestResponseCycle | None = None
        self._last_words = b""
        self._has_answered = False

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._arm(self.HEAD_S)

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._deadline, self._unread, self._idle_watch):
            if timer is not None:
                timer.cancel()
        # uvicorn tells only the newest request that the client is gone. With another one sent ahead,
        # the one being answered would wait for that news for ever.
        self.pipeline.clear()
        if self._answering is not None and self._answering is not self.cycle:
            self._answering.disconnected = True
            self._answering.message_event.set()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_unread()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._unread is not None and not self.transport.is_closing():
            self._unread.cancel()
            self._unread = None

    def _watch_unread(self) -> None:
        if self._unread is None:
            self._unread = self.loop.call_later(self.UNREAD_S, self.transport.abort)

    def _check_idle(self) -> None:
        self._idle_watch = None
        if self._idle_since is None:
            return  # the next answer sets a new watch
        left = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if left > 0:
            self._idle_watch = self.loop.call_later(left, self._check_idle)
        else:
            self.transport.close()
            self._watch_closing()

    def _watch_closing(self) -> None:
        """A closed transport still waits for its buffer to drain, which a deaf client never allows."""
        if self.transport.get_write_buffer_size():
            self._watch_unread()

    def data_received(self, data: bytes) -> None:
        if len(data) > self._piece_max:
            for start in range(0, len(data), self._piece_max):
                self.data_received(data[start : start + self._piece_max])
            return
        if self._is_refused:
            return
        self._idle_since = None
        self._has_answered = False
        # There is one list per head and one per body: the same list before and after means that
        # the whole piece belonged to one part of one request.
        part = self.headers
        offered_at = 0
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as offer:
            offered_at = offer.args[0]
        except httptools.HttpParserError as error:
            self._refuse(reason_of(error, data))
        if offered_at:
            # Not while the offer is being handled: it would be taken for the cause of whatever comes next.
            self._parse_without_upgrade(data[offered_at:])
        if self.headers is not NO_REQUEST:
            self._look_at_rest(part, len(data))
        elif self._has_answered or (self._answering is not None and not self._answering.response_complete):
            # The wait is ours; or it was answered at once, and what the client does next is watched as ever.
            if self._deadline is not None:
                self._disarm()
        elif self._deadline is None or part is not NO_REQUEST:
            # Line ends before a request, or the end of a body that nobody waited for: the client is
            # idle, and its byte has just ended the keep-alive time.
            self._arm(self.HEAD_S)

    def _look_at_rest(self, part: list[tuple[bytes, bytes]], size: int) -> None:
        """The piece ended in the middle of a request: count it, and set a deadline for the rest."""
        if self._is_refused:
            return
        # Whoever is in the middle of a request is not idle, even right behind an answer given at once.
        self._idle_since = None
        if part is self.headers:
            self._fed += size
            if self._fed > self.HEAD_MAX:
                self._refuse(self._too_large())
                return
        if self._deadline_for is not self.headers:
            self._arm(self.BODY_S if self._in_body else self.HEAD_S)

    def _parse_without_upgrade(self, rest: bytes) -> None:
        """An offer to upgrade is ignored, which a parser cannot do: it drops the body of such a request and takes what
        follows for the next one, or for nothing at all. So a new one gets the same head, without the offer."""
        while True:
            rest = without_upgrade(self.parser, self.url, self.headers) + rest
            self.parser = httptools.HttpRequestParser(self)
            self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
            try:
                self.parser.feed_data(rest)
                return
            except httptools.HttpParserUpgrade as offer:
                rest = rest[offer.args[0] :]
            except httptools.HttpParserError as error:
                self._refuse(reason_of(error, rest))
                return

    def on_headers_complete(self) -> None:
        # Nothing counted yet: the head began in the piece before this one at the earliest, two halves of the limit.
        if self._fed:
            if head_size(self.parser, self.url, self.headers) > self.HEAD_MAX:
                raise self._too_large()
            self._fed = 0
        if self.parser.should_upgrade():
            if self.parser.get_method() == b"CONNECT":
                raise ProtocolRefusal(501, "CONNECT is not supported")
            return
        pipeline = self.pipeline
        if pipeline and len(pipeline) >= self.AHEAD_MAX:
            raise ProtocolRefusal(400, "too many requests sent ahead of their answers")
        if self._is_answered_at_once():
            self.headers = NO_REQUEST
            self._answering = None
            self._has_answered = True
            self.on_response_complete()
            return
        check_head(self.parser, self.url, self.headers)
        HttpToolsProtocol.on_headers_complete(self)  # super() would be measurable here
        # It may have come in one piece behind a request that was answered at once: the wait is ours now.
        self._idle_since = None
        if not pipeline:
            self._answering = self.cycle
        if self._is_leaving():
            self.cycle.keep_alive = False
        self._in_body = True
        # Trailers are collected here and forgotten: they must not join the headers the app has seen.
        self.headers = []

    def _is_answered_at_once(self) -> bool:
        """For those who have an answer ready: see ReadyProtocol."""
        return False

    def _is_leaving(self) -> bool:
        """Whether this process is about to end: then answers ask for another connection."""
        return getattr(self.app, "is_leaving", False)

    def shutdown(self) -> None:
        if self.headers is NO_REQUEST or self._in_body:
            super().shutdown()
        # Else a head has begun: it is answered, and its answer ends the connection.

    def on_body(self, body: bytes) -> None:
        self._fed -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self._in_body:
            self._in_body = False
            self._fed = 0
            self.headers = NO_REQUEST
            # As uvicorn does, without asking twice more about upgrades.
            cycle = self.cycle
            if not cycle.response_complete:
                cycle.more_body = False
                cycle.message_event.set()

    def _too_large(self) -> ProtocolRefusal:
        return ProtocolRefusal(431, f"the request line and headers must not exceed {self.HEAD_MAX} bytes")

    def _arm(self, seconds: float) -> None:
        self._disarm()
        self._deadline_for = self.headers
        self._deadline = self.loop.call_later(seconds, self._expire, seconds)

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _expire(self, seconds: float) -> None:
        if self.flow.read_paused:
            # We are the slow one: nothing was read from the client meanwhile.
            self._arm(seconds)
        else:
            self.transport.abort()

    def on_response_complete(self) -> None:
        if self.pipeline or self._is_refused:
            self._turn_to_next()
            return
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            self._watch_closing()
            return
        self.flow.resume_reading()
        if self.headers is not NO_REQUEST:
            return  # in the middle of the next request, or of a body, which have deadlines of their own
        self._idle_since = self.loop.time()
        if self._idle_watch is None:
            self._idle_watch = self.loop.call_later(self.timeout_keep_alive, self._check_idle)

    def _turn_to_next(self) -> None:
        if self.transport.is_closing():
            self._watch_closing()
            return
        if not self.pipeline:
            self.server_state.total_requests += 1
            self._say_last_words()
            return
        self._answering = self.pipeline[-1][0]
        super().on_response_complete()
        if self.pipeline:
            # uvicorn reads on after every answer, so the queue would grow faster than it is served.
            self.flow.pause_reading()

    def _refuse(self, refusal: ProtocolRefusal) -> None:
        """Answer and hang up, after the answers to the good requests that came before."""
        broken = self.cycle if self._in_body else None
        self._is_refused = True
        self._disarm()
        self._last_words = refusal.render(self.server_state.default_headers)
        if broken is not None and broken is self._answering:
            if broken.response_started:
                self._last_words = b""
            broken.disconnected = True
            broken.message_event.set()
            self._say_last_words()
            return
        if broken is not None:
            self.pipeline.popleft()
        if self._answering is None or self._answering.response_complete:
            self._say_last_words()

    def _say_last_words(self) -> None:
        if self._last_words:
            self.transport.write(self._last_words)
        if self.transport.can_write_eof():
            self.transport.write_eof()
            self.flow.resume_reading()
            self._deadline = self.loop.call_later(self.LINGER_S, self.transport.abort)
        else:
            self.transport.close()
            self._watch_closing()
