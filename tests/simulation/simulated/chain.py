"""The chain as its nodes show it: JSON-RPC, from several of them, of which some lag or keep logs to themselves."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

import msgspec

from simulated.blocks import Blocks, Revert
from simulated.words import (
    AUTHORIZATION_STATE,
    DESK,
    MULTICALL,
    NONCE_BITMAP,
    PAY_CALL,
    TOKEN,
    USDG,
    account_at,
    bitmap,
    fits,
    number_at,
    raw,
    read_transaction,
    selector,
)

BASE_FEE = 10**8
BOOKS, PAYER, PAUSED, POOL, SPENT, PAID_TO = map(
    selector,
    ("books(uint256)", "payer()", "paused()", "pool(uint256)", "spent(uint256)", "paid(uint256,address)"),
)


class Refusal(Exception):
    """A JSON-RPC error."""


@dataclass
class View:
    """How one node sees the chain: so many blocks late, and without some of the logs."""

    lag: int = 0
    hides: float = 0.0
    salt: str = ""
    invented: tuple = ()
    """Logs of what never happened."""
    dates: Mapping = field(default_factory=dict)
    """Times that it gives blocks, by their numbers."""
    decimals: int = 18
    """Of the tokens, as it says."""

    def shows(self, log):
        if not self.hides:
            return True
        drawn = sha256(f"{self.salt}{log['transactionHash']}{log['logIndex']}".encode()).digest()
        return int.from_bytes(drawn[:4], "big") / 2**32 >= self.hides


class Hiding(View):
    """A node that keeps one transaction's logs to itself."""

    def __init__(self, hash_):
        super().__init__()
        self._hash = hash_

    def shows(self, log):
        return log["transactionHash"] != self._hash


class Chain(Blocks):
    def __init__(self, clock, rng, faults):
        super().__init__(clock, rng, faults)
        self.calls = 0
        self._view = View()
        self.on_pay = None
        """Called when a batch has come into the pool."""

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
            "timestamp": hex(self._view.dates.get(number, block.timestamp)), "baseFeePerGas": hex(BASE_FEE),
        }  # fmt: skip

    def eth_getLogs(self, query):
        first, last = int(query["fromBlock"], 16), int(query["toBlock"], 16)
        if last - first >= self.faults.log_range:
            raise Refusal("query exceeds block range limit")
        if last > self._head:
            raise Refusal(f"block range extends beyond current head block: requested {last}, head {self._head}")
        found = [
            log
            for block in self.blocks[first : min(last, self._head) + 1]
            for mined in block.mined
            for log in mined.logs
            if log["address"] in query["address"] and fits(log["topics"], query["topics"]) and self._view.shows(log)
        ]
        found += [
            log
            for log in self._view.invented
            if first <= int(log["blockNumber"], 16) <= last and log["address"] in query["address"]
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
            "313ce567": lambda: self._view.decimals,
            "18160ddd": lambda: self.supply(state),
            "70a08231": lambda: state.balances(to).get(account_at(rest, 0), 0),
            "dd62ed3e": lambda: state.allowances.get(account_at(rest, 0), 0),
            "23b872dd": lambda: int(not state.still),
        }
        if name == AUTHORIZATION_STATE:
            return raw(int((account_at(rest, 0), number_at(rest, 32)) in state.used))
        if name == NONCE_BITMAP:
            return raw(bitmap(state.used, account_at(rest, 0), number_at(rest, 32)))
        return raw(values.get(name, lambda: 0)())

    def _view_desk(self, name, rest, state):
        epoch = number_at(rest, 0) if len(rest) >= 32 else 0
        if name == BOOKS:
            return bytes.fromhex(state.books.get(epoch, "00" * 32))
        values = {
            PAYER: lambda: int(state.payer, 16),
            PAUSED: lambda: int(state.paused),
            POOL: lambda: state.pools.get(epoch, 0),
            SPENT: lambda: state.spent.get(epoch, 0),
            PAID_TO: lambda: state.paid.get((epoch, account_at(rest, 32)), 0),
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
        # Without a price in the question, what is on the account does not matter.
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
            assert where in ("latest", "pending"), "no node knows such a block"
            return self.state if not self._view.lag else self._states[self._head] or self.state
        for block in reversed(self.blocks[max(0, len(self.blocks) - self.kept_states) : self._head + 1]):
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
        if self.on_pay and transaction.data[:4].hex() == PAY_CALL:
            self.on_pay()
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
