"""A town that sells: two API processes, two workers, two chains, facilitators, buyers and a thief, over the real code."""

import asyncio
import base64
import json
import random
import shutil
from contextlib import suppress
from dataclasses import dataclass, field

from paid.chain import BLOCK_S, PAY_TO, Chain
from paid.far import FarFacilitator, NearFacilitator, NearRpc, parts
from paid.people import Buyer, PlainBuyer, StockBuyer, Thief
from simulated.loop import START, VirtualClock
from simulated.process import FrailStore, Killed, Process
from simulated.template import template
from tickyard.doors.paid.gate import Doorkeeper, Gate
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.kernel.operation import Operation
from tickyard.kernel.units import UsdgAmount
from tickyard.kernel.wire import Answer, Ask
from tickyard.payments.books.ledger import Ledger
from tickyard.payments.facilitators.till import Till
from tickyard.payments.offer.challenge import PaidOffer
from tickyard.payments.offer.terms import FIRST, SECOND, PaymentSettings, Terms
from tickyard.payments.proof.chain import ChainProof
from tickyard.payments.proof.reconcile import look_after
from tickyard.payments.selling.cashier import Cashier
from tickyard.payments.selling.identity import PayerIdentity

FINALITY = 12
PRICE = UsdgAmount(10_000)
GONE = (Killed, asyncio.CancelledError)
STORMY_S, CALM_S = 400, 700
SAYS_USED = ("invalid_exact_evm_nonce_already_used", "permit2_invalid_nonce")


class ItemAsk(Ask):
    symbol: str


class Item(Answer):
    text: str


async def _never(_deps, _ask):
    """Sell one item."""


ITEM = Operation("get_item", "GET", "/v1/item/{symbol}", _never, Item, "trading", ItemAsk, price=PRICE)


@dataclass
class Faults:
    """Chances of things going wrong; each world draws its own."""

    kill: float = 0.0
    store_error: float = 0.0
    lost_commit: float = 0.0
    interleave: float = 0.0
    lost_request: float = 0.0
    lag: float = 0.0
    cut_logs: float = 0.0
    reorg: float = 0.0
    down: float = 0.0
    honest_no: float = 0.0
    lost_before: float = 0.0
    lost_during: float = 0.0
    lost_after: float = 0.0
    lying_no: float = 0.0
    silent_no: float = 0.0
    pending: float = 0.0
    wrong_hash: float = 0.0
    twice: float = 0.0
    broken: float = 0.0
    mischief: float = 0.0
    front_run: float = 0.0
    lying_verify: float = 0.0
    pause: float = 0.0

    def calm(self):
        for name in vars(self):
            setattr(self, name, 0.0)


def draw_faults(rng, only=None):
    """Some worlds are quiet, some have one great trouble, some have all of them; `only` says which, instead of luck."""
    if only is not None:
        return Faults(**only)
    most = {
        "kill": 0.02, "store_error": 0.02, "lost_commit": 0.02, "interleave": 0.3, "lost_request": 0.3, "lag": 0.4,
        "cut_logs": 0.5, "reorg": 0.15, "down": 0.2, "honest_no": 0.2, "lost_before": 0.4, "lost_during": 0.5,
        "lost_after": 0.4, "lying_no": 0.4, "silent_no": 0.3, "pending": 0.3, "wrong_hash": 0.3, "twice": 0.3,
        "broken": 0.2, "mischief": 0.5, "front_run": 0.6, "lying_verify": 0.2,
        "pause": 0.2,
    }  # fmt: skip
    mood = rng.choice((0.2, 0.5, 1.0))
    faults = {name: rng.uniform(0, high) * mood if rng.random() < 0.6 else 0.0 for name, high in most.items()}
    # Liars are liars: buyers who believe them prove nothing, so that some worlds must have none at all.
    return Faults(**faults | {"lying_verify": faults["lying_verify"] if faults["lying_no"] else 0.0})


@dataclass
class Truth:
    """What really happened, written down by those who did it."""

    answers: list = field(default_factory=list)
    asked: dict = field(default_factory=dict)
    headers: dict = field(default_factory=dict)
    purchase_of: dict = field(default_factory=dict)
    paths: dict = field(default_factory=dict)
    patient: set = field(default_factory=set)
    fetched: dict = field(default_factory=dict)
    told_used: set = field(default_factory=set)
    """Payments that were refused to their own signer because their nonce is used."""
    signed_in: dict = field(default_factory=dict)
    """What each buyer got for a signature alone, by purchase."""
    violations: list = field(default_factory=list)
    payments: list = field(default_factory=list)
    kills: int = 0

    def wants(self, buyer, path, *, is_patient):
        self.paths.setdefault(buyer, []).append(path)
        if is_patient:
            self.patient.add((buyer, path))

    def signed(self, buyer, network, nonce, _amount):
        self.payments.append((network, buyer, nonce))
        self.purchase_of[network, buyer, nonce] = (buyer, self.paths[buyer][-1])


class SleepyLedger(Ledger):
    """Of a machine that may stand still right after it wrote down that money may move."""

    def __init__(self, process, clock):
        super().__init__(process.store, clock)
        self._process = process

    async def start_settling(self, row, reply, facilitator):
        settling = await super().start_settling(row, reply, facilitator)
        if self._process.chance("pause"):
            # Until others take the payment for abandoned, or nearly.
            await self.clock.sleep(self._process.rng.uniform(40, 250))
            await self._process.point()
        return settling


class World:
    finality = FINALITY

    def __init__(self, seed, folder, only=None):
        self.rng = random.Random(f"paid world {seed}")
        self.loop = asyncio.get_running_loop()
        self.loop.set_exception_handler(self._on_stray)
        self.clock = VirtualClock(self.loop, START)
        self.faults = draw_faults(self.rng, only)
        # Whoever believes a liar may pay twice; only the client of the house is safe from that.
        self.has_liar = self.faults.lying_no > 0 or self.faults.lying_verify > 0
        self.truth = Truth()
        self.folder, self.path = folder, folder / "world.db"
        self.chains = {name: Chain(name, self.clock, random.Random(f"{name} {seed}")) for name in (FIRST, SECOND)}
        self.far = {
            name: FarFacilitator(chain, self.clock, random.Random(f"far {name} {seed}"), self.faults)
            for name, chain in self.chains.items()
        }
        self.terms = Terms(PaymentSettings("https://api.example", Address(PAY_TO)), self.clock)
        example = {"symbol": "AAPL"}
        self.paid_offer = PaidOffer(ITEM, self.terms, ask_example=example, answer_example={"text": "x"})
        self.apis = {}
        self.lives = 0
        self._jobs = []

    def _on_stray(self, loop, context):
        if not isinstance(context.get("exception"), (*GONE, UpstreamDown)):
            loop.default_exception_handler(context)

    def offer(self, network):
        return next(entry.wire for entry in self.paid_offer.entries if entry.network == network)

    async def live(self):
        shutil.copy(template(), self.path)
        for n in (1, 2):
            self._jobs.append(self.loop.create_task(self._keep_alive(f"api-{n}", self._api_life)))
            self._jobs.append(self.loop.create_task(self._keep_alive(f"worker-{n}", self._worker_life)))
        buyers = [Buyer(self, n, is_patient=n % 2 == 0, folder=self.folder) for n in range(1, 5)]
        buyers += [PlainBuyer(self, n, is_patient=True, folder=self.folder) for n in range(5, 8)]
        buyers += [StockBuyer(self, n, is_patient=True, folder=self.folder) for n in range(8, 10)]
        shopping = [self.loop.create_task(buyer.live()) for buyer in buyers]
        people = [self._mine(), Thief(self).live(), self._mischief(buyers)]
        self._jobs += [self.loop.create_task(life) for life in people]
        await self.clock.sleep(STORMY_S)
        self.faults.calm()
        await asyncio.wait(shopping, timeout=1800)
        await self.clock.sleep(CALM_S)
        for task in shopping:
            if task.done() and not task.cancelled() and task.exception() is not None:
                raise task.exception()
            task.cancel()
        await self._fetch_all()

    async def close(self):
        for job in self._jobs:
            job.cancel()
        await asyncio.gather(*self._jobs, return_exceptions=True)

    # --- processes

    async def _keep_alive(self, name, life):
        while True:
            self.lives += 1
            process = Process(name, random.Random(f"{name} {self.lives} {self.rng.random()}"), self.faults)
            process.store = FrailStore(self.path, self.clock, process.rng, process)
            process.rpcs = {network: NearRpc(chain, self.clock, process) for network, chain in self.chains.items()}
            process.proofs = {network: ChainProof(network, rpc) for network, rpc in process.rpcs.items()}
            process.ledger = SleepyLedger(process, self.clock)
            task = process.start(life(process))
            try:
                await asyncio.wait([task])
            finally:
                self._bury(process)
            if not task.cancelled() and not isinstance(task.exception(), GONE):
                self.truth.violations.append(f"{name} ended with {task.exception()!r}")
                return
            self.truth.kills += 1
            await self.clock.sleep(self.rng.choice((0.5, 5, self.rng.uniform(0, 60))))

    def _bury(self, process):
        process.die()
        self.apis.pop(process.name, None)
        for link in [*process.store._idle, *([process.store._writer] if process.store._writer else [])]:
            link.close()
        process.store._idle.clear()
        process.store._writer = None

    async def _api_life(self, process):
        tills = {
            network: Till([NearFacilitator(far, self.clock, process)], process.proofs[network], self.clock)
            for network, far in self.far.items()
        }
        cashier = Cashier(process.ledger, tills, self.clock)
        client = lambda scope: scope["client"][0]  # noqa: E731
        keeper = Doorkeeper(cashier, self.clock, client, PayerIdentity(process.proofs), bad_payments_per_minute=1000)
        process.gate = Gate(ITEM, lambda *how: self._sell(process, *how), self.paid_offer, keeper)
        self.apis[process.name] = process
        while True:
            # Somebody who kills does not wait for a request.
            await process.point()
            await self.clock.sleep(process.rng.uniform(1, 20))

    async def _sell(self, process, scope, _receive, send):
        await process.point()
        is_broken = process.chance("broken")
        what = (scope["raw_path"] + scope["query_string"]).decode()
        said = {"text": f"{what} {process.rng.getrandbits(60)}"}
        text = json.dumps({"error": {"code": "upstream_error", "message": "down"}} if is_broken else said).encode()
        await send({"type": "http.response.start", "status": 502 if is_broken else 200, "headers": []})
        await send({"type": "http.response.body", "body": text})

    async def _worker_life(self, process):
        while True:
            with suppress(UpstreamDown):
                await look_after(process.ledger, process.proofs, finality=FINALITY)
                await process.ledger.forget_answers()
            is_calm = self.clock.monotonic() > STORMY_S
            await self.clock.sleep(process.rng.uniform(20, 40) if is_calm else process.rng.uniform(4, 12))

    # --- people

    async def ask(self, method, path, headers, address, patience_s):
        """One request to whichever process is there; OSError when it dies or takes too long."""
        if not self.apis:
            raise ConnectionError
        process = self.apis[self.rng.choice(sorted(self.apis))]
        raw, _, query = path.encode().partition(b"?")
        scope = {
            "type": "http", "method": method, "raw_path": raw, "path": raw.decode(), "query_string": query,
            "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
            "client": (address, 1),
        }  # fmt: skip
        sent, hung_up = [], asyncio.Event()
        told = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive():
            if told:
                return told.pop()
            await hung_up.wait()
            return {"type": "http.disconnect"}

        async def send(message):
            sent.append(message)

        key = None
        if "PAYMENT-SIGNATURE" in headers and address != "198.51.100.66":
            whole = json.loads(base64.b64decode(headers["PAYMENT-SIGNATURE"]))
            payer, nonce, _, _ = parts(whole["payload"])
            key = whole["accepted"]["network"], payer, nonce
            self.truth.headers.setdefault(key, (headers, path, address))
        began = self.clock.timestamp()
        try:
            async with asyncio.timeout(patience_s):
                await process.gate(scope, receive, send)
        except (Killed, asyncio.CancelledError, TimeoutError) as end:
            # Whoever asks is told to stop, or what it waited for in the dead process was.
            if isinstance(end, asyncio.CancelledError) and (not process.is_dead or asyncio.current_task().cancelling()):
                raise
            raise ConnectionError from None
        finally:
            hung_up.set()
            if key is not None:
                self.truth.asked.setdefault(key, []).append((began, self.clock.timestamp()))
        status = sent[0]["status"]
        answered = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        body = b"".join(message.get("body", b"") for message in sent[1:])
        if key is not None and status == 200:
            self.truth.answers.append((key, path, body))
        if key is not None and status == 402 and json.loads(body)["error"] in SAYS_USED:
            self.truth.told_used.add(key)
        return status, answered, body

    async def _mine(self):
        while True:
            await self.clock.sleep(BLOCK_S)
            for chain in self.chains.values():
                chain.mine()
                if self.rng.random() < self.faults.reorg:
                    chain.reorganise(self.rng.randint(1, 5))

    async def _mischief(self, buyers):
        """Buyers who send the same amount for something else, or cross out what they signed."""
        while True:
            await self.clock.sleep(self.rng.uniform(2, 12))
            if self.rng.random() >= self.faults.mischief:
                continue
            buyer = self.rng.choice(buyers)
            chain = self.chains[buyer.network]
            chain.send("plain", buyer.wallet.address, 0, int(PRICE), 0)
            mine = [each for each in self.truth.payments if each[1] == buyer.wallet.address]
            if mine and not buyer.is_patient and self.rng.random() < 0.5:
                # By hand, or with a permit over nothing: that leaves no word of the nonce anywhere.
                kind = "cross" if chain.is_eip3009 else self.rng.choice(("cross", "flip"))
                chain.send(kind, buyer.wallet.address, self.rng.choice(mine)[2], 0, 0)

    async def _fetch_all(self):
        """Everybody who ever paid asks once more, from where they asked first."""
        for key, (headers, path, address) in list(self.truth.headers.items()):
            network, payer, nonce = key
            chain = self.chains[network]
            if any((each.payer, each.nonce) == (payer, nonce) and each.kind == "pay" for each in chain.transfers()):
                for _ in range(3):
                    with suppress(OSError):
                        status, _, body = await self.ask("GET", path, headers, address, 30.0)
                        self.truth.fetched[key] = status
                        if status == 200:
                            break
                        self.truth.fetched[key] = status, body[:90]
