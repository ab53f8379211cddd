"""A world in which payments can be made: wallets that sign, a chain that remembers, a facilitator that misbehaves."""

import asyncio
import base64
import contextlib
import json
from dataclasses import dataclass
from types import SimpleNamespace

from tickyard.payments.offer.terms import FIRST, SECOND, Terms
from tickyard.store.opening import open_store
from yards.clocks import MovedClock
from yards.facilitator import Chain, ScriptedFacilitator
from yards.patience import STUCK_S
from yards.payer import Wallet, as_header, envelope
from yards.schema import lay
from yards.selling import ITEM, SETTINGS, Deps, Process


class World:
    def __init__(self, where, *, processes=1, open_store=open_store, **limits):
        defaults = {"settle_s": 2.0, "verify_s": 2.0, "wait_s": 3.0}
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
        first = open_store(self.where, self.clock)
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


def run(folder, scenario, **options):
    """One world, lived through by a scenario within a minute."""

    async def bounded():
        async with asyncio.timeout(STUCK_S), World(folder / "x.db", **options) as world:
            await scenario(world)

    asyncio.run(bounded())


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


async def call(app, method, target, *headers, body=b"", client=("203.0.113.9", 1234), receive=None, hangs_up=None):
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
            # As a server does: there is nothing to be told until the caller hangs up.
            await (hangs_up or asyncio.Event()).wait()
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
