"""A simulated town: three API replicas, two workers, two agents, people, and a chain, over the real code."""

import asyncio
import random
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from types import SimpleNamespace

from sqlalchemy import text

from simulated.chain import Chain, View
from simulated.disk import FileDisk, ServerDisk
from simulated.faults import draw_faults
from simulated.loop import START, VirtualClock
from simulated.nature import CAPS, Nature
from simulated.pace import EagerClock, OnlookerClock, SimulatedPace, SkewedClock, is_waiting, worker_pause_s
from simulated.people import CROWD, NETWORK, PAYERS, SECOND, TERMS, THRESHOLD, WALLETS, People, Wallet
from simulated.process import GONE, FrailRpc, Process
from simulated.words import DESK, MULTICALL, TOKEN, USDG
from tickyard.chain.keccak import keccak256
from tickyard.features.earn.room import EarnRoom
from tickyard.kernel.clock import Stamp
from tickyard.kernel.errors import UpstreamDown
from tickyard.payments.proof.chain import ChainProof
from tickyard.payments.proof.credit import verify_settlements
from tickyard.payout.accepted import AcceptedBooks
from tickyard.payout.agent import Agent
from tickyard.payout.run import run_agent
from tickyard.payout.signing.signer import LocalSigner
from tickyard.worker.jobs import EpochKeeper, HolderReader

DEPTH = 4
FATE = "fate"
UNFINISHED = text("SELECT id, state FROM earn_epoch WHERE state NOT IN ('closed', 'skipped')")


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
    frozen: set = field(default_factory=set)
    """Whom USDG ever refused to be sent to: nobody else's payout may end as failed."""
    asked: dict = field(default_factory=dict)
    """When a wallet asked with a signature of its own, by epoch and address."""
    answers: list = field(default_factory=list)
    refusals: list = field(default_factory=list)
    """Who was told that a request of its own is wrong: from when until when it asked, and why."""
    violations: list = field(default_factory=list)
    halts: list = field(default_factory=list)
    kills: int = 0
    claims: int = 0
    paid_answers: int = 0


class World:
    def __init__(self, seed, folder, faults=None, doom=None, mood=None, url=None):
        self.doom = doom
        self.rng = random.Random(f"world {seed}")
        self.loop = asyncio.get_running_loop()
        self.loop.set_exception_handler(self._on_stray)
        self.clock = VirtualClock(self.loop, START)
        self.faults = faults or draw_faults(self.rng, mood)
        self.depth = DEPTH if faults else self.rng.choice((4, 4, 16))
        self.crowd = (
            [Wallet.number(n) for n in range(100, 100 + CROWD)] if not faults and self.rng.random() < 0.1 else []
        )
        self.chain = Chain(self.clock, random.Random(f"chain {seed}"), self.faults)
        self.second = Chain(self.clock, random.Random(f"second chain {seed}"), self.faults)
        self.disk = ServerDisk(url) if url else FileDisk(folder / "world.db")
        self.folder = folder
        self.signer = LocalSigner(keccak256(b"simulated payer"))
        self.caps = CAPS
        self.is_calm = False
        self.truth = Truth()
        self.claimed, self.written = asyncio.Event(), asyncio.Event()
        self.processes = {}
        self.lives = 0
        self._jobs = []
        self.people, self.nature = People(self), Nature(self)

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
        self.store = self.disk.open(self.clock, random.Random(0))
        for wallet in WALLETS:
            self.chain.give(TOKEN, wallet.address, self._holding())
        for wallet in self.crowd:
            self.chain.give(TOKEN, wallet.address, self._holding())
        for payer in PAYERS:
            self.chain.give(USDG, payer, 10**15)
            self.second.give(TOKEN, payer, 10**15)
        self.employ()
        self.chain.mine()
        self.second.mine()

    def employ(self):
        """The account that pays: money, an approval, and its name on the desk."""

        def change(state):
            state.payer = self.signer.address
            state.allowances[self.signer.address] = 10**30

        self.chain.give(USDG, self.signer.address, 10**15)
        self.chain.act(change)
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
        await self.disk.close()

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
        if name.startswith("api"):
            true = OnlookerClock(self)
        process.store = self.disk.frail(true, process)
        # All that an API ever writes is a claim.
        process.on_write = self.claimed.set if name.startswith("api") else self._tell_onlookers
        process.rpc = FrailRpc(self.chain, self.clock, process, self._views(name))
        process.second = FrailRpc(self.second, self.clock, process)
        process.proofs = {NETWORK: ChainProof(NETWORK, process.rpc), SECOND: ChainProof(SECOND, process.second)}
        process.deps = SimpleNamespace(
            store=process.store, rpc=process.rpc, clock=clock, earn=EarnRoom(TERMS, self.depth, DESK, MULTICALL)
        )
        process.keeper = EpochKeeper(process.deps)
        if process.rng.random() < 0.9:
            # It looks through the books of a month. The auditor does too, each noon, so that few need to.
            process.keeper._audited = Stamp(float("inf"), float("inf"))
        self.processes[name] = process
        return process

    def _tell_onlookers(self):
        self.written.set()
        self.written = asyncio.Event()

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
        process.store.let_go()

    async def api_life(self, process):
        await asyncio.Event().wait()

    async def worker_life(self, process):
        epochs = ()
        while True:
            await self.work_once(process, not is_waiting(epochs, self.clock.now()))
            async with self.store.glance() as tx:
                epochs = (await tx.execute(UNFINISHED)).all()
            if any(state == "sealed" for _epoch, state in epochs):
                self.claimed.set()
            await self.clock.sleep(worker_pause_s(epochs, self.clock.now(), process.rng))

    async def work_once(self, process, is_all=True):
        """Jobs of their own, in any order of which each is done now and then; the keeper always, and all in calm days:
        what must be done by their end is not left to luck."""
        with suppress(UpstreamDown):
            if process.rng.random() < (0.7 if is_all else 0.15) or self.is_calm:
                await verify_settlements(process.store, process.proofs, self.clock, finality=self.depth)
        with suppress(UpstreamDown):
            if is_all or process.rng.random() < 0.3 or self.is_calm:
                await HolderReader(process.deps).do_due(process.deps, None)
        with suppress(UpstreamDown):
            await process.keeper.do_due(process.deps, None)

    async def agent_life(self, process):
        """The real loop, with pauses of our own."""
        await run_agent(self.agent_of(process), f"{process.name} {self.lives}", SimulatedPace(self, process))

    def agent_of(self, process):
        memory = AcceptedBooks(self.folder / f"accepted-{process.name}.jsonl")
        return Agent(process.store, process.rpc, self.signer, TERMS, DESK, MULTICALL, self.caps, memory, self.depth)

    def cap(self, caps):
        """The agents are started again with another setting."""
        self.caps = caps
        for name in ("agent-1", "agent-2"):
            if name in self.processes:
                self.processes[name].die()

    async def stop_all(self):
        """Nobody has the database open any more."""
        for process in self.processes.values():
            process.die()
        await self.clock.sleep(0.001)
        for process in self.processes.values():
            process.store.let_go()
        await self.store.close()

    def calm(self):
        """Everything is put right, and stays so: what fate had begun ends here too."""
        for job in self._jobs:
            if job.get_name() == FATE:
                job.cancel()
        self.faults.calm()
        self.is_calm = True
        self.chain.frozen.clear()
        self.chain.act(lambda state: setattr(state, "still", False))
        self.chain.floor = 0
        self.chain.eth = 10**20
        self.chain.is_halted = False
        if self.caps != CAPS:
            self.cap(CAPS)
        self.employ()
        # Nodes that hid or lagged are replaced with the processes that used them.
        for process in self.processes.values():
            process.rpc._nodes._views = []
            process.deps.clock.skew = timedelta(0)
