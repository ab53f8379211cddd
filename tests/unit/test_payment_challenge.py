"""The challenge: what it says, that it fits its header, and that other people's software reads it."""

import base64
import json
import re
from pathlib import Path

import jsonschema
import pytest
from x402.extensions.bazaar.types import parse_discovery_extension
from x402.schemas.payments import PaymentRequired

from tickyard.catalog import CATALOG
from tickyard.config.pinned import SPENDER
from tickyard.doors.describe.examples import example_of
from tickyard.kernel.clock import WallClock
from tickyard.kernel.ids import Address
from tickyard.payments.offer import bazaar
from tickyard.payments.offer.bazaar import paid_path
from tickyard.payments.offer.challenge import HEADER_MAX_BYTES, PaidOffer
from tickyard.payments.offer.terms import PaymentSettings, Terms
from tickyard.payments.refusal import ALREADY_USED, EXPIRED, IDENTIFIER_USED, NONCE_SPENT

PAY_TO = Address("0x" + "ab" * 20)
PAID = [row for row in CATALOG if row.price is not None]
BASE_URLS = ["https://api.example", "https://" + "long." * 30 + "example"]


def offer_of(row, base_url=BASE_URLS[0]):
    terms = Terms(PaymentSettings(base_url, PAY_TO), WallClock())
    return PaidOffer(row, terms, ask_example=example_of(row.ask), answer_example=example_of(row.answer))


def challenge_of(row, raw=None, **more):
    raw = paid_path(row).encode() if raw is None else raw
    return json.loads(offer_of(row).challenge(raw, **more))


@pytest.mark.parametrize("row", PAID, ids=lambda row: row.name)
def test_a_challenge_has_exactly_the_specified_shape(row):
    challenge = challenge_of(row)
    assert set(challenge) == {"x402Version", "error", "resource", "accepts", "extensions"}
    assert (challenge["x402Version"], challenge["error"]) == (2, "Payment required")
    assert set(challenge["resource"]) == {"url", "description", "mimeType"}
    assert challenge["resource"]["url"] == "https://api.example" + paid_path(row).replace("{", "%7B").replace(
        "}", "%7D"
    )
    first, second = challenge["accepts"]
    for entry in (first, second):
        assert (entry["scheme"], entry["maxTimeoutSeconds"], entry["amount"]) == ("exact", 300, str(int(row.price)))
        assert entry["payTo"].lower() == PAY_TO
    assert (first["network"], second["network"]) == ("eip155:4663", "eip155:8453")
    assert first["extra"]["assetTransferMethod"] == "permit2"
    assert first["extra"]["spender"].lower() == SPENDER
    assert second["extra"] == {"name": "USD Coin", "version": "2"}


@pytest.mark.parametrize("row", PAID, ids=lambda row: row.name)
def test_the_bazaar_info_satisfies_its_own_schema_and_shows_an_answer(row):
    bazaar = challenge_of(row)["extensions"]["bazaar"]
    jsonschema.Draft202012Validator.check_schema(bazaar["schema"])
    jsonschema.validate(bazaar["info"], bazaar["schema"], jsonschema.Draft202012Validator)
    shown = bazaar["info"]["input"]
    assert (shown["type"], shown["method"]) == ("http", row.method)
    assert ("body" in shown) == (row.method == "POST")
    assert ("pathParams" in shown) == ("{" in row.path) == ("routeTemplate" in bazaar)
    assert bazaar["info"]["output"]["type"] == "json"
    assert bazaar["info"]["output"]["example"]
    # All that is shown is described: a schema that is silent about a part would let anything pass.
    assert bazaar["schema"]["properties"].keys() == bazaar["info"].keys()
    assert bazaar["schema"]["properties"]["output"]["properties"].keys() == bazaar["info"]["output"].keys()


@pytest.mark.parametrize("row", PAID, ids=lambda row: row.name)
def test_a_wrong_input_does_not_satisfy_the_bazaar_schema(row):
    bazaar = challenge_of(row)["extensions"]["bazaar"]
    bazaar["info"]["input"]["unknown"] = 1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(bazaar["info"], bazaar["schema"])


@pytest.mark.parametrize("row", PAID, ids=lambda row: row.name)
def test_the_reference_models_read_it(row):
    challenge = challenge_of(row)
    read = PaymentRequired.model_validate(challenge)
    assert [entry.model_dump(by_alias=True, exclude_none=True) for entry in read.accepts] == challenge["accepts"]
    parsed = parse_discovery_extension(challenge["extensions"]["bazaar"])
    assert parsed.info.input.method == row.method


@pytest.mark.parametrize("base_url", BASE_URLS)
@pytest.mark.parametrize("row", PAID, ids=lambda row: row.name)
def test_the_header_never_exceeds_four_kilobytes(row, base_url):
    offer = offer_of(row, base_url)
    for raw in (b"/v1/x402/x", b"/v1/x402/" + b"A" * 151, b"/v1/x402/" + b"\xff" * 100, b"/" + b"%2e" * 20000):
        for reason in ("Payment required", "r" * 5000):
            assert len(base64.b64encode(offer.challenge(raw, reason))) <= HEADER_MAX_BYTES


def test_the_url_is_the_path_as_sent_under_our_own_base():
    row = next(row for row in PAID if "{" in row.path)
    for raw, shown in (
        (b"/v1/x402/p/a%2Fb", "/v1/x402/p/a%2Fb"),
        (b"/v1/x402/p/\xc3\xa9", "/v1/x402/p/%C3%A9"),
        (b'/v1/x402/p/"\\\n', "/v1/x402/p/%22%5C%0A"),
        (b"/v1/x402/p/" + b"x" * 5000, paid_path(row)),
    ):
        assert challenge_of(row, raw)["resource"]["url"] == "https://api.example" + shown


def test_the_reason_is_the_error():
    assert challenge_of(PAID[0], reason="permit2_allowance_required")["error"] == "permit2_allowance_required"


def test_every_reason_of_our_own_is_in_the_documents_by_its_word():
    ours = re.findall(r"^\| `(payment_\w+)` \|", (Path(__file__).parents[2] / "docs" / "payments.md").read_text(), re.M)
    assert sorted(ours) == sorted([ALREADY_USED, IDENTIFIER_USED, EXPIRED, NONCE_SPENT])


def test_a_challenge_that_cannot_fit_its_header_is_said_at_the_start():
    with pytest.raises(ValueError, match=f"the challenge of {PAID[0].name} does not fit its header"):
        offer_of(PAID[0], "https://" + "a" * HEADER_MAX_BYTES)


def test_an_example_of_one_value_is_shown_or_left_out():
    assert list(bazaar._shorter("a whole story")) == ["a whole story", {}]
