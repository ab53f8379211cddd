"""A simulated town: three API replicas, two workers, two agents, wallets, payers, and a chain, over the real code."""

import asyncio
import random
import shutil
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from types import SimpleNamespace

from coincurve import PrivateKey
from sqlalchemy import insert, text

from simulated.chain import CHAIN_ID, DESK, FAILED, MULTICALL, PAY_CALL, TOKEN, USDG, Chain, View
from simulated.loop import START, VirtualClock
from simulated.process import Faults, FrailRpc, FrailStore, Killed, Process
from simulated.template import template
from tickyard.chain.keccak import keccak256
from tickyard.features.earn import rules
from tickyard.features.earn.epochs import next_due
from tickyard.features.earn.message import EarnTerms, claim_message, message_digest
from tickyard.features.earn.operations import ClaimAsk, claim
from tickyard.features.earn.room import EarnRoom
from tickyard.kernel.errors import BadRequest, Failure, UpstreamDown
from tickyard.payments.proof.chain import ChainProof
from tickyard.payments.proof.credit import verify_settlements
from tickyard.payments.tables import payment
from tickyard.payout.accepted import AcceptedBooks
from tickyard.payout.agent import Agent
from tickyard.payout.judge import PayoutCaps
from tickyard.payout.run import run_agent
from tickyard.payout.signer import LocalSigner
from tickyard.store.opening import open_store
from tickyard.worker.jobs import EpochKeeper, HolderReader

DEPTH = 4
TERMS = EarnTerms(CHAIN_ID, TOKEN, USDG)
NETWORK, SECOND = f"eip155:{CHAIN_ID}", "eip155:8453"
PAY_TO = "0x" + "9a" * 20
PAYMENT_LIFE_S = 3600
"""Blocks are minutes apart for most of the day. While the chain stands still some come too late, and are worth nothing."""
THRESHOLD = 10**24
CAPS = PayoutCaps(10**15, 10**15, 10**15)
GONE = (Killed, asyncio.CancelledError)
FATE = "fate"


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
CROWD = 150
"""So many more are there in some worlds; a few of them claim each day."""
PAYERS = ["0x" + f"{n:02x}" * 20 for n in range(0xA0, 0xA4)]


@dataclass
class Truth:
    """What really happened, written down by those who did it."""

    settlements: dict = field(default_factory=dict)
    """By transaction: amount, and when it settled."""
    forgotten: set = field(default_factory=set)
    """Settlements that a restored backup does not have."""
    payers: list = field(default_factory=list)
    """Since when which account pays."""
    restored: list = field(default_factory=list)
    """From when until when what was written is gone."""
    lies: set = field(default_factory=set)
    asked: dict = field(default_factory=dict)
    """When a wallet asked with a signature of its own, by epoch and address."""
    answers: list = field(default_factory=list)
    violations: list = field(default_factory=list)
    halts: list = field(default_factory=list)
    kills: int = 0
    claims: int = 0
    paid_answers: int = 0


class EagerClock(VirtualClock):
    """An agent's: it wakes when somebody claims."""

    def __init__(self, world, process):
        super().__init__(world.loop, START)
        self._world = world
        self._process = process

    async def sleep(self, seconds):
        if seconds < 2:
            await super().sleep(seconds)
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._world.claimed.wait()
        await super().sleep(self._process.rng.uniform(0.05, 1.5))
        self._world.claimed.clear()


class SkewedClock(VirtualClock):
    """A worker's, which may be wrong."""

    skew = timedelta(0)

    def now(self):
        return super().now() + self.skew


class SimulatedPace:
    """The pauses of an agent: long, except when there is something to see."""

    def __init__(self, world, process):
        self._world = world
        self._process = process

    @property
    def round_s(self):
        now, rng = self._world.clock.now(), self._process.rng
        busy = now.hour == 0 or (now.hour == 1 and now.minute < 30)
        if self._world.is_moving:
            return rng.uniform(5, 40)
        return rng.uniform(60, 600) if busy else rng.uniform(2000, 12_000)

    trouble_s = round_s
    halted_s = 3000.0

    @property
    def stand_by_s(self):
        return self._process.rng.uniform(200, 4000)

    @property
    def renew_s(self):
        # Longer than a lease lasts: whoever stands by takes over in the middle of things.
        return self._process.rng.uniform(200, 3000)


class World:
    def __init__(self, seed, folder, faults=None, doom=None, mood=None):
        self.doom = doom
        self.rng = random.Random(f"world {seed}")
        self.loop = asyncio.get_running_loop()
        self.loop.set_exception_handler(self._on_stray)
        self.clock = VirtualClock(self.loop, START)
        self.faults = faults or draw_faults(self.rng, mood)
        self.depth = DEPTH if faults else self.rng.choice((4, 4, 16))
        self.crowd = (
            [Wallet.number(n) for n in range(100, 100 + CROWD)] if not faults and self.rng.random() < 0.15 else []
        )
        self.chain = Chain(self.clock, random.Random(f"chain {seed}"), self.faults)
        self.second = Chain(self.clock, random.Random(f"second chain {seed}"), self.faults)
        self.path = folder / "world.db"
        self.folder = folder
        self.signer = LocalSigner(keccak256(b"simulated payer"))
        self.caps = CAPS
        self.truth = Truth()
        self.claimed = asyncio.Event()
        self.processes = {}
        self.lives = 0
        self._jobs = []
        self._backup = None

    @property
    def is_moving(self):
        """Whether something of the agents' is on its way to a final block."""
        newest = self.chain.blocks[-self.depth - 2 :]
        return any(mined.transaction.to == DESK for block in newest for mined in block.mined) or any(
            each.to == DESK for each in self.chain.pool.values()
        )

    def _on_stray(self, loop, context):
        """A task of a killed process ends without anybody to hear of it."""
        if not isinstance(context.get("exception"), GONE):
            loop.default_exception_handler(context)

    async def open(self):
        shutil.copy(template(), self.path)
        self.store = open_store(self.path, self.clock, random.Random(0))
        for wallet in WALLETS:
            self.chain.give(TOKEN, wallet.address, self._holding())
        for wallet in self.crowd:
            self.chain.give(TOKEN, wallet.address, self._holding())
        for payer in PAYERS:
            self.chain.give(USDG, payer, 10**15)
            self.second.give(TOKEN, payer, 10**15)
        self._employ()
        self.chain.mine()
        self.second.mine()

    def _employ(self):
        """The account that pays: money, an approval, and its name on the desk."""

        def change(state):
            state.payer = self.signer.address
            state.allowances[self.signer.address] = 10**30

        self.chain.give(USDG, self.signer.address, 10**15)
        self.chain.edit(change)
        self.truth.payers.append((self.clock.now(), self.signer.address))

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
            await self.clock.sleep(self.rest_s())

    def rest_s(self):
        """How long until a process that died is started again."""
        return self.rng.choice((0.5, 20, self.rng.uniform(0, 900), self.rng.uniform(0, 3600)))

    def birth(self, name):
        self.lives += 1
        process = Process(name, random.Random(f"{name} {self.lives} {self.rng.random()}"), self.faults, self.doom)
        clock = EagerClock(self, process) if name.startswith("agent") else SkewedClock(self.loop, START)
        if name.startswith("worker"):
            # What has many steps is done around these hours: there it must survive the most.
            process.frailty = lambda: 8 if self.clock.now().hour in (23, 0) else 1
        if name.startswith("worker") and process.rng.random() < self.faults.skew:
            clock.skew = timedelta(seconds=process.rng.uniform(-200, 200))
        true = clock if name.startswith("agent") else self.clock
        process.store = FrailStore(self.path, true, process.rng, process)
        process.rpc = FrailRpc(self.chain, self.clock, process, self._views(name))
        process.second = FrailRpc(self.second, self.clock, process)
        process.proofs = {NETWORK: ChainProof(NETWORK, process.rpc), SECOND: ChainProof(SECOND, process.second)}
        process.deps = SimpleNamespace(
            store=process.store, rpc=process.rpc, clock=clock, earn=EarnRoom(TERMS, self.depth, DESK, MULTICALL)
        )
        self.processes[name] = process
        return process

    def _views(self, name):
        """The nodes of a process: one of them may lag, one may keep logs to itself for this life."""
        views = [View(), View()]
        if self.rng.random() < self.faults.lag:
            views.append(View(lag=self.rng.randint(1, 3)))
        if not name.startswith("api") and self.rng.random() < self.faults.hide:
            views.append(View(hides=self.rng.choice((0.1, 0.5, 1.0)), salt=name))
        return views if len(views) > 2 else []

    def bury(self, process):
        self.truth.kills += 1
        memory = self.folder / f"accepted-{process.name}.jsonl"
        if memory.exists() and self.rng.random() < self.faults.tear:
            # The power went while the newest line was being written.
            content = memory.read_bytes()
            lines = content.splitlines(keepends=True)
            memory.write_bytes(content[: len(content) - self.rng.randint(1, len(lines[-1]))] if lines else b"")
        process.die()
        _let_go(process.store)

    async def api_life(self, process):
        await asyncio.Event().wait()

    async def worker_life(self, process):
        while True:
            await self.work_once(process)
            now = self.clock.now()
            soon = (
                next_due(now)
                - now
                + timedelta(
                    seconds=process.rng.choice((0, 1, process.rng.uniform(0, 120), process.rng.uniform(0, 1200)))
                )
            )
            busy = now.hour in (23, 0)
            pause = timedelta(seconds=process.rng.uniform(300, 1200) if busy else process.rng.uniform(5_000, 30_000))
            await self.clock.sleep(min(soon, pause) / timedelta(seconds=1))

    async def work_once(self, process):
        keeper, reader = EpochKeeper(process.deps), HolderReader(process.deps)
        with suppress(UpstreamDown):
            await verify_settlements(process.store, process.proofs, self.clock, finality=self.depth)
        with suppress(UpstreamDown):
            await reader.do_due(process.deps, None)
        with suppress(UpstreamDown):
            await keeper.do_due(process.deps, None)

    async def agent_life(self, process):
        """The real loop, with pauses of our own."""
        await run_agent(self.agent_of(process), f"{process.name} {self.lives}", SimulatedPace(self, process))

    def agent_of(self, process):
        memory = AcceptedBooks(self.folder / f"accepted-{process.name}.jsonl")
        return Agent(process.store, process.rpc, self.signer, TERMS, DESK, MULTICALL, self.caps, memory, self.depth)

    # --- people

    async def miner_life(self):
        while True:
            now = self.clock.now()
            busy = now.hour in (23, 0) or (now.hour == 1 and now.minute < 20) or now.hour == 22
            await self.clock.sleep(self.rng.uniform(10, 40) if busy and now.hour != 22 else self.rng.uniform(300, 1200))
            self.chain.mine()
            self.second.mine()
            if self.rng.random() < self.faults.reorg:
                if self.rng.random() < 0.5:
                    self._thaw()
                self.chain.reorganise(self.rng.randint(1, 3))
            if self.faults.flip and self.rng.random() < self.faults.flip:
                self._flip_a_failure()
            if self.rng.random() < self.faults.drop / 4 and self.chain.pool:
                mine = [each for each in self.chain.pool.values() if each.to == DESK]
                for lost in mine[: self.rng.randint(0, 2)]:
                    del self.chain.pool[lost.hash]
            if self.rng.random() < self.faults.freeze:
                self.chain.frozen.add(self.rng.choice(WALLETS).address)
            elif self.rng.random() < 0.1:
                self._thaw()
            self.chain.floor = self.rng.choice((5 * 10**8, 2 * 10**9)) if self.rng.random() < self.faults.spike else 0

    def _flip_a_failure(self):
        """The meanest reorganisation: a line that has just failed goes through in the new branch."""
        for mined in (mined for block in self.chain.blocks[-3:] for mined in block.mined):
            if mined.transaction.to == DESK and any(log["topics"][0] == FAILED for log in mined.logs):
                self.chain.frozen.clear()
                self.chain.reorganise(3)
                return

    def _thaw(self):
        if self.chain.frozen:
            self.chain.frozen.discard(self.rng.choice(sorted(self.chain.frozen)))

    async def edge_life(self):
        """Every day at 23:00:00 sharp a block, with a transfer in it that comes too late to count."""
        while True:
            now = self.clock.now()
            sharp = now.replace(hour=23, minute=0, second=0, microsecond=0) + timedelta(days=now.hour >= 23)
            await self.clock.until(sharp)
            giver, taker = self.rng.sample(WALLETS, 2)
            held = self.chain.state.token.get(giver.address, 0)
            if held and self.rng.random() < 0.7:
                self.chain.send(giver.address, TOKEN, taker.address, self.rng.choice((1, held)))
            self.chain.mine()
            await self.clock.sleep(self.rng.uniform(3, 90))
            if self.rng.random() < self.faults.reorg * 8:
                # What was mined after 23:00 is now before it, or the other way round.
                self.chain.reorganise(self.rng.randint(2, 3))

    async def fate_life(self):
        """Now and then something large goes wrong, and somebody puts it right after a while."""
        while True:
            await self.clock.sleep(self.rng.uniform(3_000, 90_000))
            if self.rng.random() < self.faults.fate:
                await getattr(self, self.rng.choice(self.faults.fates))()

    async def _run_dry(self):
        """No gas, no money, or too small an allowance, for some hours."""
        which = self.rng.choice(("eth", "usdg", "allowance"))
        payer = self.signer.address
        if which == "eth":
            self.chain.eth = 0
        elif which == "usdg":
            self.chain.send(payer, USDG, PAYERS[0], max(0, self.chain.state.usdg.get(payer, 0) - 1000))
        else:
            self.chain.edit(lambda state: state.allowances.__setitem__(payer, 1000))
        await self.clock.sleep(self.rng.uniform(600, 40_000))
        self.chain.eth = 10**20
        self._employ()

    async def _run_short(self):
        """Gas ends when claims have been opened, or the agents may not pay as much. A day later there is money for the
        next pool, but hardly for what was claimed too."""
        now = self.clock.now()
        await self.clock.until(now.replace(hour=0, minute=0, second=1) + timedelta(days=1))
        while self.clock.now().hour == 0 and not await self._sum("count(*) FROM earn_epoch WHERE state = 'open'"):
            await self.clock.sleep(5)
        if self.rng.random() < 0.5:
            self.chain.eth = 0
        else:
            self._cap(PayoutCaps(1, 1, 1))
        await self.clock.until(self.clock.now().replace(hour=23, minute=40))
        new = await self._sum(
            "sum(amount_raw) FROM revenue WHERE settlement NOT IN (SELECT settlement FROM earn_credit)"
        )
        rest = await self._sum(
            "sum(rolled_raw) FROM earn_epoch WHERE state = 'closed' AND id NOT IN (SELECT epoch FROM earn_rollover)"
        )
        kept = await self._sum("sum(amount_raw) FROM earn_close WHERE returned_to IS NULL")
        owed = max(0, kept - sum(self.chain.state.paid.values()))
        payer = self.signer.address
        left = new + rest + int(owed * self.rng.uniform(0, 0.9))
        self.chain.send(payer, USDG, PAYERS[0], max(0, self.chain.state.usdg.get(payer, 0) - left))
        await self.clock.until(self.clock.now().replace(hour=23, minute=59, second=58))
        self.chain.eth = 10**20
        await self.clock.sleep(self.rng.uniform(3000, 8000))
        self._cap(CAPS)
        self._employ()

    def _cap(self, caps):
        """The agents are started again with another setting."""
        self.caps = caps
        for name in ("agent-1", "agent-2"):
            if name in self.processes:
                self.processes[name].die()

    async def _sum(self, what):
        async with self.store.read() as tx:
            return (await tx.execute(text(f"SELECT {what}"))).scalar_one() or 0

    async def _stop_the_chain(self):
        """Over 23:00, for as long as an hour."""
        now = self.clock.now()
        await self.clock.until(now.replace(hour=22, minute=self.rng.randint(20, 59)) + timedelta(days=now.hour > 21))
        self.chain.is_halted = True
        await self.clock.sleep(self.rng.uniform(120, 5000))
        self.chain.is_halted = False

    async def _change_the_key(self):
        """At any time, or at the worst one: what was sent with the old key is not mined yet."""
        patience = self.clock.monotonic() + self.rng.choice((0, 100_000))
        while self.clock.monotonic() < patience and not any(
            each.data[:4].hex() == PAY_CALL for each in self.chain.pool.values()
        ):
            await self.clock.sleep(2)
        self.signer = LocalSigner(keccak256(f"simulated payer {self.rng.random()}".encode()))
        self._employ()
        self._cap(self.caps)

    async def _restore(self):
        """The database is lost, and a copy of a little while ago is put in its place."""
        now = self.clock.now()
        begin = now.replace(hour=0, minute=self.rng.randint(3, 30), second=0) + timedelta(days=1)
        await self.clock.until(begin)
        async with self.store.read() as tx:
            row = (await tx.execute(text("SELECT state FROM earn_epoch WHERE state = 'open'"))).one_or_none()
        if row is None:
            return
        taken = self.clock.now()
        async with self.store.begin():
            # With the one lock held nobody writes, and all that was written is in these files.
            content = {name: path.read_bytes() for name in ("", "-wal") if (path := self._file(name)).exists()}
        await self.clock.sleep(self.rng.uniform(60, 5000))
        for process in self.processes.values():
            process.die()
        await self.clock.sleep(0.001)
        for process in self.processes.values():
            _let_go(process.store)
        _let_go(self.store)
        for name in ("", "-wal", "-shm"):
            self._file(name).unlink(missing_ok=True)
        for name, kept in content.items():
            self._file(name).write_bytes(kept)
        self.truth.restored.append((taken, self.clock.now()))

    def _file(self, suffix):
        return self.path.with_name(self.path.name + suffix)

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
        is_second = self.rng.random() < 0.4
        nonce = "0x" + self.rng.randbytes(32).hex()
        now = self.clock.now()
        if is_lie:
            hash_ = "0x" + self.rng.randbytes(32).hex()
            self.truth.lies.add(hash_)
        else:
            chain, asset = (self.second, TOKEN) if is_second else (self.chain, USDG)
            hash_ = chain.send(payer, asset, PAY_TO, amount, nonce, self.clock.seconds() + PAYMENT_LIFE_S)
            self.truth.settlements[hash_] = (amount, now)
        row = {
            "network": SECOND if is_second else NETWORK, "asset": TOKEN if is_second else USDG, "payer": payer,
            "nonce": nonce,
            "state": "settled", "holder": "", "lease_until": now, "fingerprint": "", "route": "", "amount_raw": amount,
            "pay_to": PAY_TO, "valid_before": self.clock.seconds() + PAYMENT_LIFE_S, "network_time": self.clock.seconds(),
            "begun_at": now, "settles": 1, "transaction": hash_, "settled_at": now, "proof": "waiting",
            "status": 200, "content_type": "application/json", "body": b"{}",
        }  # fmt: skip
        with suppress(UpstreamDown):
            async with self.store.begin() as tx:
                await tx.execute(insert(payment), row)
            return
        self.truth.forgotten.add(hash_)

    async def trader_life(self):
        """Moves service tokens around, also right around the snapshot."""
        while True:
            now = self.clock.now()
            snapshot = rules.next_snapshot_at(now)
            edge = snapshot - now + timedelta(seconds=self.rng.choice((-30, -5, 0, 5, 30)))
            wait = self.rng.choice((edge, timedelta(seconds=self.rng.uniform(1, 30_000))))
            await self.clock.sleep(max(wait, timedelta(seconds=1)) / timedelta(seconds=1))
            giver, taker = self.rng.sample([*WALLETS, *self.crowd], 2)
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
                    closes,
                )
            )
            await self.clock.until(moment)
            if self.rng.random() < 0.85:
                await self._claim_until_answered(wallet, epoch, closes + timedelta(minutes=30))
            await self.clock.until(closes + timedelta(hours=1))

    async def crowd_life(self):
        """Some of many claim each day, all at once."""
        while self.crowd:
            now = self.clock.now()
            epoch = rules.accruing_epoch(now)
            await self.clock.until(rules.opens_at(epoch) + timedelta(seconds=self.rng.uniform(60, 1800)))
            some = self.rng.sample(self.crowd, self.rng.randint(0, len(self.crowd)))
            await asyncio.gather(
                *(self.ask(self.rng.choice(("api-1", "api-2", "api-3")), each, epoch) for each in some)
            )

    def calm(self):
        """Everything is put right, and stays so: what fate had begun ends here too."""
        for job in self._jobs:
            if job.get_name() == FATE:
                job.cancel()
        self.faults.calm()
        self.chain.frozen.clear()
        self.chain.floor = 0
        self.chain.eth = 10**20
        self.chain.is_halted = False
        if self.caps != CAPS:
            self._cap(CAPS)
        self._employ()
        # Nodes that hid or lagged are replaced with the processes that used them.
        for process in self.processes.values():
            process.rpc._nodes._views = []
            process.deps.clock.skew = timedelta(0)

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
        if signature is None or signature == wallet.sign(epoch):
            self.truth.asked.setdefault((epoch, wallet.address), []).append(asked_at)
        self.loop.call_later(0.02, self.claimed.set)
        task = process.start(claim(process.deps, ask))
        await asyncio.wait([task])
        if task.cancelled() or isinstance(task.exception(), GONE):
            return None
        error = task.exception()
        if error is None:
            answer = task.result()
            told = (epoch, wallet.address, answer.tx, answer.amount_usd, answer.status, self.clock.now())
            self.truth.answers.append(told)
            # It was asked for at the latest when it was answered.
            self.truth.asked[epoch, wallet.address].append(self.clock.now())
            self.truth.paid_answers += 1
            return answer
        if not isinstance(error, Failure):
            self.truth.violations.append(f"a claim asked at {asked_at} ended with {error!r}")
        return error


def _let_go(store):
    for link in [*store._idle, *([store._writer] if store._writer else [])]:
        link.close()
    store._idle.clear()
    store._writer = None


def draw_faults(rng, mood=None):
    """From a quiet world to a terrible one. `mood` instead of luck: how terrible, or which faults alone."""
    if isinstance(mood, dict):
        return Faults(**{"interleave": 0.05, **mood})
    bad = rng.choice((0.0, 0.3, 1.0, 2.0)) if mood is None else mood
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
        skew=bad * 0.2,
        lag=bad * 0.3,
        hide=bad * 0.15,
        tear=bad * 0.3,
        spike=bad * 0.1,
        fate=bad * 0.4,
        interleave=0.05 + bad * 0.02,
        log_range=rng.choice((10**9, 40, 700)),
        log_limit=rng.choice((10**9, 14)),
    )
