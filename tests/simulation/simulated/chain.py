"""A chain in memory: blocks, a pool that loses things, two tokens, the desk, reorganisations, and its JSON-RPC.

Nothing of the code that is judged is imported here but its hash function. The desk is written again from its
description; the real one is compared with a model of its own on a real EVM.
"""

from dataclasses import dataclass, field
from hashlib import sha256

import msgspec
import rlp
from coincurve import PublicKey

from tickyard.chain.keccak import keccak256

CHAIN_ID = 4663
USDG = "0x5fc5360d0400a0fd4f2af552add042d716f1d168"
TOKEN = "0x" + "7e" * 20
DESK = "0x" + "de" * 20
MULTICALL = "0xca11bde05977b3631167028862be2a173976ca11"
ZERO = "0x" + "0" * 40
TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
BASE_FEE = 10**8
KEPT_STATES = 4096
"""Payments are proven by state of their own blocks, at most a day old."""


def topic_of(signature):
    return "0x" + keccak256(signature.encode()).hex()


def selector(signature):
    return keccak256(signature.encode())[:4].hex()


PAID, SKIPPED, FAILED = (topic_of(f"{name}(uint256,address,uint256)") for name in ("Paid", "Skipped", "Failed"))
AUTHORIZATION_USED = topic_of("AuthorizationUsed(address,bytes32)")
OPENED = topic_of("Opened(uint256,bytes32,uint256)")
AUTHORIZATION_STATE = selector("authorizationState(address,bytes32)")
NONCE_BITMAP = selector("nonceBitmap(address,uint256)")
OPEN_CALL, PAY_CALL = selector("open(uint256,bytes32,uint256)"), selector("pay(uint256,(address,uint256)[])")


@dataclass
class Transaction:
    hash: str
    sender: str
    nonce: int
    to: str
    receiver: str = ""
    amount: int = 0
    data: bytes = b""
    fee: int = 10**18
    tip: int = 0
    gas: int = 0
    not_before: float = 0.0
    authorization: str = ""
    deadline: int = 0
    """After it what was signed is worth nothing."""


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
    books: dict = field(default_factory=dict)
    pools: dict = field(default_factory=dict)
    spent: dict = field(default_factory=dict)
    paid: dict = field(default_factory=dict)
    used: set = field(default_factory=set)
    """Which signed payments have been taken: (owner, nonce)."""

    def copy(self):
        return State(
            self.usdg.copy(), self.token.copy(), self.nonces.copy(), self.allowances.copy(), self.payer, self.paused,
            self.books.copy(), self.pools.copy(), self.spent.copy(), self.paid.copy(),
            self.used.copy(),
        )  # fmt: skip

    def balances(self, to):
        return self.usdg if to == USDG else self.token


@dataclass
class View:
    """How one node sees the chain: so many blocks late, and without some of the logs."""

    lag: int = 0
    hides: float = 0.0
    salt: str = ""

    def shows(self, log):
        if not self.hides:
            return True
        drawn = sha256(f"{self.salt}{log['transactionHash']}{log['logIndex']}".encode()).digest()
        return int.from_bytes(drawn[:4], "big") / 2**32 >= self.hides


class Chain:
    """Everything random comes from `rng`; `faults` says how badly things go."""

    def __init__(self, clock, rng, faults):
        self._clock = clock
        self._rng = rng
        self.faults = faults
        self.blocks = [Block(0, self._hash(0), "0x" + "0" * 64, int(clock.timestamp()))]
        self.state = State()
        self._states = [self.state.copy()]
        self._receipts = {}
        self.pool = {}
        self.frozen = set()
        self.eth = 10**20
        self.floor = 0
        """Whoever offers less per gas is not mined."""
        self.is_halted = False
        self.forgets = self.reorgs = self.replacements = 0
        self.calls = 0
        self.seen = set()
        """Every transaction that ever came."""
        self._view = View()

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
        self._states.append(self.state.copy() if block.mined else self._states[-1])
        if len(self._states) > KEPT_STATES:
            self._states[len(self._states) - KEPT_STATES - 1] = None

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
        if (token == USDG and receiver in self.frozen) or balances.get(sender, 0) < amount:
            raise Revert("refused")
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
        if sender == ZERO:
            self.state.balances(to)[ZERO] = 2**255
        hash_ = "0x" + keccak256(f"{sender}{to}{receiver}{amount}{nonce}{self._rng.random()}".encode()).hex()
        made = Transaction(hash_, sender, nonce, to, receiver, amount, authorization=authorization, deadline=deadline)
        self.pool[hash_] = made
        return hash_

    def edit(self, change):
        """What the owner of the desk or the payer does by hand: at once, and in every block that is kept."""
        for state in {id(each): each for each in (self.state, *self._states) if each is not None}.values():
            change(state)

    def supply(self, state):
        return sum(amount for owner, amount in state.token.items() if owner != ZERO)

    def _hash(self, number):
        return "0x" + sha256(f"{number}/{self._rng.random()}".encode()).hexdigest()

    # --- seen from outside

    def handle(self, body, view=None):
        self._view = view or View()
        asked = msgspec.json.decode(body)
        self.calls += len(asked) if isinstance(asked, list) else 1
        if isinstance(asked, list):
            return msgspec.json.encode([self._answer(each) for each in asked])
        return msgspec.json.encode(self._answer(asked))

    def _answer(self, asked):
        try:
            result = getattr(self, asked["method"])(*asked["params"])
        except (Refusal, Revert) as refusal:
            error = {"code": -32000, "message": str(refusal)}
            return {"jsonrpc": "2.0", "id": asked["id"], "error": error}
        return {"jsonrpc": "2.0", "id": asked["id"], "result": result}

    @property
    def _head(self):
        return max(0, len(self.blocks) - 1 - self._view.lag)

    def eth_blockNumber(self):
        return hex(self._head)

    def eth_getBlockByNumber(self, which, _full):
        number = self._head if which == "latest" else int(which, 16)
        if number > self._head:
            return None
        block = self.blocks[number]
        return {
            "number": hex(block.number), "hash": block.hash, "parentHash": block.parent,
            "timestamp": hex(block.timestamp), "baseFeePerGas": hex(BASE_FEE),
        }  # fmt: skip

    def eth_getLogs(self, query):
        first, last = int(query["fromBlock"], 16), int(query["toBlock"], 16)
        if last - first >= self.faults.log_range:
            raise Refusal("query exceeds block range limit")
        found = [
            log
            for block in self.blocks[first : min(last, self._head) + 1]
            for mined in block.mined
            for log in mined.logs
            if log["address"] in query["address"] and fits(log["topics"], query["topics"]) and self._view.shows(log)
        ]
        # Every node shows one block: there is no smaller question.
        if len(found) > self.faults.log_limit and last > first:
            raise Refusal("query returned more than 14 results")
        return found

    def eth_call(self, call, where):
        return "0x" + self._view_call(call["to"], bytes.fromhex(call["data"][2:]), self._state_at(where)).hex()

    def _view_call(self, to, data, state):
        name, rest = data[:4].hex(), data[4:]
        if to == MULTICALL:
            return self._aggregate(rest, state)
        if to == DESK:
            return self._view_desk(name, rest, state)
        if name == "95d89b41":
            return raw(32) + raw(4) + b"TICK".ljust(32, b"\0")
        values = {
            "313ce567": lambda: 18,
            "18160ddd": lambda: self.supply(state),
            "70a08231": lambda: state.balances(to).get(account_at(rest, 0), 0),
            "dd62ed3e": lambda: state.allowances.get(account_at(rest, 0), 0),
        }
        if name == AUTHORIZATION_STATE:
            return raw(int((account_at(rest, 0), number_at(rest, 32)) in state.used))
        if name == NONCE_BITMAP:
            return raw(bitmap(state.used, account_at(rest, 0), number_at(rest, 32)))
        return raw(values.get(name, lambda: 0)())

    def _view_desk(self, name, rest, state):
        epoch = number_at(rest, 0) if len(rest) >= 32 else 0
        if name == selector("books(uint256)"):
            return bytes.fromhex(state.books.get(epoch, "00" * 32))
        values = {
            selector("payer()"): lambda: int(state.payer, 16),
            selector("paused()"): lambda: int(state.paused),
            selector("pool(uint256)"): lambda: state.pools.get(epoch, 0),
            selector("spent(uint256)"): lambda: state.spent.get(epoch, 0),
            selector("paid(uint256,address)"): lambda: state.paid.get((epoch, account_at(rest, 32)), 0),
        }
        return raw(values[name]())

    def _aggregate(self, rest, state):
        count = number_at(rest, 32)
        answers = []
        for at in range(count):
            start = 64 + number_at(rest, 64 + 32 * at)
            size = number_at(rest, start + 96)
            answers.append(self._view_call(account_at(rest, start), rest[start + 128 : start + 128 + size], state))
        heads, bodies, offset = b"", b"", 32 * count
        for answer in answers:
            heads += raw(offset)
            body = raw(1) + raw(64) + raw(len(answer)) + answer + bytes(-len(answer) % 32)
            bodies += body
            offset += len(body)
        return raw(32) + raw(count) + heads + bodies

    def eth_estimateGas(self, call):
        """As nodes do it: what would happen now decides whether there is an answer."""
        data = bytes.fromhex(call["data"][2:])
        lines = 0
        if data[:4].hex() == PAY_CALL:
            lines = number_at(data, 4 + 64)
            if number_at(data, 4) not in self.state.books:
                raise Revert("execution reverted: not open")
        elif number_at(data, 4) in self.state.books:
            raise Revert("execution reverted: open already")
        if call["from"] != self.state.payer or self.state.paused:
            raise Revert("execution reverted: not now")
        if self.eth < 10**13:
            raise Refusal("insufficient funds for gas")
        return hex(250_000 + 50_000 * lines)

    def eth_getCode(self, address, _where):
        return "0x" if address not in (TOKEN, USDG, DESK) else "0x6080"

    def eth_getBalance(self, _address, _where):
        return hex(self.eth)

    def eth_getTransactionCount(self, address, where):
        return hex(self._state_at(where).nonces.get(address, 0))

    def _state_at(self, where):
        """The newest state, or that of a block by its number or its hash: a node keeps so many of them."""
        if isinstance(where, str) and where.startswith("0x"):
            number = int(where, 16)
            if number > self._head or self._states[number] is None:
                raise Refusal("missing state")
            return self._states[number]
        if not isinstance(where, dict):
            return self.state if not self._view.lag else self._states[self._head] or self.state
        for block in reversed(self.blocks[max(0, len(self.blocks) - KEPT_STATES) : self._head + 1]):
            if block.hash == where["blockHash"]:
                return self._states[block.number]
        raise Refusal("header not found")

    def eth_sendRawTransaction(self, text):
        transaction = read_transaction(bytes.fromhex(text[2:]))
        self.seen.add(transaction.hash)
        if transaction.hash in self._receipts or transaction.nonce < self.state.nonces.get(transaction.sender, 0):
            raise Refusal("nonce too low")
        if transaction.hash in self.pool:
            raise Refusal("already known")
        if self.eth < transaction.fee * transaction.gas:
            raise Refusal("insufficient funds for gas * price + value")
        if self._rng.random() < self.faults.drop:
            self.forgets += 1
            return transaction.hash
        same = [t for t in self.pool.values() if (t.sender, t.nonce) == (transaction.sender, transaction.nonce)]
        for old in same:
            if transaction.fee * 10 < old.fee * 11 or transaction.tip * 10 < old.tip * 11:
                raise Refusal("replacement transaction underpriced")
            del self.pool[old.hash]
            self.replacements += 1
        if self._rng.random() < self.faults.delay:
            transaction.not_before = self._clock.monotonic() + self._rng.uniform(1, 300)
        self.pool[transaction.hash] = transaction
        return transaction.hash

    def eth_getTransactionByHash(self, hash_):
        found = self._receipts.get(hash_)
        if found is None or found[0] > self._head:
            return None
        return {"hash": hash_, "input": "0x12345678" + found[1].transaction.authorization[2:]}

    def eth_getTransactionReceipt(self, hash_):
        found = self._receipts.get(hash_)
        if found is None or found[0] > self._head:
            return None
        number, mined = found
        return {
            "transactionHash": hash_,
            "blockNumber": hex(number),
            "blockHash": self.blocks[number].hash,
            "status": hex(mined.status),
            "logs": mined.logs,
        }


class Refusal(Exception):
    """A JSON-RPC error."""


class Revert(Exception):
    """A call that undoes itself."""


def read_transaction(data):
    """A signed EIP-1559 call, its sender recovered as the chain would."""
    fields = rlp.decode(data[1:])
    digest = keccak256(data[:1] + rlp.encode(fields[:9]))
    parity, r, s = fields[9:]
    signature = r.rjust(32, b"\0") + s.rjust(32, b"\0") + (parity or b"\0")
    key = PublicKey.from_signature_and_message(signature, digest, hasher=None)
    sender = "0x" + keccak256(key.format(compressed=False)[1:])[12:].hex()
    chain_id, nonce, tip, fee, gas = (int.from_bytes(each, "big") for each in fields[:5])
    assert chain_id == CHAIN_ID
    assert not fields[6]
    to = "0x" + fields[5].hex()
    assert to == DESK or (to == sender and not fields[7]), "the agent calls the desk and nobody else"
    hash_ = "0x" + keccak256(data).hex()
    return Transaction(hash_, sender, nonce, to, data=fields[7], fee=fee, tip=tip, gas=gas)


def fits(topics, wanted):
    for got, want in zip(topics, wanted, strict=False):
        if want is not None and got not in (want if isinstance(want, list) else [want]):
            return False
    return len(topics) >= len(wanted)


def bitmap(used, owner, word_number):
    nonces = [nonce for payer, nonce in used if payer == owner and nonce >> 8 == word_number]
    return sum(1 << (nonce & 255) for nonce in nonces)


def raw(number):
    return number.to_bytes(32, "big")


def word(value):
    return "0x" + raw(int(value, 16) if isinstance(value, str) else value).hex()


def number_at(data, at):
    return int.from_bytes(data[at : at + 32], "big")


def account_at(data, at):
    return "0x" + data[at + 12 : at + 32].hex()
