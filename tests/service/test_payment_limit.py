"""The client's payer against services that want more than they should get."""

import asyncio
import base64
import json
from datetime import timedelta

import pytest

from tickyard.client import Payer, errors
from tickyard.config import pinned
from tickyard.kernel.clock import WallClock
from tickyard.payments.offer.terms import FIRST, Terms
from yards.clocks import MovedClock
from yards.selling import PAY_TO, SETTINGS

KEY = "0x" + "11" * 32


def challenge(*changes, extensions=None):
    """The headers of a 402; one offer for each change."""
    offer = next(entry.wire for entry in Terms(SETTINGS, WallClock()).entries(10_000)[1:])
    body = {
        "x402Version": 2,
        "error": "Payment required",
        "resource": {"url": "https://api.example/x", "description": "x", "mimeType": "application/json"},
        "accepts": [{**offer, **change} for change in changes or ({},)],
    }
    if extensions:
        body["extensions"] = extensions
    return {"Payment-Required": base64.b64encode(json.dumps(body).encode()).decode()}


def sign(payer, headers):
    return asyncio.run(payer.sign(headers, "GET /x"))


def signed_amount(signed):
    payment = json.loads(base64.b64decode(signed.headers["PAYMENT-SIGNATURE"]))
    return int(payment["payload"]["authorization"]["value"])


def test_what_is_signed_is_what_was_counted():
    payer = Payer(KEY, limit_usd="0.03")
    assert signed_amount(sign(payer, challenge())) == 10_000
    # Whichever is picked, the dearer one is counted.
    assert signed_amount(sign(payer, challenge({}, {"amount": "20000"}))) in (10_000, 20_000)
    assert payer.left_usd == "0.000000"
    with pytest.raises(errors.SpendingLimit):
        sign(payer, challenge({"amount": "1"}))


def test_a_service_that_refuses_every_payment_still_gets_no_more_than_the_limit():
    clock = MovedClock()
    payer, collected = Payer(KEY, limit_usd="0.05", clock=clock), 0
    for _ in range(5):
        signed = sign(payer, challenge())
        collected += signed_amount(signed)
        clock.move(400)
        assert payer.judge("GET /x", signed, 402)
    with pytest.raises(errors.SpendingLimit):
        sign(payer, challenge())
    assert (collected, payer.spent_usd, payer.left_usd) == (50_000, "0.000000", "0.000000")


def test_a_payment_that_was_not_taken_pays_for_the_next_call_on_the_same_terms():
    clock = MovedClock()
    payer = Payer(KEY, limit_usd="0.03", clock=clock)
    first = sign(payer, challenge())
    assert not payer.judge("GET /x", first, 404)
    assert (payer.spent_usd, payer.left_usd) == ("0.000000", "0.020000")
    dearer = sign(payer, challenge({"amount": "20000"}))
    assert dearer.headers != first.headers
    assert sign(payer, challenge()) == first
    assert (payer.spent_usd, payer.left_usd) == ("0.030000", "0.000000")
    payer.judge("GET /x", first, 404)
    clock.move(280)
    # It would run out on the way.
    with pytest.raises(errors.SpendingLimit):
        sign(payer, challenge())


@pytest.mark.parametrize(
    "change",
    [
        {"asset": "0x" + "33" * 20},
        {"network": "eip155:1"},
        {"network": FIRST},
        {"scheme": "upto"},
        {"amount": "-1"},
        {"amount": "0"},
        {"amount": "1e3"},
        {"amount": None},
        {"maxTimeoutSeconds": "soon"},
        {"asset": None},
    ],
)
def test_nothing_but_the_two_coins_is_signed_for(change):
    payer = Payer(KEY, limit_usd="1")
    with pytest.raises(errors.PaymentRequired):
        sign(payer, challenge(change))
    assert (payer.spent_usd, payer.left_usd) == ("0.000000", "1.000000")


@pytest.mark.parametrize("headers", [{}, {"payment-required": "####"}, {"payment-required": "W10="}])
def test_an_offer_that_cannot_be_read_is_not_paid(headers):
    payer = Payer(KEY, limit_usd="1")
    with pytest.raises(errors.PaymentRequired):
        sign(payer, headers)
    assert payer.left_usd == "1.000000"


def test_an_extension_cannot_have_anything_else_signed():
    sponsor = {"eip2612GasSponsoring": {"info": {"description": "x", "version": "1"}, "schema": {}}}
    signed = sign(Payer(KEY, limit_usd="1"), challenge(extensions=sponsor))
    payment = json.loads(base64.b64decode(signed.headers["PAYMENT-SIGNATURE"]))
    assert list(payment["extensions"]) == ["payment-identifier"]
    assert payment["payload"]["authorization"]["to"].lower() == PAY_TO
    assert payment["accepted"]["asset"].lower() == pinned.USDC_8453


def test_calls_at_the_same_time_share_one_limit():
    async def rush(payer):
        return await asyncio.gather(*(payer.sign(challenge(), f"GET /{n}") for n in range(10)), return_exceptions=True)

    payer = Payer(KEY, limit_usd="0.05")
    ends = asyncio.run(rush(payer))
    assert sum(isinstance(end, errors.SpendingLimit) for end in ends) == 5
    assert (payer.spent_usd, payer.left_usd) == ("0.050000", "0.000000")


@pytest.mark.parametrize(
    ("profile", "is_local", "is_believed"), [("sandbox", True, True), ("sandbox", False, False), ("", True, False)]
)
def test_only_a_sandbox_on_this_machine_is_believed_about_the_time(profile, is_local, is_believed):
    clock = MovedClock()
    offer = Terms(SETTINGS, clock).entries(10_000)[0].wire
    ahead = clock.now() + timedelta(days=3)
    headers = challenge(offer, extensions={"sign-in-with-x": {"info": {"issuedAt": ahead.isoformat()}}})
    payer = Payer(KEY, limit_usd="1")
    signed = asyncio.run(payer.sign({**headers, "X-Tickyard-Profile": profile}, "GET /x", is_local=is_local))
    payment = json.loads(base64.b64decode(signed.headers["PAYMENT-SIGNATURE"]))
    deadline = int(payment["payload"]["permit2Authorization"]["deadline"])
    assert (deadline > ahead.timestamp() + 200) == is_believed
    assert is_believed or deadline < WallClock().timestamp() + 400
    assert payment["accepted"] == offer, "the offer is named as it was made"
