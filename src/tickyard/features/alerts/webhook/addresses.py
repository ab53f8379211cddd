"""Which network addresses a webhook may reach.

The lists are our own: `ipaddress.is_global` says yes to multicast, translated and provider-internal ranges,
and says different things in different versions.
"""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final

IpAddress = IPv4Address | IPv6Address

_V4_DENIED: Final = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
        # The wire server of one cloud: looks public, answers only inside.
        "168.63.129.16/32",
    )
)
# An allow-list for IPv6 drops mapped, translated, unique-local and link-local addresses without naming them.
_V6_ALLOWED: Final = IPv6Network("2000::/3")
_V6_DENIED: Final = tuple(
    IPv6Network(text) for text in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "2620:4f:8000::/48")
)


def is_public(address: IpAddress) -> bool:
    """Whether anyone on the internet could be reached there."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _V4_DENIED)
    if address.scope_id is not None or address not in _V6_ALLOWED:
        return False
    return not any(address in network for network in _V6_DENIED)


@dataclass(frozen=True, slots=True)
class EgressPolicy:
    """Public addresses, minus our own, plus at most what a sandbox names one by one."""

    allowed_extra: frozenset[tuple[str, int]] = frozenset()
    """(address or name, port) pairs, empty everywhere but in the sandbox, whose webhook inbox is on loopback.
    Only an address here can be dialled; a name merely may stand in a URL with that port."""
    own_addresses: frozenset[str] = frozenset()
    """Public addresses of this deployment: the service must not be made to call itself."""

    def permits(self, address: IpAddress, port: int) -> bool:
        if (str(address), port) in self.allowed_extra:
            return True
        return is_public(address) and str(address) not in self.own_addresses

    def permits_text(self, host: str, port: int) -> bool:
        """Whether the sandbox named exactly this host and port for use in URLs."""
        return (host, port) in self.allowed_extra
