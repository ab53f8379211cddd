"""A town that lives through days of the reward program, on either database."""

import asyncio
import random
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import msgspec

from simulated.chain import Chain
from simulated.faults import Faults
from simulated.people import TERMS, THRESHOLD, WALLETS
from simulated.process import FrailRpc, Process
from simulated.words import DESK, MULTICALL, TOKEN, USDG
from simulated.world import DEPTH
from tickyard.features.earn import rules
from tickyard.features.earn.books.public import BooksAsk, get_epoch_books
from tickyard.features.earn.days.epochs import run_due
from tickyard.features.earn.operations import ClaimAsk, StatusAsk, claim, get_earn, get_earn_status
from tickyard.features.earn.room import EarnRoom
from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.operation import NoAsk
from tickyard.kernel.wire import encode
from tickyard.payout.accepted import AcceptedBooks
from tickyard.payout.agent import Agent
from tickyard.payout.judge import PayoutCaps
from tickyard.payout.signing.signer import LocalSigner
from tickyard.store.engine import Store
from tickyard.store.leases import take
from tickyard.store.opening import open_store
from tickyard.store.revenue import credit
from yards.patience import STUCK_S
from yards.schema import lay

EPOCH = 20261114
ALICE, BOB, CAROL, POOR = WALLETS[:4]


class HandClock(WallClock):
    """Time that is moved by hand and runs on from there, and pauses that take none; the databases' clocks follow."""

    def __init__(self, now):
        self.move(now)
        self.error = timedelta(0)
        self._ticks = 0.0

    def now(self):
        return super().now() + self.offset + self.error

    def seconds(self):
        return int(self.timestamp())

    def timestamp(self):
        return self.now().timestamp()

    def monotonic(self):
        return self._ticks

    async def sleep(self, seconds):
        self._ticks += seconds
        # A little real time, so that others get their turn; the databases need some.
        await WallClock().sleep(0.001)

    def move(self, to):
        self.offset = to - WallClock.now(self)


@dataclass
class Town:
    """One process of each kind on one database, and a chain."""

    store: Store
    clock: HandClock
    chain: Chain
    rpc: FrailRpc
    folder: Path
    earn: EarnRoom = field(default_factory=lambda: EarnRoom(TERMS, DEPTH, DESK, MULTICALL))
    signer: LocalSigner = field(default_factory=lambda: LocalSigner(b"\x07" * 32))
    caps: PayoutCaps = field(default_factory=lambda: PayoutCaps(10**12, 10**12, 10**12))
    lease: object = None
    hired: Agent | None = None
    """The agent that pays unless another one is named."""
    counted: int = 0

    def mine(self, blocks=6):
        for _ in range(blocks):
            self.chain.mine()

    async def earn_money(self, *amounts):
        async with self.store.begin() as tx:
            for amount in amounts:
                self.counted += 1
                await credit(tx, f"eip155:4663/0x{self.counted:064x}/0", amount, self.clock.now(), self.clock.now())

    async def to(self, moment):
        """Move there, with blocks on the way, and do what is due."""
        self.chain.mine()
        self.clock.move(moment)
        self.mine()
        return await run_due(self, self.clock.now())

    async def open_day(self, *amounts):
        """Until the claims of the day are open."""
        await run_due(self, self.clock.now())
        await self.pay()
        await self.earn_money(*(amounts or (10_000, 20_000)))
        assert (await self.to(rules.snapshot_at(EPOCH))).taken == [EPOCH]
        assert (await self.open_claims()).opened == [EPOCH]

    async def open_claims(self, epoch=EPOCH):
        """Sealed by the worker, opened on the desk by the agent, and then to claims by the worker."""
        done = await self.to(rules.opens_at(epoch))
        if epoch in done.waiting:
            await self.pay()
            self.mine(1)
            done = await run_due(self, self.clock.now())
        return done

    def agent(self, **more):
        memory = AcceptedBooks(self.folder / "accepted.jsonl")
        agent = Agent(self.store, self.rpc, self.signer, TERMS, DESK, MULTICALL, self.caps, memory, DEPTH, **more)
        agent.final_every_s = 0.0
        return agent

    async def pay(self, agent=None):
        """One round of an agent."""
        if self.lease is None:
            self.lease = await take(self.store, "payout", "test")
        if agent is None:
            if self.hired is None or self.hired.caps != self.caps:
                self.hired = self.agent()
            agent = self.hired
        # Long enough after the last batch for the next one.
        await self.clock.sleep(1)
        return await agent.run_once(self.lease)

    async def ask(self, wallet, epoch=EPOCH, signature=None, agent=True):
        """Claim, with an agent that comes by while the claimant waits."""
        asked = ClaimAsk(address=wallet.address, epoch=epoch, signature=signature or wallet.sign(epoch))
        if not agent:
            return await claim(self, asked)
        try:
            return await self._ask_beside_an_agent(asked)
        except UpstreamDown:
            # Looking takes no time here, and the agent's work does: the claimant repeats, as it is told to.
            return await self._ask_beside_an_agent(asked)

    async def _ask_beside_an_agent(self, asked):
        task = asyncio.create_task(claim(self, asked))
        while not task.done():
            await asyncio.wait([task], timeout=0.002)
            await self.pay()
        return await task

    async def pay_while_asked(self, agent):
        """Rounds of one agent until it has signed something."""
        while not (await self.pay(agent)).sent:
            await self.clock.sleep(0.1)

    async def status(self, wallet):
        return msgspec.json.decode(encode(await get_earn_status(self, StatusAsk(address=wallet.address))))

    async def program(self):
        return msgspec.json.decode(encode((await get_earn(self, NoAsk())).answer))

    async def books(self, epoch=EPOCH, **asked):
        return msgspec.json.decode(encode((await get_epoch_books(self, BooksAsk(id=epoch, **asked))).answer))

    def employ(self):
        """The account that pays: money, an approval, and its name on the desk."""

        def change(state):
            state.payer = self.signer.address
            state.allowances[self.signer.address] = 10**30

        self.chain.give(USDG, self.signer.address, 10**12)
        self.chain.edit(change)

    def held(self, wallet):
        return self.chain.state.usdg.get(wallet.address, 0)


async def live_in_town(where, folder, work):
    clock = HandClock(rules.starts_at(EPOCH) + timedelta(hours=12))
    faults = Faults()
    chain = Chain(clock, random.Random(1), faults)
    store = open_store(where, clock, random.Random(1))
    process = Process("test", random.Random(1), faults)
    town = Town(store, clock, chain, FrailRpc(chain, clock, process), folder)
    try:
        await lay(store)
        for wallet, amount in ((ALICE, 2 * THRESHOLD), (BOB, THRESHOLD), (POOR, THRESHOLD - 1)):
            chain.give(TOKEN, wallet.address, amount)
        town.employ()
        town.mine()
        async with asyncio.timeout(STUCK_S):
            return await work(town)
    finally:
        await store.close()
