"""The auditor: knows what really happened, reads the chain and the books, and believes neither."""

from collections import Counter, defaultdict

from sqlalchemy import select

from simulated.chain import TOKEN, USDG, ZERO
from simulated.world import DEPTH, PAY_TO, THRESHOLD
from tickyard.features.earn import rules
from tickyard.features.earn.books import read_sums
from tickyard.features.earn.tables import (
    earn_claim,
    earn_close,
    earn_credit,
    earn_epoch,
    earn_payout,
    earn_rollover,
)
from tickyard.store.revenue import revenue


class Auditor:
    def __init__(self, world):
        self._world = world
        self.found = []

    def say(self, text):
        self.found.append(text)

    async def audit(self, *, is_final=False):
        """Every violation there is to find now. At the end nothing may be on its way any more."""
        self.found = list(self._world.truth.violations)
        async with self._world.store.read() as tx:
            rows = {
                table.name: (await tx.execute(select(table))).all()
                for table in (earn_epoch, earn_credit, earn_rollover, earn_close, earn_claim, earn_payout, revenue)
            }
            epochs = {row.id: row for row in rows["earn_epoch"]}
            for row in epochs.values():
                if row.state == "closed" and not (await read_sums(tx, row)).is_balanced:
                    self.say(f"the books of {row.id} do not balance: {await read_sums(tx, row)}")
        self._audit_revenue(rows, is_final)
        self._audit_pools(rows, epochs)
        shares = self._audit_snapshots(epochs)
        self._audit_payouts(rows, epochs, shares, is_final)
        self._audit_answers(rows, is_final)
        return self.found

    def _audit_revenue(self, rows, is_final):
        truth = self._world.truth
        counted = Counter()
        for row in rows["revenue"]:
            hash_ = row.settlement.split("/")[1]
            counted[hash_] += 1
            if truth.settlements.get(hash_) != row.amount_raw:
                self.say(f"revenue without a settlement: {row.settlement}")
        credited = Counter(row.settlement for row in rows["earn_credit"])
        if any(count > 1 for count in (*counted.values(), *credited.values())):
            self.say("a settlement is counted twice")
        if is_final:
            # Workers look a few times a day.
            long_ago = self._world.clock.timestamp() - 12 * 3600
            on_chain = {
                mined.transaction.hash
                for block in self._world.chain.blocks[:-DEPTH]
                for mined in block.mined
                if block.timestamp < long_ago and mined.status and mined.transaction.receiver == PAY_TO
            }
            if missing := on_chain - counted.keys():
                self.say(f"{len(missing)} settlements were never counted")

    def _audit_pools(self, rows, epochs):
        amounts = {row.settlement: row.amount_raw for row in rows["revenue"]}
        made, given = defaultdict(int), defaultdict(int)
        for row in rows["earn_credit"]:
            made[row.epoch] += amounts[row.settlement]
        for row in rows["earn_rollover"]:
            given[row.into_epoch] += row.amount_raw
        for row in rows["earn_close"]:
            if row.returned_to not in (None, row.epoch):
                given[row.returned_to] += row.amount_raw
        for row in epochs.values():
            if row.pool_raw is not None and (row.revenue_raw, row.rollover_raw, row.pool_raw) != (
                made[row.id], given[row.id], made[row.id] + given[row.id],
            ):  # fmt: skip
                self.say(f"the pool of {row.id} is not what went into it")
        # Money is neither made nor lost: what came in is paid, on its way, or in a pool that is not shared out yet.
        came_in = sum(made.values())
        rolled = {row.epoch for row in rows["earn_rollover"]}
        waiting = sum(row.rolled_raw for row in epochs.values() if row.state == "closed" and row.id not in rolled)
        sealed = sum(row.pool_raw for row in epochs.values() if row.state in ("sealed", "open"))
        kept = sum(row.amount_raw for row in rows["earn_close"] if row.returned_to is None)
        if came_in != waiting + sealed + kept:
            self.say(f"money was made or lost: {came_in} came in, {waiting} + {sealed} + {kept} is there")

    def _audit_snapshots(self, epochs):
        """Shares from the chain itself, with fractions."""
        moments = {row.id: rules.snapshot_at(row.id).timestamp() for row in epochs.values() if row.state != "accruing"}
        held, truths = defaultdict(int), {}
        waiting = sorted(moments)
        for block in self._world.chain.blocks:
            while waiting and block.timestamp >= moments[waiting[0]]:
                truths[waiting.pop(0)] = {who: n for who, n in held.items() if n >= THRESHOLD and who != ZERO}
            for mined in block.mined:
                if mined.status and mined.transaction.to == TOKEN:
                    held[mined.transaction.sender] -= mined.transaction.amount
                    held[mined.transaction.receiver] += mined.transaction.amount
        shares = {}
        for epoch, balances in truths.items():
            row, total = epochs[epoch], sum(balances.values())
            if row.eligible_wallets != len(balances) or row.eligible_total != total:
                self.say(f"the snapshot of {epoch} is not what the chain held")
            for address, balance in balances.items():
                if row.pool_raw is not None:
                    shares[epoch, address] = row.pool_raw * balance // total
        return shares

    def _audit_payouts(self, rows, epochs, shares, is_final):
        payer = self._world.signer.address
        on_chain = {}
        for block in self._world.chain.blocks:
            for mined in block.mined:
                if mined.transaction.sender == payer and mined.transaction.to == USDG:
                    on_chain[mined.transaction.hash] = (mined, block.number)
        booked = {row.hash: row for row in rows["earn_payout"] if row.hash}
        paid = Counter()
        for hash_, (mined, _block) in on_chain.items():
            row = booked.get(hash_)
            if row is None:
                self.say(f"a payment that is not in the books: {hash_}")
                continue
            if mined.status:
                paid[row.epoch, row.address] += 1
                if mined.transaction.amount != shares.get((row.epoch, row.address)):
                    self.say(f"{row.address} was paid {mined.transaction.amount} for {row.epoch}, not its share")
            if mined.transaction.receiver != row.address:
                self.say(f"the payment of {row.address} went to {mined.transaction.receiver}")
        if twice := [key for key, count in paid.items() if count > 1]:
            self.say(f"paid twice: {twice}")
        final = len(self._world.chain.blocks) - 1 - DEPTH
        for row in rows["earn_payout"]:
            mined = on_chain.get(row.hash)
            if row.state == "confirmed" and (mined is None or not mined[0].status):
                self.say(f"confirmed and not paid: {row.hash}")
            if row.state == "failed" and (mined is None or mined[0].status):
                self.say(f"released, though the chain did not refuse it: {row.hash}")
            if row.state == "refused":
                self.say(f"an honest claim was refused: {row.address} {row.epoch} {row.reason}")
            if is_final and row.state == "signed":
                self.say(f"never ended: nonce {row.nonce} of {row.epoch}, mined {mined and mined[1]}, final {final}")
        live = Counter((row.epoch, row.address) for row in rows["earn_payout"] if row.state in ("signed", "confirmed"))
        if any(count > 1 for count in live.values()):
            self.say("a wallet has two payouts that have not failed")
        for row in rows["earn_claim"]:
            if not rules.is_in_window(row.epoch, row.reserved_at):
                self.say(f"reserved outside of the window: {row.epoch} {row.address}")
            if is_final and epochs[row.epoch].state == "closed":
                states = {
                    (p.attempt, p.state)
                    for p in rows["earn_payout"]
                    if (p.epoch, p.address) == (row.epoch, row.address)
                }
                ended = {(row.attempt, "confirmed"), (row.attempt, "failed")}
                if not states & ended:
                    self.say(f"a claim without an end: {row.epoch} {row.address} {states}")

    def _audit_answers(self, rows, is_final):
        """What a claimant was told is what happened."""
        payouts = {row.hash: row for row in rows["earn_payout"] if row.hash}
        told = defaultdict(set)
        for epoch, address, hash_, amount in self._world.truth.answers:
            row = payouts.get(hash_)
            if row is None or (row.epoch, row.address) != (epoch, address):
                self.say(f"{address} was told of {hash_}, which is not its payout")
            elif f"{row.amount_raw / 10**6:.6f}" != amount:
                self.say(f"{address} was told {amount}, {row.amount_raw} was signed")
            told[epoch, address].add(hash_)
        for key, hashes in told.items():
            if sum(payouts[hash_].state != "failed" for hash_ in hashes if hash_ in payouts) > 1:
                self.say(f"{key} was told of two payments")
