"""The client's payer against services that want more than they should get."""

import asyncio
import base64
import json
import subprocess
import sys
from datetime import timedelta

import pytest

from tickyard.client import Payer, errors
from tickyard.client.kept import KeptPayments
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


@pytest.mark.slow
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
        assert payer.judge(signed, 402, {}, is_first=True)
    with pytest.raises(errors.SpendingLimit):
        sign(payer, challenge())
    assert (collected, payer.spent_usd, payer.left_usd) == (50_000, "0.000000", "0.000000")


def test_a_payment_that_was_not_taken_pays_for_the_next_call_on_the_same_terms():
    clock = MovedClock()
    payer = Payer(KEY, limit_usd="0.03", clock=clock)
    first = sign(payer, challenge())
    assert not payer.judge(first, 404, {}, is_first=True)
    assert (payer.spent_usd, payer.left_usd) == ("0.000000", "0.020000")
    dearer = sign(payer, challenge({"amount": "20000"}))
    assert dearer.headers != first.headers
    assert sign(payer, challenge()) == first
    assert (payer.spent_usd, payer.left_usd) == ("0.030000", "0.000000")
    payer.judge(first, 404, {}, is_first=True)
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


@pytest.mark.parametrize("status", [408, 425, 429])
def test_who_is_asked_to_wait_knows_no_more_of_a_payment_than_before(status):
    payer = Payer(KEY, limit_usd="1")
    signed = sign(payer, challenge())
    assert not payer.judge(signed, 502, {}, is_first=True)
    assert not payer.judge(signed, status, {}, is_first=False)
    assert payer.uncertain("GET /x") == signed
    assert sign(payer, challenge()) != signed, "it pays for nothing else"


def test_what_may_have_been_taken_once_never_pays_for_another_request():
    clock = MovedClock()
    payer = Payer(KEY, limit_usd="1", clock=clock)
    signed = sign(payer, challenge())
    payer.judge(signed, 404, {}, is_first=False)
    assert payer.uncertain("GET /x") == signed
    clock.move(400)
    assert not payer.judge(signed, 404, {}, is_first=False), "somebody on the way may have said it"
    assert payer.uncertain("GET /x") == signed
    assert payer.judge(signed, 402, {}, is_first=False)
    assert payer.uncertain("GET /x") is None


@pytest.mark.parametrize("is_another_program", [False, True])
def test_what_an_equal_call_presents_meanwhile_pays_for_nothing_else(is_another_program, tmp_path):
    file = tmp_path / "payments.json"
    payer = Payer(KEY, limit_usd="1", file=file)
    other = Payer(KEY, limit_usd="1", file=file) if is_another_program else payer
    signed = sign(payer, challenge())
    assert other.uncertain("GET /x") == signed
    # The first of the two is told that nothing was taken. The other has not been told anything yet.
    payer.judge(signed, 422, {}, is_first=True)
    assert payer.spent_usd == "0.010000"
    assert asyncio.run(payer.sign(challenge(), "GET /y")) != signed
    assert other.uncertain("GET /x") == signed


def test_a_payment_in_doubt_is_presented_when_the_file_cannot_be_written(tmp_path):
    file = tmp_path / "payments.json"
    signed = sign(Payer(KEY, limit_usd="1", file=file), challenge())
    (tmp_path / "payments.json.new").mkdir()
    assert Payer(KEY, limit_usd="1", file=file).uncertain("GET /x") == signed


def test_a_payment_in_doubt_is_presented_when_the_file_was_removed_meanwhile(tmp_path):
    file = tmp_path / "payments.json"
    payer = Payer(KEY, limit_usd="1", file=file)
    signed = sign(payer, challenge())
    file.unlink()
    assert payer.uncertain("GET /x") == signed
    assert Payer(KEY, limit_usd="1", file=file).uncertain("GET /x") == signed, "it is back for the next program"
    file.unlink()
    assert payer.uncertain("GET /x") == signed
    assert Payer(KEY, limit_usd="1", file=file).uncertain("GET /x") == signed, "also when it was presented before"
    file.unlink()
    payer.judge(signed, 200, {}, is_first=False)
    assert payer.uncertain("GET /x") is None


def test_what_is_answered_is_not_presented_again_because_the_file_cannot_be_written(tmp_path):
    """The service would give the old answer once more, and a day later still."""
    file, full = tmp_path / "payments.json", tmp_path / "payments.json.new"
    payer = Payer(KEY, limit_usd="1", file=file)
    signed = sign(payer, challenge())
    full.mkdir()
    assert payer.judge(signed, 200, {}, is_first=True)
    assert payer.uncertain("GET /x") is None
    with pytest.raises(errors.KeptUnreadable, match="cannot be written"):
        sign(payer, challenge())
    # Another program has not heard of it.
    assert Payer(KEY, limit_usd="1", file=file).uncertain("GET /x") == signed
    full.rmdir()
    newer = sign(payer, challenge())
    assert Payer(KEY, limit_usd="1", file=file).uncertain("GET /x") == newer != signed
    assert payer.spent_usd == "0.020000"


def test_equal_requests_at_the_same_time_keep_a_payment_each(tmp_path):
    file = tmp_path / "payments.json"
    payer = Payer(KEY, limit_usd="1", file=file)
    both = [sign(payer, challenge()) for _ in range(2)]
    found = [payer.uncertain("GET /x")]
    Payer(KEY, limit_usd="1", file=file).judge(found[0], 200, {}, is_first=False)
    found.append(payer.uncertain("GET /x"))
    assert found == both


@pytest.mark.slow
def test_many_processes_share_a_file_and_forget_nothing(tmp_path):
    file = tmp_path / "payments.json"
    program = (
        "import sys\n"
        "from tickyard.client.kept import KeptPayments, SignedPayment\n"
        "kept = KeptPayments(sys.argv[1])\n"
        "for n in range(25):\n"
        "    kept.keep(f'{sys.argv[2]} {n}', SignedPayment({}, 1, 't', float(n)))\n"
    )
    started = [subprocess.Popen([sys.executable, "-c", program, str(file), str(who)]) for who in range(4)]
    assert [process.wait(60) for process in started] == [0] * 4
    assert len(KeptPayments(file).uncertain) == 100
    assert file.stat().st_mode & 0o777 == 0o600


def test_what_an_earlier_version_kept_is_found_and_what_cannot_be_read_stops_the_payer(tmp_path):
    file = tmp_path / "payments.json"
    old = {"headers": {"a": "b"}, "amount_raw": 1, "terms": "t", "until": 1.0}
    file.write_text(json.dumps({"uncertain": {"GET /x": old}, "spare": {"t": old | {"until": 2.0}}}))
    kept = KeptPayments(file)
    assert kept.find("GET /x").until == 1.0
    assert kept.take_spare("t").until == 2.0
    assert KeptPayments(file).take_spare("t") is None
    file.write_text("{")
    with pytest.raises(errors.KeptUnreadable):
        Payer(KEY, limit_usd="1", file=file)


def test_what_one_wallet_signed_pays_for_no_call_of_another(tmp_path):
    file = tmp_path / "payments.json"
    payer, other = (Payer(key, limit_usd="1", file=file) for key in (KEY, "0x" + "22" * 32))
    spare = sign(payer, challenge())
    assert not payer.judge(spare, 404, {}, is_first=True)
    assert sign(other, challenge()).headers != spare.headers
    assert other.spent_usd == "0.010000"
    assert sign(payer, challenge()).headers == spare.headers


@pytest.mark.parametrize("kept", [b"", b"{", b"null", b'{"kept": [{"name": "\xff"}]}'])
def test_a_file_that_holds_something_else_stops_the_payer_in_its_own_words(kept, tmp_path):
    file = tmp_path / "payments.json"
    file.write_bytes(kept)
    with pytest.raises(errors.KeptUnreadable):
        Payer(KEY, limit_usd="1", file=file)


def test_what_an_earlier_life_signed_for_is_counted_in_that_one(tmp_path):
    file, clock = tmp_path / "payments.json", MovedClock()
    signed = sign(Payer(KEY, limit_usd="1", file=file, clock=clock), challenge())
    later = Payer(KEY, limit_usd="1", file=file, clock=clock)
    clock.move(400)
    assert later.judge(signed, 402, {}, is_first=False)
    assert (later.spent_usd, later.left_usd) == ("0.000000", "1.000000")


def test_nothing_is_signed_that_would_be_good_for_days():
    with pytest.raises(errors.PaymentRequired):
        sign(Payer(KEY, limit_usd="1"), challenge({"maxTimeoutSeconds": 86_401}))


def test_a_file_that_cannot_be_written_stops_new_payments_and_withholds_no_answer(tmp_path):
    file = tmp_path / "payments.json"
    payer = Payer(KEY, limit_usd="1", file=file)
    signed = sign(payer, challenge())
    (tmp_path / "payments.json.new").mkdir()
    assert payer.judge(signed, 200, {}, is_first=True)
    with pytest.raises(errors.KeptUnreadable):
        sign(payer, challenge())
    assert payer.left_usd == "0.990000"
