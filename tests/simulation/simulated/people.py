"""Those who live in the town: they hold tokens, pay for calls, claim, and some of them cheat."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache

from coincurve import PrivateKey
from sqlalchemy import insert

from simulated.money import DAY, midnight, named
from simulated.process import GONE
from simulated.words import CHAIN_ID, TOKEN, USDG
from tickyard.chain.keccak import keccak256
from tickyard.features.earn.claims.message import EarnTerms, claim_message, message_digest
from tickyard.features.earn.operations import ClaimAsk, claim
from tickyard.kernel.errors import BadRequest, Failure, UpstreamDown
from tickyard.payments.books.tables import payment

TERMS = EarnTerms(CHAIN_ID, TOKEN, USDG)
NETWORK, SECOND = f"eip155:{CHAIN_ID}", "eip155:8453"
PAY_TO = "0x" + "9a" * 20
PAYMENT_LIFE_S = 3600
"""Blocks are minutes apart for most of the day. While the chain stands still some come too late, and are worth nothing."""
THRESHOLD = 10**24


@dataclass
class Wallet:
    key: PrivateKey
    address: str

    @classmethod
    def number(cls, n):
        key = PrivateKey(keccak256(f"simulated wallet {n}".encode()))
        return cls(key, "0x" + keccak256(key.public_key.format(compressed=False)[1:])[12:].hex())

    def sign(self, epoch, address=None):
        return _signed(self.key.secret, epoch, address or self.address)


@lru_cache(4096)
def _signed(secret, epoch, address):
    """A claim is sent many times, and its signature is always the same."""
    digest = message_digest(claim_message(TERMS, epoch, address))
    return "0x" + PrivateKey(secret).sign_recoverable(digest, hasher=None).hex()


WALLETS = [Wallet.number(n) for n in range(8)]
CROWD = 250
"""So many more are there in some worlds; a few of them claim each day."""
PAYERS = ["0x" + f"{n:02x}" * 20 for n in range(0xA0, 0xA4)]


class People:
    def __init__(self, world):
        self.world = world
        self.rng, self.clock, self.truth = world.rng, world.clock, world.truth
        self.chain, self.second, self.crowd = world.chain, world.second, world.crowd

    async def buyer_life(self):
        """Pays a few calls a day, some at the very edge of it."""
        while True:
            now = self.clock.now()
            edge = (
                midnight(named(now))
                + DAY
                - now
                + timedelta(microseconds=self.rng.choice((-1, 0, 1, -2_000_000, 2_000_000)))
            )
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
            async with self.world.store.begin() as tx:
                await tx.execute(insert(payment), row)
            return
        self.truth.forgotten.add(hash_)

    async def trader_life(self):
        """Moves service tokens around, also right around the snapshot."""
        while True:
            now = self.clock.now()
            snapshot = midnight(named(now + timedelta(hours=1))) + timedelta(hours=23)
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
            epoch = named(now)
            opens, closes = midnight(epoch) + DAY, midnight(epoch) + timedelta(hours=25)
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
            epoch = named(now)
            await self.clock.until(midnight(epoch) + DAY + timedelta(seconds=self.rng.uniform(60, 1800)))
            some = self.rng.sample(self.crowd, self.rng.randint(0, len(self.crowd)))
            await asyncio.gather(
                *(self.ask(self.rng.choice(("api-1", "api-2", "api-3")), each, epoch) for each in some)
            )

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
            epoch = named(now - timedelta(days=1))
            victim, thief = self.rng.sample(WALLETS, 2)
            forged = self.rng.choice(
                (thief.sign(epoch, victim.address), victim.sign(named(midnight(epoch) + DAY)), "0x" + "11" * 64 + "1b")
            )
            outcome = await self.ask("api-1", victim, epoch, forged)
            if outcome is not None and not isinstance(outcome, Failure):
                self.truth.violations.append(f"a forged claim was answered with {outcome}")
            if self.rng.random() < 0.5:
                await asyncio.gather(*(self.ask(f"api-{n}", victim, epoch) for n in (1, 2, 3)))

    async def ask(self, replica, wallet, epoch, signature=None):
        """One claim over one replica: its answer, its failure, or None when it died on the way."""
        process = self.world.processes[replica]
        if process.is_dead:
            return None
        self.truth.claims += 1
        ask = ClaimAsk(address=wallet.address, epoch=epoch, signature=signature or wallet.sign(epoch))
        asked_at = self.clock.now()
        if signature is None or signature == wallet.sign(epoch):
            self.truth.asked.setdefault((epoch, wallet.address), []).append(asked_at)
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
        if isinstance(error, BadRequest) and signature is None:
            self.truth.refusals.append((epoch, wallet.address, asked_at, self.clock.now(), error.message))
        if not isinstance(error, Failure):
            self.truth.violations.append(f"a claim asked at {asked_at} ended with {error!r}")
        return error
