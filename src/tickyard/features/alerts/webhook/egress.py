"""The only place that opens a webhook socket.

A URL has passed the text rules when it was accepted, and that proves nothing: what its name points to is decided
here, at each delivery. Resolve once, every answer public, dial exactly a checked answer, check the certificate
against the name. One connection, one request, no redirects.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from tickyard.features.alerts.webhook.addresses import EgressPolicy, IpAddress
from tickyard.features.alerts.webhook.gates import Gates
from tickyard.features.alerts.webhook.outcome import PostOutcome
from tickyard.features.alerts.webhook.resolver import Resolver, Unresolved
from tickyard.features.alerts.webhook.url import WebhookUrl, registrable_domain
from tickyard.kernel.clock import Clock

TOTAL_S: Final = 10.0
"""Looking up, dialling and talking together. Waiting for our own gates does not count."""
PER_HOST: Final = 2
PER_ADDRESS: Final = 16
AT_ONCE: Final = 512
_ADDRESSES_MAX: Final = 3
_SCREEN_S: Final = 2.0


class Egress:
    def __init__(
        self,
        policy: EgressPolicy,
        resolver: Resolver,
        ssl_context: ssl.SSLContext,
        clock: Clock,
        *,
        at_once: int = AT_ONCE,
        total_s: float = TOTAL_S,
    ) -> None:
        self.policy = policy
        self._resolver = resolver
        self._tls = ssl_context
        self._clock = clock
        self._total_s = total_s
        self._hosts = Gates(PER_HOST)
        self._addresses = Gates(PER_ADDRESS)
        self._sockets = asyncio.Semaphore(at_once)

    async def send(
        self,
        url: WebhookUrl,
        headers: Mapping[str, str],
        body: bytes,
        before_first_byte: Callable[[], Awaitable[bool]],
    ) -> PostOutcome:
        """POST once. `before_first_byte` is asked after the TLS handshake: the last moment to call it off.

        It is asked at most once; after it said yes nothing is tried again.
        """
        # The HTTP library is loaded by the first delivery: a process that only takes orders never needs it.
        from tickyard.features.alerts.webhook.posting import CheckedDial, post

        async with self._hosts.enter(url.host):
            began = self._clock.monotonic()
            try:
                async with asyncio.timeout(self._total_s):
                    addresses = await self._look_up(url)
            except (Unresolved, TimeoutError):
                return PostOutcome.NOT_DELIVERED
            left_s = self._total_s - (self._clock.monotonic() - began)
            for address in addresses[:_ADDRESSES_MAX]:
                # A gate that waits holds no socket: a tar pit fills its own gates, not the sockets of the others.
                async with self._addresses.enter(address), self._sockets:
                    began = self._clock.monotonic()
                    dial = CheckedDial(address, began + left_s, self._clock, before_first_byte)
                    outcome = await post(dial, self._tls, url, headers, body)
                    left_s -= self._clock.monotonic() - began
                if outcome is not PostOutcome.NOT_DELIVERED or left_s <= 0:
                    return outcome
            return PostOutcome.NOT_DELIVERED

    async def is_screened_out(self, url: WebhookUrl) -> bool:
        """Whether the name points somewhere it must not, as far as one short look can tell.

        A name that does not resolve in time passes: the control that counts is made when we dial.
        """
        if url.literal is not None:
            return not self.policy.permits(url.literal, url.port)
        try:
            async with asyncio.timeout(_SCREEN_S):
                addresses = await self._resolver.resolve(url.host, registrable_domain(url.host))
        except (Unresolved, TimeoutError):
            return False
        return not self._all_permitted(addresses, url.port)

    async def _look_up(self, url: WebhookUrl) -> list[IpAddress]:
        if url.literal is not None:
            addresses = [url.literal]
        else:
            addresses = await self._resolver.resolve(url.host, registrable_domain(url.host))
        # One private answer among public ones is the mark of rebinding: then none of them is trusted.
        if not self._all_permitted(addresses, url.port):
            raise Unresolved
        return addresses

    def _all_permitted(self, addresses: list[IpAddress], port: int) -> bool:
        return all(self.policy.permits(address, port) for address in addresses)
