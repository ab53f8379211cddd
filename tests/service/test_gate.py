"""The gate: payment first, one answer per payment, and never a charge for an error."""

import asyncio
import json

import pytest

from tickyard.payments.offer.terms import FIRST, SECOND
from yards import paying
from yards.patience import STUCK_S
from yards.payer import Wallet, as_header, envelope
from yards.selling import BUILD, KEPT

call = paying.call

ITEM_URL = "/v1/x402/item/AAPL"
JSON_BODY = ("content-type", "application/json")


def run(tmp_path, scenario, **options):
    async def bounded():
        async with asyncio.timeout(STUCK_S), paying.World(tmp_path / "x.db", **options) as world:
            await scenario(world)

    asyncio.run(bounded())


@pytest.mark.parametrize("network", [FIRST, SECOND])
def test_a_paid_call_is_served_settled_and_answered_like_the_free_one(tmp_path, network):
    async def scenario(world):
        paid = await call(world.app, "GET", ITEM_URL, world.payment(network=network))
        assert (paid.status, paid.json()) == (200, {"text": "AAPL buy", "n": 1})
        assert paid.headers["cache-control"] == "no-store"
        (transaction,) = world.chains[network].mined
        assert paid.receipt == {
            "success": True,
            "transaction": transaction,
            "network": network,
            "payer": world.wallet.address,
        }
        assert (world.verifies(network), world.settles(network)) == (1, 1)
        free = await call(world.app, "GET", "/v1/item/AAPL")
        assert free.json() == {**paid.json(), "n": 2}
        assert free.headers["content-type"] == paid.headers["content-type"]

    run(tmp_path, scenario)


def test_a_paid_answer_is_whole_plain_and_not_to_be_kept_whatever_the_free_one_is(tmp_path):
    async def scenario(world):
        free = await call(world.app, "GET", "/v1/kept/AAPL")
        form = (("accept-encoding", "gzip"), ("if-none-match", free.headers["etag"]))
        assert (await call(world.app, "GET", "/v1/kept/AAPL", *form)).status == 304
        paid = await call(world.app, "GET", "/v1/x402/kept/AAPL", world.payment(KEPT), *form)
        assert (paid.status, paid.body) == (200, free.body)
        assert paid.headers["cache-control"] == "no-store"
        assert not {"etag", "content-encoding", "age"} & set(paid.headers)
        unpaid = await call(world.app, "GET", "/v1/x402/kept/AAPL", *form)
        assert unpaid.reason == "Payment required"

    run(tmp_path, scenario)


def test_without_a_payment_nothing_of_the_request_is_looked_at(tmp_path):
    async def never():
        raise AssertionError("the body was read")

    async def scenario(world):
        for method in ("GET", "POST", "PUT", "DELETE", "PATCH"):
            for headers in ((), (("content-type", "text/html"), ("content-length", "999999"))):
                for target in ("/v1/x402/build?x=1", "/v1/x402/item/" + "A" * 99, "/v1/x402/item/%ff?side=1&side=2"):
                    answer = await call(world.app, method, target, *headers, receive=never)
                    assert answer.reason == "Payment required"
        assert world.deps.runs == 0

    run(tmp_path, scenario)


def test_head_gets_the_challenge_without_a_body_and_is_never_charged(tmp_path):
    async def scenario(world):
        for headers in ((), (world.payment(),), (("payment-signature", "junk"), ("x-payment", "junk"))):
            answer = await call(world.app, "HEAD", ITEM_URL, *headers)
            assert (answer.status, answer.body) == (402, b"")
            assert answer.headers["payment-required"]
        assert world.deps.runs == world.verifies() == world.settles() == 0

    run(tmp_path, scenario)


def test_options_is_answered_without_payment_and_names_the_headers(tmp_path):
    async def scenario(world):
        answer = await call(world.app, "OPTIONS", ITEM_URL)
        assert answer.status == 204
        allowed = answer.headers["access-control-allow-headers"].lower()
        assert "payment-signature" in allowed
        assert "x-payment" in allowed

    run(tmp_path, scenario)


def test_a_wrong_method_is_not_charged_even_with_a_payment(tmp_path):
    async def scenario(world):
        payment = world.payment()
        answer = await call(world.app, "POST", ITEM_URL, payment)
        assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD, OPTIONS")
        assert world.verifies() == 0
        assert (await call(world.app, "GET", ITEM_URL, payment)).status == 200

    run(tmp_path, scenario)


@pytest.mark.slow
@pytest.mark.parametrize("network", [FIRST, SECOND])
@pytest.mark.parametrize(
    ("symbol", "status"), [("BAD", 400), ("GONE", 404), ("DRY", 422), ("DOWN", 502), ("CRASH", 500), ("A" * 17, 400)]
)
def test_a_failed_call_is_never_charged_and_the_same_payment_works_afterwards(tmp_path, symbol, status, network):
    async def scenario(world):
        payment = world.payment(network=network)
        failed = await call(world.app, "GET", f"/v1/x402/item/{symbol}", payment)
        assert failed.status == status
        assert "payment-response" not in failed.headers
        assert "secret" not in failed.body.decode()
        free = await call(world.app, "GET", f"/v1/item/{symbol}")
        assert failed.body == free.body
        assert failed.headers.get("retry-after") == free.headers.get("retry-after")
        assert world.settles(network) == 0
        world.deps.is_healed = True
        again = symbol if len(symbol) <= 16 else "AAPL"
        assert (await call(world.app, "GET", f"/v1/x402/item/{again}", payment)).status == 200
        assert world.settles(network) == world.transfers(network) == 1

    run(tmp_path, scenario)


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ([], b"{}", 415),
        ([JSON_BODY], b"{", 400),
        ([JSON_BODY], b'{"text":"x","more":1}', 400),
        ([JSON_BODY], b'{"text":"' + b"x" * 70_000 + b'"}', 413),
    ],
)
def test_a_bad_body_is_never_charged_and_the_same_payment_works_afterwards(tmp_path, headers, body, status):
    async def scenario(world):
        payment = world.payment(BUILD)
        failed = await call(world.app, "POST", "/v1/x402/build", payment, *headers, body=body)
        assert failed.status == status
        assert world.settles() == 0
        good = await call(world.app, "POST", "/v1/x402/build", payment, JSON_BODY, body=b'{"text":"hi"}')
        assert (good.status, good.json()["text"]) == (200, "hi")
        assert world.chains[SECOND].transfers[0]["data"] == f"0x{20_000:064x}"

    run(tmp_path, scenario)


def test_a_body_that_breaks_off_is_not_charged(tmp_path):
    async def scenario(world):
        parts = [{"type": "http.request", "body": b'{"te', "more_body": True}, {"type": "http.disconnect"}]

        async def receive():
            return parts.pop(0)

        answer = await call(world.app, "POST", "/v1/x402/build", world.payment(BUILD), JSON_BODY, receive=receive)
        assert answer.status == 400
        assert world.verifies() == world.settles() == world.deps.runs == 0

    run(tmp_path, scenario)


def test_the_same_payment_and_request_again_gets_the_stored_answer_for_a_day(tmp_path):
    async def scenario(world):
        payment = world.payment()
        first = await call(world.app, "GET", ITEM_URL + "?a=1&side=sell", payment)
        for hours in (0, 23):
            # The payment itself has run out by then; its answer has not.
            world.clock.move(hours * 3600)
            again = await call(world.app, "GET", ITEM_URL + "?side=sell&a=1", payment)
            assert (again.status, again.body, again.receipt) == (200, first.body, first.receipt)
        world.clock.move(2 * 3600)
        late = await call(world.app, "GET", ITEM_URL + "?side=sell&a=1", payment)
        assert late.reason == "payment_already_used"
        assert (world.deps.runs, world.settles(), world.verifies()) == (1, 1, 1)

    run(tmp_path, scenario)


def test_the_same_payment_for_another_request_is_refused(tmp_path):
    async def scenario(world):
        payment = world.payment()
        assert (await call(world.app, "GET", ITEM_URL, payment)).status == 200
        for target in (ITEM_URL + "?side=sell", "/v1/x402/item/MSFT", "/v1/x402/kept/AAPL", "/v1/x402/item/aapl"):
            assert (await call(world.app, "GET", target, payment)).reason == "payment_already_used"
        assert (await call(world.app, "GET", ITEM_URL, payment, body=b"other")).reason == "payment_already_used"
        assert world.settles() == world.deps.runs == 1

    run(tmp_path, scenario)


def test_a_payment_for_a_cheaper_route_does_not_buy_a_dearer_one(tmp_path):
    async def scenario(world):
        answer = await call(world.app, "POST", "/v1/x402/build", world.payment(), JSON_BODY, body=b'{"text":"hi"}')
        assert answer.reason.startswith("invalid_payment_requirements")
        entry = world.entry(BUILD)
        cheap = world.wallet.pay(world.entry(), world.clock.seconds())
        answer = await call(world.app, "POST", "/v1/x402/build", as_header(envelope(entry, cheap)), JSON_BODY)
        assert answer.reason == "invalid_exact_evm_payload_authorization_value_mismatch"
        assert world.verifies() == 0

    run(tmp_path, scenario)


def test_a_signature_that_is_not_the_payers_never_reaches_the_facilitator(tmp_path):
    async def scenario(world):
        for network, reason in (
            (SECOND, "invalid_exact_evm_payload_signature"),
            (FIRST, "invalid_permit2_signature"),
        ):
            entry = world.entry(network=network)
            inner = world.wallet.pay(entry, world.clock.seconds())
            inner["signature"] = Wallet().pay(entry, world.clock.seconds())["signature"]
            answer = await call(world.app, "GET", ITEM_URL, as_header(envelope(entry, inner)))
            assert answer.reason == reason
            assert world.verifies(network) == 0

    run(tmp_path, scenario)


def test_a_contract_wallets_signature_is_the_facilitators_to_judge(tmp_path):
    async def scenario(world):
        entry = world.entry()
        inner = world.wallet.pay(entry, world.clock.seconds())
        inner["signature"] = "0x" + "ab" * 200
        assert (await call(world.app, "GET", ITEM_URL, as_header(envelope(entry, inner)))).status == 200
        assert world.verifies() == 1

    run(tmp_path, scenario)


def test_the_facilitator_is_told_our_terms_and_nothing_of_the_clients_own(tmp_path):
    async def scenario(world):
        entry = world.entry()
        inner = world.wallet.pay(entry, world.clock.seconds())
        inner["authorization"]["evil"] = "x"
        spoofed = envelope(entry, inner, resource={"url": "https://evil"}, extensions={"evil": {}}, evil=1)
        host = ("host", "evil.example")
        assert (await call(world.app, "GET", ITEM_URL, as_header(spoofed), host)).status == 200
        for asked in (*world.facilitators[SECOND].asked["verify"], *world.facilitators[SECOND].asked["settle"]):
            assert "evil" not in json.dumps(asked)
            assert asked["paymentRequirements"] == entry == asked["paymentPayload"]["accepted"]
            assert asked["paymentPayload"]["resource"]["url"] == "https://api.example" + ITEM_URL

    run(tmp_path, scenario)


def test_legacy_callers_pay_with_either_version(tmp_path):
    async def scenario(world):
        inner = world.wallet.pay(world.entry(), world.clock.seconds())
        old = {"x402Version": 1, "scheme": "exact", "network": "base", "payload": inner}
        answer = await call(world.app, "GET", ITEM_URL, as_header(old, "x-payment"))
        assert answer.status == 200
        assert answer.receipt["network"] == SECOND
        _, value = world.payment(network=FIRST)
        assert (await call(world.app, "GET", ITEM_URL, ("x-payment", value))).status == 200
        assert (await call(world.app, "GET", ITEM_URL, as_header(old))).reason == "invalid_x402_version"

    run(tmp_path, scenario)


def test_two_payment_headers_are_refused(tmp_path):
    async def scenario(world):
        name, value = world.payment()
        for pair in ((name, name), (name, "x-payment"), ("x-payment", "x-payment")):
            answer = await call(world.app, "GET", ITEM_URL, *((each, value) for each in pair))
            assert answer.reason.startswith("invalid_payment_header")
        assert world.verifies() == 0

    run(tmp_path, scenario)


def test_a_payment_identifier_names_one_payment_of_its_payer(tmp_path):
    async def scenario(world):
        def named(symbol="x"):
            return {"payment-identifier": {"info": {"required": False, "id": symbol * 16}, "schema": {}}}

        first = world.payment(extensions=named())
        assert (await call(world.app, "GET", "/v1/x402/item/GONE", first)).status == 404
        # Nothing was taken, so the name is free again.
        second = world.payment(extensions=named())
        assert (await call(world.app, "GET", ITEM_URL, second)).status == 200
        assert (await call(world.app, "GET", ITEM_URL, second)).status == 200
        other = await call(world.app, "GET", ITEM_URL, world.payment(extensions=named()))
        assert other.reason == "payment_identifier_already_used"
        stranger = world.payment(extensions=named(), wallet=Wallet())
        assert (await call(world.app, "GET", ITEM_URL, stranger)).status == 200
        assert world.settles() == 2

    run(tmp_path, scenario)


def test_bad_payments_have_a_budget_per_client_and_unpaid_requests_do_not(tmp_path):
    async def scenario(world):
        world.facilitators[SECOND].modes["verify"] = "refuse"
        for _ in range(3):
            answer = await call(world.app, "GET", ITEM_URL, world.payment())
            assert answer.reason == "invalid_exact_evm_insufficient_balance"
        limited = await call(world.app, "GET", ITEM_URL, world.payment())
        assert limited.status == 429
        assert 0 < int(limited.headers["retry-after"]) <= 61
        assert limited.json()["error"]["code"] == "bad_request"
        assert (await call(world.app, "GET", ITEM_URL)).reason == "Payment required"
        world.facilitators[SECOND].modes["verify"] = "ok"
        assert (await call(world.app, "GET", ITEM_URL, world.payment(), client=("198.51.100.1", 1))).status == 200
        world.clock.move(61)
        assert (await call(world.app, "GET", ITEM_URL, world.payment())).status == 200

    run(tmp_path, scenario, bad_payments_per_minute=3)


def test_payments_that_nobody_can_judge_have_the_budget_of_bad_ones(tmp_path):
    async def scenario(world):
        world.facilitators[SECOND].modes["verify"] = "500"
        contract = Wallet()
        world.chains[SECOND].contracts.add(contract.address.lower())
        for number in range(3):
            answer = await call(world.app, "GET", ITEM_URL, world.payment(wallet=contract))
            assert (answer.status, number) == (502, number)
        assert (await call(world.app, "GET", ITEM_URL, world.payment(wallet=contract))).status == 429
        assert world.verifies() == 3

    run(tmp_path, scenario, bad_payments_per_minute=3)


def test_a_facilitator_that_is_down_costs_those_who_pay_no_more_than_the_time_that_it_is(tmp_path):
    """Many may stand behind one address, and their next calls are as good as ever."""

    async def scenario(world):
        world.facilitators[SECOND].modes["verify"] = "500"
        for number in range(8):
            answer = await call(world.app, "GET", ITEM_URL, world.payment(wallet=Wallet()))
            assert (answer.status, number) == (502, number)
        assert world.verifies() == 5
        world.facilitators[SECOND].modes["verify"] = "ok"
        world.clock.move(3)
        assert (await call(world.app, "GET", ITEM_URL, world.payment())).status == 200

    run(tmp_path, scenario, bad_payments_per_minute=3)


@pytest.mark.parametrize("waste", ["a name that is another's", "hung up"])
def test_what_was_found_good_and_came_to_nothing_has_a_budget_per_payer(tmp_path, waste):
    async def scenario(world):
        named = {"payment-identifier": {"info": {"required": False, "id": "x" * 16}, "schema": {}}}
        assert (await call(world.app, "GET", ITEM_URL, world.payment(extensions=named))).status == 200
        gone = asyncio.Event()
        gone.set()
        for _ in range(3):
            if waste == "hung up":
                answer = await call(world.app, "GET", ITEM_URL, world.payment(), hangs_up=gone)
                assert answer.status == 502
            else:
                answer = await call(world.app, "GET", ITEM_URL, world.payment(extensions=named))
                assert answer.reason == "payment_identifier_already_used"
        assert (await call(world.app, "GET", ITEM_URL, world.payment())).status == 429
        assert world.verifies() == 4

    run(tmp_path, scenario, unsettled_per_minute=3)


def test_calls_that_end_unsettled_have_a_budget_per_payer(tmp_path):
    async def scenario(world):
        for _ in range(3):
            assert (await call(world.app, "GET", "/v1/x402/item/GONE", world.payment())).status == 404
        payment = world.payment()
        limited = await call(world.app, "GET", ITEM_URL, payment)
        assert limited.status == 429
        assert (await call(world.app, "GET", ITEM_URL, world.payment(wallet=Wallet()))).status == 200
        world.clock.move(61)
        assert (await call(world.app, "GET", ITEM_URL, payment)).status == 200

    run(tmp_path, scenario, unsettled_per_minute=3)


def test_a_client_that_hangs_up_does_not_stop_its_settlement(tmp_path):
    async def scenario(world):
        payment = world.payment()
        request = asyncio.create_task(call(world.app, "GET", "/v1/x402/item/SLOW", payment))
        while not world.verifies() or not world.deps.runs:
            await world.clock.sleep(0.01)
        request.cancel()
        with pytest.raises(asyncio.CancelledError):
            await request
        world.deps.gate.set()
        await world.processes[0].cashier.drain()
        assert world.settles() == world.transfers() == 1
        answer = await call(world.app, "GET", "/v1/x402/item/SLOW", payment)
        assert (answer.status, world.deps.runs, world.settles()) == (200, 1, 1)

    run(tmp_path, scenario)


@pytest.mark.parametrize("processes", [1, 2])
def test_of_many_copies_one_runs_and_one_settles_and_all_get_the_answer(tmp_path, processes):
    async def scenario(world):
        for turn in range(3):
            payment = world.payment()
            answers = await asyncio.gather(
                *(call(world.processes[n % processes].app, "GET", ITEM_URL, payment) for n in range(20))
            )
            assert {answer.status for answer in answers} == {200}
            assert len({answer.body for answer in answers}) == len({json.dumps(a.receipt) for a in answers}) == 1
            assert world.deps.runs == world.settles() == world.transfers() == turn + 1

    run(tmp_path, scenario, processes=processes)


@pytest.mark.parametrize(("target", "status"), [(ITEM_URL, 200), (ITEM_URL + "?side=sell", 402)])
def test_a_request_verified_after_another_process_has_settled_is_no_bad_payment(tmp_path, target, status):
    async def scenario(world):
        payment = world.payment()
        both_asked, is_late = asyncio.Event(), asyncio.Event()

        async def hold_the_second(name):
            if name == "verify asked":
                if world.verifies() == 1:
                    await both_asked.wait()
                    return
                both_asked.set()
                await is_late.wait()

        world.facilitators[SECOND].on_stage = hold_the_second
        first, second = (process.app for process in world.processes)
        gone_ahead = asyncio.create_task(call(first, "GET", ITEM_URL, payment))
        while not world.verifies():
            await world.clock.sleep(0.001)
        late = asyncio.create_task(call(second, "GET", target, payment))
        answer = await gone_ahead
        is_late.set()
        answered = await late
        assert world.verifies() == 2
        assert (answer.status, answered.status) == (200, status)
        if status == 200:
            assert (answered.body, answered.receipt) == (answer.body, answer.receipt)
        else:
            assert answered.reason == "payment_already_used"
        assert world.settles() == world.transfers() == world.deps.runs == 1

    run(tmp_path, scenario, processes=2, verify_s=5.0)


def test_requests_that_share_a_bad_payment_ask_the_facilitator_once(tmp_path):
    async def scenario(world):
        world.facilitators[SECOND].modes["verify"] = "refuse"
        payment = world.payment()
        answers = await asyncio.gather(*(call(world.app, "GET", f"{ITEM_URL}?side=s{n}", payment) for n in range(10)))
        assert {answer.reason for answer in answers} == {"invalid_exact_evm_insufficient_balance"}
        assert world.verifies() == 1

    run(tmp_path, scenario)


def test_a_request_that_fails_leaves_its_payment_to_another_that_waited(tmp_path):
    async def scenario(world):
        payment = world.payment()
        targets = ["/v1/x402/item/GONE", ITEM_URL]
        gone, served = await asyncio.gather(*(call(world.app, "GET", target, payment) for target in targets))
        assert gone.status == 404
        # It comes while the first one has it, or after: it is served or told to sign again, and never charged twice.
        assert served.status in (200, 402)
        assert world.settles() == world.transfers() == (served.status == 200)

    run(tmp_path, scenario)


@pytest.mark.parametrize("processes", [1, 2])
def test_a_copy_of_a_long_request_waits_and_then_is_told_to_come_back(tmp_path, processes):
    async def scenario(world):
        payment = world.payment()
        first = asyncio.create_task(call(world.processes[0].app, "GET", "/v1/x402/item/SLOW", payment))
        while not world.deps.runs:
            await world.clock.sleep(0.01)
        copy = await call(world.processes[-1].app, "GET", "/v1/x402/item/SLOW", payment)
        assert copy.is_retry_advice
        other = await call(world.processes[-1].app, "GET", ITEM_URL, payment)
        assert other.reason == "payment_already_used"
        world.deps.gate.set()
        assert (await first).status == 200
        assert (await call(world.processes[-1].app, "GET", "/v1/x402/item/SLOW", payment)).status == 200
        assert world.deps.runs == world.settles() == 1

    run(tmp_path, scenario, processes=processes, wait_s=0.3)


def test_free_routes_know_nothing_of_payments(tmp_path):
    async def scenario(world):
        answer = await call(world.app, "GET", "/v1/item/AAPL", world.payment())
        assert answer.status == 200
        assert "payment-response" not in answer.headers
        assert world.verifies() == 0

    run(tmp_path, scenario)
