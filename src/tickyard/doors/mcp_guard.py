"""Who may talk to the tool server at all, by Host and Origin.

A page on somebody's web site can make a visitor's browser send requests to an address of the visitor's own
network under a name of the attacker's choice. Such a request carries that name in Host: it is not in our list.
"""

from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class HostGuard:
    def __init__(self, base_url: str, hosts: Iterable[str] = (), origins: Iterable[str] = ()) -> None:
        own = urlsplit(base_url).hostname
        self._hosts = _LOOPBACK | {host_name(host) for host in hosts} | ({own} if own else set())
        self._origins = frozenset(origin.rstrip("/").lower() for origin in origins)

    def allows_host(self, host: bytes | None) -> bool:
        """Names are compared without their port: an attacker chooses the port, but not the name."""
        name = host_name(host.decode("latin-1")) if host else ""
        return bool(name) and name in self._hosts

    def allows_origin(self, origin: bytes | None) -> bool:
        """Open unless a list is set: there is no cookie and nothing to steal."""
        return origin is None or not self._origins or origin.decode("latin-1").lower() in self._origins


def host_name(host: str) -> str:
    """The name in a Host header, lower case; empty when it is not one."""
    if any(char in host for char in "/?#@\\ "):
        return ""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
