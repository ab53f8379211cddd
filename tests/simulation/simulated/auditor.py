"""The auditor: knows what really happened, reads the chain and the books, and believes neither.

It imports nothing of the code it judges: days, windows, thresholds and shares are written again here, the tables are
read as bare rows, and what was paid is read from the desk's events on the chain.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from datetime import timedelta
from hashlib import sha256

from sqlalchemy import text

from simulated.loop import START
from simulated.money import DAY, Money, midnight, moment_of, named
from simulated.past import Past
from simulated.words import ZERO

MILLION_TOKENS = 1_000_000 * 10**18
TABLES = ("earn_epoch", "earn_credit", "earn_rollover", "earn_close", "earn_claim", "earn_line", "earn_share",
          "earn_batch", "earn_halt", "revenue")  # fmt: skip


class Auditor:
    def __init__(self, world):
        self._world = world
        self.found = []

    def say(self, words):
        self.found.append(words)

    async def audit(self, *, is_final=False):
        """Every violation there is to find now. At the end nothing may be on its way any more."""
        self.found = list(self._world.truth.violations)
        async with self._world.store.read() as tx:
            rows = {name: (await tx.execute(text(f"SELECT * FROM {name}"))).all() for name in TABLES}
        self._epochs = {row.id: row for row in rows["earn_epoch"]}
        self._past = Past(self._world.chain, self._world.second)
        self._events, self._told = self._past.events, set(self._past.events)
        for row in rows["earn_halt"]:
            self.say(f"halted: {row.reason}")
        Money(self._world, self._past, rows, self.say).audit(is_final)
        truths = self._audit_snapshots(rows)
        shares = self._audit_books(truths)
        self._audit_payments(rows, shares)
        self._audit_claims(rows, is_final)
        self._audit_answers(rows, shares)
        self._audit_refusals(shares)
        if is_final:
            self._audit_the_end(rows)
        return self.found

    # --- who shares it

    def _audit_snapshots(self, rows):
        """Who held a million at the last block before 23:00, from the chain itself."""
        done = {row.id: row for row in self._epochs.values() if row.block_hash is not None}
        held, truths = defaultdict(int), {}
        moves = iter(self._past.traded)
        move = next(moves, None)
        for epoch in sorted(done):
            end = bisect_left(self._past.times, (midnight(epoch) + timedelta(hours=23)).timestamp())
            if end == len(self._past.times):
                break
            while move is not None and move[0] < end:
                held[move[1]] -= move[3]
                held[move[2]] += move[3]
                move = next(moves, None)
            truths[epoch] = {who: n for who, n in held.items() if n >= MILLION_TOKENS and who != ZERO}
        booked = defaultdict(dict)
        for row in rows["earn_share"]:
            booked[row.epoch][row.address] = int.from_bytes(row.balance, "big")
        for epoch, truth in truths.items():
            if booked[epoch] != truth:
                self.say(f"the snapshot of {epoch} is not what the chain held")
        return truths

    def _audit_books(self, truths):
        """Every share, and the hash that the desk keeps."""
        shares = {}
        for epoch, held in truths.items():
            row, total = self._epochs[epoch], sum(held.values())
            if row.pool_raw is None:
                continue
            lines = "address,balance,share\n"
            for address in sorted(held):
                shares[epoch, address] = row.pool_raw * held[address] // total
                lines += f"{address},{held[address]},{shares[epoch, address]}\n"
            digest = sha256(lines.encode()).hexdigest()
            on_desk = self._world.chain.state.books.get(epoch)
            if row.digest not in (None, digest) or on_desk not in (None, digest):
                self.say(f"the books of {epoch} are not what they should be")
            if on_desk is not None and self._world.chain.state.pools[epoch] != row.pool_raw:
                self.say(f"the desk has another pool of {epoch}")
        return shares

    # --- who got it

    def _audit_payments(self, rows, shares):
        asked = self._world.truth.asked
        paid = Counter()
        for word, epoch, account, amount, _tx in self._events:
            if word != "paid":
                continue
            paid[epoch, account] += 1
            if amount != shares.get((epoch, account)):
                self.say(f"{account} was paid {amount} for {epoch}, not its share")
            opens = midnight(epoch) + DAY
            if not any(opens <= when < opens + timedelta(hours=1) for when in asked.get((epoch, account), ())):
                self.say(f"{account} was paid for {epoch}, which it never claimed in time")
        if twice := [key for key, count in paid.items() if count > 1]:
            self.say(f"paid twice: {twice}")
        newest = {}
        for row in sorted(rows["earn_line"], key=lambda row: row.attempt):
            newest[row.epoch, row.address] = row
        for key, row in newest.items():
            if row.state == "confirmed" and not paid[key]:
                self.say(f"confirmed and not paid: {key}")
            if row.state == "failed" and paid[key]:
                self.say(f"released, though it was paid: {key}")
            if row.state == "refused":
                self.say(f"an honest claim was refused: {key} {row.reason}")
        failed = {(epoch, account, tx) for word, epoch, account, _amount, tx in self._events if word == "failed"}
        for row in rows["earn_line"]:
            if row.state == "failed" and (row.epoch, row.address, row.hash) not in failed:
                self.say(f"released, though the desk did not refuse it: {row.epoch} {row.address}")
            if row.state == "failed" and row.address not in self._world.truth.frozen:
                self.say(f"released, though nobody could have been paid: {row.epoch} {row.address}")

    def _audit_claims(self, rows, is_final):
        lines = {(row.epoch, row.address, row.attempt): row for row in rows["earn_line"]}
        asked = self._world.truth.asked
        for row in rows["earn_claim"]:
            opens, reserved = midnight(row.epoch) + DAY, moment_of(row.reserved_at)
            if not opens <= reserved < opens + timedelta(hours=1):
                self.say(f"reserved outside of the window: {row.epoch} {row.address} {reserved}")
            if (row.epoch, row.address) not in asked:
                self.say(f"reserved for somebody who did not ask: {row.epoch} {row.address}")
            line = lines.get((row.epoch, row.address, row.attempt))
            if is_final and (line is None or line.state not in ("confirmed", "failed")):
                self.say(f"a claim without an end: {row.epoch} {row.address} {line and line.state}")

    def _audit_answers(self, rows, shares):
        """What a claimant was told is what happened."""
        known = {row.hash for row in rows["earn_batch"]} | self._world.chain.seen
        for epoch, address, hash_, amount, status, at in self._world.truth.answers:
            if hash_ not in known and not self._world.truth.restored:
                self.say(f"{address} was told of {hash_}, which nobody ever sent")
            share = shares.get((epoch, address), 0)
            if amount != f"{share // 10**6}.{share % 10**6:06d}":
                self.say(f"{address} was told {amount} for {epoch}, its share is {share}")
            # A node that keeps an event to itself can be noticed only by the desk's refusal to pay again.
            if (
                status == "confirmed"
                and not {(word, epoch, address, share, hash_) for word in ("paid", "skipped")} & self._told
            ):
                self.say(f"{address} was told at {at} that {hash_} is final, which did not pay it for {epoch}")

    def _audit_refusals(self, shares):
        """Who has a share and asks while claims are open is not told that it may not."""
        for epoch, address, asked, told, why in self._world.truth.refusals:
            row, opens = self._epochs.get(epoch), midnight(epoch) + DAY
            if row is None or row.opened_at is None or not shares.get((epoch, address)):
                continue
            is_in_time = opens <= asked and told < opens + timedelta(hours=1)
            was_lost = any(a <= told and asked <= b + DAY for a, b in self._world.truth.restored)
            if is_in_time and moment_of(row.opened_at) <= asked and not was_lost:
                self.say(f"{address} claimed {epoch} from {asked} to {told}, in time, and was told: {why}")

    def _audit_the_end(self, rows):
        yesterday = named(self._world.clock.now() - DAY)
        day = START
        while named(day) < yesterday:
            if named(day) not in self._epochs:
                self.say(f"{named(day)} was left out")
            day += DAY
        for row in self._epochs.values():
            if row.id < yesterday and row.state not in ("closed", "skipped"):
                self.say(f"{row.id} was never closed: {row.state}")
        for row in rows["earn_line"]:
            if row.state in ("sent", "due"):
                self.say(f"never ended: {row.epoch} {row.address} {row.state}")
        days = [row for row in self._epochs.values() if row.id < yesterday and row.state == "closed"]
        if days and not any(row.opened_at for row in days):
            self.say("no day was ever opened to claims")
