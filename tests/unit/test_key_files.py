"""Files with the keys of sellers: what is read of them, and the sentence when they are no such thing."""

import base64
import hashlib
import json
from types import SimpleNamespace

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from yarl import URL

from tickyard.payments.facilitators.credentials import BadCredentials, FixedHeaders, SignedTokens
from tickyard.payments.receipts import ReceiptKey

CLOCK = SimpleNamespace(seconds=lambda: 1_800_000_000)
SEED = bytes(range(32))
EDWARDS = ed25519.Ed25519PrivateKey.from_private_bytes(SEED)


def pem(key):
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def tokens(folder, **given):
    file = folder / "key.json"
    file.write_text(json.dumps(given))
    return SignedTokens(file, CLOCK)


def decoded(part):
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


@pytest.mark.parametrize(
    "private_key",
    [
        base64.b64encode(SEED).decode(),
        base64.b64encode(SEED + EDWARDS.public_key().public_bytes_raw()).decode(),
        pem(EDWARDS),
        pem(EDWARDS).replace("\n", "\\n"),
    ],
)
def test_an_edwards_key_signs_a_token_bound_to_one_request_for_a_short_while(tmp_path, private_key):
    signer = tokens(tmp_path, id="me", name="other", privateKey=private_key)
    text = signer.headers(URL("https://far.example:8443/v2/settle?x=1"))["Authorization"].removeprefix("Bearer ")
    head, claims, signature = text.split(".")
    assert json.loads(decoded(head)) | {"nonce": ""} == {"alg": "EdDSA", "kid": "me", "typ": "JWT", "nonce": ""}
    assert len(json.loads(decoded(head))["nonce"]) == 32
    assert json.loads(decoded(claims)) == {
        "sub": "me", "iss": "cdp", "nbf": 1_800_000_000, "exp": 1_800_000_120,
        "uris": ["POST far.example:8443/v2/settle"],
    }  # fmt: skip
    EDWARDS.public_key().verify(decoded(signature), f"{head}.{claims}".encode())


def test_the_other_curve_signs_in_the_form_of_the_token(tmp_path):
    key = ec.generate_private_key(ec.SECP256R1())
    text = tokens(tmp_path, name="me", privateKey=pem(key)).token("GET", URL("https://far.example/supported"))
    head, claims, signature = text.split(".")
    assert json.loads(decoded(head))["alg"] == "ES256"
    assert json.loads(decoded(head))["kid"] == "me"
    raw = decoded(signature)
    assert len(raw) == 64
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
    from cryptography.hazmat.primitives.hashes import SHA256

    der = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    key.public_key().verify(der, f"{head}.{claims}".encode(), ec.ECDSA(SHA256()))


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"privateKey": base64.b64encode(SEED).decode()}, "the key has no id"),
        ({"id": "me"}, "not a key file"),
        ({"id": "me", "privateKey": 7}, "not a key file"),
        ({"id": "me", "privateKey": "!"}, "cannot be read"),
        ({"id": "me", "privateKey": base64.b64encode(SEED[:31]).decode()}, "must be Ed25519 or P-256"),
        ({"id": "me", "privateKey": base64.b64encode(SEED * 3).decode()}, "must be Ed25519 or P-256"),
        ({"id": "me", "privateKey": "-----BEGIN PRIVATE KEY-----"}, "cannot be read"),
        ({"id": "me", "privateKey": pem(ec.generate_private_key(ec.SECP256K1()))}, "must be Ed25519 or P-256"),
        ({"id": "me", "privateKey": pem(rsa.generate_private_key(65537, 2048))}, "must be Ed25519 or P-256"),
    ],
    ids=range(9),
)
def test_a_file_that_is_no_key_is_a_sentence_without_the_key(tmp_path, given, why):
    with pytest.raises(BadCredentials, match=why) as wrong:
        tokens(tmp_path, **given)
    assert str(wrong.value).startswith("key.json")
    assert str(given.get("privateKey")) not in str(wrong.value) or given.get("privateKey") in (7, "!")


def test_a_file_that_is_not_there_is_a_sentence(tmp_path):
    with pytest.raises(BadCredentials, match=r"gone\.json cannot be read"):
        SignedTokens(tmp_path / "gone.json", CLOCK)
    with pytest.raises(BadCredentials, match=r"gone\.pem cannot be read as a private key"):
        ReceiptKey(tmp_path / "gone.pem", "https://api.example")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "cannot be read"),
        ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "cannot be read"),
        (pem(ec.generate_private_key(ec.SECP256R1())), "must be an Ed25519 key"),
        (pem(EDWARDS) + pem(ec.generate_private_key(ec.SECP256R1())), "must be an Ed25519 key"),
    ],
    ids=range(4),
)
def test_a_receipt_key_is_an_edwards_key(tmp_path, content, why):
    file = tmp_path / "receipts.pem"
    file.write_text(content)
    with pytest.raises(BadCredentials, match=why):
        ReceiptKey(file, "https://api.example")


def test_the_newest_receipt_key_signs_and_all_are_published(tmp_path):
    file, newest = tmp_path / "receipts.pem", ed25519.Ed25519PrivateKey.generate()
    file.write_text(pem(EDWARDS) + pem(newest))
    key = ReceiptKey(file, "https://api.example:8443/base")
    assert key.did == "did:web:api.example%3A8443"
    raw = newest.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    assert decoded(key.jwk["x"]) == raw
    assert [name.partition("#")[2] == "receipts" for name, _ in key._published] == [True, False, False]
    assert decoded(key._published[0][1]["x"]) == EDWARDS.public_key().public_bytes_raw()
    assert key.kid == key._published[-1][0]


def test_a_receipt_says_who_paid_for_what_and_the_document_whose_key_signed_it(tmp_path):
    file = tmp_path / "receipts.pem"
    file.write_text(pem(EDWARDS))
    key = ReceiptKey(file, "https://api.example")
    paid = {"network": "eip155:1", "payer": "0x01", "transaction": "0x02"}
    made = key.sign(**paid, url="https://api.example/x", issued_at=7)
    text = made["offer-receipt"]["info"]["receipt"]["signature"]
    assert made == {"offer-receipt": {"info": {"receipt": {"format": "jws", "signature": text}}}}
    head, payload, signature = text.split(".")
    raw = EDWARDS.public_key().public_bytes_raw()
    jwk = {"kty": "OKP", "crv": "Ed25519", "x": base64.urlsafe_b64encode(raw).rstrip(b"=").decode()}
    kid = "did:web:api.example#" + hashlib.sha256(raw).hexdigest()[:16]
    assert json.loads(decoded(head)) == {"alg": "EdDSA", "kid": kid, "jwk": jwk}
    says = paid | {"version": 1, "resourceUrl": "https://api.example/x", "issuedAt": 7}
    assert decoded(payload).decode() == json.dumps(says, sort_keys=True, separators=(",", ":"))
    EDWARDS.public_key().verify(decoded(signature), f"{head}.{payload}".encode())
    names = ["did:web:api.example#receipts", kid]
    method = {"type": "JsonWebKey2020", "controller": "did:web:api.example", "publicKeyJwk": jwk}
    assert json.loads(key.document()) == {
        "@context": ["https://www.w3.org/ns/did/v1", "https://w3id.org/security/suites/jws-2020/v1"],
        "id": "did:web:api.example",
        "verificationMethod": [{"id": name, **method} for name in names],
        "assertionMethod": names,
    }


@pytest.mark.parametrize(
    ("text", "headers"),
    [
        ("X-Api-Key: abc\n", {"X-Api-Key": "abc"}),
        ("\nX-A: a b\n  \n X-B:c \n", {"X-A": "a b", "X-B": "c"}),
        ("", "there is no header"),
        (" \n\n", "there is no header"),
        ("X-A: a\nnonsense\n", "every line must be a header"),
        ("X A: a\n", "every line must be a header"),
        ("X-A: \u00e9\n", "every line must be a header"),
    ],
)
def test_fixed_headers_are_one_a_line_and_nothing_else(tmp_path, text, headers):
    file = tmp_path / "headers"
    file.write_text(text)
    if isinstance(headers, dict):
        assert FixedHeaders(file).headers(URL("https://far.example/verify")) == headers
    else:
        with pytest.raises(BadCredentials, match=headers):
            FixedHeaders(file)
