"""Every paid route, paid for real on both networks by the reference clients, over the running service."""

import asyncio
import base64
import json
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import jsonschema
import pytest
from x402.schemas import PaymentRequired

from tickyard.kernel.clock import WallClock
from tickyard.sandbox.commands.reference_payer import pay
from yards.patience import STUCK_S
from yards.payer import Wallet, as_header, envelope

pytestmark = pytest.mark.node

NETWORKS = ("eip155:4663", "eip155:8453")
WALLET = "0x875F7121A37a8Af309B8e85f297B46Aa19d85daD"
BUILD = {"symbol": "AAPL", "side": "buy", "amount": "100", "recipient": WALLET}
# (paid path, free path, body, price in base units)
ROUTES = {
    "research": ("/v1/x402/research/AAPL", "/v1/research/AAPL", None, 10_000),
    "quote": ("/v1/x402/quote?symbol=KO&side=buy&amount=50", "/v1/quote?symbol=KO&side=buy&amount=50", None, 10_000),
    "portfolio": (f"/v1/x402/portfolio/{WALLET}", f"/v1/portfolio/{WALLET}", None, 10_000),
    "history": ("/v1/x402/history/AAPL?interval=5m", "/v1/history/AAPL?interval=5m", None, 10_000),
    "build": ("/v1/x402/trade/build", "/v1/trade/build", BUILD, 20_000),
}


class Shop:
    """The running service, and what its treasury earns."""

    def __init__(self, up):
        self.up = up
        self.info = up.get("/sandbox")[1]
        self.demo = self.info["wallets"][0]["privateKey"]
        self.treasury = json.loads((up.run_dir / "settings.json").read_text())["TICKYARD_PAY_TO"]
        assets = (self.info["contracts"]["usdg"], self.info["contracts"]["usdc"])
        self.money = dict(
            zip(NETWORKS, zip((self.info["rpcUrl"], self.info["rpcUrl8453"]), assets, strict=True), strict=True)
        )

    def rpc(self, network, method, *params):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        request = urllib.request.Request(self.money[network][0], body, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=STUCK_S) as response:
            return json.loads(response.read())["result"]

    def earned(self, network):
        data = "0x70a08231" + self.treasury[2:].rjust(64, "0")
        return int(self.rpc(network, "eth_call", {"to": self.money[network][1], "data": data}, "latest"), 16)

    def free(self, path, body):
        status, answer = self.up.ask("POST" if body else "GET", path, body)[:2]
        assert status == 200, answer
        return timeless(answer)

    def pay_python(self, path, body, network):
        data = json.dumps(body).encode() if body else None
        method = "POST" if body else "GET"
        paid = asyncio.run(pay(self.up.base + path, wallet_key=self.demo, network=network, method=method, body=data))
        return paid.status, json.loads(paid.body), paid.receipt

    def pay_typescript(self, path, body, network):
        said = self.run("pay_with_fetch.cjs", path, network, json.dumps(body) if body else "")
        return said["status"], json.loads(said["body"]), said["receipt"]

    def run(self, script, path, *more):
        command = ["node", Path(__file__).with_name(script), self.up.base + path, self.demo, *more]
        done = subprocess.run(command, capture_output=True, text=True, timeout=STUCK_S, cwd=Path(__file__).parents[2])
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def timeless(answer):
    """Without what changes from block to block."""
    return {key: value for key, value in answer.items() if key not in ("asOf", "deadline", "steps", "token")}


@pytest.fixture(scope="module")
def shop(running):
    up = running.Up().wait_ready()
    try:
        yield Shop(up)
    finally:
        up.stop()


@pytest.mark.parametrize("client", ["pay_python", "pay_typescript"])
@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("route", ROUTES)
def test_a_paid_route_is_paid_once_and_answers_like_its_free_twin(shop, route, network, client):
    path, free_path, body, price = ROUTES[route]
    had = shop.earned(network)
    before = shop.free(free_path, body)
    status, answer, receipt = getattr(shop, client)(path, body, network)
    assert status == 200, answer
    assert shop.earned(network) - had == price
    assert (receipt["success"], receipt["network"]) == (True, network)
    assert shop.rpc(network, "eth_getTransactionReceipt", receipt["transaction"])["status"] == "0x1"
    free = shop.free(free_path, body)
    # From memory or from the node: the gas is an estimate either way.
    gas, free_gas, _ = (int(each.get("quote", each).pop("gasEstimate", "1")) for each in (answer, free, before))
    # The market may move on between two answers.
    assert timeless(answer) in (before, free)
    assert abs(gas - free_gas) * 100 <= 15 * free_gas
    looked_up = shop.up.get(f"/v1/payments/{receipt['transaction']}")[1]
    assert (looked_up["network"], looked_up["amountUsd"]) == (network, f"0.0{price // 10_000}0000")


@pytest.mark.parametrize("network", NETWORKS)
def test_a_stock_client_that_lost_its_answer_signs_in_and_is_not_charged_again(shop, network):
    before = shop.earned(network)
    # A request of its own on each network: a signature opens what was bought on either.
    wanted = f"/v1/x402/quote?symbol=AAPL&side=buy&amount={network[-2:]}"
    said = shop.run("lose_and_ask_again.cjs", wanted, network)
    assert said["status"] == 200, said
    assert said["seen"][-1] == [["sign-in-with-x"], 200], said["seen"]
    assert shop.earned(network) - before == 10_000


@pytest.mark.parametrize("network", NETWORKS)
def test_a_wallet_that_names_its_account_in_lower_case_pays_like_any_other(shop, network):
    """As those in browsers do. The reference facilitator reads no other spelling than the EIP-55 one."""
    had, wanted = shop.earned(network), shop.up.base + "/v1/x402/quote?symbol=KO&side=buy&amount=62"
    entry = json.loads(asked(wanted)[1])["accepts"][NETWORKS.index(network)]
    buyer = Wallet(shop.demo)
    signed = buyer.pay(entry, WallClock().seconds(), **{"from": buyer.address.lower()})
    status, answer = asked(wanted, dict([as_header(envelope(entry, signed))]))
    assert (status, shop.earned(network) - had) == (200, 10_000), answer


def challenge(shop, path, method="GET", headers=None, body=None):
    """(status, headers, body) of an unpaid request."""
    request = urllib.request.Request(shop.up.base + path, data=body, method=method, headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=STUCK_S) as response:
            return response.status, response.headers, response.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


@pytest.mark.parametrize("route", ROUTES)
def test_a_challenge_is_what_the_reference_models_read(shop, route):
    path, _, body, price = ROUTES[route]
    status, headers, text = challenge(shop, path, "POST" if body else "GET")
    assert status == 402
    assert len(headers["PAYMENT-REQUIRED"]) <= 4096
    assert base64.b64decode(headers["PAYMENT-REQUIRED"]) == text
    required = PaymentRequired.model_validate_json(text)
    assert [(offer.network, offer.amount) for offer in required.accepts] == [(n, str(price)) for n in NETWORKS]
    bazaar = json.loads(text)["extensions"]["bazaar"]
    jsonschema.validate(bazaar["info"], bazaar["schema"])
    assert json.loads(text)["resource"]["url"] == shop.up.base + path.partition("?")[0]


@pytest.mark.parametrize("route", ROUTES)
def test_nonsense_without_a_payment_meets_the_challenge_first(shop, route):
    path = ROUTES[route][0].partition("?")[0]
    for method, headers, body in (
        ("GET", {}, None),
        ("POST", {"content-type": "text/plain"}, b"x" * 100_000),
        ("PUT", {}, b"{"),
        ("DELETE", {}, None),
        ("HEAD", {}, None),
    ):
        status, answered, text = challenge(shop, f"{path}?limit=junk&limit=2", method, headers, body)
        assert status == 402, (method, text)
        assert answered["PAYMENT-REQUIRED"]
        assert answered["Cache-Control"] == "no-store"


def test_an_error_is_never_charged_and_the_payment_works_afterwards(shop):
    had = {network: shop.earned(network) for network in NETWORKS}
    for network in NETWORKS:
        for path, status in (
            ("/v1/x402/research/NOPE", 404),
            ("/v1/x402/quote?symbol=AAPL&side=buy&amount=0", 400),
            ("/v1/x402/quote?symbol=AAPL&side=buy&amount=999999999999", 422),
            ("/v1/x402/history/AAPL?limit=0", 400),
            ("/v1/x402/portfolio/0x12", 400),
        ):
            answered, answer, receipt = shop.pay_python(path, None, network)
            assert (answered, receipt) == (status, None), answer
    assert {network: shop.earned(network) for network in NETWORKS} == had


def test_behind_https_the_address_of_an_unnamed_proxy_opens_no_answer(shop, running, tmp_path):
    """Whoever comes through it has that address. It adds no header, and we speak plain HTTP: somebody is there."""
    settings = json.loads((shop.up.run_dir / "settings.json").read_text())
    statuses = {}
    for public in ("http://shop.example", "https://shop.example"):
        port = running.free_port()
        own = {"TICKYARD_PORT": str(port), "TICKYARD_METRICS_PORT": str(port + 1000), "TICKYARD_BASE_URL": public}
        with running.service("serve", tmp_path / f"{port}.log", settings | own) as behind:
            behind.wait_ready()
            wanted = behind.base + "/v1/x402/quote?symbol=KO&side=buy&amount=61"
            entry = json.loads(asked(wanted)[1])["accepts"][1]
            paid = dict([as_header(envelope(entry, Wallet(shop.demo).pay(entry, WallClock().seconds())))])
            statuses[public] = [asked(wanted, paid)[0] for _ in range(2)]
    assert statuses == {"http://shop.example": [200, 200], "https://shop.example": [200, 402]}


def asked(url, headers=None):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers or {}), timeout=STUCK_S) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, refusal.read()


def test_a_preflight_passes_with_the_payment_headers(shop):
    headers = {"Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "payment-signature"}
    status, answered, _ = challenge(shop, "/v1/x402/quote", "OPTIONS", headers)
    assert status == 204
    assert "PAYMENT-SIGNATURE" in answered["Access-Control-Allow-Headers"]


def test_a_facilitator_that_is_down_takes_nothing_and_leaves_the_challenge(shop):
    for network in NETWORKS:
        target = f"facilitator-{network.removeprefix('eip155:')}"
        shop.up.post("/sandbox/fault", {"target": target, "mode": "down"})
        try:
            had = shop.earned(network)
            status, answer, receipt = shop.pay_python("/v1/x402/history/AAPL", None, network)
            assert (status, receipt) == (502, None), answer
            assert challenge(shop, "/v1/x402/history/AAPL")[0] == 402
            assert shop.earned(network) == had
        finally:
            shop.up.post("/sandbox/fault", {"target": target, "mode": "ok"})
