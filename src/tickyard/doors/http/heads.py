"""The head of a request, once the parser has read it: its size, its Host, and what it offers to upgrade to."""

import re
from collections.abc import Iterable
from typing import Any, Final

import httptools

from tickyard.doors.http.refusal import ProtocolRefusal

RequestHeaders = Iterable[tuple[bytes, bytes]]

_VERSIONS: Final = frozenset({"1.1", "1.0"})
_HOSTS_KEPT: Final = 256
GOOD_HOSTS: Final[set[bytes]] = set()
"""Hosts that were looked at before. Callers know us by a few names; who makes up many is looked at each time."""
_HOST: Final = re.compile(rb"(?:[A-Za-z0-9._~!$&'()*+,;=%-]*|\[[0-9A-Fa-fv:.]+\])(?::[0-9]*)?")


def head_size(parser: Any, url: bytes, headers: RequestHeaders) -> int:
    line = len(parser.get_method()) + len(url) + len(b"  HTTP/1.1\r\n\r\n")
    return line + sum(len(name) + len(value) + 4 for name, value in headers)


def check_head(parser: Any, url: bytes, headers: RequestHeaders) -> None:
    """Refuse what the parser lets pass."""
    version = parser.get_http_version()
    if version not in _VERSIONS:
        raise ProtocolRefusal(505, "HTTP/1.1 and HTTP/1.0 are spoken here")
    # One Host that can be one, as HTTP/1.1 demands: about any other, proxies in front of us disagree.
    hosts = [value for name, value in headers if name == b"host"]
    if len(hosts) > 1:
        raise ProtocolRefusal(400, "the Host header is given twice")
    if not hosts:
        if version != "1.0":
            raise ProtocolRefusal(400, "the Host header is missing")
    elif hosts[0] not in GOOD_HOSTS:
        if not _HOST.fullmatch(hosts[0].strip(b" \t")):
            raise ProtocolRefusal(400, "the Host header is not a host")
        if len(GOOD_HOSTS) < _HOSTS_KEPT:
            GOOD_HOSTS.add(hosts[0])
    # A whole address may stand where a path does, but it must have one.
    if not url.startswith(b"/") and not httptools.parse_url(url).path:
        raise ProtocolRefusal(400, "the request has no path")


def without_upgrade(parser: Any, url: bytes, headers: RequestHeaders) -> bytes:
    """The same head, without the offer to upgrade."""
    lines = [b"%s %s HTTP/%s" % (parser.get_method(), url, parser.get_http_version().encode())]
    for name, value in headers:
        if name == b"connection":
            value = b"close" if b"close" in value.lower() else b"keep-alive"
        if name != b"upgrade":
            lines.append(name + b": " + value)
    return b"\r\n".join([*lines, b"", b""])
