"""The auditor: knows the chains, what buyers got, and how to add. It reads the books and none of the code that made them."""

import sqlite3

SLACK_S = 40
"""How long a request may go on after its caller has hung up: the run and one settlement."""


class Auditor:
    def __init__(self, world):
        self.world = world

    def audit(self):
        found = list(self.world.truth.violations)
        paid = {
            (chain.network, each.payer, each.nonce): each
            for chain in self.world.chains.values()
            for each in chain.transfers()
            if each.kind == "pay"
        }
        found += (
            self._answers(paid) + self._patience(paid) + self._begun(paid) + self._books(paid) + self._fetched(paid)
        )
        # It was used by their own payment: who is told that it is lost pays again.
        return found + [
            f"paid, and told that the nonce is used: {key}" for key in paid if key in self.world.truth.told_used
        ]

    def _answers(self, paid):
        """No answer without that signer's transfer, and none that two requests share. A transfer that was there and that
        the chain took back is the price of not making every buyer wait until it is final; it must never be counted."""
        found, bodies = [], {}
        taken_back = {key for chain in self.world.chains.values() for key in chain.taken_back}
        for key, path, body in self.world.truth.answers:
            if key not in paid and key not in taken_back:
                found.append(f"an answer without a transfer: {key}")
            bodies.setdefault(key, set()).add((path, body))
        return found + [f"one payment, several answers: {key}" for key, each in bodies.items() if len(each) > 1]

    def _patience(self, paid):
        """Who does as the documents say pays once for an answer, and a signature opens no more than was paid for."""
        spent = {}
        for key in paid:
            purchase = self.world.truth.purchase_of.get(key)
            spent[purchase] = spent.get(purchase, 0) + 1
        found = [
            f"{len(bodies)} answers for a signature and {spent.get(purchase, 0)} transfers: {purchase}"
            for purchase, bodies in self.world.truth.signed_in.items()
            if len(bodies) > spent.get(purchase, 0)
        ]
        return found + [
            f"{spent.get(purchase)} transfers for one purchase of a patient buyer: {purchase}"
            for purchase in self.world.truth.patient
            if spent.get(purchase, 0) > 1
        ]

    def _begun(self, paid):
        """Nothing is taken while the buyer is away."""
        found = []
        for key, each in paid.items():
            asked = self.world.truth.asked.get(key, [])
            if not any(begin <= each.begun_at <= end + SLACK_S for begin, end in asked):
                found.append(f"a transfer was begun without its buyer: {key}")
        return found

    def _books(self, paid):
        """Every transfer is counted once, as much as it was, on a day between its beginning and its answer."""
        found = []
        books = sqlite3.connect(f"file:{self.world.path}?mode=ro", uri=True)
        try:
            rows = books.execute("SELECT settlement, amount_raw, settled_at, credited_at FROM revenue").fetchall()
        finally:
            books.close()
        names = {(key[0], each.hash): each for key, each in paid.items()}
        counted = {}
        for settlement, amount, settled_us, credited_us in rows:
            network, name, index = settlement.split("/")
            each = names.get((network, name))
            if each is None or self.world.chains[network].place_of(each) != int(index):
                found.append(f"counted, and no payment: {settlement}")
                continue
            counted[network, name] = counted.get((network, name), 0) + 1
            if amount != each.amount:
                found.append(f"counted as {amount} instead of {each.amount}: {settlement}")
            if settled_us // 10**6 < int(each.begun_at) - 1:
                found.append(f"counted on a day before it began: {settlement}")
            if self._depth(self.world.chains[network], each.block, credited_us / 10**6) < self.world.finality:
                found.append(f"counted before it was final: {settlement}")
        found += [f"counted {n} times: {name}" for name, n in counted.items() if n != 1]
        found += [f"never counted: {name}" for name in names if name not in counted]
        return found

    def _depth(self, chain, block, moment):
        """How many blocks stood on top of one at a moment."""
        newest = len(chain.blocks) - 1
        while newest > block and chain.blocks[newest].timestamp > moment + 1:
            newest -= 1
        return newest - block

    def _fetched(self, paid):
        """Every paying signer gets the answer when they ask for it once more."""
        fetched = self.world.truth.fetched
        return [
            f"paid, and the answer cannot be fetched: {key} ({fetched.get(key)})"
            for key in paid
            if fetched.get(key) != 200
        ]
