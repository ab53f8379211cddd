"""Bad days on demand: which far end misbehaves, and the ways all of them share.

A stand-in wraps its handler with `faulty` and brings its own idea of garbage and of a throttle.
"""

from collections import Counter
from collections.abc import Awaitable, Callable
from enum import StrEnum

from aiohttp import web

from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import BadRequest

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Misdeed = Callable[[web.Request, int], Awaitable[web.StreamResponse]]
"""A handler that is also told the how-manieth request of the bad day this is, so that it can vary."""

TARGETS = ("issuer", "filings", "rpc", "facilitator-4663", "facilitator-8453")
# Longer than any client of ours waits for one try.
SLOW_S = 5.5
HUGE_BYTES = 50 * 1024 * 1024
HTML = "<!DOCTYPE html><html><head><title>Just a moment</title></head><body>One more check</body></html>"


class FaultMode(StrEnum):
    OK = "ok"
    DOWN = "down"
    SLOW = "slow"
    GARBAGE = "garbage"
    THROTTLE = "throttle"


class FaultBoard:
    """The present mode of every far end."""

    def __init__(self) -> None:
        self._modes = dict.fromkeys(TARGETS, FaultMode.OK)
        self._turns: Counter[str] = Counter()

    def set(self, target: str, mode: str) -> None:
        if target not in TARGETS:
            raise BadRequest("target must be one of " + ", ".join(TARGETS))
        if mode not in list(FaultMode):
            raise BadRequest("mode must be one of " + ", ".join(FaultMode))
        self._modes[target] = FaultMode(mode)
        # A new bad day starts from its first kind: two runs see the same order.
        self._turns[target] = 0

    def mode(self, target: str) -> FaultMode:
        return self._modes[target]

    def turn(self, target: str) -> int:
        """0, 1, 2, ... since the mode was set."""
        self._turns[target] += 1
        return self._turns[target] - 1

    def modes(self) -> dict[str, str]:
        return {target: mode.value for target, mode in self._modes.items()}


def faulty(
    board: FaultBoard, target: str, clock: Clock, handler: Handler, *, garbage: Misdeed, throttle: Misdeed
) -> Handler:
    """The handler, behaving as the board says."""

    async def serve(request: web.Request) -> web.StreamResponse:
        match board.mode(target):
            case FaultMode.OK:
                return await handler(request)
            case FaultMode.DOWN:
                return hang_up(request)
            case FaultMode.SLOW:
                await clock.sleep(SLOW_S)
                return await handler(request)
            case FaultMode.GARBAGE:
                return await garbage(request, board.turn(target))
            case FaultMode.THROTTLE:
                return await throttle(request, board.turn(target))

    return serve


def hang_up(request: web.Request) -> web.StreamResponse:
    """Close the connection without a word. The response returned finds no one to go to."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


def html() -> web.Response:
    """A proxy's page where an answer should be."""
    return web.Response(text=HTML, content_type="text/html")


def truncated(body: bytes) -> web.Response:
    return web.Response(body=body[: max(1, len(body) * 2 // 3)], content_type="application/json")


async def huge(request: web.Request) -> web.StreamResponse:
    """A body that never seems to end, sent until the reader has had enough."""
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    chunk = b'"' + b"x" * (64 * 1024 - 3) + b'",'
    try:
        await response.prepare(request)
        await response.write(b"[")
        for _ in range(HUGE_BYTES // len(chunk)):
            await response.write(chunk)
        await response.write(b'""]')
        await response.write_eof()
    except ConnectionError:
        # The reader left, as it should.
        return response
    return response
