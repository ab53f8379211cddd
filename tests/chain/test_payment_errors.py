"""Every way in which a paid route can fail, over the running service: nothing is taken, and the same payment works after."""

import base64
import json
import threading
import urllib.error
import urllib.request

import pytest

from tickyard.config import pinned
from tickyard.kernel.clock import WallClock
from tickyard.payments.offer.terms import FIRST, SECOND
from yards.patience import STUCK_S
from yards.payer import Wallet, as_header, envelope

pytestmark = pytest.mark.node

NETWORKS = (FIRST, SECOND)
WALLET = "0x875F7121A37a8Af309B8e85f297B46Aa19d85daD"
BUILD = {"symbol": "AAPL", "side": "buy", "amount": "100", "recipient": WALLET}
JSON = "application/json"
PAUSE = threading.Event()


def built(**changes):
    return json.dumps({**BUILD, **changes}).encode(), JSON


# For each free path: calls that fail (path, (body, content type), status), and one that does not.
ROUTES = {
    "research": (
        [("/v1/research/NOPE", None, 404), ("/v1/research/" + "A" * 17, None, 400), ("/v1/research/%00", None, 404)],
        ("/v1/research/AAPL", None),
    ),
    "quote": (
        [
            ("/v1/quote", None, 400),
            ("/v1/quote?symbol=AAPL&side=hold&amount=1", None, 400),
            ("/v1/quote?symbol=AAPL&side=buy&amount=0", None, 400),
            ("/v1/quote?symbol=AAPL&side=buy&amount=1&amount=2", None, 400),
            ("/v1/quote?symbol=NOPE&side=buy&amount=1", None, 404),
            ("/v1/quote?symbol=AAPL&side=buy&amount=999999999999", None, 422),
        ],
        ("/v1/quote?symbol=KO&side=buy&amount=50", None),
    ),
    "portfolio": (
        [("/v1/portfolio/0x12", None, 400), ("/v1/portfolio/nobody", None, 400)],
        (f"/v1/portfolio/{WALLET}", None),
    ),
    "history": (
        [
            ("/v1/history/AAPL?limit=0", None, 400),
            ("/v1/history/AAPL?interval=2m", None, 400),
            ("/v1/history/NOPE", None, 404),
        ],
        ("/v1/history/AAPL", None),
    ),
    "build": (
        [
            ("/v1/trade/build", None, 415),
            ("/v1/trade/build", (b"x=1", "application/x-www-form-urlencoded"), 415),
            ("/v1/trade/build", (b"", JSON), 400),
            ("/v1/trade/build", (b"{", JSON), 400),
            ("/v1/trade/build", (b'{"symbol":"AAPL","symbol":"KO"}', JSON), 400),
            ("/v1/trade/build", built(more=1), 400),
            ("/v1/trade/build", built(amount="-1"), 400),
            ("/v1/trade/build", built(symbol="NOPE"), 404),
            ("/v1/trade/build", built(amount="999999999999"), 422),
            ("/v1/trade/build", (b'{"a":"' + b"x" * 70_000 + b'"}', JSON), 413),
        ],
        ("/v1/trade/build", built()),
    ),
}


class Shop:
    """The running service, and what its treasury earns."""

    def __init__(self, up):
        self.up = up
        info = up.get("/sandbox")[1]
        self.demo = info["wallets"][0]["address"]
        self.treasury = json.loads((up.run_dir / "settings.json").read_text())["TICKYARD_PAY_TO"]
        coins = (info["contracts"]["usdg"], info["contracts"]["usdc"])
        self.money = dict(zip(NETWORKS, zip((info["rpcUrl"], info["rpcUrl8453"]), coins, strict=True), strict=True))

    def ask(self, path, given, payment=None):
        """(status, headers, body); with a payment on the paid twin."""
        body, content_type = given or (None, None)
        method = "POST" if path.startswith("/v1/trade/") else "GET"
        url = self.up.base + (path if payment is None else path.replace("/v1/", "/v1/x402/", 1))
        request = urllib.request.Request(url, data=body, method=method)
        if content_type:
            request.add_header("content-type", content_type)
        if payment:
            request.add_header(*payment)
        try:
            with urllib.request.urlopen(request, timeout=STUCK_S) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, error.read()

    def rpc(self, network, method, *params):
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        request = urllib.request.Request(self.money[network][0], json.dumps(call).encode(), {"content-type": JSON})
        with urllib.request.urlopen(request, timeout=STUCK_S) as response:
            answer = json.loads(response.read())
        assert "error" not in answer, answer
        return answer["result"]

    def send(self, network, sender, data):
        """A call of the network's coin by somebody."""
        self.rpc(network, "hardhat_impersonateAccount", sender)
        sent = {"from": sender, "to": self.money[network][1], "data": data, "gas": hex(200_000)}
        hash_ = self.rpc(network, "eth_sendTransaction", sent)
        self.rpc(network, "evm_mine")
        assert self.rpc(network, "eth_getTransactionReceipt", hash_)["status"] == "0x1"

    def new_wallet(self, network):
        """Somebody with money who has called nothing yet: calls that end unsettled are counted for each payer."""
        wallet = Wallet()
        self.rpc(network, "hardhat_setBalance", wallet.address, hex(10**18))
        self.send(network, self.demo, "0xa9059cbb" + word(wallet.address) + f"{100_000:064x}")
        if network == FIRST:
            self.send(network, wallet.address, "0x095ea7b3" + word(pinned.MAINNET.permit2) + "f" * 64)
        return wallet

    def sign(self, path, network):
        """One payment for a paid route, by a wallet of its own."""
        status, headers, _ = self.ask(path, None, ("x-nothing", "1"))
        assert status == 402
        offers = json.loads(base64.b64decode(headers["PAYMENT-REQUIRED"]))["accepts"]
        offer = next(each for each in offers if each["network"] == network)
        inner = self.new_wallet(network).pay(offer, WallClock().seconds(), valid_s=900)
        return int(offer["amount"]), as_header(envelope(offer, inner))

    def earned(self, network):
        read = {"to": self.money[network][1], "data": "0x70a08231" + word(self.treasury)}
        return int(self.rpc(network, "eth_call", read, "latest"), 16)


def word(address):
    return address[2:].lower().rjust(64, "0")


@pytest.fixture(scope="module")
def shop(running):
    up = running.Up().wait_ready()
    try:
        yield Shop(up)
    finally:
        up.stop()


def fails_alike(shop, path, given, payment, status):
    """The paid call fails as its free twin does, without a receipt."""
    free = shop.ask(path, given)
    paid = shop.ask(path, given, payment)
    assert (paid[0], free[0]) == (status, status), (path, paid[2], free[2])
    assert paid[2] == free[2]
    assert "PAYMENT-RESPONSE" not in paid[1]
    assert paid[1]["Cache-Control"] == "no-store"


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("route", ROUTES)
def test_no_error_is_charged_and_the_same_payment_works_afterwards(shop, route, network):
    failing, (path, given) = ROUTES[route]
    price, payment = shop.sign(path, network)
    had = shop.earned(network)
    for failed, its_body, status in failing:
        fails_alike(shop, failed, its_body, payment, status)
    assert shop.earned(network) == had
    status, headers, body = shop.ask(path, given, payment)
    assert status == 200, body
    receipt = json.loads(base64.b64decode(headers["PAYMENT-RESPONSE"]))
    assert (receipt["success"], receipt["network"]) == (True, network)
    assert shop.earned(network) - had == price
    # And once more: the stored answer, and no second charge. For anything else the payment is used up.
    again = shop.ask(path, given, payment)
    assert (again[0], again[2], again[1]["PAYMENT-RESPONSE"]) == (200, body, headers["PAYMENT-RESPONSE"])
    assert shop.ask(path + ("&" if "?" in path else "?") + "x=1", given, payment)[0] == 402
    assert shop.earned(network) - had == price


@pytest.mark.parametrize(("route", "target"), [("quote", "rpc"), ("portfolio", "rpc"), ("build", "rpc")])
def test_a_source_that_is_down_is_not_charged_and_the_same_payment_works_afterwards(shop, route, target):
    network = NETWORKS[1]
    path, given = ROUTES[route][1]
    price, payment = shop.sign(path, network)
    had = shop.earned(network)
    shop.up.post("/sandbox/fault", {"target": target, "mode": "down"})
    try:
        # What is held in memory answers a moment longer.
        assert eventually(502, shop, path, given)
        status, headers, body = shop.ask(path, given, payment)
        assert (status, json.loads(body)["error"]["code"]) == (502, "upstream_error")
        assert "PAYMENT-RESPONSE" not in headers
    finally:
        shop.up.post("/sandbox/fault", {"target": target, "mode": "ok"})
    assert shop.earned(network) == had
    # A source that was down may stay out of use for a moment; the payment waits.
    assert eventually(200, shop, path, given, payment)
    assert shop.earned(network) - had == price


def eventually(wanted, shop, path, given, payment=None):
    for _ in range(15):
        status, _headers, body = shop.ask(path, given, payment)
        if status == wanted:
            return True
        assert status in (200, 502), body
        PAUSE.wait(0.5)
    return False
