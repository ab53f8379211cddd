"""The secret of an alert: derived from its id, never stored.

`secret = HMAC-SHA256(service key, "alert" 0x00 id)`, shown as base64url. The row keeps only the version of the
key, so that the key can be changed while alerts made under the old one still answer.
"""

import base64
import hmac
import re
import secrets
from collections.abc import Mapping
from typing import Final, Self

_DOMAIN: Final = b"alert\x00"
_MARK_DOMAIN: Final = b"mark\x00"
_LENGTH: Final = 43
"""Characters of 32 bytes in base64url without padding."""
_KEY_BYTES_MIN: Final = 32
_LINE: Final = re.compile(r"([1-9][0-9]{0,8})[ \t]+([0-9a-fA-F]{64,256})")


class AlertKeys:
    """The service keys by version. New alerts use the newest; old versions stay for as long as alerts need them."""

    def __init__(self, keys: Mapping[int, bytes]) -> None:
        if not keys or any(len(key) < _KEY_BYTES_MIN for key in keys.values()):
            raise ValueError(f"an alert key of at least {_KEY_BYTES_MIN} bytes is needed")
        self._keys = dict(keys)
        self.version = max(keys)

    @classmethod
    def read(cls, text: str) -> Self:
        """The key file: one `version hex` per line, empty lines and lines starting with # left out."""
        keys: dict[int, bytes] = {}
        for line in text.splitlines():
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            found = _LINE.fullmatch(line)
            # The line itself is a secret: the message must not show it.
            if not found or len(found[2]) % 2 or int(found[1]) in keys:
                raise ValueError("each line of the secret key file must be a new version and at least 64 hex digits")
            keys[int(found[1])] = bytes.fromhex(found[2])
        return cls(keys)

    @classmethod
    def fresh(cls) -> Self:
        """A key nobody knows, for a world that ends with its process."""
        return cls({1: secrets.token_bytes(32)})

    def __repr__(self) -> str:
        return f"AlertKeys(versions={sorted(self._keys)})"

    def knows(self, version: int) -> bool:
        return version in self._keys

    def is_ahead_of_us(self, version: int) -> bool:
        """Whether this key was made after our file was read: others have it already, nobody has thrown it away."""
        return version > self.version

    def marks(self) -> dict[int, str]:
        """By version what tells one key from another, and nobody what it is."""
        return {version: hmac.digest(key, _MARK_DOMAIN, "sha256")[:16].hex() for version, key in self._keys.items()}

    def derive(self, alert_id: str, version: int) -> bytes:
        """The 32 bytes of this alert's secret. KeyError when the version has been thrown away."""
        return hmac.digest(self._keys[version], _DOMAIN + alert_id.encode(), "sha256")

    def secret_text(self, alert_id: str, version: int) -> str:
        return _text(self.derive(alert_id, version))

    def matches(self, alert_id: str, version: int | None, given: str) -> bool:
        """Whether this is the alert's secret.

        An unknown alert has no version: the same work is done with the newest key, and the answer is no.
        """
        known = version is not None and self.knows(version)
        expected = self.secret_text(alert_id, version if version is not None and known else self.version)
        candidate = given.encode("utf-8", "surrogatepass")
        if len(candidate) != _LENGTH:
            candidate = bytes(_LENGTH)
        is_equal = hmac.compare_digest(expected.encode(), candidate)
        return is_equal and known


def new_alert_id() -> str:
    """128 random bits: ids cannot be guessed or counted."""
    return secrets.token_hex(16)


def sign(key: bytes, message_id: str, timestamp: int, body: bytes) -> str:
    """The signature of the Standard Webhooks scheme, version 1."""
    signed = b"%s.%d.%s" % (message_id.encode(), timestamp, body)
    return "v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode()


def _text(secret: bytes) -> str:
    return base64.urlsafe_b64encode(secret).rstrip(b"=").decode()
