"""Our own client's payer pays for real on both sandbox chains, and stops at its limit."""

import asyncio
import json
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import httpx
import pytest
from eth_account import Account
from x402 import x402Client
from x402.http.clients.httpx import x402AsyncTransport
from x402.mechanisms.evm.exact import ExactEvmClientScheme
from x402.mechanisms.evm.signers import EthAccountSigner

from tickyard.client import Client, NotFound, Payer, SpendingLimit
from tickyard.config import pinned
from yards.patience import STUCK_S

pytestmark = pytest.mark.node

NETWORKS = ("eip155:4663", "eip155:8453")
WALLET = "0x875F7121A37a8Af309B8e85f297B46Aa19d85daD"


class Shop:
    """The running service, and what its treasury earns."""

    def __init__(self, up):
        self.up = up
        info = up.get("/sandbox")[1]
        self.key = info["wallets"][0]["privateKey"]
        self.treasury = json.loads((up.run_dir / "settings.json").read_text())["TICKYARD_PAY_TO"]
        coins = (info["contracts"]["usdg"], info["contracts"]["usdc"])
        self.money = dict(zip(NETWORKS, zip((info["rpcUrl"], info["rpcUrl8453"]), coins, strict=True), strict=True))

    def earned(self, network):
        url, coin = self.money[network]
        data = "0x70a08231" + self.treasury[2:].rjust(64, "0")
        call = {"jsonrpc": "2.0", "id": 1, "method": "eth_call", "params": [{"to": coin, "data": data}, "latest"]}
        request = urllib.request.Request(url, json.dumps(call).encode(), {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=STUCK_S) as response:
            return int(json.loads(response.read())["result"], 16)


@pytest.fixture(scope="module")
def shop(running):
    up = running.Up().wait_ready()
    try:
        yield Shop(up)
    finally:
        up.stop()


@pytest.mark.parametrize("network", NETWORKS)
def test_every_paid_operation_is_paid_by_our_client_and_the_limit_holds(shop, network):
    payer = Payer(shop.key, limit_usd="0.065", network=network)
    had = shop.earned(network)
    with Client(shop.up.base, payer=payer, timeout_s=60) as client:
        assert client.get_quote(symbol="KO", side="buy", amount="50").symbol == "KO"
        assert client.get_research(symbol="AAPL").symbol == "AAPL"
        assert client.get_portfolio(address=WALLET).address == WALLET
        assert client.get_history(symbol="AAPL").symbol == "AAPL"
        assert client.build_trade(symbol="AAPL", side="buy", amount="100", recipient=WALLET).steps
        assert (payer.spent_usd, payer.left_usd) == ("0.060000", "0.005000")
        assert shop.earned(network) - had == 60_000
        with pytest.raises(SpendingLimit):
            client.get_quote(symbol="KO", side="buy", amount="50")
        # What costs nothing goes on.
        assert client.get_price(symbol="KO").symbol == "KO"
    assert shop.earned(network) - had == 60_000


def test_an_error_costs_nothing_and_its_payment_pays_for_the_next_call(shop):
    payer = Payer(shop.key, limit_usd="0.01", network=NETWORKS[1])
    had = shop.earned(NETWORKS[1])
    with Client(shop.up.base, payer=payer, timeout_s=60) as client:
        for _ in range(3):
            with pytest.raises(NotFound):
                client.get_research(symbol="NOPE")
        assert (payer.spent_usd, shop.earned(NETWORKS[1]) - had) == ("0.000000", 0)
        assert client.get_research(symbol="AAPL").symbol == "AAPL"
    assert (payer.spent_usd, shop.earned(NETWORKS[1]) - had) == ("0.010000", 10_000)


def test_without_a_network_the_first_one_offered_is_paid(shop):
    had = shop.earned(NETWORKS[0])
    with Client(shop.up.base, payer=Payer(shop.key, limit_usd="0.01"), timeout_s=60) as client:
        client.get_history(symbol="AAPL")
    assert shop.earned(NETWORKS[0]) - had == 10_000


PATHS = {
    "/v1/x402/research/AAPL": "GET",
    "/v1/x402/quote": "GET",
    f"/v1/x402/portfolio/{WALLET}": "GET",
    "/v1/x402/history/AAPL": "GET",
    "/v1/x402/trade/build": "POST",
}


def test_every_challenge_is_read_by_the_typescript_packages(shop):
    script = Path(__file__).with_name("read_challenge.cjs")
    headers = []
    for path, method in PATHS.items():
        request = urllib.request.Request(shop.up.base + path, method=method)
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(request, timeout=STUCK_S)
        with caught.value as answer:
            headers.append(answer.headers["PAYMENT-REQUIRED"])
            assert len(headers[-1]) <= 4096
    done = subprocess.run(
        ["node", script],
        input=json.dumps(headers),
        capture_output=True,
        text=True,
        timeout=STUCK_S,
        cwd=Path(__file__).parents[2],
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for said in json.loads(done.stdout):
        assert said == {"version": 2, "networks": list(NETWORKS), "errors": []}


def test_a_payer_follows_the_clock_of_the_sandbox_by_itself(shop):
    shop.up.post("/sandbox/clock", {"advanceSeconds": 7200})
    for network in NETWORKS:
        with Client(shop.up.base, payer=Payer(shop.key, limit_usd="0.01", network=network), timeout_s=60) as client:
            assert client.get_quote(symbol="KO", side="buy", amount="50").symbol == "KO"
    # Who signs by the wall cannot, and is told why.
    by_the_wall = asyncio.run(stock_answer(f"{shop.up.base}/v1/x402/quote?symbol=KO&side=buy&amount=50", shop.key))
    assert by_the_wall.status_code == 402
    assert by_the_wall.json()["error"].startswith("permit2_deadline_expired: it is 2")


async def stock_answer(url, key):
    client = x402Client()
    client.register("eip155:*", ExactEvmClientScheme(EthAccountSigner(Account.from_key(key))))
    usdg = {"network": NETWORKS[0], "asset": pinned.MAINNET.usdg, "max_amount_per_payment": "10000"}
    client.set_spend_controls({"allowed_assets": [usdg]})
    client.register_policy(lambda _version, offers: [offer for offer in offers if offer.network == NETWORKS[0]])
    async with httpx.AsyncClient(transport=x402AsyncTransport(client), timeout=STUCK_S, trust_env=False) as http:
        return await http.get(url)
