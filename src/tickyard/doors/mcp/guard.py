"""Who may talk to the tool server at all, by Host and Origin.

A page on somebody's web site can make a visitor's browser send requests to an address of the visitor's own
network under a name of the attacker's choice. Such a request carries that name in Host: it is not in our list.
"""

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

_HOST: Final = re.compile(r"(?:([A-Za-z0-9._-]+)|\[([0-9A-Fa-f]*:[0-9A-Fa-f:.]*)\])(?::[0-9]{1,5})?")
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class HostGuard:
    def __init__(self, base_url: str, hosts: Iterable[str] = (), origins: Iterable[str] = ()) -> None:
        own = urlsplit(base_url).hostname or ""
        # What is no name must not become one that everything malformed equals.
        self._hosts = (_LOOPBACK | {own} | {host_name(host) for host in hosts}) - {""}
        self._origins = frozenset(origin.rstrip("/").lower() for origin in origins)

    def allows_host(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        """Names are compared without their port: an attacker chooses the port, but not the name. Two are none."""
        hosts = [value for name, value in headers if name == b"host"]
        return len(hosts) == 1 and host_name(hosts[0].strip(b" \t").decode("latin-1")) in self._hosts

    def allows_origin(self, origin: bytes | None) -> bool:
        """Open unless a list is set: there is no cookie and nothing to steal."""
        return origin is None or not self._origins or origin.decode("latin-1").lower() in self._origins


def host_name(host: str) -> str:
    """The name in a Host header, lower case and without port or brackets; empty when it is not one."""
    found = _HOST.fullmatch(host)
    return (found[1] or found[2]).lower() if found else ""
