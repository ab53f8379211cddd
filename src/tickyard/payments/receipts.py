"""Signed receipts, as the protocol's offer-and-receipt extension describes them: a JWS that says who paid for what.

The key signs receipts and nothing else. It is an Ed25519 key, so that it cannot even be mistaken for a wallet; its
public half is published at `/.well-known/did.json`, where `kid` points.
"""

import base64
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

import msgspec

from tickyard.kernel.wire import encode
from tickyard.payments.facilitators.credentials import BadCredentials

EXTENSION: Final = "offer-receipt"
_canonical: Final = msgspec.json.Encoder(order="sorted").encode


class ReceiptKey:
    def __init__(self, file: Path, base_url: str) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

        try:
            key = load_pem_private_key(file.read_bytes(), None)
        except (OSError, ValueError, TypeError):
            raise BadCredentials(f"{file.name} cannot be read as a private key in PEM") from None
        if not isinstance(key, Ed25519PrivateKey):
            raise BadCredentials(f"{file.name}: it must be an Ed25519 key")
        self._sign = key.sign
        # A port is part of the name, and its colon is written as the DID method wants it.
        self.did = "did:web:" + quote(urlsplit(base_url).netloc, safe="")
        self.kid = self.did + "#receipts"
        raw = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        self.jwk = {"kty": "OKP", "crv": "Ed25519", "x": _part(raw)}

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
        """The DID document that says that this key signs for us."""
        method = {"id": self.kid, "type": "JsonWebKey2020", "controller": self.did, "publicKeyJwk": self.jwk}
        return encode(
            {
                "@context": ["https://www.w3.org/ns/did/v1", "https://w3id.org/security/suites/jws-2020/v1"],
                "id": self.did,
                "verificationMethod": [method],
                "assertionMethod": [self.kid],
            }
        )


def _part(text: bytes) -> str:
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()
