"""Both facilitators as processes, and reference clients that pay a small shop through them."""

import asyncio
import base64
import json
import shutil
import subprocess
import sys
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

import aiohttp
import pytest
from eth_account import Account
from x402 import x402Client
from x402.mechanisms.evm.exact import register_exact_evm_client
from x402.schemas import PaymentRequired

from tickyard.kernel.clock import WallClock
from tickyard.sandbox.clock import CLOCK_FILE, SandboxClock
from tickyard.sandbox.commands.reference_payer import CannotPay, pay
from tickyard.sandbox.facilitator.front import FacilitatorFront, port_file
from tickyard.sandbox.node.process import find_root
from tickyard.sandbox.standins.faults import FaultBoard
from tickyard.sandbox.world.trader import follow_clock
from tickyard.sandbox.world.wallets import wallets
from yards.patience import STUCK_S
from yards.payment_chains import DEMO, GOODS, NETWORKS, PRICE, Shop, Town, buy, challenge, offers, stock_client

pytestmark = pytest.mark.node

BOB = wallets()[2]


@pytest.fixture(scope="module")
def town(built, tmp_path_factory):
    snapshot = built.rpc("evm_snapshot")
    town, stack = Town(built), AsyncExitStack()
    try:
        built.run(town.open(stack, tmp_path_factory.mktemp("town")))
        yield town
    finally:
        built.run(stack.aclose())
        assert built.rpc("evm_revert", snapshot)


def sign(town, network):
    """A payment that the shop has not seen yet."""
    offer = PaymentRequired.model_validate(challenge())
    payload = town.run(stock_client(network).create_payment_payload(offer))
    return json.loads(payload.model_dump_json(by_alias=True, exclude_none=True))


def receipt_of(answer):
    return json.loads(base64.b64decode(answer.headers["PAYMENT-RESPONSE"]))


def assert_sold(town, network, had, status, body, receipt):
    assert (status, json.loads(body)) == (200, GOODS)
    assert town.earned(network) == had + PRICE
    assert receipt["success"] is True
    assert receipt["network"] == network
    assert receipt["payer"].lower() == DEMO.address
    assert town.mined(network, receipt["transaction"])
    assert town.is_spent(town.shop.payment)


@pytest.mark.parametrize("network", NETWORKS)
def test_the_reference_python_client_pays(town, network):
    had = town.earned(network)
    answer = town.run(buy(town, stock_client(network)))
    assert_sold(town, network, had, answer.status_code, answer.content, receipt_of(answer))


def test_a_python_client_with_its_defaults_pays_in_usdc(town):
    answer = town.run(buy(town, stock_client()))
    assert receipt_of(answer)["network"] == NETWORKS[1]


async def buy_with_fetch(town, *network):
    node = shutil.which("node")
    script = Path(__file__).with_name("pay_with_fetch.cjs")
    arguments = (script, town.url, DEMO.private_key, *network)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(node, *arguments, cwd=find_root(), stdout=pipe, stderr=pipe)
    said, complaint = await asyncio.wait_for(process.communicate(), STUCK_S)
    assert process.returncode == 0, complaint.decode()
    return json.loads(said)


@pytest.mark.parametrize("network", NETWORKS)
def test_the_reference_typescript_client_pays(town, network):
    had = town.earned(network)
    answer = town.run(buy_with_fetch(town, network))
    assert_sold(town, network, had, answer["status"], answer["body"], answer["receipt"])


def test_a_typescript_client_with_its_defaults_pays_in_usdc(town):
    assert town.run(buy_with_fetch(town))["receipt"]["network"] == NETWORKS[1]


@pytest.mark.parametrize("network", NETWORKS)
def test_pay_pays(town, network):
    had = town.earned(network)
    paid = town.run(pay(town.url, wallet_key=DEMO.private_key, network=network, method="POST", body=b'{"a": 1}'))
    assert_sold(town, network, had, paid.status, paid.body, paid.receipt)
    assert town.shop.body == b'{"a": 1}'


def test_pay_takes_the_first_offer_when_it_has_the_choice(town):
    assert town.run(pay(town.url, wallet_key=DEMO.private_key)).receipt["network"] == NETWORKS[0]


def test_pay_says_when_it_cannot(town):
    with pytest.raises(CannotPay, match="payment was not made"):
        town.run(pay(town.url, wallet_key=DEMO.private_key, network="eip155:1"))
    with pytest.raises(CannotPay, match="did not answer"):
        town.run(pay("http://127.0.0.1:1/goods", wallet_key=DEMO.private_key))
    with pytest.raises(CannotPay, match="may have been taken"):
        town.run(pay(town.url.replace("goods", "rude"), wallet_key=DEMO.private_key))


@pytest.mark.parametrize("network", NETWORKS)
def test_a_settled_payment_is_not_settled_again(town, network):
    payment = sign(town, network)
    assert town.run(town.shop.ask("verify", payment))["isValid"] is True
    assert not town.is_spent(payment)
    assert town.run(town.shop.ask("settle", payment))["success"] is True
    had = town.earned(network)
    again = town.run(town.shop.ask("settle", payment))
    assert again["success"] is False
    assert again["errorReason"]
    assert town.earned(network) == had


@pytest.mark.parametrize("network", NETWORKS)
def test_many_at_once_settle_one_by_one(town, network):
    async def settle_all(payments):
        return await asyncio.gather(*(town.shop.ask("settle", payment) for payment in payments))

    had = town.earned(network)
    receipts = town.run(settle_all([sign(town, network) for _ in range(8)]))
    assert [receipt["success"] for receipt in receipts] == [True] * 8
    assert len({receipt["transaction"] for receipt in receipts}) == 8
    assert town.earned(network) == had + 8 * PRICE


@pytest.mark.parametrize("network", NETWORKS)
def test_a_changed_payment_is_refused(town, network):
    payment = sign(town, network)
    inner = payment["payload"].get("permit2Authorization") or payment["payload"]["authorization"]
    inner["from"] = BOB.address
    verdict = town.run(town.shop.ask("verify", payment))
    assert verdict["isValid"] is False
    assert "signature" in verdict["invalidReason"]


def test_a_payer_without_the_approval_is_told_so(town):
    client = x402Client()
    register_exact_evm_client(client, Account.from_key(BOB.private_key))
    client.set_spend_controls({"allowed_assets": True})
    answer = town.run(buy(town, client))
    assert (answer.status_code, answer.json()["error"]) == (402, "permit2_allowance_required")


@pytest.mark.parametrize("network", NETWORKS)
def test_a_facilitator_serves_its_own_network_only(town, network):
    other = next(url for served, url in town.shop.facilitators.items() if served != network)
    payment = sign(town, network)
    verdict = town.run(town.shop.ask("verify", payment, other))
    assert (verdict["isValid"], verdict["invalidReason"]) == (False, "network_mismatch")
    receipt = town.run(town.shop.ask("settle", payment, other))
    assert (receipt["success"], receipt["errorReason"]) == (False, "network_mismatch")


def test_supported_lists_one_kind_and_nonsense_is_refused(town):
    async def ask():
        async with aiohttp.ClientSession(town.shop.facilitators[NETWORKS[0]]) as http:
            async with http.get("/supported") as answer:
                kinds = (await answer.json())["kinds"]
            async with http.post("/verify", data=b"{}") as answer:
                status = answer.status
        return kinds, status, await town.shop.ask("verify", hollow)

    hollow = {"x402Version": 2, "accepted": offers()[0], "payload": {"permit2Authorization": []}}
    kinds, status, verdict = town.run(ask())
    assert [(kind["x402Version"], kind["scheme"], kind["network"]) for kind in kinds] == [(2, "exact", NETWORKS[0])]
    assert status == 400
    assert verdict == {"isValid": False, "invalidReason": "invalid_payload"}


def test_after_the_clock_was_moved_far_only_those_who_sign_by_it_pay_in_usdg(built, town, tmp_path):
    """Its own facilitator and clock; the chain is put back, for the others to find it in their own time."""

    async def live(stack):
        ahead = Town(built)
        ahead.run_dir, ahead.nodes = tmp_path, town.nodes
        ahead.clock = SandboxClock.create(tmp_path / CLOCK_FILE, WallClock().now())
        child = await ahead.start_facilitator(stack, NETWORKS[0])
        port = await child.announced(tmp_path / port_file(4663))
        ahead.shop = Shop(ahead.clock, {**town.shop.facilitators, NETWORKS[0]: f"http://127.0.0.1:{port}"})
        ahead.url = f"{await ahead.serve(stack, ahead.shop)}/goods"
        answers = []
        for minutes in (4, 20):
            ahead.clock.advance(timedelta(minutes=minutes))
            await follow_clock(ahead.first, ahead.clock.now())
            answers.append(await buy(ahead, stock_client(NETWORKS[0])))
        answers.append(await buy(ahead, stock_client(NETWORKS[1])))
        return answers, await pay(ahead.url, wallet_key=DEMO.private_key, network=NETWORKS[0])

    async def lived():
        async with AsyncExitStack() as stack:
            return await live(stack)

    snapshot = built.rpc("evm_snapshot")
    try:
        (little, much, usdc), paid = town.run(lived())
    finally:
        assert built.rpc("evm_revert", snapshot)
    assert little.status_code == 200
    assert much.status_code == 402
    assert much.json()["error"].startswith("permit2_deadline_expired")
    assert usdc.status_code == 200
    assert (paid.status, paid.receipt["network"]) == (200, NETWORKS[0])


def test_the_front_passes_payments_on_and_misbehaves_when_told_to(town):
    board = FaultBoard()
    payment = sign(town, NETWORKS[0])
    body = {"x402Version": 2, "paymentPayload": payment, "paymentRequirements": offers()[0]}

    async def live():
        async with AsyncExitStack() as stack:
            front = FacilitatorFront(board, WallClock(), town.run_dir, 4663)
            http = await stack.enter_async_context(aiohttp.ClientSession(await town.serve(stack, front)))

            async def ask(what):
                async with http.post(f"/facilitator-4663/{what}", json=body) as answer:
                    return answer.status, await answer.read()

            status, verdict = await ask("verify")
            assert (status, json.loads(verdict)["isValid"]) == (200, True)
            board.set("facilitator-4663", "garbage")
            assert (await ask("settle"))[1].startswith(b"<!DOCTYPE html>")
            broken = (await ask("settle"))[1]
            wrong = json.loads((await ask("settle"))[1])
            board.set("facilitator-4663", "throttle")
            assert [(await ask("verify"))[0] for _ in range(2)] == [429, 429]
            board.set("facilitator-4663", "down")
            with pytest.raises(aiohttp.ClientConnectionError):
                await ask("verify")
            return broken, wrong

    broken, wrong = town.run(live())
    with pytest.raises(json.JSONDecodeError):
        json.loads(broken)
    assert wrong["success"] == "true"
    # The broken answer was about a settlement that did happen.
    assert town.is_spent(payment)


def test_a_front_without_its_facilitator_hangs_up(town, tmp_path):
    async def live():
        async with AsyncExitStack() as stack:
            url = await town.serve(stack, FacilitatorFront(FaultBoard(), WallClock(), tmp_path, 8453))
            http = await stack.enter_async_context(aiohttp.ClientSession(url))
            with pytest.raises(aiohttp.ClientConnectionError):
                await http.get("/facilitator-8453/supported")

    town.run(live())


def test_a_facilitator_ends_with_its_parent(tmp_path):
    options = ("--network", NETWORKS[0], "--rpc-url", "http://127.0.0.1:1", "--run-dir", str(tmp_path))
    command = (sys.executable, "-m", "tickyard.sandbox.facilitator.process", *options)
    with subprocess.Popen(command, stdin=subprocess.PIPE) as facilitator:
        # A parent that dies closes its end of the pipe, and so do we.
        facilitator.stdin.close()
        assert facilitator.wait(30) == 0
