"""A sign-in, as it is offered and as it is read: field by field, and to the second."""

import base64
import json
from datetime import UTC, datetime, timedelta

import pytest
from eth_account.messages import encode_defunct
from eth_utils import keccak

from tickyard.kernel.clock import WallClock
from tickyard.payments.offer.sign_in import SignInOffer

NOW = datetime(2026, 11, 1, 12, 0, 0, 250_000, tzinfo=UTC)
URL = "https://api.example/v1/x402/item/AAPL"
ADDRESS = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
GIVEN = {
    "domain": "api.example",
    "address": ADDRESS,
    "statement": "Fetch a paid answer",
    "uri": URL,
    "version": "1",
    "chainId": "eip155:8453",
    "type": "eip191",
    "nonce": "0123456789abcdef",
    "issuedAt": "2026-11-01T12:00:00Z",
    "signature": "0x" + "1f" * 65,
}
TEXT = f"""api.example wants you to sign in with your Ethereum account:
{ADDRESS}

Fetch a paid answer

URI: {URL}
Version: 1
Chain ID: 8453
Nonce: 0123456789abcdef
Issued At: 2026-11-01T12:00:00Z"""


class Clock(WallClock):
    def __init__(self, now=NOW):
        self.at = now

    def now(self):
        return self.at

    def seconds(self):
        return int(self.at.timestamp())


def offer(clock=None):
    return SignInOffer("https://api.example", ["eip155:1"], ["eip155:1", "eip155:8453"], clock or Clock())


def read(changed, now=NOW, url=URL):
    given = {name: value for name, value in (GIVEN | changed).items() if value is not ...}
    return offer().read(base64.b64encode(json.dumps(given).encode()), url, now)


def at(seconds):
    return (NOW + timedelta(seconds=seconds)).isoformat()


def hash_of(text):
    signed = encode_defunct(text=text)
    return keccak(b"\x19" + signed.version + signed.header + signed.body)


def test_what_was_signed_is_the_message_of_the_standard_with_every_field_in_its_line():
    found = read({})
    assert (found.address, found.signature) == (ADDRESS.lower(), b"\x1f" * 65)
    assert found.digest == hash_of(TEXT)
    more = {"expirationTime": at(60), "notBefore": at(0), "requestId": "me", "resources": ["https://a", "https://b"]}
    lines = [f"Expiration Time: {at(60)}", f"Not Before: {at(0)}", "Request ID: me", "Resources:"]
    assert read(more).digest == hash_of("\n".join([TEXT, *lines, "- https://a", "- https://b"]))
    assert read({"statement": ...}).digest == hash_of(TEXT.replace("Fetch a paid answer\n", ""))
    assert read({"address": ADDRESS.lower()}).digest == found.digest


@pytest.mark.parametrize(
    "changed",
    [
        *({name: ...} for name in GIVEN if name not in ("statement", "version", "nonce")),
        {"domain": "evil.example"},
        {"uri": URL + "x"},
        {"type": "ed25519"},
        {"chainId": "eip155:10"},
        {"chainId": 8453},
        {"chainId": ["eip155:8453"]},
        {"signature": "0x"},
        {"signature": "0x123"},
        {"signature": "1f" * 65},
        {"signature": 7},
        {"address": "0x12"},
        {"address": 7},
        {"statement": "two\nlines"},
        {"statement": ""},
        {"statement": 7},
        {"statement": "x" * 513},
        {"nonce": "0123456789abcdef\nChain ID: 1"},
        {"resources": ["a\nb"]},
        {"requestId": 7},
        {"issuedAt": "2026-11-01T12:00:00"},
        {"issuedAt": "yesterday"},
        {"expirationTime": "2026-11-01T12:30:00"},
        {"notBefore": 7},
    ],
)
def test_what_is_another_services_or_out_of_shape_is_nobodys(changed):
    assert read(changed) is None


@pytest.mark.parametrize(
    ("changed", "is_current"),
    [
        ({"issuedAt": at(-300)}, True),
        ({"issuedAt": at(-300.001)}, False),
        ({"issuedAt": at(600)}, True),
        ({"issuedAt": at(600.001)}, False),
        ({"expirationTime": at(0.001)}, True),
        ({"expirationTime": at(0)}, False),
        ({"notBefore": at(600)}, True),
        ({"notBefore": at(600.001)}, False),
        ({"expirationTime": at(-1), "notBefore": at(-1)}, False),
        ({"expirationTime": at(1), "notBefore": at(601)}, False),
    ],
)
def test_a_sign_in_counts_for_five_minutes_and_another_process_may_be_ten_ahead(changed, is_current):
    assert (read(changed) is not None) is is_current


@pytest.mark.parametrize(("ago_s", "age_s"), [(-60, 0), (0, 0), (30, 0), (30.9, 0), (31, 1), (299, 269)])
def test_its_age_is_what_is_sure_of_it_because_an_offer_stands_for_half_a_minute(ago_s, age_s):
    assert read({"issuedAt": at(-ago_s)}).age_s == age_s


def test_an_offer_can_be_signed_as_it_is_and_its_nonce_is_new_twice_a_minute():
    clock = Clock(datetime(1970, 1, 1, tzinfo=UTC))
    made, nonces = offer(clock), []
    for seconds in (0, 0.25, 29.75, 30, 59, 60):
        clock.at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
        shown = json.loads(made.render(json.dumps(URL).encode()))
        nonces.append(shown["info"].pop("nonce"))
        issued = f"1970-01-01T00:0{int(seconds) // 60}:{int(seconds) % 60:02}Z"
        same = {name: GIVEN[name] for name in ("domain", "uri", "version", "statement")}
        assert shown["info"] == same | {"issuedAt": issued}
        assert shown["supportedChains"] == [{"chainId": "eip155:1", "type": "eip191"}]
        assert shown["schema"] == {"type": "object", "required": ["address", "signature"]}
    assert [nonces.index(each) for each in nonces] == [0, 0, 0, 3, 3, 5]
    assert all(len(each) == 32 for each in nonces)
