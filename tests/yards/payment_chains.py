"""A small town of payments: two chains, their facilitators, and a shop that sells through them."""

import base64
import json

import aiohttp
import httpx
from aiohttp import web
from eth_account import Account
from x402 import x402Client
from x402.http.clients.httpx import x402AsyncTransport
from x402.mechanisms.evm.exact import register_exact_evm_client

from tickyard.kernel.clock import WallClock
from tickyard.kernel.wire import iso
from tickyard.sandbox.children import Child
from tickyard.sandbox.clock import CLOCK_FILE, SandboxClock
from tickyard.sandbox.facilitator.front import port_file
from tickyard.sandbox.node.abi import call_data, words
from tickyard.sandbox.standins.faults import hang_up
from tickyard.sandbox.standins.process import open_port
from tickyard.sandbox.world.place import PERMIT2, PERMIT2_PROXY, USDC, USDG
from tickyard.sandbox.world.second_chain import start_second_chain
from tickyard.sandbox.world.trader import balance_of
from tickyard.sandbox.world.wallets import wallets
from yards.patience import STUCK_S

NETWORKS = ("eip155:4663", "eip155:8453")
DEMO = wallets()[0]
PAYEE = "0x00000000000000000000000000000000DeaDBeef"
PRICE = 10_000
GOODS = {"symbol": "AAPL", "price": "250.5"}


def offers():
    terms = {"scheme": "exact", "amount": str(PRICE), "payTo": PAYEE, "maxTimeoutSeconds": 300}
    permit2 = {"assetTransferMethod": "permit2", "spender": PERMIT2_PROXY}
    return [
        {**terms, "network": NETWORKS[0], "asset": USDG, "extra": permit2},
        {**terms, "network": NETWORKS[1], "asset": USDC, "extra": {"name": "USD Coin", "version": "2"}},
    ]


def challenge(error="Payment required"):
    resource = {"url": "http://shop.example/goods", "description": "goods", "mimeType": "application/json"}
    return {"x402Version": 2, "error": error, "resource": resource, "accepts": offers()}


def encoded(value):
    return base64.b64encode(json.dumps(value).encode()).decode()


class Shop:
    """A paid route in a few lines: verify, settle, answer. Keeps the last payment for tests to look at."""

    def __init__(self, clock, facilitators):
        self.clock, self.facilitators, self.payment, self.body = clock, facilitators, None, None

    def add_to(self, app):
        app.router.add_route("*", "/goods", self.sell)
        app.router.add_get("/rude", self.take_and_hang_up)
        app.router.add_get("/sandbox/clock", self.show_clock)

    async def show_clock(self, _request):
        return web.json_response({"now": iso(self.clock.now())})

    async def sell(self, request):
        header = request.headers.get("PAYMENT-SIGNATURE")
        if header is None:
            return self.refuse("Payment required")
        self.payment, self.body = json.loads(base64.b64decode(header)), await request.read()
        verdict = await self.ask("verify", self.payment)
        if not verdict["isValid"]:
            return self.refuse(verdict["invalidReason"])
        receipt = await self.ask("settle", self.payment)
        if not receipt["success"]:
            return self.refuse(receipt["errorReason"])
        return web.json_response(GOODS, headers={"PAYMENT-RESPONSE": encoded(receipt)})

    async def take_and_hang_up(self, request):
        return hang_up(request) if "PAYMENT-SIGNATURE" in request.headers else self.refuse("Payment required")

    async def ask(self, what, payment, url=None):
        ours = next(offer for offer in offers() if offer["network"] == payment["accepted"]["network"])
        assert payment["accepted"] == ours
        body = {"x402Version": 2, "paymentPayload": payment, "paymentRequirements": ours}
        url = url or self.facilitators[ours["network"]]
        async with aiohttp.ClientSession() as http, http.post(f"{url}/{what}", json=body) as answer:
            assert answer.status == 200, await answer.text()
            return await answer.json()

    @staticmethod
    def refuse(error):
        body = challenge(error)
        return web.json_response(body, status=402, headers={"PAYMENT-REQUIRED": encoded(body)})


class Town:
    """Two chains, their facilitators and the shop; everything runs on the loop of the shared chain."""

    def __init__(self, yard):
        self.run, self.first = yard.run, yard.node

    async def open(self, stack, run_dir):
        self.run_dir = run_dir
        self.clock = SandboxClock.create(run_dir / CLOCK_FILE, WallClock().now())
        self.second = await stack.enter_async_context(await start_second_chain(run_dir, WallClock()))
        self.nodes = dict(zip(NETWORKS, (self.first, self.second), strict=True))
        children = [await self.start_facilitator(stack, network) for network in NETWORKS]
        ports = [
            await child.announced(run_dir / port_file(int(network[7:])))
            for child, network in zip(children, NETWORKS, strict=True)
        ]
        self.pids = [child.pid for child in children]
        urls = {network: f"http://127.0.0.1:{port}" for network, port in zip(NETWORKS, ports, strict=True)}
        self.shop = Shop(self.clock, urls)
        self.url = f"{await self.serve(stack, self.shop)}/goods"

    async def start_facilitator(self, stack, network):
        options = ("--network", network, "--rpc-url", self.nodes[network].url, "--run-dir", str(self.run_dir))
        name = f"facilitator-{network[7:]}"
        child = await Child.start(name, self.run_dir, "tickyard.sandbox.facilitator.process", *options)
        stack.push_async_callback(child.stop)
        return child

    async def serve(self, stack, *parts):
        runner, port = await open_port(parts)
        stack.push_async_callback(runner.cleanup)
        return f"http://127.0.0.1:{port}"

    def earned(self, network):
        asset = {NETWORKS[0]: USDG, NETWORKS[1]: USDC}[network]
        return self.run(balance_of(self.nodes[network], asset, PAYEE))

    def mined(self, network, hash_):
        receipt = self.run(self.nodes[network].call("eth_getTransactionReceipt", [hash_]))
        return receipt is not None and receipt["status"] == "0x1"

    def is_spent(self, payment):
        """Whether the chain says that the payment's nonce is used."""
        if "permit2Authorization" in payment["payload"]:
            nonce = int(payment["payload"]["permit2Authorization"]["nonce"])
            data = call_data("nonceBitmap(address,uint256)", DEMO.address, nonce >> 8)
            node, to, bit = self.first, PERMIT2, nonce & 255
        else:
            nonce = int(payment["payload"]["authorization"]["nonce"], 16)
            data = call_data("authorizationState(address,bytes32)", DEMO.address, nonce)
            node, to, bit = self.second, USDC, 0
        return bool(words(self.run(node.call("eth_call", [{"to": to, "data": data}, "latest"])))[0] >> bit & 1)


def stock_client(network=None):
    """The reference Python client, told only what its buyer must tell it to pay in USDG."""
    client = x402Client()
    register_exact_evm_client(client, Account.from_key(DEMO.private_key))
    if network:
        client.set_spend_controls({"allowed_assets": True})
        client.register_policy(lambda _, offers: [offer for offer in offers if offer.network == network])
    return client


async def buy(town, client):
    async with httpx.AsyncClient(transport=x402AsyncTransport(client), trust_env=False, timeout=STUCK_S) as http:
        return await http.get(town.url)
