"""The life of a chain in memory: blocks, a pool that loses things, two tokens, the desk, and reorganisations.

The desk is written again from its description; the real one is compared with a model of its own on a real EVM.
"""

from dataclasses import dataclass, field
from hashlib import sha256

from simulated.words import (
    AUTHORIZATION_USED,
    DESK,
    FAILED,
    OPEN_CALL,
    OPENED,
    PAID,
    PAY_CALL,
    SKIPPED,
    TOKEN,
    TRANSFER,
    USDG,
    ZERO,
    Transaction,
    number_at,
    word,
)
from tickyard.chain.keccak import keccak256


class Revert(Exception):
    """A call that undoes itself."""


@dataclass
class Mined:
    transaction: Transaction
    status: int
    logs: list


@dataclass
class Block:
    number: int
    hash: str
    parent: str
    timestamp: int
    mined: list = field(default_factory=list)


@dataclass
class State:
    usdg: dict = field(default_factory=dict)
    token: dict = field(default_factory=dict)
    nonces: dict = field(default_factory=dict)
    allowances: dict = field(default_factory=dict)
    payer: str = ZERO
    paused: bool = False
    still: bool = False
    """USDG itself is paused."""
    books: dict = field(default_factory=dict)
    pools: dict = field(default_factory=dict)
    spent: dict = field(default_factory=dict)
    paid: dict = field(default_factory=dict)
    used: set = field(default_factory=set)
    """Which signed payments have been taken: (owner, nonce)."""

    def copy(self):
        return State(
            self.usdg.copy(), self.token.copy(), self.nonces.copy(), self.allowances.copy(), self.payer, self.paused,
            self.still, self.books.copy(), self.pools.copy(), self.spent.copy(), self.paid.copy(),
            self.used.copy(),
        )  # fmt: skip

    def balances(self, to):
        return self.usdg if to == USDG else self.token


class Blocks:
    """Everything random comes from `rng`; `faults` says how badly things go."""

    kept_states = 4096
    """Payments are proven by state of their own blocks, at most a day old."""

    def __init__(self, clock, rng, faults):
        self._clock = clock
        self._rng = rng
        self.faults = faults
        self.blocks = [Block(0, self._hash(0), "0x" + "0" * 64, int(clock.timestamp()))]
        self.state = State()
        self._states = [self.state.copy()]
        self._acts = []
        self._has_acted = False
        self._receipts = {}
        self.pool = {}
        self.frozen = set()
        self.eth = 10**20
        self.floor = 0
        """Whoever offers less per gas is not mined."""
        self.is_halted = False
        self.forgets = self.reorgs = self.replacements = 0
        self.seen = set()
        """Every transaction that ever came."""

    # --- the life of the chain

    def mine(self):
        """One block with whatever of the pool can be in it."""
        if self.is_halted:
            return
        number = len(self.blocks)
        block = Block(number, self._hash(number), self.blocks[-1].hash, int(self._clock.timestamp()))
        waiting = sorted(self.pool.values(), key=lambda each: (each.sender, each.nonce, each.hash))
        for transaction in waiting:
            if transaction.not_before > self._clock.monotonic() or transaction.fee < self.floor:
                continue
            if transaction.nonce != self.state.nonces.get(transaction.sender, 0):
                continue
            self._execute(block, transaction)
            del self.pool[transaction.hash]
        # What can never be mined any more is dropped, as nodes do.
        for old in [t for t in self.pool.values() if t.nonce < self.state.nonces.get(t.sender, 0)]:
            del self.pool[old.hash]
        self.blocks.append(block)
        self._states.append(self.state.copy() if block.mined or self._has_acted else self._states[-1])
        self._has_acted = False
        if len(self._states) > self.kept_states:
            self._states[len(self._states) - self.kept_states - 1] = None

    def _execute(self, block, transaction):
        self.state.nonces[transaction.sender] = transaction.nonce + 1
        before = self.state.copy() if transaction.to == DESK else None
        mined = Mined(transaction, 1, [])
        block.mined.append(mined)
        try:
            if transaction.to == DESK:
                self._call_desk(block, mined)
            elif transaction.receiver:
                if transaction.authorization:
                    if block.timestamp > transaction.deadline:
                        raise Revert("too late")
                    self.state.used.add((transaction.sender, int(transaction.authorization, 16)))
                # Permit2 takes a payment without a word; only its bit tells. The other token names it, then moves.
                if transaction.authorization and transaction.to == TOKEN:
                    used = [AUTHORIZATION_USED, word(transaction.sender), transaction.authorization]
                    self._log(block, mined, transaction.to, used, 0)
                self._move(block, mined, transaction.to, transaction.sender, transaction.receiver, transaction.amount)
        except Revert:
            mined.status, mined.logs = 0, []
            if before is not None:
                self.state = before
        self._receipts[transaction.hash] = (block.number, mined)

    def _move(self, block, mined, token, sender, receiver, amount):
        balances = self.state.balances(token)
        # The zero address makes tokens; what anybody throws away to it stays there, and in the supply.
        has = amount if sender == ZERO else balances.get(sender, 0)
        if (token == USDG and (self.state.still or receiver in self.frozen)) or has < amount:
            raise Revert("refused")
        if sender != ZERO:
            balances[sender] -= amount
        balances[receiver] = balances.get(receiver, 0) + amount
        self._log(block, mined, token, [TRANSFER, word(sender), word(receiver)], amount)

    def _call_desk(self, block, mined):
        """The desk, from its description."""
        transaction, state = mined.transaction, self.state
        name, data = transaction.data[:4].hex(), transaction.data[4:]
        if transaction.sender != state.payer or state.paused:
            raise Revert("not now")
        epoch = number_at(data, 0)
        if name == OPEN_CALL:
            if epoch in state.books:
                raise Revert("open already")
            state.books[epoch], state.pools[epoch] = data[32:64].hex(), number_at(data, 64)
            self._log(block, mined, DESK, [OPENED, word(epoch)], number_at(data, 64))
            return
        if name != PAY_CALL or epoch not in state.books:
            raise Revert("not open")
        for at in range(number_at(data, 64)):
            account = "0x" + data[96 + 64 * at + 12 : 96 + 64 * at + 32].hex()
            self._pay_line(block, mined, epoch, account, number_at(data, 96 + 64 * at + 32))

    def _pay_line(self, block, mined, epoch, account, amount):
        state = self.state
        if state.paid.get((epoch, account)):
            self._log(block, mined, DESK, [SKIPPED, word(epoch), word(account)], amount)
            return
        allowed = state.allowances.get(state.payer, 0)
        is_over = amount == 0 or state.spent.get(epoch, 0) + amount > state.pools[epoch] or allowed < amount
        try:
            if is_over:
                raise Revert("over")
            self._move(block, mined, USDG, state.payer, account, amount)
        except Revert:
            self._log(block, mined, DESK, [FAILED, word(epoch), word(account)], amount)
            return
        state.allowances[state.payer] = allowed - amount
        state.paid[epoch, account] = amount
        state.spent[epoch] = state.spent.get(epoch, 0) + amount
        self._log(block, mined, DESK, [PAID, word(epoch), word(account)], amount)

    def _log(self, block, mined, address, topics, amount):
        mined.logs.append(
            {
                "address": address,
                "topics": topics,
                "data": word(amount),
                "blockNumber": hex(block.number),
                "blockHash": block.hash,
                "transactionHash": mined.transaction.hash,
                "logIndex": hex(sum(len(each.logs) for each in block.mined)),
                "removed": False,
            }
        )

    def reorganise(self, depth, without=()):
        """Drop the newest blocks. What was in them goes back to the pool, or is forgotten."""
        depth = min(depth, len(self.blocks) - 2)
        if depth < 1 or self.is_halted:
            return
        self.reorgs += 1
        for block in self.blocks[-depth:]:
            for mined in block.mined:
                del self._receipts[mined.transaction.hash]
                if mined.transaction.hash in without:
                    continue
                # Only those whose sender would send them again may be forgotten.
                if mined.transaction.to != DESK or self._rng.random() < 0.7:
                    self.pool[mined.transaction.hash] = mined.transaction
        times = [block.timestamp for block in self.blocks[-depth:]]
        del self.blocks[-depth:]
        del self._states[-depth:]
        self.state = self._states[-1].copy()
        for number, change in self._acts:
            if number >= len(self.blocks):
                change(self.state)
                self._has_acted = True
        # The new branch has the same times, so the block before a moment stays well defined.
        for timestamp in times:
            self.mine()
            self.blocks[-1].timestamp = timestamp

    def give(self, token, receiver, amount):
        """Mint, as a transaction of the zero address."""
        return self.send(ZERO, token, receiver, amount)

    def send(self, sender, to, receiver, amount, authorization="", deadline=0):
        """A transaction of somebody whose keys are not part of the story. Its hash."""
        nonce = self.state.nonces.get(sender, 0)
        taken = {each.nonce for each in self.pool.values() if each.sender == sender}
        while nonce in taken:
            nonce += 1
        hash_ = "0x" + keccak256(f"{sender}{to}{receiver}{amount}{nonce}{self._rng.random()}".encode()).hex()
        made = Transaction(hash_, sender, nonce, to, receiver, amount, authorization=authorization, deadline=deadline)
        self.pool[hash_] = made
        return hash_

    def edit(self, change):
        """As if it had always been so, in every block that is kept."""
        for state in {id(each): each for each in (self.state, *self._states) if each is not None}.values():
            change(state)

    def act(self, change):
        """What the owner of the desk, the payer or the issuer does by hand: from the newest block on, in any branch."""
        self._acts.append((len(self.blocks) - 1, change))
        change(self.state)
        self._states[-1] = self._states[-1].copy()
        change(self._states[-1])

    def supply(self, state):
        return sum(state.token.values())

    def _hash(self, number):
        return "0x" + sha256(f"{number}/{self._rng.random()}".encode()).hexdigest()
