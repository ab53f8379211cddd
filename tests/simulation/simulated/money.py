"""The auditor's half that counts money: what came in, in whose pool it is, what is left of it, and whether it was there."""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta

DAY = timedelta(days=1)
TOLERANCE = timedelta(seconds=15)
"""Between reading a clock and writing a row."""


def midnight(epoch):
    """The beginning of the day that an epoch is named after."""
    return datetime(epoch // 10_000, epoch // 100 % 100, epoch % 100, tzinfo=UTC)


def named(moment):
    return moment.year * 10_000 + moment.month * 100 + moment.day


def moment_of(micros):
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


class Money:
    def __init__(self, world, past, rows, say):
        self._world = world
        self._past = past
        self._rows = rows
        self.say = say
        self._epochs = {row.id: row for row in rows["earn_epoch"]}

    def audit(self, is_final):
        self._audit_revenue(self._rows, is_final)
        self._audit_pools(self._rows)
        self._audit_solvency(self._rows)

    def _audit_revenue(self, rows, is_final):
        truth, known = self._world.truth, {}
        where = self._past.where
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
        newest = max(0, bisect_right(self._past.times_of(chain), at) - 1)
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
        held, times = self._past.held_by(payer), self._past.times
        first, end = bisect_left(times, moment.timestamp() - 600), bisect_right(times, moment.timestamp() + 60)
        paid = {(epoch, account): amount for at, epoch, account, amount in self._past.paid if at < end}
        # Reorganised since, or not mined yet: the best of what it may have seen counts.
        return max(held[min(first, end - 1) : end]), paid

    def _audit_what_is_left(self, rows, closed):
        """A closed pool went on, but for what was claimed; and what the desk paid is within that."""
        kept, paid = defaultdict(int), defaultdict(int)
        for row in rows["earn_close"]:
            if row.returned_to != row.epoch:
                kept[row.epoch] += row.amount_raw
        for word, epoch, _account, amount, _tx in self._past.events:
            paid[epoch] += amount if word == "paid" else 0
        for epoch in closed:
            row = self._epochs[epoch]
            if row.rolled_raw != row.pool_raw - kept[epoch]:
                self.say(f"{row.rolled_raw} of {epoch} went on, {row.pool_raw - kept[epoch]} was left")
            if paid[epoch] > kept[epoch]:
                self.say(f"the desk paid {paid[epoch]} for {epoch}, of which {kept[epoch]} was kept")
            if moment_of(row.closed_at) < midnight(epoch) + DAY + timedelta(hours=1):
                self.say(f"{epoch} was closed early")
