"""The auditor: knows what really happened, reads the chain and the books, and believes neither.

It imports nothing of the code it judges: days, windows, thresholds and shares are written again here, the tables are
read as bare rows, and what was paid is read from the desk's events on the chain.
"""

from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from sqlalchemy import text

from simulated.chain import DESK, FAILED, PAID, SKIPPED, TOKEN, USDG, ZERO
from simulated.loop import START

WORDS = {PAID: "paid", SKIPPED: "skipped", FAILED: "failed"}

MILLION_TOKENS = 1_000_000 * 10**18
DAY = timedelta(days=1)
TOLERANCE = timedelta(seconds=15)
"""Between reading a clock and writing a row."""
TABLES = ("earn_epoch", "earn_credit", "earn_rollover", "earn_close", "earn_claim", "earn_line", "earn_share",
          "earn_batch", "earn_halt", "revenue")  # fmt: skip


def midnight(epoch):
    """The beginning of the day that an epoch is named after."""
    return datetime(epoch // 10_000, epoch // 100 % 100, epoch % 100, tzinfo=UTC)


def named(moment):
    return moment.year * 10_000 + moment.month * 100 + moment.day


def moment_of(micros):
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


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
        self._events = list(self._read_desk())
        for row in rows["earn_halt"]:
            self.say(f"halted: {row.reason}")
        self._audit_revenue(rows, is_final)
        self._audit_pools(rows)
        truths = self._audit_snapshots(rows)
        shares = self._audit_books(truths)
        self._audit_payments(rows, shares)
        self._audit_claims(rows, is_final)
        self._audit_answers(rows, shares)
        self._audit_solvency(rows)
        if is_final:
            self._audit_the_end(rows)
        return self.found

    def _read_desk(self):
        """What the desk said, in order: word, epoch, account, amount, transaction."""
        for block in self._world.chain.blocks:
            for mined in block.mined:
                for log in mined.logs:
                    if log["address"] == DESK and log["topics"][0] in WORDS:
                        account = "0x" + log["topics"][2][-40:]
                        word = WORDS[log["topics"][0]]
                        yield word, int(log["topics"][1], 16), account, int(log["data"], 16), log["transactionHash"]

    # --- money that came in

    def _audit_revenue(self, rows, is_final):
        truth, known = self._world.truth, {}
        where = {
            mined.transaction.hash: (chain, block.number)
            for chain in (self._world.chain, self._world.second)
            for block in chain.blocks
            for mined in block.mined
            if mined.status
        }
        for row in rows["revenue"]:
            hash_ = row.settlement.split("/")[1]
            if hash_ in known:
                self.say(f"counted twice: {row.settlement}")
            known[hash_] = row
            amount, settled_at = truth.settlements.get(hash_, (None, None))
            if amount != row.amount_raw:
                self.say(f"revenue without a settlement: {row.settlement}")
            elif hash_ not in where:
                self.say(f"revenue that is not on the chain: {row.settlement}")
            elif not self._is_its_time(row, settled_at, where[hash_][0]):
                self.say(f"settled at another time than it was: {row.settlement}")
            else:
                self._audit_finality(row, *where[hash_])
        credits_ = Counter(row.settlement for row in rows["earn_credit"])
        if any(count > 1 for count in credits_.values()):
            self.say("a settlement is in two pools")
        by_settlement = {row.settlement: row for row in rows["revenue"]}
        for row in rows["earn_credit"]:
            self._audit_day(row, by_settlement[row.settlement])
        if is_final:
            long_ago = self._world.clock.now() - timedelta(hours=16)
            for hash_, (_amount, settled_at) in truth.settlements.items():
                was_lost = hash_ in truth.forgotten or any(a <= settled_at <= b for a, b in truth.restored)
                if hash_ in where and hash_ not in known and settled_at < long_ago and not was_lost:
                    self.say(f"a settlement was never counted: {hash_}")

    def _is_its_time(self, row, settled_at, chain):
        """What a reorganisation undid has settled when it was seen again."""
        told = moment_of(row.settled_at)
        return told == settled_at or (chain.reorgs > 0 and settled_at < told <= moment_of(row.credited_at))

    def _audit_finality(self, row, chain, number):
        """When it was counted, so many blocks stood on top of it."""
        at = moment_of(row.credited_at).timestamp() + 1
        newest = len(chain.blocks) - 1
        while newest > 0 and chain.blocks[newest].timestamp > at:
            newest -= 1
        if newest - number < self._world.depth:
            self.say(f"counted before it was final: {row.settlement}")

    def _audit_day(self, credit, row):
        """It is in the first pool that was fixed after it became known, and never in one before its own day."""
        settled, known = moment_of(row.settled_at), moment_of(row.credited_at)
        if midnight(credit.epoch) + DAY <= settled:
            self.say(f"money of {settled} is in the pool of {credit.epoch}")
        its_own = self._epochs[credit.epoch].sealed_at
        for epoch in self._epochs.values():
            # A day whose snapshot comes late is overtaken by those after it: which pool was fixed first decides.
            if epoch.sealed_at is None or epoch.id < named(settled) or epoch.sealed_at >= its_own:
                continue
            if moment_of(epoch.sealed_at) > known + TOLERANCE:
                self.say(f"money of {settled}, known at {known}, is in the pool of {credit.epoch}, not of {epoch.id}")

    def _audit_pools(self, rows):
        amounts = {row.settlement: row.amount_raw for row in rows["revenue"]}
        made, given = defaultdict(int), defaultdict(int)
        for row in rows["earn_credit"]:
            made[row.epoch] += amounts[row.settlement]
        for row in rows["earn_rollover"]:
            given[row.into_epoch] += row.amount_raw
        for row in rows["earn_close"]:
            if row.returned_to not in (None, row.epoch):
                given[row.returned_to] += row.amount_raw
        for row in self._epochs.values():
            if row.pool_raw is not None and (row.revenue_raw, row.rollover_raw, row.pool_raw) != (
                made[row.id], given[row.id], made[row.id] + given[row.id],
            ):  # fmt: skip
                self.say(f"the pool of {row.id} is not what went into it")
            if row.sealed_at is not None and moment_of(row.sealed_at) < midnight(row.id) + DAY:
                self.say(f"the pool of {row.id} was fixed before its day was over")
        # Money is neither made nor lost: what came in is paid, on its way, or in a pool that is not shared out yet.
        rolled = {row.epoch for row in rows["earn_rollover"]}
        epochs = self._epochs.values()
        waiting = sum(row.rolled_raw for row in epochs if row.state == "closed" and row.id not in rolled)
        sealed = sum(row.pool_raw for row in epochs if row.state in ("pooled", "sealed", "open", "closing"))
        closed = {row.id for row in epochs if row.state == "closed"}
        kept = sum(row.amount_raw for row in rows["earn_close"] if row.returned_to is None and row.epoch in closed)
        came_in = sum(made.values())
        if came_in != waiting + sealed + kept:
            self.say(f"money was made or lost: {came_in} came in, {waiting} + {sealed} + {kept} is there")
        self._audit_what_is_left(rows, closed)
        self._audit_what_goes_on(rows, rolled)

    def _audit_what_goes_on(self, rows, rolled):
        """Whatever was known, left over or refused when a pool was fixed is in that pool, or in one before it."""
        fixed = [row for row in self._epochs.values() if row.sealed_at is not None]
        if not fixed:
            return
        newest = max(fixed, key=lambda row: row.sealed_at)
        by_then = moment_of(newest.sealed_at) - TOLERANCE
        credited = {row.settlement for row in rows["earn_credit"]}
        for row in rows["revenue"]:
            is_due = moment_of(row.settled_at) < midnight(newest.id) + DAY and moment_of(row.credited_at) < by_then
            if is_due and row.settlement not in credited:
                self.say(f"money is in no pool: {row.settlement}")
        for row in fixed:
            if row.closed_at is not None and moment_of(row.closed_at) < by_then and row.id not in rolled:
                self.say(f"the rest of {row.id} is in no pool")
        failed = {(row.epoch, row.address, row.attempt): row for row in rows["earn_line"] if row.state == "failed"}
        for row in rows["earn_close"]:
            line = failed.get((row.epoch, row.address, row.attempt))
            if line is not None and row.returned_to is None and moment_of(line.ended_at) < by_then:
                self.say(f"what {row.address} was refused for {row.epoch} is in no pool")

    def _audit_solvency(self, rows):
        """When claims were opened, whoever pays held the pool and all that was claimed before and not paid yet."""
        for row in self._epochs.values():
            if row.opened_at is None:
                continue
            at = moment_of(row.opened_at)
            held, paid = self._money_at(at)
            # Claims are known only by what closing kept of them; what failed later went on to another pool.
            kept = sum(
                each.amount_raw for each in rows["earn_close"] if each.epoch < row.id and each.returned_to is None
            )
            earlier = sum(amount for (epoch, _account), amount in paid.items() if epoch < row.id)
            if held < row.pool_raw + kept - earlier:
                self.say(f"{row.id} was opened with {held}, {row.pool_raw} and {kept - earlier} are owed")

    def _money_at(self, moment):
        """What the payer of that moment held, and what had been paid, with the block under it still being mined."""
        payer = [who for since, who in self._world.truth.payers if since <= moment][-1]
        held, paid = 0, {}
        best = 0
        for block in self._world.chain.blocks:
            if block.timestamp > moment.timestamp() + 60:
                break
            for mined in block.mined:
                for log in mined.logs:
                    if log["address"] == USDG:
                        amount = int(log["data"], 16)
                        held += amount * ((log["topics"][2][-40:] == payer[2:]) - (log["topics"][1][-40:] == payer[2:]))
                    elif log["topics"][0] == PAID:
                        paid[int(log["topics"][1], 16), log["topics"][2][-40:]] = int(log["data"], 16)
            if block.timestamp >= moment.timestamp() - 600:
                # Reorganised since, or not mined yet: the best of what it may have seen counts.
                best = max(best, held)
        return max(best, held), paid

    def _audit_what_is_left(self, rows, closed):
        """A closed pool went on, but for what was claimed; and what the desk paid is within that."""
        kept, paid = defaultdict(int), defaultdict(int)
        for row in rows["earn_close"]:
            if row.returned_to != row.epoch:
                kept[row.epoch] += row.amount_raw
        for word, epoch, _account, amount, _tx in self._events:
            paid[epoch] += amount if word == "paid" else 0
        for epoch in closed:
            row = self._epochs[epoch]
            if row.rolled_raw != row.pool_raw - kept[epoch]:
                self.say(f"{row.rolled_raw} of {epoch} went on, {row.pool_raw - kept[epoch]} was left")
            if paid[epoch] > kept[epoch]:
                self.say(f"the desk paid {paid[epoch]} for {epoch}, of which {kept[epoch]} was kept")
            if moment_of(row.closed_at) < midnight(epoch) + DAY + timedelta(hours=1):
                self.say(f"{epoch} was closed early")

    # --- who shares it

    def _audit_snapshots(self, rows):
        """Who held a million at the last block before 23:00, from the chain itself."""
        done = {row.id: row for row in self._epochs.values() if row.block_hash is not None}
        waiting = sorted(done)
        held, truths = defaultdict(int), {}
        for block in self._world.chain.blocks:
            while waiting and block.timestamp >= (midnight(waiting[0]) + timedelta(hours=23)).timestamp():
                truths[waiting.pop(0)] = {who: n for who, n in held.items() if n >= MILLION_TOKENS and who != ZERO}
            for mined in block.mined:
                if mined.status and mined.transaction.to == TOKEN:
                    held[mined.transaction.sender] -= mined.transaction.amount
                    held[mined.transaction.receiver] += mined.transaction.amount
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

    @property
    def _told(self):
        if getattr(self, "_told_of", None) is not self._events:
            self._told_of, self._told_set = self._events, set(self._events)
        return self._told_set

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
