"""A simulated town: three API replicas, two workers, two agents, wallets, payers, and a chain, over the real code."""

import asyncio
import atexit
import random
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from pathlib import Path
from types import SimpleNamespace

from coincurve import PrivateKey
from sqlalchemy import insert

from simulated.chain import CHAIN_ID, DESK, MULTICALL, TOKEN, USDG, Chain
from simulated.loop import START, VirtualClock
from simulated.process import Faults, FrailRpc, FrailStore, Killed, Process
from tickyard.chain.keccak import keccak256
from tickyard.features.earn import rules
from tickyard.features.earn.epochs import index_holders, next_due, run_due
from tickyard.features.earn.message import EarnTerms, claim_message, message_digest
from tickyard.features.earn.operations import ClaimAsk, claim
from tickyard.features.earn.room import EarnRoom
from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import BadRequest, Failure, UpstreamDown
from tickyard.payments.proof.chain import ChainProof
from tickyard.payments.proof.credit import verify_settlements
from tickyard.payments.tables import payment
from tickyard.payout.accepted import AcceptedBooks
from tickyard.payout.agent import Agent
from tickyard.payout.halt import Halted
from tickyard.payout.judge import PayoutCaps
from tickyard.payout.signer import LocalSigner
from tickyard.store.leases import LostLease, renew, take
from tickyard.store.migrate import migrate
from tickyard.store.opening import open_store

DEPTH = 4
TERMS = EarnTerms(CHAIN_ID, TOKEN, USDG)
NETWORK = f"eip155:{CHAIN_ID}"
PAY_TO = "0x" + "9a" * 20
THRESHOLD = rules.threshold_raw(18)
CAPS = PayoutCaps(10**15, 10**15, 10**15)
GONE = (Killed, asyncio.CancelledError)


@dataclass
class Wallet:
    key: PrivateKey
    address: str

    @classmethod
    def number(cls, n):
        key = PrivateKey(keccak256(f"simulated wallet {n}".encode()))
        return cls(key, "0x" + keccak256(key.public_key.format(compressed=False)[1:])[12:].hex())

    def sign(self, epoch, address=None):
        digest = message_digest(claim_message(TERMS, epoch, address or self.address))
        return "0x" + self.key.sign_recoverable(digest, hasher=None).hex()


WALLETS = [Wallet.number(n) for n in range(8)]
PAYERS = ["0x" + f"{n:02x}" * 20 for n in range(0xA0, 0xA4)]


@dataclass
class Truth:
    """What really happened, written down by those who did it."""

    settlements: dict = field(default_factory=dict)
    lies: set = field(default_factory=set)
    answers: list = field(default_factory=list)
    violations: list = field(default_factory=list)
    halts: list = field(default_factory=list)
    kills: int = 0
    claims: int = 0
    paid_answers: int = 0


class World:
    def __init__(self, seed, folder, faults=None, doom=None):
        self.doom = doom
        self.rng = random.Random(f"world {seed}")
        self.loop = asyncio.get_running_loop()
        self.loop.set_exception_handler(self._on_stray)
        self.clock = VirtualClock(self.loop, START)
        self.faults = faults or draw_faults(self.rng)
        self.chain = Chain(self.clock, random.Random(f"chain {seed}"), self.faults)
        self.path = folder / "world.db"
        self.folder = folder
        self.signer = LocalSigner(keccak256(b"simulated payer"))
        self.chain.resends = self.signer.address
        self.truth = Truth()
        self.claimed = asyncio.Event()
        self.processes = {}
        self.lives = 0
        self._jobs = []

    def _on_stray(self, loop, context):
        """A task of a killed process ends without anybody to hear of it."""
        if not isinstance(context.get("exception"), GONE):
            loop.default_exception_handler(context)

    async def open(self):
        shutil.copy(template(), self.path)
        self.store = open_store(self.path, self.clock, random.Random(0))
        for wallet in WALLETS:
            self.chain.give(TOKEN, wallet.address, self._holding())
        for payer in PAYERS:
            self.chain.give(USDG, payer, 10**15)
        self.chain.give(USDG, self.signer.address, 10**15)
        self.chain.mine()

    def retire(self):
        """Everybody stops."""
        for job in self._jobs:
            job.cancel()
        for process in self.processes.values():
            process.die()

    async def close(self):
        self.retire()
        await asyncio.gather(*self._jobs, return_exceptions=True)
        await self.clock.sleep(0)
        for process in self.processes.values():
            await process.store.close()
        await self.store.close()

    def _holding(self):
        return self.rng.choice(
            (THRESHOLD, THRESHOLD - 1, THRESHOLD + 1, 3 * THRESHOLD, self.rng.randrange(1, 9 * THRESHOLD))
        )

    # --- processes

    def spawn(self, name, life):
        """Keep a process alive: a new life some time after each death."""
        self._jobs.append(self.loop.create_task(self._keep_alive(name, life), name=f"keeper {name}"))

    async def _keep_alive(self, name, life):
        while True:
            process = self.birth(name)
            task = process.start(life(process))
            await asyncio.wait([task])
            if not task.cancelled() and task.exception() is not None:
                error = task.exception()
                if not isinstance(error, GONE):
                    self.truth.violations.append(f"{name} ended with {error!r}")
                    return
            self.bury(process)
            await self.clock.sleep(self.rng.choice((0.5, 20, self.rng.uniform(0, 900), self.rng.uniform(0, 3600))))

    def birth(self, name):
        self.lives += 1
        process = Process(name, random.Random(f"{name} {self.lives} {self.rng.random()}"), self.faults, self.doom)
        process.store = FrailStore(self.path, self.clock, process.rng, process)
        process.rpc = FrailRpc(self.chain, self.clock, process)
        process.deps = SimpleNamespace(
            store=process.store, rpc=process.rpc, clock=self.clock, earn=EarnRoom(TERMS, DEPTH, DESK, MULTICALL)
        )
        self.processes[name] = process
        return process

    def bury(self, process):
        self.truth.kills += 1
        process.die()
        for link in [*process.store._idle, *([process.store._writer] if process.store._writer else [])]:
            link.close()
        process.store._idle.clear()
        process.store._writer = None

    async def api_life(self, process):
        await asyncio.Event().wait()

    async def worker_life(self, process):
        while True:
            await self.work_once(process)
            now = self.clock.now()
            soon = next_due(now) - now + timedelta(seconds=process.rng.choice((0, 0, 1, process.rng.uniform(0, 120))))
            busy = now.hour in (23, 0)
            pause = timedelta(seconds=process.rng.uniform(300, 1200) if busy else process.rng.uniform(5_000, 30_000))
            await self.clock.sleep(min(soon, pause) / timedelta(seconds=1))

    async def work_once(self, process):
        with suppress(UpstreamDown):
            chains = {NETWORK: ChainProof(NETWORK, process.rpc)}
            await verify_settlements(process.store, chains, self.clock, finality=DEPTH)
        with suppress(UpstreamDown):
            await index_holders(process.deps)
        with suppress(UpstreamDown):
            await run_due(process.deps, self.clock.now())

    async def agent_life(self, process):
        agent, lease = self.agent_of(process), None
        while True:
            lease = await self.agent_round(process, agent, lease)
            now = self.clock.now()
            busy = now.hour == 0 or (now.hour == 1 and now.minute < 30)
            # Somebody who has just sent something looks what became of it.
            process.attentive = max(0, process.attentive - 1)
            wait_s = (
                process.rng.uniform(5, 40)
                if process.attentive
                else process.rng.uniform(60, 600)
                if busy
                else process.rng.uniform(3000, 20_000)
            )
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self.claimed.wait()
            await self.clock.sleep(process.rng.uniform(0.05, 1.5))
            self.claimed.clear()

    def agent_of(self, process):
        memory = AcceptedBooks(self.folder / f"accepted-{process.name}.jsonl")
        return Agent(process.store, process.rpc, self.signer, TERMS, DESK, MULTICALL, CAPS, memory, DEPTH)

    async def agent_round(self, process, agent, lease):
        try:
            if lease is None:
                lease = await take(process.store, "payout", f"{process.name} {self.lives}")
            else:
                await renew(process.store, lease)
            if lease is not None and not (await agent.run_once(lease)).is_idle:
                process.attentive = 4
        except LostLease:
            return None
        except UpstreamDown:
            return lease
        except Halted as halted:
            self.truth.halts.append(str(halted))
            self.truth.violations.append(f"halted: {halted}")
            await asyncio.Event().wait()
        return lease

    # --- people

    async def miner_life(self):
        while True:
            now = self.clock.now()
            busy = now.hour in (23, 0) or (now.hour == 1 and now.minute < 20) or now.hour == 22
            await self.clock.sleep(self.rng.uniform(10, 40) if busy and now.hour != 22 else self.rng.uniform(300, 1200))
            self.chain.mine()
            if self.rng.random() < self.faults.reorg:
                if self.rng.random() < 0.5:
                    self._thaw()
                self.chain.reorganise(self.rng.randint(1, 3))
            if self.faults.flip and self.rng.random() < self.faults.flip:
                self._flip_a_revert()
            if self.rng.random() < self.faults.drop / 4 and self.chain.pool:
                mine = [each for each in self.chain.pool.values() if each.sender == self.signer.address]
                for lost in mine[: self.rng.randint(0, 2)]:
                    del self.chain.pool[lost.hash]
            if self.rng.random() < self.faults.freeze:
                self.chain.frozen.add(self.rng.choice(WALLETS).address)
            elif self.rng.random() < 0.1:
                self._thaw()

    def _flip_a_revert(self):
        """The meanest reorganisation: a payout that has just reverted goes through in the new branch."""
        for mined in (mined for block in self.chain.blocks[-3:] for mined in block.mined):
            if mined.transaction.sender == self.signer.address and not mined.status:
                self.chain.frozen.discard(mined.transaction.receiver)
                self.chain.reorganise(3)
                return

    def _thaw(self):
        if self.chain.frozen:
            self.chain.frozen.discard(self.rng.choice(sorted(self.chain.frozen)))

    async def buyer_life(self):
        """Pays a few calls a day, some at the very edge of it."""
        while True:
            now = self.clock.now()
            midnight = rules.opens_at(rules.accruing_epoch(now))
            edge = midnight - now + timedelta(microseconds=self.rng.choice((-1, 0, 1, -2_000_000, 2_000_000)))
            wait = self.rng.choice((edge, timedelta(seconds=self.rng.uniform(1, 40_000))))
            await self.clock.sleep(max(wait, timedelta(seconds=60)) / timedelta(seconds=1))
            await self.settle_payment()

    async def settle_payment(self):
        payer = self.rng.choice(PAYERS)
        amount = self.rng.choice((10_000, 20_000, self.rng.randrange(1, 10**9)))
        is_lie = self.rng.random() < 0.15
        if is_lie:
            hash_ = "0x" + self.rng.randbytes(32).hex()
            self.truth.lies.add(hash_)
        else:
            hash_ = self.chain.send(payer, USDG, PAY_TO, amount)
            self.truth.settlements[hash_] = amount
        now = self.clock.now()
        row = {
            "network": NETWORK, "asset": USDG, "payer": payer, "nonce": "0x" + self.rng.randbytes(32).hex(),
            "state": "settled", "holder": "", "lease_until": now, "fingerprint": "", "route": "", "amount_raw": amount,
            "pay_to": PAY_TO, "valid_before": self.clock.seconds() + 300, "network_time": self.clock.seconds(),
            "begun_at": now, "settles": 1, "transaction": hash_, "settled_at": now, "proof": "waiting",
        }  # fmt: skip
        async with self.store.begin() as tx:
            await tx.execute(insert(payment), row)

    async def trader_life(self):
        """Moves service tokens around, also right around the snapshot."""
        while True:
            now = self.clock.now()
            snapshot = rules.next_snapshot_at(now)
            edge = snapshot - now + timedelta(seconds=self.rng.choice((-30, -5, 0, 5, 30)))
            wait = self.rng.choice((edge, timedelta(seconds=self.rng.uniform(1, 30_000))))
            await self.clock.sleep(max(wait, timedelta(seconds=1)) / timedelta(seconds=1))
            giver, taker = self.rng.sample(WALLETS, 2)
            held = self.chain.state.token.get(giver.address, 0)
            if held:
                amount = self.rng.choice((1, held, held // 2, max(0, held - THRESHOLD)))
                self.chain.send(giver.address, TOKEN, taker.address, amount)

    async def holder_life(self, wallet):
        """Claims most days; tries again as long as there is no answer, and sometimes after there was one."""
        while True:
            now = self.clock.now()
            epoch = rules.accruing_epoch(now)
            opens, closes = rules.opens_at(epoch), rules.closes_at(epoch)
            moment = self.rng.choice(
                (
                    opens + timedelta(seconds=self.rng.uniform(0, 120)),
                    opens + timedelta(seconds=self.rng.uniform(0, 3500)),
                    closes - timedelta(microseconds=self.rng.choice((1, 50_000, 2_000_000))),
                    opens,
                )
            )
            await self.clock.until(moment)
            if self.rng.random() < 0.85:
                await self._claim_until_answered(wallet, epoch, closes + timedelta(minutes=30))
            await self.clock.until(closes + timedelta(hours=1))

    async def _claim_until_answered(self, wallet, epoch, give_up):
        answered = 0
        while self.clock.now() < give_up and answered < 1 + (self.rng.random() < 0.3):
            outcome = await self.ask(self.rng.choice(("api-1", "api-2", "api-3")), wallet, epoch)
            if isinstance(outcome, BadRequest):
                return
            answered += outcome is not None and not isinstance(outcome, Failure)
            await self.clock.sleep(self.rng.choice((0.01, 20, self.rng.uniform(30, 400))))

    async def mischief_life(self):
        """Claims for others, with other epochs' signatures, twice at once, and outside of the window."""
        while True:
            await self.clock.sleep(self.rng.uniform(100, 40_000))
            now = self.clock.now()
            epoch = rules.accruing_epoch(now - timedelta(days=1))
            victim, thief = self.rng.sample(WALLETS, 2)
            forged = self.rng.choice(
                (thief.sign(epoch, victim.address), victim.sign(rules.next_epoch(epoch)), "0x" + "11" * 64 + "1b")
            )
            outcome = await self.ask("api-1", victim, epoch, forged)
            if outcome is not None and not isinstance(outcome, Failure):
                self.truth.violations.append(f"a forged claim was answered with {outcome}")
            if self.rng.random() < 0.5:
                await asyncio.gather(*(self.ask(f"api-{n}", victim, epoch) for n in (1, 2, 3)))

    async def ask(self, replica, wallet, epoch, signature=None):
        """One claim over one replica: its answer, its failure, or None when it died on the way."""
        process = self.processes[replica]
        if process.is_dead:
            return None
        self.truth.claims += 1
        ask = ClaimAsk(address=wallet.address, epoch=epoch, signature=signature or wallet.sign(epoch))
        asked_at = self.clock.now()
        self.loop.call_later(0.02, self.claimed.set)
        task = process.start(claim(process.deps, ask))
        await asyncio.wait([task])
        if task.cancelled() or isinstance(task.exception(), GONE):
            return None
        error = task.exception()
        if error is None:
            answer = task.result()
            self.truth.answers.append((epoch, wallet.address, answer.tx, answer.amount_usd))
            self.truth.paid_answers += 1
            return answer
        if not isinstance(error, Failure):
            self.truth.violations.append(f"a claim asked at {asked_at} ended with {error!r}")
        return error


@cache
def template():
    """An empty database with its schema: making one takes longer than living through a day."""
    folder = Path(tempfile.mkdtemp(prefix="tickyard-sim-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)

    async def make():
        store = open_store(folder / "empty.db", WallClock())
        await migrate(store)
        await store.close()

    # A loop of its own, in a thread: this is called from inside the virtual one.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, make()).result()
    return folder / "empty.db"


def draw_faults(rng):
    """From a quiet world to a terrible one."""
    bad = rng.choice((0.0, 0.3, 1.0, 2.0))
    return Faults(
        kill=bad * 0.0012,
        store_error=bad * 0.004,
        lost_commit=bad * 0.01,
        lost_request=bad * 0.02,
        lost_reply=bad * 0.02,
        slow=bad * 0.05,
        drop=bad * 0.15,
        delay=bad * 0.15,
        reorg=bad * 0.05,
        freeze=bad * 0.08,
        flip=bad * 0.4,
        interleave=0.05 + bad * 0.02,
        log_range=rng.choice((10**9, 40, 700)),
        log_limit=rng.choice((10**9, 14)),
    )
