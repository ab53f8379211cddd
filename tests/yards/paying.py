"""A world in which payments can be made: wallets that sign, a chain that remembers, a facilitator that misbehaves."""

import asyncio
import base64
import contextlib
import json
import secrets
import sys
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from types import SimpleNamespace
from typing import Annotated

from eth_account import Account
from msgspec import Meta

from tickyard.chain.rpc import Rpc
from tickyard.config import pinned
from tickyard.doors.cache import FrontCache
from tickyard.doors.edge import Edge
from tickyard.doors.examples import example_of
from tickyard.doors.http import Endpoint, build_router
from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import BadRequest, NoLiquidity, NotFound, UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.kernel.operation import Kept, Operation
from tickyard.kernel.units import UsdgAmount
from tickyard.kernel.wire import Answer, Ask, SymbolField
from tickyard.payments.cashier import Cashier
from tickyard.payments.chainproof import AUTHORIZATION_USED, TRANSFER, ChainProof
from tickyard.payments.challenge import Offer
from tickyard.payments.facilitator import Facilitator
from tickyard.payments.gate import Doorkeeper, Gate
from tickyard.payments.ledger import Ledger
from tickyard.payments.settlement import Settlement, Till
from tickyard.payments.terms import FIRST, SECOND, PaymentSettings, Terms
from tickyard.store.engine import Store
from yards import rpcnode
from yards.schema import lay

# Importing the signing library raises this to a depth at which the C stack ends first. The service never imports it.
sys.setrecursionlimit(1000)

PAY_TO = Address("0x" + "ab" * 20)
BASE_URL = "https://api.example"
SETTINGS = PaymentSettings(base_url=BASE_URL, pay_to=PAY_TO)
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
EIP3009_TYPES = {
    "TransferWithAuthorization": [
        {"name": name, "type": kind}
        for name, kind in (
            ("from", "address"), ("to", "address"), ("value", "uint256"),
            ("validAfter", "uint256"), ("validBefore", "uint256"), ("nonce", "bytes32"),
        )
    ]
}  # fmt: skip
PERMIT2_TYPES = {
    "PermitWitnessTransferFrom": [
        {"name": "permitted", "type": "TokenPermissions"},
        {"name": "spender", "type": "address"},
        {"name": "nonce", "type": "uint256"},
        {"name": "deadline", "type": "uint256"},
        {"name": "witness", "type": "Witness"},
    ],
    "TokenPermissions": [{"name": "token", "type": "address"}, {"name": "amount", "type": "uint256"}],
    "Witness": [{"name": "to", "type": "address"}, {"name": "validAfter", "type": "uint256"}],
}


class MovedClock(WallClock):
    """Wall time that a test moves forward."""

    def __init__(self):
        self.offset = timedelta(0)

    def now(self):
        return super().now() + self.offset

    def seconds(self):
        return super().seconds() + int(self.offset.total_seconds())

    def monotonic(self):
        return super().monotonic() + self.offset.total_seconds()

    def move(self, seconds):
        self.offset += timedelta(seconds=seconds)


class Wallet:
    """Signs with a library that is not ours."""

    def __init__(self, seed=None):
        self.account = Account.from_key(seed or secrets.token_bytes(32))
        self.address = self.account.address

    def pay(self, entry, now, *, nonce=None, valid_s=300, valid_after=0, **changes):
        """The inner payload for one entry of `accepts`; `changes` overwrite what is signed."""
        sign = self._permit2 if "assetTransferMethod" in entry["extra"] else self._eip3009
        return sign(entry, nonce, now + valid_s, valid_after, changes)

    def _eip3009(self, entry, nonce, before, after, changes):
        nonce = "0x" + secrets.token_hex(32) if nonce is None else f"0x{nonce:064x}"
        signed = {"from": self.address, "to": entry["payTo"], "value": entry["amount"], "validAfter": str(after)}
        signed |= {"validBefore": str(before), "nonce": nonce} | changes
        domain = {"name": "USD Coin", "version": "2", "chainId": 8453, "verifyingContract": entry["asset"]}
        message = {**signed, **{name: int(signed[name]) for name in ("value", "validAfter", "validBefore")}}
        message["nonce"] = bytes.fromhex(nonce[2:])
        made = self.account.sign_typed_data(domain, EIP3009_TYPES, message)
        return {"signature": "0x" + made.signature.hex().removeprefix("0x"), "authorization": signed}

    def _permit2(self, entry, nonce, before, after, changes):
        nonce = secrets.randbits(256) if nonce is None else nonce
        signed = {
            "from": self.address,
            "permitted": {"token": entry["asset"], "amount": entry["amount"]},
            "spender": entry["extra"]["spender"],
            "nonce": str(nonce),
            "deadline": str(before),
            "witness": {"to": entry["payTo"], "validAfter": str(after)},
        } | changes
        domain = {"name": "Permit2", "chainId": 4663, "verifyingContract": pinned.MAINNET.permit2}
        message = {
            "permitted": {"token": signed["permitted"]["token"], "amount": int(signed["permitted"]["amount"])},
            "spender": signed["spender"],
            "nonce": int(signed["nonce"]),
            "deadline": int(signed["deadline"]),
            "witness": {"to": signed["witness"]["to"], "validAfter": int(signed["witness"]["validAfter"])},
        }
        made = self.account.sign_typed_data(domain, PERMIT2_TYPES, message)
        return {"signature": "0x" + made.signature.hex().removeprefix("0x"), "permit2Authorization": signed}


def envelope(entry, inner, **more):
    return {"x402Version": 2, "accepted": entry, "payload": inner, **more}


def as_header(value, name="payment-signature"):
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return (name, base64.b64encode(raw).decode())


@dataclass
class Mined:
    transaction: str
    block: int
    status: str
    logs: list


class Chain:
    """A chain that remembers nonces and transfers, behind real sockets. One block per payment."""

    def __init__(self, network, clock):
        self.network = network
        self.clock = clock
        self.asset = pinned.MAINNET.usdg if network == FIRST else pinned.USDC_8453
        self.used = set()
        self.mined = {}
        self.head = 1000
        self.times = {}
        self.node = rpcnode.Node(4663 if network == FIRST else 8453)
        self.node.results = {
            "eth_blockNumber": lambda _: hex(self.head),
            "eth_getBlockByNumber": self._block,
            "eth_call": self._call,
            "eth_getLogs": self._logs,
            "eth_getTransactionReceipt": self._receipt,
        }

    @property
    def transfers(self):
        return [log for mined in self.mined.values() for log in mined.logs if log["topics"][0] == TRANSFER]

    def pay(self, payer, nonce, amount, *, moves=True, status="0x1"):
        """Mine a settlement. `moves` False: the nonce is used up, and no money moves."""
        self.head += 1
        self.times[self.head] = self.clock.seconds()
        transaction = "0x" + secrets.token_hex(32)
        logs = []
        if status == "0x1":
            assert (payer.lower(), nonce) not in self.used, "the chain would have reverted"
            self.used.add((payer.lower(), nonce))
            if self.network == SECOND and moves:
                logs.append([AUTHORIZATION_USED, _word(payer), f"0x{nonce:064x}"])
            if moves:
                logs.append([TRANSFER, _word(payer), _word(PAY_TO)])
        shared = {"address": self.asset, "transactionHash": transaction, "blockNumber": hex(self.head)}
        entries = [
            {
                **shared,
                "topics": topics,
                "data": f"0x{amount:064x}" if topics[0] == TRANSFER else "0x",
                "logIndex": hex(n),
            }
            for n, topics in enumerate(logs)
        ]
        self.mined[transaction] = Mined(transaction, self.head, status, entries)
        return transaction

    def _block(self, params):
        number = self.head if params[0] in ("latest", "finalized") else int(params[0], 16)
        # Empty blocks before the first payment are two seconds apart, counted back from now.
        moment = (
            self.clock.seconds()
            if number == self.head
            else self.times.get(number, self.clock.seconds() - 2 * (self.head - number))
        )
        return {"number": hex(number), "hash": "0x" + "11" * 32, "timestamp": hex(moment)}

    def _call(self, params):
        data = params[0]["data"][10:]
        payer, word = "0x" + data[24:64], int(data[64:], 16)
        if self.network == SECOND:
            return f"0x{int((payer, word) in self.used):064x}"
        bitmap = sum(1 << (nonce & 255) for owner, nonce in self.used if owner == payer and nonce >> 8 == word)
        return f"0x{bitmap:064x}"

    def _logs(self, params):
        wanted = params[0]
        first, last = int(wanted["fromBlock"], 16), int(wanted["toBlock"], 16)
        return [
            log
            for mined in self.mined.values()
            for log in mined.logs
            if first <= mined.block <= last and log["topics"] == wanted["topics"]
        ]

    def _receipt(self, params):
        mined = self.mined.get(params[0])
        return None if mined is None else {"status": mined.status, "logs": mined.logs}


def _word(address):
    return "0x" + "0" * 24 + address[2:].lower()


class ScriptedFacilitator:
    """Answers /verify and /settle. `script[call]` holds a mode for each coming request, after that `modes[call]`."""

    def __init__(self, chain):
        self.chain = chain
        self.modes = {"verify": "ok", "settle": "ok"}
        self.script = {"verify": [], "settle": []}
        self.asked = {"verify": [], "settle": []}
        self.on_stage = None
        self._writers = set()

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_):
        self._server.close()
        for writer in list(self._writers):
            writer.transport.abort()
        await self._server.wait_closed()

    async def _serve(self, reader, writer):
        self._writers.add(writer)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                size = int(head.lower().split("content-length:")[1].split("\r\n")[0])
                body = json.loads(await reader.readexactly(size))
                call = head.split(" ")[1].removeprefix("/")
                if not await self._answer(call, body, writer):
                    break
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _stage(self, name):
        if self.on_stage is not None:
            await self.on_stage(name)

    async def _answer(self, call, body, writer):
        self.asked[call].append(body)
        mode = self.script[call].pop(0) if self.script[call] else self.modes[call]
        await self._stage(f"{call} asked")
        answer = self._verdict(body) if call == "verify" else None
        if call == "settle" and mode in (
            "ok",
            "hang-landed",
            "cut-landed",
            "cut-body",
            "500-landed",
            "pending-landed",
            "text",
            "twice",
        ):
            answer = self._settle(body)
            await self._stage("settle landed")
        if mode == "refuse":
            answer = {"isValid": False, "invalidReason": "invalid_exact_evm_insufficient_balance"}
            answer |= {
                "success": False,
                "errorReason": "invalid_exact_evm_insufficient_balance",
                "transaction": "",
                "network": "",
            }
        elif mode == "refuse-nasty":
            answer = {"isValid": False, "success": False}
            answer["invalidReason"] = answer["errorReason"] = "<b>http://evil/\r\n\x00" + "x" * 500
        elif mode == "nonce-used":
            answer = {
                "success": False,
                "errorReason": "invalid_exact_evm_nonce_already_used",
                "transaction": "",
                "network": "",
            }
        elif mode == "reverted":
            payer, nonce, amount = self._parts(body)
            hash_ = self.chain.pay(payer, nonce, amount, status="0x0")
            answer = {
                "success": False,
                "errorReason": "transaction_failed",
                "transaction": hash_,
                "network": self.chain.network,
            }
        elif mode in ("pending", "pending-landed"):
            hash_ = answer["transaction"] if answer else "0x" + "77" * 32
            answer = {
                "success": False,
                "errorReason": "settlement_pending",
                "transaction": hash_,
                "network": self.chain.network,
            }
        elif mode == "text":
            answer = {"isValid": "true"} if call == "verify" else answer | {"success": "true"}
        elif mode == "ghost":
            answer = {"success": True, "transaction": "0x" + secrets.token_hex(32), "network": self.chain.network}
        elif mode == "no-hash":
            answer = {"success": True, "transaction": "", "network": self.chain.network}
        elif mode == "other-network":
            answer = {"success": True, "transaction": "0x" + "66" * 32, "network": "eip155:1"}
        elif mode == "list":
            answer = [True]
        elif mode in ("hang", "hang-landed"):
            await asyncio.Event().wait()
        elif mode in ("cut", "cut-landed"):
            writer.transport.abort()
            return False
        elif mode in ("500", "500-landed"):
            self._send(writer, b"oops, database at 10.0.0.1", "500 Oops")
            return True
        elif mode == "html":
            self._send(writer, b"<html>hello</html>")
            return True
        elif mode == "redirect":
            self._send(writer, b"", "307 Temporary Redirect", f"Location: {self.url}/{call}\r\n")
            return True
        elif mode == "huge":
            self._send(writer, b'{"isValid":true,"x":"' + b"x" * 10**6 + b'"}')
            return True
        elif mode == "deep":
            self._send(writer, b"[" * 30000)
            return True
        elif mode == "cut-body":
            whole = json.dumps(answer).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(whole) + whole[:-9])
            await writer.drain()
            return False
        self._send(writer, json.dumps(answer).encode())
        return True

    def _send(self, writer, body, status="200 OK", more=""):
        writer.write(
            f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n{more}Content-Length: {len(body)}\r\n\r\n".encode()
            + body
        )

    def _parts(self, body):
        inner = body["paymentPayload"]["payload"]
        if "authorization" in inner:
            signed = inner["authorization"]
            return signed["from"], int(signed["nonce"], 16), int(signed["value"])
        signed = inner["permit2Authorization"]
        return signed["from"], int(signed["nonce"]), int(signed["permitted"]["amount"])

    def _verdict(self, body):
        payer, nonce, _ = self._parts(body)
        if (payer.lower(), nonce) in self.chain.used:
            return {"isValid": False, "invalidReason": "invalid_exact_evm_nonce_already_used", "payer": payer}
        return {"isValid": True, "payer": payer}

    def _settle(self, body):
        payer, nonce, amount = self._parts(body)
        if (payer.lower(), nonce) in self.chain.used:
            return {
                "success": False,
                "errorReason": "invalid_exact_evm_nonce_already_used",
                "transaction": "",
                "network": "",
            }
        transaction = self.chain.pay(payer, nonce, amount)
        return {"success": True, "transaction": transaction, "network": self.chain.network, "payer": payer}


class ItemAsk(Ask):
    symbol: SymbolField
    side: Annotated[str, Meta(max_length=10, examples=["buy"])] = "buy"


class BuildAsk(Ask):
    text: Annotated[str, Meta(max_length=10, examples=["hello"])]


class Item(Answer):
    text: str
    n: int


async def get_item(deps, ask):
    """Sell one item. It says how often it ran."""
    await deps.stage("run")
    deps.runs += 1
    failures = {"BAD": BadRequest, "GONE": NotFound, "DRY": NoLiquidity, "DOWN": UpstreamDown}
    if ask.symbol in failures and not deps.is_healed:
        raise failures[ask.symbol]("it failed", retry_after_s=7)
    if ask.symbol == "CRASH" and not deps.is_healed:
        raise RuntimeError("secret detail")
    if ask.symbol == "SLOW":
        await deps.gate.wait()
    return Item(text=f"{ask.symbol} {ask.side}", n=deps.runs)


async def get_kept(deps, ask):
    """Sell an answer that the free route may keep."""
    deps.runs += 1
    return Kept(Item(text=f"{ask.symbol} " + "x" * 2000, n=deps.runs), 60)


async def build(deps, ask):
    """Sell a build made from a body."""
    deps.runs += 1
    return Item(text=ask.text, n=deps.runs)


ITEM = Operation("get_item", "GET", "/v1/item/{symbol}", get_item, Item, "trading", ItemAsk, price=UsdgAmount(10_000))
KEPT = Operation("get_kept", "GET", "/v1/kept/{symbol}", get_kept, Item, "trading", ItemAsk, price=UsdgAmount(10_000))
BUILD = Operation("build", "POST", "/v1/build", build, Item, "trading", BuildAsk, price=UsdgAmount(20_000))
ROWS = (ITEM, KEPT, BUILD)


@dataclass
class Deps:
    runs: int = 0
    is_healed: bool = False
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    on_stage: object = None

    async def stage(self, name):
        if self.on_stage is not None:
            await self.on_stage(name)


def make_offer(row, terms):
    return Offer(row, terms, ask_example=example_of(row.ask), answer_example=example_of(row.answer))


class Process:
    """What one API process has: its own store, ledger, facilitator clients, cashier and app."""

    def __init__(self, world, store):
        clock = world.clock
        self.store = store
        self.ledger = Ledger(store, clock, settle_s=world.settle_s)
        self.facilitators = {
            network: Facilitator(network, far.url, clock, verify_s=world.verify_s, settle_s=world.settle_s)
            for network, far in world.facilitators.items()
        }
        self.rpcs = {
            network: Rpc(
                [chain.node.url], chain_id=chain.node.chain_id, clock=clock, budget_s=1.0, try_s=0.5, rng=Random(1)
            )
            for network, chain in world.chains.items()
        }
        self.proofs = {network: ChainProof(network, rpc) for network, rpc in self.rpcs.items()}
        self.tills = {
            network: Till(self.facilitators[network], self.proofs[network], clock) for network in self.facilitators
        }
        self.cashier = Cashier(
            self.ledger, self.tills, clock, wait_s=world.wait_s, unsettled_per_minute=world.unsettled_per_minute
        )
        self.settlement = Settlement(self.ledger, self.tills)
        keeper = Doorkeeper(
            self.cashier, clock, lambda scope: scope["client"][0], bad_payments_per_minute=world.bad_payments_per_minute
        )
        cache = FrontCache(clock)
        routes = []
        for row in ROWS:
            endpoint = Endpoint(row, world.deps, cache, clock)
            gate = Gate(row, endpoint, make_offer(row, world.terms), keeper)
            routes.append((row.method, row.path, endpoint))
            routes += [(method, gate._offer.path, gate) for method in METHODS]
        self.router = build_router(routes)
        self.app = Edge(self.router, cache, clock, rate_limit=None, access_log=None, profile_header=None)

    async def start(self):
        for facilitator in self.facilitators.values():
            await facilitator.start()

    async def close(self):
        await self.cashier.drain()
        for each in (*self.facilitators.values(), *self.rpcs.values(), self.store):
            await each.close()


class World:
    def __init__(self, where, *, processes=1, open_store=Store.open, **limits):
        defaults = {"settle_s": 0.4, "verify_s": 0.4, "wait_s": 3.0}
        defaults |= {"unsettled_per_minute": None, "bad_payments_per_minute": None}
        for name, value in (defaults | limits).items():
            setattr(self, name, value)
        self.where = str(where)
        self._open_store = open_store
        self._count = processes
        self.clock = MovedClock()
        self.deps = Deps()
        self.terms = Terms(SETTINGS, self.clock)
        self.wallet = Wallet()

    async def __aenter__(self):
        self._stack = contextlib.AsyncExitStack()
        self.chains = {network: Chain(network, self.clock) for network in (FIRST, SECOND)}
        for chain in self.chains.values():
            await self._stack.enter_async_context(chain.node)
        self.facilitators = {
            network: await self._stack.enter_async_context(ScriptedFacilitator(chain))
            for network, chain in self.chains.items()
        }
        first = Store.open(self.where, self.clock)
        await lay(first)
        await first.close()
        self.processes = [await self.new_process() for _ in range(self._count)]
        return self

    async def new_process(self):
        process = Process(self, self._open_store(self.where, self.clock))
        await process.start()
        self._stack.push_async_callback(process.close)
        return process

    async def __aexit__(self, *_):
        self.deps.gate.set()
        await self._stack.aclose()

    @property
    def app(self):
        return self.processes[0].app

    def entry(self, row=ITEM, network=SECOND):
        return next(entry.wire for entry in self.terms.entries(row.price) if entry.network == network)

    def payment(self, row=ITEM, network=SECOND, *, wallet=None, extensions=None, **how):
        """A payment header for one call."""
        entry = self.entry(row, network)
        inner = (wallet or self.wallet).pay(entry, self.clock.seconds(), **how)
        more = {} if extensions is None else {"extensions": extensions}
        return as_header(envelope(entry, inner, **more))

    def settles(self, network=SECOND):
        return len(self.facilitators[network].asked["settle"])

    def verifies(self, network=SECOND):
        return len(self.facilitators[network].asked["verify"])

    def transfers(self, network=SECOND):
        return len(self.chains[network].transfers)


@dataclass
class Response:
    status: int
    headers: dict
    body: bytes

    def json(self):
        return json.loads(self.body)

    @property
    def reason(self):
        """The reason of a 402, whose header and body say the same."""
        assert self.status == 402
        assert base64.b64decode(self.headers["payment-required"]) == self.body
        assert self.headers["cache-control"] == "no-store"
        return self.json()["error"]

    @property
    def receipt(self):
        assert self.headers["payment-response"] == self.headers["x-payment-response"]
        return json.loads(base64.b64decode(self.headers["payment-response"]))

    @property
    def is_retry_advice(self):
        says = self.status == 502 and int(self.headers["retry-after"]) > 0
        return says and "same payment" in self.json()["error"]["message"]


async def call(app, method, target, *headers, body=b"", client=("203.0.113.9", 1234), receive=None):
    raw, _, query = (target if isinstance(target, bytes) else target.encode()).partition(b"?")
    scope = {
        "type": "http",
        "method": method,
        "path": raw.decode("latin-1"),
        "raw_path": raw,
        "query_string": query,
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers],
        "client": client,
        "http_version": "1.1",
        "scheme": "http",
        "root_path": "",
    }
    reads = SimpleNamespace(count=0)

    async def read():
        reads.count += 1
        if reads.count > 1:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": body, "more_body": False}

    sent = []

    async def send(message):
        sent.append(message)

    await app(scope, receive or read, send)
    start, *bodies = sent
    names = [name.decode() for name, _ in start["headers"]]
    assert len(names) == len(set(names)), f"a header is sent twice: {names}"
    values = {name.decode(): value.decode() for name, value in start["headers"]}
    response = Response(start["status"], values, b"".join(message["body"] for message in bodies))
    response.reads = reads.count
    return response
