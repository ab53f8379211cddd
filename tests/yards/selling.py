"""What one API process that sells has, around three things to buy."""

import asyncio
from dataclasses import dataclass, field
from random import Random
from typing import Annotated

from msgspec import Meta

from tickyard.chain.rpc.client import Rpc
from tickyard.doors.describe.examples import example_of
from tickyard.doors.http.cache import FrontCache
from tickyard.doors.http.edge import Edge
from tickyard.doors.http.limits import own_address
from tickyard.doors.paid.gate import Doorkeeper, Gate
from tickyard.doors.routes import Endpoint, build_router
from tickyard.kernel.errors import BadRequest, NoLiquidity, NotFound, UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.kernel.operation import Kept, Operation
from tickyard.kernel.units import UsdgAmount
from tickyard.kernel.wire import Answer, Ask, SymbolField
from tickyard.payments.books.ledger import Ledger
from tickyard.payments.facilitators.facilitator import Facilitator
from tickyard.payments.facilitators.till import Till
from tickyard.payments.offer.challenge import PaidOffer
from tickyard.payments.offer.terms import PaymentSettings
from tickyard.payments.proof.chain import ChainProof
from tickyard.payments.selling.cashier import Cashier
from tickyard.payments.selling.identity import PayerIdentity
from yards.clocks import SkippingClock

PAY_TO = Address("0x" + "ab" * 20)
BASE_URL = "https://api.example"
SETTINGS = PaymentSettings(base_url=BASE_URL, pay_to=PAY_TO)
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


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
    return PaidOffer(row, terms, ask_example=example_of(row.ask), answer_example=example_of(row.answer))


class Process:
    """What one API process has: its own store, ledger, facilitator clients, cashier and app."""

    def __init__(self, world, store):
        clock = world.clock
        self.store = store
        self.ledger = Ledger(store, clock, settle_s=world.settle_s)
        urls = {network: [far.url] for network, far in world.facilitators.items()} | getattr(world, "urls", {})
        self.facilitators = {
            network: [
                Facilitator(network, url, clock, connect_s=2.0, verify_s=world.verify_s, settle_s=world.settle_s)
                for url in urls[network]
            ]
            for network in urls
        }
        self.rpcs = {
            network: Rpc(
                [chain.node.url],
                chain_id=chain.node.chain_id,
                clock=SkippingClock(),
                budget_s=3.0,
                try_s=1.5,
                rng=Random(1),
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
        keeper = Doorkeeper(
            self.cashier,
            clock,
            lambda scope: scope["client"][0],
            PayerIdentity(self.proofs),
            bad_payments_per_minute=world.bad_payments_per_minute,
            receipt_key=getattr(world, "receipt_key", None),
            own_address=own_address,
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
        for facilitator in self._all_facilitators():
            await facilitator.start()

    def _all_facilitators(self):
        return [each for several in self.facilitators.values() for each in several]

    async def close(self):
        await self.cashier.drain()
        for each in (*self._all_facilitators(), *self.rpcs.values(), self.store):
            await each.close()
