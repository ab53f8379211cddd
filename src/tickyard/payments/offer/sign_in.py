"""The `sign-in-with-x` extension: how a payer who lost an answer gets it again without paying again.

The challenge asks for a signature over a message that names this service, this address and this half minute. Standard
clients send it back in the header SIGN-IN-WITH-X, with the payment or without. It says who asks, and no more.
"""

import re
import secrets
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlsplit

import msgspec

from tickyard.chain.address import checksum
from tickyard.chain.keccak import keccak256
from tickyard.kernel.clock import Clock
from tickyard.kernel.ids import Address
from tickyard.kernel.wire import encode, iso
from tickyard.payments.refusal import Refusal
from tickyard.payments.signed.spelling import ADDRESS, decode

HEADER: Final = b"sign-in-with-x"
STATEMENT: Final = "Fetch a paid answer"
EVERY_S: Final = 30
_OLDEST: Final = timedelta(minutes=5)
_SKEW: Final = timedelta(minutes=10)
"""So far ahead of ours is the clock of another process that is served behind the same address, and that made the
challenge. Who is told that their signature is none pays again."""
_TEXT: Final = re.compile(r"[\x20-\x7e]{1,512}")
_SIGNATURE: Final = re.compile(r"0x(?:[0-9a-fA-F]{2}){1,4096}")
# As short as it may be: all of this travels in a header.
_SCHEMA: Final = {"type": "object", "required": ["address", "signature"]}
# In the order in which the message has them, after the address and the statement.
_LINES: Final = (
    ("uri", "URI"),
    ("version", "Version"),
    ("chainId", "Chain ID"),
    ("nonce", "Nonce"),
    ("issuedAt", "Issued At"),
    ("expirationTime", "Expiration Time"),
    ("notBefore", "Not Before"),
    ("requestId", "Request ID"),
)


class SignedIn(msgspec.Struct, frozen=True, gc=False):
    """A message that somebody says `address` signed."""

    address: Address
    digest: bytes
    signature: bytes
    age_s: int
    """So long ago it was signed, at least: our offers are renewed twice a minute."""


class SignInOffer:
    """The extension as it stands in our challenges. Its nonce changes twice a minute."""

    def __init__(self, base_url: str, offered: Sequence[str], networks: Collection[str], clock: Clock) -> None:
        """`networks` are all that payments were ever taken on: who paid on one that is no longer offered comes back."""
        self._domain = urlsplit(base_url).netloc
        self._networks = networks
        self._clock = clock
        self._turn = -1
        self._nonce = ""
        chains = [{"chainId": network, "type": "eip191"} for network in offered]
        self._tail = b',"supportedChains":' + encode(chains) + b',"schema":' + encode(_SCHEMA) + b"}"

    @property
    def turn(self) -> int:
        return self._clock.seconds() // EVERY_S

    def render(self, url: bytes) -> bytes:
        """`url` is JSON text."""
        turn = self.turn
        if turn != self._turn:
            self._turn, self._nonce = turn, secrets.token_hex(16)
        issued = self._clock.now().replace(microsecond=0)
        info = {"version": "1", "nonce": self._nonce, "issuedAt": iso(issued), "statement": STATEMENT}
        head = b'{"info":{"domain":' + encode(self._domain) + b',"uri":' + url + b"," + encode(info)[1:]
        return head + self._tail

    def read(self, value: bytes, url: str, now: datetime) -> SignedIn | None:
        """What the header says, if it is about this service, this address and about now."""
        try:
            given = decode(value.strip(b" \t"))
            if given.get("domain") != self._domain or given.get("uri") != url or given.get("type") != "eip191":
                return None
            chain = given.get("chainId")
            if not isinstance(chain, str) or chain not in self._networks or not _is_current(given, now):
                return None
            signature, address = given.get("signature"), given.get("address")
            if not isinstance(signature, str) or not _SIGNATURE.fullmatch(signature):
                return None
            if not isinstance(address, str) or not ADDRESS.fullmatch(address):
                return None
            text = message(given)
            age_s = max(0, int((now - _moment(given["issuedAt"])).total_seconds()) - EVERY_S)
        except (Refusal, ValueError, KeyError, TypeError):
            return None
        prefix = b"\x19Ethereum Signed Message:\n%d" % len(text)
        signed = keccak256(prefix + text), bytes.fromhex(signature[2:])
        return SignedIn(Address(address.lower()), *signed, age_s)


def message(given: dict[str, object]) -> bytes:
    """The text that was signed, as EIP-4361 has it. Raises ValueError for a field that could pretend to be another."""
    address = _text(given["address"])
    lines = [f"{_text(given['domain'])} wants you to sign in with your Ethereum account:"]
    lines += [checksum(Address(address.lower())), ""]
    if given.get("statement") is not None:
        lines.append(_text(given["statement"]))
    lines.append("")
    for name, label in _LINES:
        value = given.get(name)
        if value is not None:
            text = _text(value)
            lines.append(f"{label}: {text.removeprefix('eip155:') if name == 'chainId' else text}")
    resources = given.get("resources")
    if isinstance(resources, list):
        lines += ["Resources:", *(f"- {_text(each)}" for each in resources)]
    return "\n".join(lines).encode()


def _text(value: object) -> str:
    if not isinstance(value, str) or not _TEXT.fullmatch(value):
        raise ValueError("not a line of plain text")
    return value


def _is_current(given: dict[str, object], now: datetime) -> bool:
    issued = _moment(given["issuedAt"])
    if not now - _OLDEST <= issued <= now + _SKEW:
        return False
    expires, begins = given.get("expirationTime"), given.get("notBefore")
    return (expires is None or _moment(expires) > now) and (begins is None or _moment(begins) <= now + _SKEW)


def _moment(value: object) -> datetime:
    """One without a zone cannot be compared with ours: that is a TypeError, as for any other nonsense."""
    return datetime.fromisoformat(_text(value))
