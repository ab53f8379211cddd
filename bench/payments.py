"""Payments: the challenge against a raw ASGI app, paid calls against the reference middleware, and what free calls pay.

    python -m bench payments                 all of it
    python -m bench.payments serve [FOLDER]  paid and free quotes, the ledger in memory or in that folder
    python -m bench.payments open            free quotes in a house without any gate
    python -m bench.payments reference       paid quotes behind the middleware of the x402 package

Both sides of a paid comparison sell the same bytes on the same terms, get a fresh payment with each request, and ask a
facilitator of their own process that says yes at once. On either side each signature is recovered once: by our gate, or
by the facilitator of the reference, which leaves that to it. The reference keeps no ledger.
"""

import asyncio
import secrets
import sys
import tempfile
import types
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import msgspec
import uvloop
from starlette import requests, responses
from starlette.applications import Starlette
from starlette.routing import Route

from bench.purse import PAY_TO, Shop, ask, compare
from bench.reference import serve, start, start_reference
from bench.report import Row, show
from tickyard.catalog import CATALOG
from tickyard.config.pinned import SECOND_CHAIN_ID, USDC_8453
from tickyard.doors.describe.examples import example_of
from tickyard.doors.http.cache import FrontCache
from tickyard.doors.http.edge import Edge
from tickyard.doors.http.protocol import LimitedProtocol
from tickyard.doors.paid.gate import Doorkeeper, Gate
from tickyard.doors.routes import Endpoint, build_router
from tickyard.kernel.clock import WallClock
from tickyard.kernel.wire import encode
from tickyard.payments.books.ledger import RUNNING, Ledger
from tickyard.payments.books.reply import Reply
from tickyard.payments.books.row import PaymentRow, Reservation
from tickyard.payments.facilitators.facilitator import Settled, Valid
from tickyard.payments.facilitators.till import Till
from tickyard.payments.offer.challenge import PaidOffer
from tickyard.payments.offer.terms import FIRST, SECOND, USDC_NAME, USDC_VERSION, PaymentSettings, Terms
from tickyard.payments.selling.cashier import Cashier
from tickyard.payments.selling.identity import PayerIdentity
from tickyard.payments.signed.key import Key
from tickyard.store.migrate import migrate
from tickyard.store.opening import open_store

CHALLENGE_GOAL, MEMORY_GOAL, DURABLE_GOAL = 0.60, 3.0, 2.0
# "Zero": what two identical servers may differ by on a machine with moods.
FREE_GOAL = 0.95
FREE = "/v1/quote?symbol=AAPL&side=buy&amount=100"
PAID = "/v1/x402" + FREE.removeprefix("/v1")
ROW = next(row for row in CATALOG if row.name == "get_quote")
CONNECTIONS = 32
# A durable ledger waits for the disk, and what waits together is written together.
DURABLE_CONNECTIONS = 64


async def get_quote(_deps, _ask):
    """Price one swap. Always the same, so that only the way to it is measured."""
    return QUOTE


QUOTE = msgspec.convert(example_of(ROW.answer), ROW.answer)
SOLD = replace(ROW, run=get_quote)


class Agreeable:
    """Our side of a facilitator in this process: everything is valid, and settled at once."""

    settle_s = 30.0
    name = "agreeable"
    is_wary = False

    async def verify(self, _request: bytes, *, is_plain: bool) -> Valid:
        return Valid()

    async def settle(self, _request: bytes, *, is_plain: bool) -> Settled:
        return Settled("0x" + secrets.token_hex(32))


class Slate(Ledger):
    """The ledger in memory: the same rows and moves, in a dict of this process. A facilitator that agrees to everything
    needs no others than these."""

    def __init__(self, clock: WallClock) -> None:
        super().__init__(None, clock)
        self._rows: dict[Key, PaymentRow] = {}

    async def find(self, key: Key) -> PaymentRow | None:
        return self._rows.get(key)

    async def reserve(self, claim: Reservation, holder: str) -> PaymentRow | None:
        if claim.key in self._rows:
            return None
        now = self.clock.now()
        row = self._rows[claim.key] = PaymentRow(
            key=claim.key,
            state="running",
            holder=holder,
            lease_until=now + RUNNING,
            fingerprint=claim.fingerprint,
            route=claim.route,
            amount_raw=claim.amount_raw,
            pay_to=claim.pay_to,
            valid_before=claim.valid_before,
            network_time=claim.network_time,
            begun_at=now,
            settles=0,
            request=claim.request,
            reply=None,
            digest=claim.digest,
            signature=claim.signature,
            client=claim.client,
            identifier=claim.identifier,
        )
        return row

    async def deliver(self, keys) -> None:
        pass

    async def _move(self, _statement, _where, _values) -> bool:
        return True

    async def start_settling(self, row: PaymentRow, reply: Reply, facilitator: str) -> PaymentRow | None:
        row = self._rows[row.key] = await super().start_settling(row, reply, facilitator)
        return row

    async def settle(self, row: PaymentRow, transaction: str) -> PaymentRow:
        row = self._rows[row.key] = await super().settle(row, transaction)
        return row


def offer_of(terms: Terms) -> PaidOffer:
    return PaidOffer(SOLD, terms, ask_example=example_of(ROW.ask), answer_example=example_of(ROW.answer))


def quotes(ledger: Ledger | None) -> Edge:
    """Free quotes, and with a ledger the paid ones beside them."""
    clock = WallClock()
    cache = FrontCache(clock)
    endpoint = Endpoint(SOLD, None, cache, clock)
    routes = [("GET", SOLD.path, endpoint)]
    if ledger is not None:
        till = Till([Agreeable()], None, clock)
        cashier = Cashier(ledger, {FIRST: till, SECOND: till}, clock)
        keeper = Doorkeeper(cashier, clock, lambda _: "", PayerIdentity({}))
        terms = Terms(PaymentSettings("http://127.0.0.1", PAY_TO), clock)
        offer = offer_of(terms)
        gate = Gate(SOLD, endpoint, offer, keeper)
        routes += [(method, offer.path, gate) for method in ("GET", "POST")]
    return Edge(build_router(routes), cache, clock, rate_limit=None, access_log=None, profile_header=None)


async def serve_paid(folder: str | None = None) -> None:
    clock = WallClock()
    ledger: Ledger = Slate(clock)
    if folder is not None:
        store = open_store(Path(folder) / "ledger.db", clock)
        await migrate(store)
        ledger = Ledger(store, clock)
    await serve(quotes(ledger), http=LimitedProtocol)


async def serve_reference() -> None:
    await serve(reference())


def reference() -> Starlette:
    """The middleware of the x402 package over a bare Starlette route."""
    # It takes four classes from FastAPI, which FastAPI only passes on from Starlette. That is all it needs of it.
    stand_in = types.ModuleType("fastapi")
    stand_in.Request, stand_in.Response = requests.Request, responses.Response
    passed_on = types.ModuleType("fastapi.responses")
    passed_on.HTMLResponse, passed_on.JSONResponse = responses.HTMLResponse, responses.JSONResponse
    sys.modules.setdefault("fastapi", stand_in)
    sys.modules.setdefault("fastapi.responses", passed_on)
    from x402 import x402ResourceServer
    from x402.http.middleware.fastapi import PaymentMiddlewareASGI
    from x402.mechanisms.evm.eip712 import hash_eip3009_authorization
    from x402.mechanisms.evm.exact import ExactEvmServerScheme
    from x402.mechanisms.evm.types import ExactEIP3009Payload
    from x402.mechanisms.evm.verify import verify_eoa_signature
    from x402.schemas import SettleResponse, SupportedKind, SupportedResponse, VerifyResponse

    terms = Terms(PaymentSettings("http://127.0.0.1", PAY_TO), WallClock())
    coin = (SECOND_CHAIN_ID, USDC_8453, USDC_NAME, USDC_VERSION)

    class Far:
        """The same yes in the package's own models. It recovers the signer, which our gate does by itself, with the
        functions of the package."""

        async def verify(self, payload, _requirements, *_more) -> VerifyResponse:
            paid = ExactEIP3009Payload.from_dict(payload.payload)
            digest = hash_eip3009_authorization(paid.authorization, *coin)
            payer, signature = paid.authorization.from_address, bytes.fromhex(paid.signature[2:])
            return VerifyResponse(is_valid=verify_eoa_signature(digest, signature, payer), payer=payer)

        async def settle(self, _payload, requirements, *_more) -> SettleResponse:
            return SettleResponse(success=True, transaction="0x" + secrets.token_hex(32), network=requirements.network)

        def get_supported(self) -> SupportedResponse:
            kinds = [SupportedKind(x402_version=2, scheme="exact", network=each) for each in (FIRST, SECOND)]
            return SupportedResponse(kinds=kinds)

    server = x402ResourceServer(Far())
    accepts = []
    for entry in terms.entries(ROW.price):
        server.register(entry.network, ExactEvmServerScheme())
        price = {name: entry.wire[name] for name in ("amount", "asset", "extra")}
        options = {name: entry.wire[name] for name in ("scheme", "network", "payTo", "maxTimeoutSeconds", "extra")}
        accepts.append(options | {"price": price})
    body = encode(QUOTE)
    bazaar = offer_of(terms).extensions

    async def quote(_request):
        return responses.Response(body, media_type="application/json")

    app = Starlette(routes=[Route("/v1/x402/quote", quote)])
    sold = {"accepts": accepts, "description": ROW.title, "mimeType": "application/json", "extensions": bazaar}
    routes = {"GET /v1/x402/quote": sold}
    app.add_middleware(PaymentMiddlewareASGI, routes=routes, server=server)
    return app


@asynccontextmanager
async def shop(*words: str, path: str = PAID, is_paid: bool = True):
    async with start(sys.executable, "-m", "bench.payments", *words) as told:
        length = len(encode(QUOTE))
        yield Shop(f"http://127.0.0.1:{told['port']}{path}", told["pid"], 200, length, is_paid)


async def challenged() -> Row:
    async with shop("serve") as service:
        status, headers, body = await asyncio.to_thread(ask, service.url)
        async with start_reference(body, headers) as raw:
            ours = replace(service, status=status, length=len(body), is_paid=False)
            theirs = Shop(raw.url, raw.pid, 200, len(body))
            return await compare("challenge / raw ASGI", ours, theirs, CHALLENGE_GOAL, connections=CONNECTIONS)


async def paid(name: str, goal: float, connections: int, *folder: str) -> Row:
    async with shop("serve", *folder) as service, shop("reference") as middleware:
        return await compare(name, service, middleware, goal, connections=connections)


class Spent(Row):
    """Compared by what a request costs the server: to show that nothing was added takes a finer measure than speed."""

    def ratios(self) -> list[float]:
        return [theirs.cpu_us / ours.cpu_us for ours, theirs in zip(self.service, self.reference, strict=True)]


async def free() -> Row:
    async with (
        shop("serve", path=FREE, is_paid=False) as gated,
        shop("open", path=FREE, is_paid=False) as ungated,
    ):
        row = await compare("free / no gate at all", gated, ungated, FREE_GOAL, connections=CONNECTIONS)
        return Spent(row.name, row.goal, row.service, row.reference)


async def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        return [
            await challenged(),
            await paid("paid, ledger in memory / x402", MEMORY_GOAL, CONNECTIONS),
            await paid("paid, durable ledger / x402", DURABLE_GOAL, DURABLE_CONNECTIONS, folder),
            await free(),
        ]


def is_free_of_gates() -> bool:
    """Whether the free route of a house with gates leads to the plain endpoint, the very one behind the gate."""
    routes = {route.path: route.endpoint for route in quotes(Slate(WallClock()))._app.routes}
    free, paid = routes[SOLD.path]._endpoints["GET"], routes[PAID.partition("?")[0]]._endpoints["GET"]
    return isinstance(paid, Gate) and free is paid._endpoint and type(free) is Endpoint


def main(_arguments: list[str]) -> int:
    is_free = is_free_of_gates()
    print(f"on the way to the free route stands no gate, and behind the paid one the same object: {_word(is_free)}")
    return max(show(asyncio.run(run())), int(not is_free))


def _word(is_met: bool) -> str:
    return "ok" if is_met else "missed"


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    serving = {"serve": lambda: serve_paid(*rest), "open": lambda: serve(quotes(None)), "reference": serve_reference}
    uvloop.run(serving[what]())
