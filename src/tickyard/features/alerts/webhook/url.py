"""The text rules for a webhook URL, on the raw string.

No URL library reads it: they disagree with one another, drop characters and repair what is broken, so what
they return is not what was sent. This reader knows one form, and refuses the rest.
"""

import re
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network
from typing import TYPE_CHECKING, Final

from tickyard.features.alerts.webhook.addresses import EgressPolicy, IpAddress, is_public
from tickyard.kernel.errors import BadRequest

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

URL_MAX_CHARS: Final = 2048
PORTS: Final = (443, 8443)
HOST_MAX_CHARS: Final = 253

_PRINTABLE: Final = re.compile(r"[\x21-\x7e]+")
_FORBIDDEN: Final = frozenset("\\\"'<>^`{}|")
_FORM: Final = re.compile(r"https://([^/?#]*)([/?][^#]*)?")
_AUTHORITY: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?")
# A hyphen stands between letters: resolvers and certificates disagree about any other.
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_QUAD_LIKE: Final = re.compile(r"[0-9.]+")
# The resolver takes a last label such as 0x7f for a number.
_HEX_NUMBER: Final = re.compile(r"0x[0-9a-f]*")
# fmt: off
_SPECIAL_NAMES: Final = (
    "localhost", "local", "localdomain", "internal", "intranet", "lan", "home", "home.arpa", "corp", "private", "arpa",
    "test", "invalid", "example", "onion", "alt", "svc", "cluster.local", "consul",
)
# fmt: on

_NO_POLICY: Final = EgressPolicy()


@dataclass(frozen=True, slots=True)
class WebhookUrl:
    text: str
    """As the caller sent it."""
    host: str
    """Lower case, without a trailing dot, brackets or port: what caps are counted on and certificates checked for."""
    port: int
    target: str
    """Path and query: the request line's part."""
    literal: IpAddress | None

    @property
    def authority(self) -> str:
        """The Host header."""
        host = f"[{self.host}]" if isinstance(self.literal, IPv6Address) else self.host
        return host if self.port == 443 else f"{host}:{self.port}"


def read_webhook_url(text: str, policy: EgressPolicy = _NO_POLICY) -> WebhookUrl:
    """The parts of a public HTTPS URL. BadRequest says which rule it breaks."""
    if len(text) > URL_MAX_CHARS:
        raise _refusal(f"at most {URL_MAX_CHARS} characters long")
    if not _PRINTABLE.fullmatch(text) or not _FORBIDDEN.isdisjoint(text):
        raise _refusal("plain ASCII without blanks, quotes, brackets, backslashes and the like")
    form = _FORM.fullmatch(text)
    if form is None:
        raise _refusal("an https:// address without a fragment")
    authority = _AUTHORITY.fullmatch(form[1])
    if authority is None:
        raise _refusal("https:// followed by a host, without user name or escapes")
    host, literal = _read_host(authority[1])
    port = int(authority[2] or 443)
    if not policy.permits_text(host, port):
        if port not in PORTS or (authority[2] or "443") != str(port):
            raise _refusal("on port 443 or 8443")
        if literal is not None and not is_public(literal):
            raise _refusal("at a public address")
    target = form[2] or "/"
    return WebhookUrl(text, host, port, target if target.startswith("/") else "/" + target, literal)


def registrable_domain(host: str) -> str:
    """The name somebody had to register to own this host; of an IPv6 address its /64, which one party owns."""
    try:
        literal = _read_literal(host)
    except ValueError:
        return _suffixes().privatesuffix(host) or host
    if isinstance(literal, IPv6Address):
        return str(IPv6Network((literal, 64), strict=False))
    return host


def _read_host(text: str) -> tuple[str, IpAddress | None]:
    if text.startswith("["):
        try:
            address = IPv6Address(text[1:-1])
        except ValueError:
            raise _refusal("at a valid IPv6 address") from None
        return str(address), address
    if _QUAD_LIKE.fullmatch(text):
        try:
            quad = IPv4Address(text)
        except ValueError:
            raise _refusal("at an address of four plain decimal numbers") from None
        # Only the canonical spelling: others (leading zeros, fewer parts) are read differently by resolvers.
        if str(quad) != text:
            raise _refusal("at an address of four plain decimal numbers")
        return text, quad
    host = text.lower().removesuffix(".")
    labels = host.split(".")
    if len(host) > HOST_MAX_CHARS or not all(_LABEL.fullmatch(label) for label in labels):
        raise _refusal("at a valid host name")
    last = labels[-1]
    if len(labels) < 2 or not any(c.isalpha() for c in last) or _HEX_NUMBER.fullmatch(last):
        raise _refusal("at a public host name")
    if any(host == name or host.endswith("." + name) for name in _SPECIAL_NAMES):
        raise _refusal("at a public host name")
    return host, None


def _read_literal(host: str) -> IpAddress:
    return IPv6Address(host) if ":" in host else IPv4Address(host)


@cache
def _suffixes() -> "PublicSuffixList":
    # The list is bundled with the package and never fetched. Reading it takes a tenth of a second: on first use.
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList(accept_unknown=True)


def _refusal(rule: str) -> BadRequest:
    return BadRequest(f"webhookUrl must be {rule}")
