"""Signed receipts, as the protocol's offer-and-receipt extension describes them: a JWS that says who paid for what.

The key signs receipts and nothing else. It is an Ed25519 key, so that it cannot even be mistaken for a wallet; its
public half is published at `/.well-known/did.json`, where `kid` points. A file may hold several: the last one signs,
and those before it stay published, because what they signed stays true.
"""

import base64
import hashlib
import re
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

import msgspec

from tickyard.kernel.files import read_named
from tickyard.kernel.wire import encode
from tickyard.payments.facilitators.credentials import BadCredentials

EXTENSION: Final = "offer-receipt"
_PEM: Final = re.compile("-----BEGIN [^-]+-----.*?-----END [^-]+-----", re.DOTALL)
_canonical: Final = msgspec.json.Encoder(order="sorted").encode


class ReceiptKey:
    def __init__(self, file: Path, base_url: str) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

        try:
            blocks = _PEM.findall(read_named(file).decode())
            keys = [load_pem_private_key(block.encode(), None) for block in blocks]
        except (OSError, ValueError, TypeError):
            raise BadCredentials(f"{file.name} cannot be read as a private key in PEM") from None
        if not keys:
            raise BadCredentials(f"{file.name} cannot be read as a private key in PEM")
        # A port is part of the name, and its colon is written as the DID method wants it.
        self.did = "did:web:" + quote(urlsplit(base_url).netloc, safe="")
        self._published: list[tuple[str, dict[str, str]]] = []
        for key in keys:
            if not isinstance(key, Ed25519PrivateKey):
                raise BadCredentials(f"{file.name}: it must be an Ed25519 key")
            raw = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
            jwk = {"kty": "OKP", "crv": "Ed25519", "x": _part(raw)}
            if not self._published:
                # How a key was called when there was one.
                self._published.append((f"{self.did}#receipts", jwk))
            # By itself, so that it keeps its name whichever others come and go.
            self._published.append((f"{self.did}#{hashlib.sha256(raw).hexdigest()[:16]}", jwk))
            self._sign = key.sign
        self.kid, self.jwk = self._published[-1]

    def sign(self, *, network: str, url: str, payer: str, transaction: str, issued_at: int) -> dict[str, Any]:
        """The extension of a receipt."""
        payload = {
            "version": 1,
            "network": network,
            "resourceUrl": url,
            "payer": payer,
            "issuedAt": issued_at,
            "transaction": transaction,
        }
        head = {"alg": "EdDSA", "kid": self.kid, "jwk": self.jwk}
        text = f"{_part(encode(head))}.{_part(_canonical(payload))}"
        signed = f"{text}.{_part(self._sign(text.encode()))}"
        return {EXTENSION: {"info": {"receipt": {"format": "jws", "signature": signed}}}}

    def document(self) -> bytes:
        """The DID document that says that these keys sign for us."""
        methods = [
            {"id": kid, "type": "JsonWebKey2020", "controller": self.did, "publicKeyJwk": jwk}
            for kid, jwk in self._published
        ]
        return encode(
            {
                "@context": ["https://www.w3.org/ns/did/v1", "https://w3id.org/security/suites/jws-2020/v1"],
                "id": self.did,
                "verificationMethod": methods,
                "assertionMethod": [kid for kid, _ in self._published],
            }
        )


def _part(text: bytes) -> str:
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()
