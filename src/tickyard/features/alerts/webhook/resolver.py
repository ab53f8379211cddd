"""Name lookup with an end.

The system's lookup blocks a thread and cannot be cancelled; a zone that never answers holds it for many
seconds. So the threads are our own, bounded, and one registrable domain gets only a few of them: whoever waits
for a silent zone keeps neither the loop nor the other names waiting.
"""

import asyncio
import socket
import threading
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any, Final, Protocol

from tickyard.features.alerts.webhook.addresses import IpAddress
from tickyard.features.alerts.webhook.gates import Gates

THREADS_MAX: Final = 128
THREADS_PER_ZONE: Final = 4


class Unresolved(Exception):
    """The name has no addresses, as far as we can tell."""


class Resolver(Protocol):
    async def resolve(self, host: str, zone: str) -> list[IpAddress]:
        """Every address of the host, best first. `zone` is the registrable domain it belongs to."""
        ...


Lookup = Callable[[str], list[str]]


def system_lookup(host: str) -> list[str]:
    """The addresses the system knows for a name, in the order it would try them."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return list(dict.fromkeys(str(where[0]) for _family, _kind, _proto, _name, where in found))


class ThreadedResolver:
    """Runs a blocking lookup in threads that nobody has to wait for, not even at exit."""

    def __init__(
        self, lookup: Lookup = system_lookup, *, threads: int = THREADS_MAX, per_zone: int = THREADS_PER_ZONE
    ) -> None:
        self._lookup = lookup
        self._threads = asyncio.Semaphore(threads)
        self._zones = Gates(per_zone)

    async def resolve(self, host: str, zone: str) -> list[IpAddress]:
        # The places are held by the lookup, not by its caller: they stay taken until the thread is really free.
        lookup = asyncio.ensure_future(self._look_up(host, zone))
        try:
            texts = await asyncio.shield(lookup)
        except asyncio.CancelledError:
            lookup.add_done_callback(_forget)
            raise
        if not texts:
            raise Unresolved
        # A scope id (fe80::1%eth0) parses, and is refused by the policy like every other local address.
        return [ip_address(text) for text in texts]

    async def _look_up(self, host: str, zone: str) -> list[str]:
        async with self._zones.enter(zone), self._threads:
            loop = asyncio.get_running_loop()
            answer: asyncio.Future[list[str]] = loop.create_future()
            # A thread of an executor would be joined at exit, and every silent zone waited for.
            work = threading.Thread(
                target=_run, args=(self._lookup, host, loop, answer), name="webhook lookup", daemon=True
            )
            work.start()
            return await answer


def _run(lookup: Lookup, host: str, loop: asyncio.AbstractEventLoop, answer: "asyncio.Future[list[str]]") -> None:
    result: list[str] = []
    trouble: BaseException | None = None
    try:
        result = lookup(host)
    except (OSError, UnicodeError):
        trouble = Unresolved()
    try:
        loop.call_soon_threadsafe(_settle, answer, result, trouble)
    except RuntimeError:
        # The loop was closed while the zone was silent: nobody wants the answer any more.
        return


def _settle(answer: "asyncio.Future[list[str]]", result: list[str], trouble: BaseException | None) -> None:
    if answer.done():
        return
    if trouble is None:
        answer.set_result(result)
    else:
        answer.set_exception(trouble)


def _forget(lookup: "asyncio.Future[Any]") -> None:
    """Read the late outcome, so that it is not reported as lost."""
    if not lookup.cancelled():
        lookup.exception()
