"""Who is calling, and how often they may.

A client is an address: of IPv6 the first 64 bits, because one household or server owns that many.
Each client has a token bucket in the memory of this process. Inside it is one number, the moment at
which the bucket will be full again: a bucket that is full says nothing and can be forgotten.
"""

import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

import msgspec

Networks = tuple[IPv4Network | IPv6Network, ...]

WINDOW_S = 60
CLIENTS_MAX = 100_000
HOPS_MAX = 16
NO_ADDRESS = "local"
"""A peer without an address: a Unix socket."""

_BY_PROXIES = frozenset({b"x-forwarded-for", b"forwarded", b"via", b"x-real-ip"})
_WITH_PORT = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([0-9.]+))(?::[0-9]{1,5})?")
_SECOND = 1_000_000_000
_WINDOW = WINDOW_S * _SECOND

Header = tuple[bytes, bytes]


class RateLimit:
    """The limit on the free routes: `quota` requests a minute per client, shared out between replicas."""

    def __init__(self, quota: int, replicas: int = 1, trusted_proxies: Iterable[str] = ()) -> None:
        self._buckets = TokenBuckets(max(1, quota // replicas))
        self._trusted = read_networks(trusted_proxies)

    def take(self, scope: Mapping[str, Any], now: float) -> "LimitVerdict":
        """Count this request against its client; `now` is monotonic seconds."""
        return self._buckets.take(client_key(scope, self._trusted), now)


def read_networks(texts: Iterable[str]) -> Networks:
    """The proxies whose word we take. Trusting everyone would let each caller choose who they are."""
    networks = tuple(ip_network(text) for text in texts)
    if any(network.prefixlen == 0 for network in networks):
        raise ValueError("a trusted proxy must be an address or a network, not the whole internet")
    return networks


def client_key(scope: Mapping[str, Any], trusted_proxies: Networks = ()) -> str:
    """The name of the bucket this request draws from."""
    return _client(scope, trusted_proxies)[0]


def own_address(scope: Mapping[str, Any], trusted_proxies: Networks = (), *, is_direct: bool = True) -> str | None:
    """The client's address, where nobody else has it as far as can be seen: all clients of a proxy that we do not know,
    or that does not say whom it speaks for, have the same. Not `is_direct`: all clients come through a proxy."""
    peer = scope["client"]
    if peer is None:
        return None
    key, is_theirs = _client(scope, trusted_proxies)
    if trusted_proxies and _is_trusted(peer[0], trusted_proxies):
        return key if is_theirs else None
    return None if not is_direct or any(name in _BY_PROXIES for name, _ in scope["headers"]) else key


def _client(scope: Mapping[str, Any], trusted_proxies: Networks) -> tuple[str, bool]:
    """The client's bucket, and whether it is the client's own as far as the trusted proxies say."""
    peer = scope["client"]
    if peer is None:
        return NO_ADDRESS, False
    key = _bucket_name(peer[0])
    if not trusted_proxies or not _is_trusted(peer[0], trusted_proxies):
        return key, True
    forwarded = b",".join(value for name, value in scope["headers"] if name == b"x-forwarded-for")
    # Each hop appends the one before it: from the right, the first we do not know is the client. What stands to the
    # left of it was written by the client and proves nothing, but that it may speak for others.
    hops = forwarded.decode("latin-1").rsplit(",", HOPS_MAX)[-HOPS_MAX:]
    while hops:
        address = _read_hop(hops.pop().strip(" \t"))
        if address is None:
            return _bucket_name(peer[0]), False
        key = _bucket_name(str(address))
        if not _is_trusted(str(address), trusted_proxies):
            return key, not hops
    return key, False


def _read_hop(text: str) -> IPv4Address | IPv6Address | None:
    """An address as proxies write it: some add the port, and then put brackets around IPv6."""
    with_port = _WITH_PORT.fullmatch(text)
    return _read_address((with_port[1] or with_port[2]) if with_port else text)


def _read_address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address


@lru_cache(maxsize=CLIENTS_MAX)
def _bucket_name(text: str) -> str:
    address = _read_address(text)
    if isinstance(address, IPv6Address):
        return f"{IPv6Address(int(address) >> 64 << 64)}/64"
    return text if address is None else str(address)


@lru_cache(maxsize=CLIENTS_MAX)
def _is_trusted(text: str, networks: Networks) -> bool:
    address = _read_address(text)
    return address is not None and any(address in network for network in networks)


class LimitVerdict(msgspec.Struct, frozen=True, gc=False):
    is_allowed: bool
    remaining: int
    """Requests left right now."""
    reset_s: int
    """Seconds until the bucket is full again."""
    retry_after_s: int
    """Seconds until the next request is allowed; 0 for one that was."""
    policy: Header

    @property
    def headers(self) -> list[Header]:
        return [self.policy, (b"ratelimit", b'"default";r=%d;t=%d' % (self.remaining, self.reset_s))]


class TokenBuckets:
    """A bucket per client. A full one holds `burst` requests and refills by `quota` a minute."""

    def __init__(self, quota: int, *, burst: int | None = None, clients_max: int = CLIENTS_MAX) -> None:
        burst = quota if burst is None else burst
        # Rounded up, so that a minute never holds more than the quota.
        self._interval = -(-_WINDOW // quota)
        self._depth = burst * self._interval
        self._clients_max = clients_max
        # The least recently seen client first: the one to forget.
        self._full_at: OrderedDict[str, int] = OrderedDict()
        self._policy = (b"ratelimit-policy", b'"default";q=%d;w=%d' % (quota, WINDOW_S))

    def __len__(self) -> int:
        return len(self._full_at)

    def take(self, key: str, now: float) -> LimitVerdict:
        """Draw one request from this client's bucket; `now` is monotonic seconds."""
        moment = int(now * _SECOND)
        buckets, interval = self._full_at, self._interval
        full_at = buckets.get(key)
        if full_at is None:
            self._forget(moment)
            full_at = moment
        elif full_at < moment:
            full_at = moment
        missing = full_at - moment + interval
        room = self._depth - missing
        if room < 0:
            return LimitVerdict(False, 0, -(-(missing - interval) // _SECOND), -(room // _SECOND), self._policy)
        buckets[key] = full_at + interval
        buckets.move_to_end(key)
        return LimitVerdict(True, room // interval, -(-missing // _SECOND), 0, self._policy)

    def _forget(self, moment: int) -> None:
        """Make room for a newcomer. Two at most: faster than they arrive, and nobody pays for a sweep."""
        buckets = self._full_at
        for _ in range(2):
            if not buckets:
                return
            oldest = next(iter(buckets))
            if len(buckets) < self._clients_max and buckets[oldest] > moment:
                return
            del buckets[oldest]
