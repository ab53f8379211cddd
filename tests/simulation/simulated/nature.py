"""What nobody in the town can help: blocks, reorganisations, frozen accounts, and what fate sends."""

import asyncio
from contextlib import suppress
from datetime import timedelta

from sqlalchemy import text

from simulated.people import PAYERS, WALLETS
from simulated.words import DESK, FAILED, TOKEN, USDG
from tickyard.chain.keccak import keccak256
from tickyard.payout.judge import PayoutCaps
from tickyard.payout.signing.signer import LocalSigner

CAPS = PayoutCaps(10**15, 10**15, 10**15)


class Nature:
    def __init__(self, world):
        self.world = world
        self.rng, self.clock, self.chain, self.faults = world.rng, world.clock, world.chain, world.faults

    async def miner_life(self):
        while True:
            now = self.clock.now()
            busy = now.hour in (23, 0) or (now.hour == 1 and now.minute < 20)
            await self.clock.sleep(self.rng.uniform(15, 60) if busy else self.rng.uniform(600, 1800))
            self.chain.mine()
            self.world.second.mine()
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
                wallet = self.rng.choice(WALLETS).address
                self.chain.frozen.add(wallet)
                self.world.truth.frozen.add(wallet)
            elif self.rng.random() < 0.1:
                self._thaw()
            if self.rng.random() < self.faults.skew / 50:
                self._jump_a_clock()
            self.chain.floor = self.rng.choice((5 * 10**8, 2 * 10**9)) if self.rng.random() < self.faults.spike else 0

    def _jump_a_clock(self):
        """Somebody sets the clock of a worker's machine, this way or that."""
        workers = [process for name, process in self.world.processes.items() if name.startswith("worker")]
        self.rng.choice(workers).deps.clock.skew = timedelta(seconds=self.rng.uniform(-200, 200))

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

    async def run_dry(self):
        """No gas, no money, or too small an allowance, for some hours: from any time on, or when something is paid."""
        if self.rng.random() < 0.5:
            await self._until_paying()
        which = self.rng.choice(("eth", "usdg", "allowance"))
        payer = self.world.signer.address
        if which == "eth":
            self.chain.eth = 0
        elif which == "usdg":
            self.chain.send(payer, USDG, PAYERS[0], max(0, self.chain.state.usdg.get(payer, 0) - 1000))
        else:
            self.chain.act(lambda state: state.allowances.__setitem__(payer, 1000))
        await self.clock.sleep(self.rng.uniform(600, 40_000))
        self.chain.eth = 10**20
        self.world.employ()

    async def run_short(self):
        """Gas ends when claims have been opened, or the agents may not pay as much. A day later there is money for the
        next pool, but hardly for what was claimed too."""
        now = self.clock.now()
        await self.clock.until(now.replace(hour=0, minute=0, second=1) + timedelta(days=1))
        while self.clock.now().hour == 0 and not await self._sum("count(*) FROM earn_epoch WHERE state = 'open'"):
            await self.clock.sleep(5)
        if self.rng.random() < 0.5:
            self.chain.eth = 0
        else:
            self.world.cap(PayoutCaps(1, 1, 1))
        await self.clock.until(self.clock.now().replace(hour=23, minute=40))
        new = await self._sum(
            "sum(amount_raw) FROM revenue WHERE settlement NOT IN (SELECT settlement FROM earn_credit)"
        )
        rest = await self._sum(
            "sum(rolled_raw) FROM earn_epoch WHERE state = 'closed' AND id NOT IN (SELECT epoch FROM earn_rollover)"
        )
        kept = await self._sum("sum(amount_raw) FROM earn_close WHERE returned_to IS NULL")
        owed = max(0, kept - sum(self.chain.state.paid.values()))
        payer = self.world.signer.address
        left = new + rest + int(owed * self.rng.uniform(0, 0.9))
        self.chain.send(payer, USDG, PAYERS[0], max(0, self.chain.state.usdg.get(payer, 0) - left))
        await self.clock.until(self.clock.now().replace(hour=23, minute=59, second=58))
        self.chain.eth = 10**20
        await self.clock.sleep(self.rng.uniform(3000, 8000))
        self.world.cap(CAPS)
        self.world.employ()

    async def _sum(self, what):
        async with self.world.store.read() as tx:
            return int((await tx.execute(text(f"SELECT {what}"))).scalar_one() or 0)

    async def stop_usdg(self):
        """Its issuer pauses it: at any time, or when something is being paid, perhaps until long after 01:00."""
        if self.rng.random() < 0.5:
            await self._until_paying()
        self.chain.act(lambda state: setattr(state, "still", True))
        await self.clock.sleep(self.rng.uniform(5, 10_000))
        self.chain.act(lambda state: setattr(state, "still", False))

    async def stop_the_chain(self):
        """Over 23:00, for as long as an hour."""
        now = self.clock.now()
        await self.clock.until(now.replace(hour=22, minute=self.rng.randint(20, 59)) + timedelta(days=now.hour > 21))
        self.chain.is_halted = True
        await self.clock.sleep(self.rng.uniform(120, 5000))
        self.chain.is_halted = False

    async def change_the_key(self):
        """At any time, or at the worst one: what was sent with the old key is not mined yet."""
        if self.rng.random() < 0.5:
            await self._until_paying()
        self.world.signer = LocalSigner(keccak256(f"simulated payer {self.rng.random()}".encode()))
        self.world.employ()
        self.world.cap(self.world.caps)

    async def _until_paying(self):
        """A batch has come into the pool, and is perhaps not mined yet."""
        arrived = asyncio.Event()
        self.chain.on_pay = arrived.set
        with suppress(TimeoutError):
            async with asyncio.timeout(100_000):
                await arrived.wait()
        self.chain.on_pay = None
        await self.clock.sleep(self.rng.uniform(0, 2))

    async def restore(self):
        """The database is lost, and a copy of a little while ago is put in its place."""
        now = self.clock.now()
        begin = now.replace(hour=0, minute=self.rng.randint(3, 30), second=0) + timedelta(days=1)
        await self.clock.until(begin)
        async with self.world.store.read() as tx:
            row = (await tx.execute(text("SELECT state FROM earn_epoch WHERE state = 'open'"))).one_or_none()
        if row is None:
            return
        taken = self.clock.now()
        kept = await self.world.disk.keep(self.world.store)
        await self.clock.sleep(self.rng.uniform(60, 5000))
        await self.world.stop_all()
        await self.world.disk.put_back(kept, self.world.store)
        self.world.truth.restored.append((taken, self.clock.now()))
