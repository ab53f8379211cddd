"""A chain in memory: blocks, a pool that loses things, two tokens, reorganisations, and the JSON-RPC to see it by."""

from dataclasses import dataclass, field
from hashlib import sha256

import msgspec
import rlp
from coincurve import PublicKey

from tickyard.chain.keccak import keccak256

CHAIN_ID = 4663
USDG = "0x5fc5360d0400a0fd4f2af552add042d716f1d168"
TOKEN = "0x" + "7e" * 20
ZERO = "0x" + "0" * 40
TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"


@dataclass
class Transaction:
    hash: str
    sender: str
    nonce: int
    to: str
    receiver: str
    amount: int
    not_before: float = 0.0


@dataclass
class Mined:
    transaction: Transaction
    status: int
    logs: list


@dataclass
class Block:
    number: int
    hash: str
    timestamp: int
    mined: list = field(default_factory=list)


@dataclass
class State:
    usdg: dict = field(default_factory=dict)
    token: dict = field(default_factory=dict)
    nonces: dict = field(default_factory=dict)

    def copy(self):
        return State(self.usdg.copy(), self.token.copy(), self.nonces.copy())

    def balances(self, to):
        return self.usdg if to == USDG else self.token


class Chain:
    """Everything random comes from `rng`; `faults` says how badly things go."""

    def __init__(self, clock, rng, faults):
        self._clock = clock
        self._rng = rng
        self.faults = faults
        self.blocks = [Block(0, self._hash(0), int(clock.timestamp()))]
        self.state = State()
        self._states = [self.state.copy()]
        self._receipts = {}
        self.pool = {}
        self.frozen = set()
        self.eth = 10**20
        self.forgets = 0
        self.resends = None
        self.reorgs = 0
        self.permits = {}
        """Which transactions are Permit2 payments: (owner, nonce) by hash."""

    # --- the life of the chain

    def mine(self):
        """One block with whatever of the pool can be in it."""
        block = Block(len(self.blocks), self._hash(len(self.blocks)), int(self._clock.timestamp()))
        waiting = sorted(self.pool.values(), key=lambda each: (each.sender, each.nonce, each.hash))
        for transaction in waiting:
            if transaction.not_before > self._clock.monotonic():
                continue
            if transaction.nonce != self.state.nonces.get(transaction.sender, 0):
                continue
            self._execute(block, transaction)
            del self.pool[transaction.hash]
        self.blocks.append(block)
        self._states.append(self.state.copy() if block.mined else self._states[-1])
        if len(self._states) > 16:
            self._states[len(self._states) - 17] = None

    def _execute(self, block, transaction):
        self.state.nonces[transaction.sender] = transaction.nonce + 1
        balances = self.state.balances(transaction.to)
        is_frozen = transaction.to == USDG and transaction.receiver in self.frozen
        status = int(not is_frozen and balances.get(transaction.sender, 0) >= transaction.amount)
        logs = []
        if status:
            balances[transaction.sender] -= transaction.amount
            balances[transaction.receiver] = balances.get(transaction.receiver, 0) + transaction.amount
            logs.append(self._log(block, transaction.hash, transaction.to, transaction.sender, transaction))
        block.mined.append(Mined(transaction, status, logs))
        self._receipts[transaction.hash] = (block.number, block.mined[-1])

    def _log(self, block, hash_, to, sender, transaction):
        index = sum(len(mined.logs) for mined in block.mined)
        return {
            "address": to,
            "topics": [TRANSFER, _topic(sender), _topic(transaction.receiver)],
            "data": "0x" + transaction.amount.to_bytes(32, "big").hex(),
            "blockNumber": hex(block.number),
            "blockHash": block.hash,
            "transactionHash": hash_,
            "logIndex": hex(index),
            "removed": False,
        }

    def reorganise(self, depth, without=()):
        """Drop the newest blocks. What was in them goes back to the pool, or is forgotten."""
        depth = min(depth, len(self.blocks) - 2)
        if depth < 1:
            return
        self.reorgs += 1
        for block in self.blocks[-depth:]:
            for mined in block.mined:
                del self._receipts[mined.transaction.hash]
                if mined.transaction.hash in without:
                    continue
                # Only those whose sender would send them again may be forgotten.
                if mined.transaction.sender != self.resends or self._rng.random() < 0.7:
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

    def send(self, sender, to, receiver, amount):
        """A transaction of somebody whose keys are not part of the story. Its hash."""
        nonce = self.state.nonces.get(sender, 0) + sum(each.sender == sender for each in self.pool.values())
        if sender == ZERO:
            self.state.balances(to)[ZERO] = 2**255
        hash_ = "0x" + keccak256(f"{sender}{to}{receiver}{amount}{nonce}{self._rng.random()}".encode()).hex()
        self.pool[hash_] = Transaction(hash_, sender, nonce, to, receiver, amount)
        return hash_

    def supply(self, state):
        return sum(amount for owner, amount in state.token.items() if owner != ZERO)

    def token_logs(self):
        """Ground truth: every transfer on the chain as it is now."""
        for block in self.blocks:
            for mined in block.mined:
                yield from ((block, mined.transaction) for _ in mined.logs)

    def _hash(self, number):
        return "0x" + sha256(f"{number}/{self._rng.random()}".encode()).hexdigest()

    # --- seen from outside

    def handle(self, body):
        asked = msgspec.json.decode(body)
        if isinstance(asked, list):
            return msgspec.json.encode([self._answer(each) for each in asked])
        return msgspec.json.encode(self._answer(asked))

    def _answer(self, asked):
        try:
            result = getattr(self, asked["method"])(*asked["params"])
        except Refusal as refusal:
            error = {"code": -32000, "message": str(refusal)}
            return {"jsonrpc": "2.0", "id": asked["id"], "error": error}
        return {"jsonrpc": "2.0", "id": asked["id"], "result": result}

    def eth_blockNumber(self):
        return hex(len(self.blocks) - 1)

    def eth_getBlockByNumber(self, which, _full):
        block = self.blocks[-1] if which == "latest" else self._block(int(which, 16))
        if block is None:
            return None
        fees = {"baseFeePerGas": "0x5f5e100"}
        return {"number": hex(block.number), "hash": block.hash, "timestamp": hex(block.timestamp), **fees}

    def _block(self, number):
        return self.blocks[number] if number < len(self.blocks) else None

    def eth_getLogs(self, query):
        first, last = int(query["fromBlock"], 16), int(query["toBlock"], 16)
        if last - first >= self.faults.log_range:
            raise Refusal("query exceeds block range limit")
        found = [
            log
            for block in self.blocks[first : last + 1]
            for mined in block.mined
            for log in mined.logs
            if log["address"] in query["address"]
            and len(query["topics"]) <= len(log["topics"])
            and all(
                want is None or got in (want if isinstance(want, list) else [want])
                for want, got in zip(query["topics"], log["topics"], strict=False)
            )
        ]
        if len(found) > self.faults.log_limit:
            raise Refusal("query returned more than 14 results")
        return found

    def eth_call(self, call, where):
        to, data = call["to"], call["data"]
        state = self._state_at(where)
        if data.startswith("0x95d89b41"):
            return (
                "0x" + (32).to_bytes(32, "big").hex() + (4).to_bytes(32, "big").hex() + b"TICK".ljust(32, b"\0").hex()
            )
        if data.startswith("0x313ce567"):
            return "0x" + (18).to_bytes(32, "big").hex()
        if data.startswith("0x18160ddd"):
            return "0x" + self.supply(state).to_bytes(32, "big").hex()
        if data.startswith("0x70a08231"):
            return "0x" + state.balances(to).get("0x" + data[34:74], 0).to_bytes(32, "big").hex()
        if data.startswith("0x82ad56cb"):
            return aggregated(data[2:], lambda inner: self._bitmap(inner, where))
        return "0x" + self._bitmap(data[2:], where)

    def _bitmap(self, data, where):
        """A nonce bitmap as of a block: a payment's bit is set by its transaction."""
        owner, word = "0x" + data[32:72], int(data[72:136], 16)
        last = len(self.blocks) - 1 if not isinstance(where, str) or where == "latest" else int(where, 16)
        used = [
            nonce
            for hash_, (payer, nonce) in self.permits.items()
            if payer == owner and nonce >> 8 == word and self._receipts.get(hash_, (last + 1,))[0] <= last
        ]
        return f"{sum(1 << (nonce & 255) for nonce in used):064x}"

    def eth_getCode(self, address, _where):
        return "0x" if address not in (TOKEN, USDG) else "0x6080"

    def eth_getBalance(self, _address, _where):
        return hex(self.eth)

    def eth_getTransactionCount(self, address, where):
        return hex(self._state_at(where).nonces.get(address, 0))

    def _state_at(self, where):
        """The newest state, or that of a block by its hash: a node keeps a few of them."""
        if not isinstance(where, dict):
            return self.state
        for block in reversed(self.blocks[-16:]):
            if block.hash == where["blockHash"]:
                return self._states[block.number]
        raise Refusal("header not found")

    def eth_sendRawTransaction(self, text):
        raw = bytes.fromhex(text[2:])
        transaction = read_transaction(raw)
        if transaction.hash in self._receipts or transaction.nonce < self.state.nonces.get(transaction.sender, 0):
            raise Refusal("nonce too low")
        if transaction.hash in self.pool:
            raise Refusal("already known")
        if self._rng.random() < self.faults.drop:
            self.forgets += 1
            return transaction.hash
        if self._rng.random() < self.faults.delay:
            transaction.not_before = self._clock.monotonic() + self._rng.uniform(1, 300)
        self.pool[transaction.hash] = transaction
        return transaction.hash

    def eth_getTransactionReceipt(self, hash_):
        found = self._receipts.get(hash_)
        if found is None:
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


def read_transaction(raw):
    """A signed EIP-1559 transfer, its sender recovered as the chain would."""
    fields = rlp.decode(raw[1:])
    digest = keccak256(raw[:1] + rlp.encode(fields[:9]))
    parity, r, s = fields[9:]
    signature = r.rjust(32, b"\0") + s.rjust(32, b"\0") + (parity or b"\0")
    key = PublicKey.from_signature_and_message(signature, digest, hasher=None)
    sender = "0x" + keccak256(key.format(compressed=False)[1:])[12:].hex()
    data = fields[7]
    assert int.from_bytes(fields[0], "big") == CHAIN_ID
    assert data[:4].hex() == "a9059cbb"
    return Transaction(
        "0x" + keccak256(raw).hex(),
        sender,
        int.from_bytes(fields[1], "big"),
        "0x" + fields[5].hex(),
        "0x" + data[16:36].hex(),
        int.from_bytes(data[36:68], "big"),
    )


def aggregated(data, read):
    """Multicall3's aggregate3 over calls that answer one word each."""
    words = [data[8 + 64 * n : 72 + 64 * n] for n in range(len(data[8:]) // 64)]
    answers = []
    for offset in words[2 : 2 + int(words[1], 16)]:
        start = 8 + 2 * 64 + 2 * int(offset, 16)
        size = 2 * int(data[start + 192 : start + 256], 16)
        answers.append(read(data[start + 256 : start + 256 + size]))
    heads = "".join(f"{32 * len(answers) + 128 * n:064x}" for n in range(len(answers)))
    return f"0x{32:064x}{len(answers):064x}{heads}" + "".join(f"{1:064x}{64:064x}{32:064x}{each}" for each in answers)


def _topic(address):
    return "0x" + "0" * 24 + address[2:]
