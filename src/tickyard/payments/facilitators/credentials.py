"""What a facilitator wants to see of us: a fixed header from a file, or a token signed anew for every request.

The token is the one that large hosted facilitators ask for: a JWT of two minutes, bound to the method, host and path of
the one request that carries it, signed with the key of our account there (Ed25519, or ES256 on P-256). The key opens
that account and nothing else; it moves no money.
"""

import base64
import binascii
import re
import secrets
from pathlib import Path
from typing import Final, Protocol

import msgspec
from yarl import URL

from tickyard.kernel.clock import Clock
from tickyard.kernel.files import read_named
from tickyard.kernel.wire import encode

LIFE_S: Final = 120
_HEADER: Final = re.compile(r"([A-Za-z0-9-]{1,64}): *([\x21-\x7e](?:[\x20-\x7e]{0,4094}[\x21-\x7e])?)")


class BadCredentials(Exception):
    """A file with credentials cannot be used. One sentence, without anything that stands in it."""


class Credentials(Protocol):
    def headers(self, url: URL) -> dict[str, str]:
        """What goes with one POST to this address."""


class FixedHeaders:
    """One `Name: value` a line."""

    def __init__(self, file: Path) -> None:
        self._headers: dict[str, str] = {}
        for line in _read(file).decode("ascii", "replace").splitlines():
            if not line.strip():
                continue
            found = _HEADER.fullmatch(line.strip())
            if found is None:
                raise BadCredentials(f"{file.name}: every line must be a header, `Name: value`")
            self._headers[found[1]] = found[2]
        if not self._headers:
            raise BadCredentials(f"{file.name}: there is no header in it")

    def headers(self, _url: URL) -> dict[str, str]:
        return self._headers


class _KeyFile(msgspec.Struct):
    privateKey: str
    id: str = ""
    name: str = ""


class SignedTokens:
    """A key file as the facilitator's portal gives it out: JSON with `id` (or `name`) and `privateKey`."""

    def __init__(self, file: Path, clock: Clock) -> None:
        try:
            given = msgspec.json.decode(_read(file), type=_KeyFile)
        except msgspec.MsgspecError:
            raise BadCredentials(f"{file.name}: not a key file, JSON with id and privateKey") from None
        self._id = given.id or given.name
        self._clock = clock
        self._algorithm, self._sign = _signer(given.privateKey, file.name)
        if not self._id:
            raise BadCredentials(f"{file.name}: the key has no id")

    def headers(self, url: URL) -> dict[str, str]:
        return {"Authorization": "Bearer " + self.token("POST", url)}

    def token(self, method: str, url: URL) -> str:
        now = self._clock.seconds()
        head = {"alg": self._algorithm, "kid": self._id, "typ": "JWT", "nonce": secrets.token_hex(16)}
        bound = f"{method} {url.authority}{url.raw_path}"
        claims = {"sub": self._id, "iss": "cdp", "nbf": now, "exp": now + LIFE_S, "uris": [bound]}
        text = f"{_part(encode(head))}.{_part(encode(claims))}"
        return f"{text}.{_part(self._sign(text.encode()))}"


class _Sign(Protocol):
    def __call__(self, text: bytes, /) -> bytes: ...


def _signer(private_key: str, name: str) -> tuple[str, _Sign]:
    """The algorithm and what signs with it."""
    # Loaded by whoever has such a key: most processes do without.
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, utils
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    if "BEGIN" in private_key:
        try:
            key = load_pem_private_key(private_key.replace("\\n", "\n").encode(), None)
        except (ValueError, TypeError):
            raise BadCredentials(f"{name}: the private key cannot be read") from None
        if isinstance(key, ed25519.Ed25519PrivateKey):
            return "EdDSA", key.sign
        if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
            raise BadCredentials(f"{name}: the private key must be Ed25519 or P-256")
        p256 = key

        def sign(text: bytes) -> bytes:
            r, s = utils.decode_dss_signature(p256.sign(text, ec.ECDSA(SHA256())))
            return r.to_bytes(32, "big") + s.to_bytes(32, "big")

        return "ES256", sign
    try:
        raw = base64.b64decode(private_key, validate=True)
    except binascii.Error:
        raise BadCredentials(f"{name}: the private key cannot be read") from None
    if len(raw) not in (32, 64):
        raise BadCredentials(f"{name}: the private key must be Ed25519 or P-256")
    # The seed, and after it the public key.
    return "EdDSA", ed25519.Ed25519PrivateKey.from_private_bytes(raw[:32]).sign


def _part(text: bytes) -> str:
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def _read(file: Path) -> bytes:
    try:
        return read_named(file)
    except OSError:
        raise BadCredentials(f"{file.name} cannot be read") from None
