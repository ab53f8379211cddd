"""What happened on the chains, read once from their blocks, for the auditor."""

from simulated.words import DESK, FAILED, PAID, SKIPPED, TOKEN, USDG

WORDS = {PAID: "paid", SKIPPED: "skipped", FAILED: "failed"}


class Past:
    def __init__(self, chain, second):
        self._times = {id(each): [block.timestamp for block in each.blocks] for each in (chain, second)}
        self.times = self.times_of(chain)
        self.events = []
        """What the desk said, in order: word, epoch, account, amount, transaction."""
        self.paid = []
        """In which block: epoch, account, amount."""
        self.traded = []
        """Which service tokens went in which block: sender, receiver, amount."""
        self._moves = []
        self._held = {}
        self.where = {}
        """In which block of which chain a transaction is."""
        for each in (chain, second):
            for block in each.blocks:
                for mined in block.mined:
                    if mined.status:
                        self.where[mined.transaction.hash] = (each, block.number)
                    if each is chain:
                        self._read(block, mined)

    def times_of(self, chain):
        """Of its blocks, which never go back."""
        return self._times[id(chain)]

    def _read(self, block, mined):
        if mined.status and mined.transaction.to == TOKEN:
            moved = mined.transaction
            self.traded.append((block.number, moved.sender, moved.receiver, moved.amount))
        for log in mined.logs:
            topics = log["topics"]
            if log["address"] == USDG:
                ends = "0x" + topics[1][-40:], "0x" + topics[2][-40:]
                self._moves.append((block.number, *ends, int(log["data"], 16)))
            elif log["address"] == DESK and (word := WORDS.get(topics[0])):
                epoch, account, amount = int(topics[1], 16), "0x" + topics[2][-40:], int(log["data"], 16)
                self.events.append((word, epoch, account, amount, log["transactionHash"]))
                if word == "paid":
                    self.paid.append((block.number, epoch, account, amount))

    def held_by(self, account):
        """How much USDG an account had after each block."""
        if account not in self._held:
            changes = [0] * len(self.times)
            for number, sender, receiver, amount in self._moves:
                changes[number] += amount * ((receiver == account) - (sender == account))
            total, held = 0, []
            for change in changes:
                total += change
                held.append(total)
            self._held[account] = held
        return self._held[account]
