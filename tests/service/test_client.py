"""The client against a service that answers as it is told, over real sockets."""

import asyncio
import base64
import hmac
import inspect
import io
import json
import signal
import socket
import subprocess
import sys
import threading
from argparse import Namespace
from contextlib import asynccontextmanager, nullcontext, redirect_stdout
from datetime import timedelta
from hashlib import sha256

import pytest
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route as Path

from tickyard import client as package
from tickyard.catalog import CATALOG
from tickyard.client import AsyncClient, Client, Payer, errors, verify_webhook
from tickyard.client.operations import ROUTES, AsyncOperations, Operations
from tickyard.clientgen.files import FOLDER, ROOMS, files
from tickyard.doors.describe.examples import example_of
from tickyard.kernel.clock import WallClock
from tickyard.payments.refusal import NOTHING_TAKEN
from tickyard.sandbox.commands.pay import pay_command
from tickyard.terminal.commands import call_command, watch
from yards import serving as _serving
from yards.clocks import MovedClock
from yards.patience import STUCK_S

PRICE = example_of(next(row for row in CATALOG if row.name == "get_price").answer)


class QuickClock(WallClock):
    """Pauses are remembered and not waited for."""

    def __init__(self):
        self.pauses = []

    async def sleep(self, seconds):
        self.pauses.append(seconds)


class Stand:
    """A stand-in service: each request takes the next answer, the last one stays."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []
        methods = ["GET", "POST", "DELETE"]
        self.app = Starlette(routes=[Path("/{path:path}", self.answer, methods=methods)])

    async def answer(self, request):
        target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        self.asked.append((request.method, target, dict(request.headers), await request.body()))
        status, body, headers = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return Response(content, status, {"content-type": "application/json", "x-request-id": "r-1", **headers})


ROWS = [row for row in CATALOG if not row.is_file]
"""A file is no answer of the client's."""


def ok(body, status=200, **headers):
    return status, body, headers


def error(status, code, **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return status, {"error": {"code": code, "message": f"{code} it is"}}, named


@asynccontextmanager
async def at(stand, **options):
    options = {"clock": QuickClock(), **options}
    async with asyncio.timeout(STUCK_S), _serving.serving(stand.app) as base, AsyncClient(base, **options) as client:
        yield client


def asked(stand, work, **options):
    async def run():
        async with at(stand, **options) as client:
            return await work(client)

    return asyncio.run(run())


@pytest.mark.slow
def test_the_operations_are_those_of_the_catalog():
    paths = [path for room in ROOMS for path in (FOLDER / room).glob("*.py")]
    written = {str(path.relative_to(FOLDER)): path.read_text() for path in paths}
    assert written == files(), "run: python -m tickyard.clientgen"
    assert set(ROUTES) == {row.name for row in ROWS}
    for kind in (AsyncOperations, Operations):
        assert all(callable(getattr(kind, row.name)) for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_operation_is_sent_as_its_row_says_and_read_as_its_answer(row):
    example = example_of(row.answer)
    values = {}
    for param in ROUTES[row.name].params:
        if param.is_required or param.name == "secret":
            values[param.name] = example_of(row.ask)[param.name]
    stand = Stand(ok(example, row.status))
    answer = asked(stand, lambda client: client.call(row.name, **values))
    ((method, target, _, body),) = stand.asked
    assert method == row.method
    sent = json.loads(body) if body else {}
    for name, value in values.items():
        assert sent.get(name) == value or str(value) in target
    assert type(answer).__name__ == row.answer.__name__


def test_a_method_takes_typed_arguments_and_gives_a_typed_answer():
    stand = Stand(ok(PRICE))
    price = asked(stand, lambda client: client.get_price(symbol="BRK/B ö"))
    assert (price.symbol, price.token.multiplier) == ("AAPL", PRICE["token"]["multiplier"])
    assert stand.asked[0][1] == "/v1/prices/BRK/B ö"
    signature = inspect.signature(AsyncClient.get_price)
    assert signature.return_annotation.__name__ == "PriceRecord"


def test_a_field_that_the_service_gains_does_no_harm():
    assert asked(Stand(ok({**PRICE, "later": 1})), lambda client: client.get_price(symbol="A")).symbol == "AAPL"


def test_the_other_client_needs_no_loop_and_can_live_beside_one():
    stand = Stand(ok(PRICE))

    def use(base):
        with Client(base, clock=QuickClock()) as client:
            symbol = client.get_price(symbol="AAPL").symbol
            client.close()
            return symbol

    async def run():
        async with asyncio.timeout(STUCK_S), _serving.serving(stand.app) as base:
            return await asyncio.to_thread(use, base)

    assert asyncio.run(run()) == "AAPL"


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "bad_request", errors.BadRequest),
        (404, "not_found", errors.NotFound),
        (422, "no_liquidity", errors.NoLiquidity),
        (500, "internal_error", errors.InternalError),
        (502, "upstream_error", errors.UpstreamError),
        (413, "bad_request", errors.BadRequest),
    ],
)
def test_a_failure_is_an_exception_with_code_and_status(status, code, kind):
    with pytest.raises(kind) as caught:
        asked(Stand(error(status, code)), lambda client: client.get_price(symbol="A"))
    found = caught.value
    assert (found.code, found.status, found.message, found.request_id) == (code, status, f"{code} it is", "r-1")


def test_an_answer_that_is_no_error_object_is_still_a_failure():
    with pytest.raises(errors.InternalError):
        asked(Stand(ok(b"<html>", 504)), lambda client: client.get_price(symbol="A"))
    with pytest.raises(errors.Unreachable):
        asked(Stand(ok({"symbol": 1})), lambda client: client.get_price(symbol="A"))


def test_reads_are_tried_again_a_few_times():
    stand = Stand(error(502, "upstream_error"), error(429, "bad_request", retry_after="3"), ok(PRICE))
    clock = QuickClock()
    asked(stand, lambda client: client.get_price(symbol="A"), clock=clock)
    assert len(stand.asked) == 3
    assert 0.2 <= clock.pauses[0] <= 0.4
    assert clock.pauses[1] == 3
    stand = Stand(error(502, "upstream_error"))
    with pytest.raises(errors.UpstreamError):
        asked(stand, lambda client: client.get_price(symbol="A"), retries=4)
    assert len(stand.asked) == 5


def test_what_changes_something_is_sent_once():
    stand = Stand(error(502, "upstream_error"))
    with pytest.raises(errors.UpstreamError):
        asked(stand, lambda client: client.cancel_alert(id="x", secret="y"))
    assert len(stand.asked) == 1


def test_a_long_wait_is_left_to_the_caller():
    stand = Stand(error(429, "bad_request", retry_after="60"))
    with pytest.raises(errors.TooManyRequests) as caught:
        asked(stand, lambda client: client.get_price(symbol="A"))
    assert (caught.value.retry_after_s, len(stand.asked)) == (60, 1)


def test_nobody_there_is_said():
    async def run():
        async with AsyncClient("http://127.0.0.1:1", clock=QuickClock()) as client:
            await client.get_price(symbol="A")

    with pytest.raises(errors.Unreachable):
        asyncio.run(run())


KEY = "0x" + "11" * 32


def challenge(amount="10000", issued_at=None):
    offers = [
        {
            "scheme": "exact",
            "network": "eip155:8453",
            "asset": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
            "amount": amount,
            "payTo": "0x" + "22" * 20,
            "maxTimeoutSeconds": 300,
            "extra": {"name": "USD Coin", "version": "2"},
        }
    ]
    url = "http://127.0.0.1/v1/x402/quote"
    resource = {"url": url, "description": "x", "mimeType": "application/json"}
    body = {"x402Version": 2, "error": "payment required", "resource": resource, "accepts": offers}
    if issued_at is not None:
        body["extensions"] = {"sign-in-with-x": {"info": {"issuedAt": issued_at}}}
    return 402, body, {"PAYMENT-REQUIRED": base64.b64encode(json.dumps(body).encode()).decode()}


QUOTE = example_of(next(row for row in CATALOG if row.name == "get_quote").answer)
RECEIPT = base64.b64encode(
    b'{"success":true,"transaction":"0xab","network":"eip155:8453","payer":"0xcd"}',
).decode()


def paid(body=QUOTE, status=200):
    """An answer as the service gives it to a payment: with its receipt."""
    return status, body, {"PAYMENT-RESPONSE": RECEIPT}


def buy(client):
    return client.get_quote(symbol="AAPL", side="buy", amount="100")


def test_a_payer_uses_the_paid_route_and_pays():
    payer = Payer(KEY, limit_usd="0.015")
    stand = Stand(challenge(), paid())
    assert asked(stand, buy, payer=payer).symbol == "AAPL"
    first, second = stand.asked
    assert first[1] == second[1] == "/v1/x402/quote?symbol=AAPL&side=buy&amount=100&denom=usd"
    payment = json.loads(base64.b64decode(second[2]["payment-signature"]))
    assert payment["accepted"]["amount"] == "10000"
    assert (payer.spent_usd, payer.left_usd) == ("0.010000", "0.005000")


def test_a_payer_never_signs_beyond_its_limit():
    payer = Payer(KEY, limit_usd="0.015")
    stand = Stand(challenge(), paid(), challenge())

    async def twice(client):
        await buy(client)
        await buy(client)

    with pytest.raises(errors.SpendingLimit):
        asked(stand, twice, payer=payer)
    assert [("payment-signature" in headers) for _, _, headers, _ in stand.asked] == [False, True, False]
    assert payer.spent_usd == "0.010000"


def bought(*turns):
    """One purchase a turn at the same service: (payer, answers). What each sent, and how it ended."""

    async def run():
        stand = Stand()
        ends = []
        async with asyncio.timeout(STUCK_S), _serving.serving(stand.app) as base:
            for payer, *answers in turns:
                if callable(payer):
                    payer = payer()
                stand.answers, stand.asked = answers, []
                async with AsyncClient(base, payer=payer, clock=QuickClock()) as client:
                    try:
                        end = (await buy(client)).symbol
                    except errors.ServiceError as failure:
                        end = failure.status
                    except errors.Unreachable as failure:
                        end = type(failure).__name__
                ends.append((end, [headers.get("payment-signature") for _, _, headers, _ in stand.asked]))
        return ends

    return asyncio.run(run())


def test_an_uncertain_payment_is_presented_again_and_nothing_new_is_signed_until_it_is_over():
    clock = MovedClock()
    payer = Payer(KEY, limit_usd="1", clock=clock)

    def much_later():
        clock.move(400)
        return payer

    refused, doubtful, over = bought(
        # Refused, and good for minutes: whoever has it could still take it.
        (payer, challenge()),
        (payer, error(502, "upstream_error"), challenge()),
        # Past its deadline: presented once more, because it may have been taken; refused, and only then a new one.
        (much_later, challenge(), challenge(), paid()),
    )
    first = refused[1][1]
    assert refused == (402, [None, first])
    assert doubtful == (402, [first, first])
    assert (over[0], over[1][:2]) == ("AAPL", [first, None])
    assert over[1][2] not in (None, first)
    assert payer.spent_usd == "0.010000"


@pytest.mark.parametrize(
    ("at_first_s", "leap_s", "late_s"), [(600, 0, 600), (10**9, 0, 86_400), (-600, 0, 0), (0, 3600, 3600)]
)
def test_a_clock_that_is_or_leaps_ahead_ends_no_payment_before_its_time(at_first_s, leap_s, late_s):
    clock, service = MovedClock(), MovedClock()
    clock.misset(at_first_s)
    payer = Payer(KEY, limit_usd="1", clock=clock)

    def refusal(after_s):
        return challenge(issued_at=(service.now() + timedelta(seconds=after_s)).isoformat())

    def later(seconds):
        def move():
            clock.misset(at_first_s + leap_s)
            clock.move(seconds)
            return payer

        return move

    # By its own clock it has run out; by the service's, which the chain goes by, there are ten seconds to go.
    first_s = 350 + late_s - leap_s
    second_s = first_s + 15
    refused, early, over = bought(
        (payer, refusal(0)),
        (later(first_s), refusal(first_s)),
        (later(15), refusal(second_s), refusal(second_s), paid()),
    )
    first = refused[1][1]
    assert early == (402, [first])
    assert (over[0], over[1][:2]) == ("AAPL", [first, None])
    assert over[1][2] not in (None, first)


def test_a_payment_taken_late_brings_its_answer_without_a_new_one():
    payer = Payer(KEY, limit_usd="1")
    lost, found = bought((payer, challenge(), error(502, "upstream_error")), (payer, paid()))
    assert lost[0] == 502
    assert found == ("AAPL", [lost[1][1]])
    assert payer.spent_usd == "0.010000"


@pytest.mark.parametrize(
    "answer",
    [
        paid(b"<html>a gateway</html>"),
        paid(json.dumps(QUOTE).encode()[:40]),
        paid(b"", 204),
        paid({"status": "fine"}),
        # Whole, and not the service's: that gives a receipt to whoever paid.
        ok(QUOTE),
    ],
)
def test_a_payment_stays_until_its_answer_can_be_read(answer):
    payer = Payer(KEY, limit_usd="1")
    # Somebody between us and the service says 200 in its place, and the money may be gone.
    lost, found = bought((payer, challenge(), answer), (payer, paid()))
    assert lost[0] == "Unreachable"
    assert found == ("AAPL", [lost[1][1]])
    assert payer.spent_usd == "0.010000"


@pytest.mark.parametrize("status", [400, 403, 404, 407, 431])
def test_only_the_services_own_refusal_ends_a_payment_that_may_have_been_taken(status):
    clock = MovedClock()
    payer = Payer(KEY, limit_usd="1", clock=clock)

    def much_later():
        clock.move(400)
        return payer

    lost, turned_away, found = bought(
        (payer, challenge(), error(502, "upstream_error")),
        # A firewall, or a service that is being put in place: it knows nothing of the payment.
        (much_later, error(status, "not_found")),
        (payer, paid()),
    )
    assert turned_away == (status, [lost[1][1]])
    assert found == ("AAPL", [lost[1][1]])


@pytest.mark.parametrize("body", [b"<html>blocked</html>", b"", {"message": "Forbidden"}, {"error": "blocked"}])
@pytest.mark.parametrize("status", [400, 403, 404])
def test_somebody_elses_refusal_gives_a_payment_to_no_other_call(status, body):
    payer = Payer(KEY, limit_usd="1")
    # A firewall that looks at answers: the payment went through, and the money may be gone.
    lost, found = bought((payer, challenge(), (status, body, {})), (payer, paid()))
    assert lost[0] == status
    assert found == ("AAPL", [lost[1][1]])
    assert payer.spent_usd == "0.010000"


def test_somebody_elses_402_ends_no_payment_that_has_run_out():
    clock = MovedClock()
    payer = Payer(KEY, limit_usd="1", clock=clock)

    def much_later():
        clock.move(400)
        return payer

    lost, turned_away, found = bought(
        (payer, challenge(), error(502, "upstream_error")),
        # A network that wants to be paid itself.
        (much_later, (402, b"<html>buy a day of wifi</html>", {}), challenge(), paid()),
        (payer, paid()),
    )
    assert turned_away == (402, [lost[1][1]])
    assert found == ("AAPL", [lost[1][1]])


def test_of_several_payments_for_one_request_all_are_presented_before_a_new_one_is_signed(tmp_path):
    file, clock = tmp_path / "payments.json", MovedClock()

    def with_a_twin():
        book = json.loads(file.read_text())
        (entry,) = book["kept"]
        twin = {**entry, "payment": {**entry["payment"], "headers": {"PAYMENT-SIGNATURE": "twin"}}}
        file.write_text(json.dumps({"kept": [twin, entry]}))
        clock.move(400)
        return Payer(KEY, limit_usd="1", file=file, clock=clock)

    lost, found = bought(
        (lambda: Payer(KEY, limit_usd="1", file=file, clock=clock), challenge(), error(502, "upstream_error")),
        # The first was never taken, and is over; the second was.
        (with_a_twin, challenge(), paid()),
    )
    assert found == ("AAPL", ["twin", lost[1][1]])
    assert json.loads(file.read_text())["kept"] == []


def test_a_restarted_program_remembers_what_it_signed(tmp_path):
    file = tmp_path / "kept" / "payments.json"
    payers = [lambda: Payer(KEY, limit_usd="1", file=file)] * 3
    lost, found, new = bought(
        (payers[0], challenge(), error(502, "upstream_error")),
        (payers[1], paid()),
        (payers[2], challenge(), paid()),
    )
    assert file.stat().st_mode & 0o777 == 0o600
    assert found == ("AAPL", [lost[1][1]])
    # It is over: the next call is a new one.
    assert new[1][0] is None
    assert new[1][1] not in (None, lost[1][1])


GATEWAY = (504, b"<html>\xff gateway time-out</html>", {})


@pytest.mark.parametrize("answer", [GATEWAY, paid(b"<html>"), ok({"status": "fine"})])
def test_the_pay_command_says_to_repeat_what_somebody_in_between_has_answered(answer, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    demo = ok({"wallets": [{"privateKey": KEY}]})

    async def run():
        stand = Stand()
        async with asyncio.timeout(STUCK_S), _serving.serving(stand.app) as base:
            for answers in ([demo, challenge(), answer], [demo, paid()]):
                stand.answers = answers
                yield await pay_command(base, "/v1/x402/quote", None, None), capsys.readouterr().err
            yield [headers.get("payment-signature") for _, _, headers, _ in stand.asked]

    async def all_of_it():
        return [each async for each in run()]

    (lost, said), (found, _), sent = asyncio.run(all_of_it())
    assert (lost, "run the same command again" in said, found) == (1, True, 0)
    assert sent[2] is not None
    assert sent[2] == sent[4]


NOT_TAKEN = (502, {"error": {"code": "upstream_error", "message": f"the facilitator is away; {NOTHING_TAKEN}"}}, {})


def _paying(tmp_path, monkeypatch, capsys, *runs):
    """What `tickyard pay` says on standard error: each run with its network and the answers to it."""
    monkeypatch.chdir(tmp_path)
    demo = ok({"wallets": [{"privateKey": KEY}]})

    async def go():
        said, stand = [], Stand()
        async with asyncio.timeout(STUCK_S), _serving.serving(stand.app) as base:
            for network, *answers in runs:
                stand.answers = [demo, *answers]
                await pay_command(base, "/v1/x402/quote", network, None)
                said.append(capsys.readouterr().err)
        return said

    return asyncio.run(go())


def test_the_pay_command_believes_the_service_that_nothing_was_taken(tmp_path, monkeypatch, capsys):
    first, again = _paying(tmp_path, monkeypatch, capsys, (None, challenge(), NOT_TAKEN), (None, NOT_TAKEN))
    assert "status 502, nothing was taken by this request: run the same command again" in first
    # It speaks of its own request alone.
    assert "nothing was taken by this request, but an earlier one may have been: run the same command again" in again


@pytest.mark.parametrize("other", [error(502, "upstream_error"), GATEWAY])
def test_of_several_tries_the_pay_command_believes_only_what_all_of_them_say(other, tmp_path, monkeypatch, capsys):
    first, again = _paying(
        tmp_path, monkeypatch, capsys,
        (None, challenge(), error(502, "upstream_error"), NOT_TAKEN), (None, NOT_TAKEN, other),
    )  # fmt: skip
    assert "but an earlier one may have been" in first
    assert "its outcome is not known: run the same command again" in again


def test_the_pay_command_says_when_it_repeats_a_payment_and_on_which_network_that_was_begun(
    tmp_path, monkeypatch, capsys
):
    first, again, new = _paying(
        tmp_path, monkeypatch, capsys,
        (None, challenge(), error(502, "upstream_error")), ("4663", paid()), (None, challenge(), paid()),
    )  # fmt: skip
    assert "repeating" not in first
    assert "repeating the payment begun on eip155:8453" in again
    assert "repeating" not in new


def test_the_pay_command_forgets_no_payment_before_its_answer_is_shown(tmp_path, monkeypatch):
    """Whoever is killed on the way to the terminal runs it again, and must not pay again."""
    monkeypatch.chdir(tmp_path)
    demo = ok({"wallets": [{"privateKey": KEY}]})
    shown, gone = io.StringIO(), io.StringIO()
    gone.close()

    async def run():
        stand = Stand()
        async with asyncio.timeout(STUCK_S), _serving.serving(stand.app) as base:
            for screen, answers in ((gone, [demo, challenge(), paid()]), (shown, [demo, paid()])):
                stand.answers = answers
                with (
                    redirect_stdout(screen),
                    nullcontext() if screen is shown else pytest.raises(ValueError, match="closed"),
                ):
                    await pay_command(base, "/v1/x402/quote", None, None)
        return [headers.get("payment-signature") for _, _, headers, _ in stand.asked]

    sent = asyncio.run(run())
    assert sent[2] is not None
    assert sent[2] == sent[4]
    assert "AAPL" in shown.getvalue()
    assert json.loads((tmp_path / ".run/payments.json").read_text()) == {"kept": []}


def test_every_payment_carries_a_name_that_only_its_payer_knows():
    names = set()
    for _ in range(2):
        stand = Stand(challenge(), paid())
        asked(stand, buy, payer=Payer(KEY, limit_usd="1"))
        payment = json.loads(base64.b64decode(stand.asked[1][2]["payment-signature"]))
        names.add(payment["extensions"]["payment-identifier"]["info"]["id"])
    assert len(names) == 2


def test_a_price_is_not_paid_on_another_network_than_asked_for():
    with pytest.raises(errors.PaymentRequired):
        asked(Stand(challenge()), buy, payer=Payer(KEY, limit_usd="1", network="eip155:4663"))


SECRET = base64.urlsafe_b64encode(bytes(range(32))).rstrip(b"=").decode()
EVENT = {
    "type": "price_alert",
    "id": "a1",
    "symbol": "AAPL",
    "condition": "above",
    "threshold": 1.5,
    "price": 1.6,
    "source": "dex-v3 TOKEN/USDG",
    "firedAt": "2026-10-03T14:00:00Z",
}


def webhook(**changes):
    body = json.dumps({**EVENT, **changes.pop("event", {})}).encode()
    sent_at = changes.pop("sent_at", "1000")
    signed = hmac.new(bytes(range(32)), f"a1.{sent_at}.".encode() + body, sha256).digest()
    headers = {
        "Webhook-Id": "a1",
        "Webhook-Timestamp": sent_at,
        "Webhook-Signature": "v1,b2xk v1," + base64.b64encode(signed).decode(),
        "X-Svc-Alert-Secret": SECRET,
        **changes,
    }
    return {name: value for name, value in headers.items() if value is not None}, body


def test_a_genuine_webhook_is_read_in_one_call():
    headers, body = webhook()
    event = verify_webhook(SECRET, headers, body, now=1100)
    assert (event.symbol, event.price, event.fired_at) == ("AAPL", 1.6, "2026-10-03T14:00:00Z")
    # Left out, the time is this machine's.
    headers, body = webhook(sent_at=str(WallClock().seconds()))
    assert verify_webhook(SECRET, headers, body).id == "a1"
    with pytest.raises(errors.WebhookRefused):
        verify_webhook(SECRET, *webhook())


@pytest.mark.parametrize(
    ("changes", "now"),
    [
        ({}, 1301),
        ({}, 699),
        ({"Webhook-Signature": "v1,AAAA"}, 1000),
        ({"Webhook-Signature": None}, 1000),
        ({"Webhook-Timestamp": "soon"}, 1000),
        ({"Webhook-Timestamp": "1001"}, 1000),
        ({"X-Svc-Alert-Secret": "other"}, 1000),
        ({"event": {"id": "a2"}}, 1000),
        ({"event": {"type": "other"}}, 1000),
    ],
)
def test_anything_else_is_refused(changes, now):
    headers, body = webhook(**changes)
    with pytest.raises(errors.WebhookRefused):
        verify_webhook(SECRET, headers, body, now=now)


def test_a_webhook_of_the_service_passes_the_public_library_and_ours():
    from standardwebhooks import Webhook

    headers, body = webhook(sent_at=str(WallClock().seconds()))
    key = "whsec_" + base64.b64encode(bytes(range(32))).decode()
    assert Webhook(key).verify(body.decode(), {name.lower(): value for name, value in headers.items()})
    assert verify_webhook(SECRET, headers, body, now=WallClock().seconds()).id == "a1"


def run_command(stand, capsys, *words, **more):
    async def run():
        async with asyncio.timeout(STUCK_S), _serving.serving(stand.app) as base:
            operation, *values = words
            args = Namespace(**{"operation": operation, "values": values, "json": False, "url": base, **more})
            return await asyncio.to_thread(call_command, args)

    return asyncio.run(run()), capsys.readouterr()


def test_call_prints_a_table_or_json(capsys):
    code, shown = run_command(Stand(ok(PRICE)), capsys, "get_price", "symbol=aapl")
    assert (code, "underlying\n  bid" in shown.out) == (0, True)
    code, shown = run_command(Stand(ok(PRICE)), capsys, "get_price", "symbol=aapl", json=True)
    assert json.loads(shown.out) == PRICE


def test_call_says_what_the_service_said(capsys):
    code, shown = run_command(Stand(error(404, "not_found")), capsys, "get_price", "symbol=aapl")
    assert (code, shown.err) == (1, "not_found: not_found it is (request r-1)\n")
    assert run_command(Stand(ok(PRICE)), capsys, "get_price")[0] == 2
    code, shown = run_command(Stand(ok(PRICE)), capsys, "list")
    assert all(row.name in shown.out for row in ROWS)


def test_call_shows_numbers_and_fields_as_they_came(capsys):
    came = {**PRICE, "later": 3, "huge": 215938000000}
    code, shown = run_command(Stand(ok(came)), capsys, "get_price", "symbol=aapl", json=True)
    assert (code, json.loads(shown.out)) == (0, came)
    assert ".0" not in shown.out.partition('"later"')[2]


def test_call_names_the_address_at_which_nobody_answers(capsys):
    args = {"operation": "get_status", "values": [], "json": False}
    assert call_command(Namespace(**args, url="http://127.0.0.1:1")) == 1
    assert "did not answer" in (said := capsys.readouterr().err)
    assert "http://127.0.0.1:1" in said
    assert call_command(Namespace(**args, url="127.0.0.1:1")) == 2


@pytest.mark.slow
def test_words_may_follow_an_option():
    command = [
        sys.executable,
        "-m",
        "tickyard",
        "call",
        "get_price",
        "--json",
        "symbol=A",
        "--url",
        "http://127.0.0.1:1",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=STUCK_S, check=False)
    assert (done.returncode, "did not answer" in done.stderr) == (1, True)
    done = subprocess.run([*command, "--nonsense"], capture_output=True, text=True, timeout=STUCK_S, check=False)
    assert (done.returncode, "--nonsense" in done.stderr) == (2, True)


CANDLES = [
    {"t": f"2026-10-03T14:{5 * at:02}:00Z", "open": 1, "high": 3, "low": 0.5, "close": 2, "ticks": 1}
    for at in range(12)
]
HISTORY = {"symbol": "AAPL", "interval": "5m", "source": "test", "historySince": None, "candles": CANDLES}


class Screen(io.StringIO):
    def isatty(self):
        return True


class Enough(Exception):
    """Seen enough. No KeyboardInterrupt: the loop itself would take that."""


class Streamless(Stand):
    """A service of before there was a stream."""

    async def answer(self, request):
        if request.url.path != "/v1/stream":
            return await super().answer(request)
        status, body, headers = error(404, "not_found")
        return Response(json.dumps(body), status, {"content-type": "application/json", **headers})


class Impatient(QuickClock):
    """Leaves after so many pauses."""

    def __init__(self, most=2):
        super().__init__()
        self.most = most

    async def sleep(self, seconds):
        await super().sleep(seconds)
        if len(self.pauses) == self.most:
            raise Enough


def test_a_live_chart_outlives_a_silence_of_the_service():
    stand, out = Streamless(ok(HISTORY), error(502, "upstream_error", retry_after="11"), ok(HISTORY)), Screen()

    async def run():
        async with asyncio.timeout(STUCK_S), _serving.serving(stand.app) as base:
            with pytest.raises(Enough):
                await watch("AAPL", "5m", base, out=out, clock=Impatient())

    asyncio.run(run())
    _, first, second = out.getvalue().split("\x1b[H\x1b[2J")
    assert "upstream_error" not in first
    assert "upstream_error it is" in second
    assert "┃" in second


class Streaming(Stand):
    """Its stream says what was told last, and nothing more for an hour."""

    async def answer(self, request):
        if request.url.path != "/v1/stream":
            return await super().answer(request)
        shown = {"prices": [{"symbol": "AAPL", "price": 1, "live": {"symbol": "AAPL", "price": "5"}}]}
        return Response(f"retry: 3600000\nevent: snapshot\ndata: {json.dumps(shown)}\n\n")


def test_watch_shows_a_price_as_the_present_one_until_the_service_is_silent():
    stand = Streaming(ok(HISTORY), ok(HISTORY), error(502, "upstream_error", retry_after="11"), ok(HISTORY))
    shown = asyncio.Event()

    class Shown(Screen):
        def write(self, text):
            if "now 5" in text:
                shown.set()
            return super().write(text)

    class UntilShown(Impatient):
        async def sleep(self, seconds):
            await shown.wait()
            await super().sleep(seconds)

    out = Shown()

    async def run():
        async with asyncio.timeout(STUCK_S), _serving.serving(stand.app) as base:
            with pytest.raises(Enough):
                await watch("AAPL", "5m", base, out=out, clock=UntilShown(most=3))

    asyncio.run(run())
    screens = out.getvalue().split("\x1b[H\x1b[2J")[1:]
    assert ["now 5" in screen for screen in screens] == [False, True, False, False]
    assert ["upstream_error" in screen for screen in screens] == [False, False, True, False]


def test_watch_draws_the_candles_once_where_nobody_looks_on():
    stand, out = Stand(ok(HISTORY)), io.StringIO()

    async def run():
        async with asyncio.timeout(STUCK_S), _serving.serving(stand.app) as base:
            await watch("AAPL", "5m", base, out=out)

    asyncio.run(run())
    assert out.getvalue().startswith("AAPL  2  5m candles, test\n")
    assert "┃" in out.getvalue()
    assert "\x1b" not in out.getvalue()


@pytest.mark.parametrize(
    ("environ", "is_painted"),
    [({}, True), ({"NO_COLOR": ""}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
)
def test_watch_paints_its_candles_unless_nobody_wants_colours(monkeypatch, environ, is_painted):
    stand, out = Stand(ok(HISTORY)), Screen()
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environ.items():
        monkeypatch.setenv(name, value)

    async def run():
        async with asyncio.timeout(STUCK_S), _serving.serving(stand.app) as base:
            await watch("AAPL", "5m", base, once=True, out=out)

    asyncio.run(run())
    assert ("\x1b[32m" in out.getvalue()) == is_painted


@pytest.mark.slow
def test_importing_the_client_imports_neither_the_service_nor_a_signer():
    code = "import sys, tickyard.client; print(*sorted(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=STUCK_S)
    loaded = set(out.stdout.split())
    assert not loaded & {"x402", "eth_account", "mcp", "starlette", "uvicorn", "tickyard.catalog", "tickyard.deps"}
    assert {name.split(".")[1] for name in loaded if name.startswith("tickyard.")} <= {"client", "kernel", "config"}


def test_everything_public_is_exported():
    assert all(hasattr(package, name) for name in package.__all__)


def test_a_call_that_is_interrupted_goes_no_further():
    """Otherwise the next step of a trade would be signed behind the back of who has just said stop."""
    ended = threading.Event()

    def hold(listener):
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            if not connection.recv(65536):
                ended.set()

    # A shell that runs the tests in its background has told them to ignore it.
    told = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            threading.Thread(target=hold, args=(listener,), daemon=True).start()
            with Client(f"http://127.0.0.1:{listener.getsockname()[1]}", retries=0, timeout_s=2 * STUCK_S) as client:
                with pytest.raises(KeyboardInterrupt):
                    client.get_price(symbol="AAPL")
                assert ended.wait(STUCK_S)
    finally:
        signal.signal(signal.SIGINT, told)


def test_a_call_that_is_interrupted_before_it_is_waited_for_goes_no_further():
    """The signal may come between the two lines that start the work and wait for it."""
    asked, ended = threading.Event(), threading.Event()

    def hold(listener):
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            asked.set()
            if not connection.recv(65536):
                ended.set()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=hold, args=(listener,), daemon=True).start()
        with Client(f"http://127.0.0.1:{listener.getsockname()[1]}", retries=0, timeout_s=2 * STUCK_S) as client:
            schedule = client._loop.call_soon_threadsafe

            def start_and_be_interrupted(*work):
                client._loop.call_soon_threadsafe = schedule
                schedule(*work)
                assert asked.wait(STUCK_S)
                raise KeyboardInterrupt

            client._loop.call_soon_threadsafe = start_and_be_interrupted
            with pytest.raises(KeyboardInterrupt):
                client.get_price(symbol="AAPL")
            assert ended.wait(STUCK_S)
