"""Two chains in memory, as far as payments see them: nonces, transfers, a pool that everybody reads, reorganisations."""

from dataclasses import dataclass, field
from hashlib import sha256

import msgspec

USDG, USDC = "0x5fc5360d0400a0fd4f2af552add042d716f1d168", "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"
PERMIT2, MULTICALL = "0x000000000022d473030f116ddee9f6b43ac78ba3", "0xca11bde05977b3631167028862be2a173976ca11"
PAY_TO = "0x" + "9a" * 20
ELSEWHERE = "0x" + "e1" * 20
TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
USED = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5"
CANCELED = "0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81"
CROSSED = "0x3704902f963766a4e561bbaab6e6cdc1b1dd12f6e9e99648da8843b3f46b918d"
BLOCK_S = 2


@dataclass
class Transaction:
    """What is in the pool or in a block: a payment's settlement, a cancelled nonce, or a plain transfer."""

    hash: str
    kind: str
    payer: str
    nonce: int
    amount: int
    deadline: int
    begun_at: float
    calldata: dict = field(default_factory=dict)
    """What was signed, for all to read."""
    to: str = PAY_TO
    is_hidden: bool = False
    """Its calldata does not show what it carries: a contract in between makes it up."""
    block: int | None = None
    has_worked: bool = False


@dataclass
class Block:
    number: int
    hash: str
    timestamp: int
    mined: list = field(default_factory=list)


class Refused(Exception):
    """A JSON-RPC error."""


class Chain:
    def __init__(self, network, clock, rng):
        self.network = network
        self.is_eip3009 = network == "eip155:8453"
        self.asset = USDC if self.is_eip3009 else USDG
        self.clock = clock
        self.rng = rng
        start = int(clock.timestamp())
        self.blocks = [Block(n, self._hash(n), start - BLOCK_S * (400 - n)) for n in range(400)]
        self.pool = []
        self.taken_back = set()
        """Payments that were on the chain once, before it was reorganised."""
        self.seen = {}
        """Every transaction that was ever in the pool."""

    def send(self, kind, payer, nonce, amount, deadline, calldata=None, to=PAY_TO):
        name = "0x" + sha256(f"{self.rng.random()} {payer} {nonce}".encode()).hexdigest()
        made = Transaction(name, kind, payer, nonce, amount, deadline, self.clock.timestamp(), calldata or {}, to)
        self.pool.append(made)
        self.seen[name] = made
        return made

    def copy(self, each, *, is_hidden):
        """Somebody else sends what they read in the pool. It is the buyer's doing all the same."""
        made = self.send("pay", each.payer, each.nonce, each.amount, each.deadline, each.calldata)
        made.is_hidden, made.begun_at = is_hidden, each.begun_at
        # Whoever pays more is served first.
        self.pool.remove(made)
        self.pool.insert(0, made)

    def is_used(self, payer, nonce, block=None):
        last = len(self.blocks) - 1 if block is None else block
        return any(
            each.has_worked and each.kind != "plain" and (each.payer, each.nonce) == (payer, nonce)
            for number in range(400, last + 1)
            for each in self.blocks[number].mined
        )

    def mine(self, timestamp=None):
        block = Block(len(self.blocks), self._hash(len(self.blocks)), timestamp or int(self.clock.timestamp()))
        self.blocks.append(block)
        late = [each for each in self.pool if self.rng.random() < 0.2 and timestamp is None]
        for each in [each for each in self.pool if each not in late]:
            each.block = block.number
            is_good = each.kind == "plain" or not self.is_used(each.payer, each.nonce)
            each.has_worked = is_good and (each.kind != "pay" or block.timestamp <= each.deadline)
            block.mined.append(each)
        self.pool = late

    def reorganise(self, depth):
        """The newest blocks are replaced. What was in them is mined again, in the new branch, in another order."""
        depth = min(depth, len(self.blocks) - 402)
        if depth < 1:
            return
        lost, times = [], []
        for block in self.blocks[-depth:]:
            times.append(block.timestamp)
            lost += block.mined
        del self.blocks[-depth:]
        for each in lost:
            if each.has_worked and each.kind == "pay":
                self.taken_back.add((self.network, each.payer, each.nonce))
            each.block, each.has_worked = None, False
        self.rng.shuffle(lost)
        # Some wait for the end of the branch: for a while it looks as if they had never been.
        first = [each for each in lost if self.rng.random() < 0.5]
        rest = [each for each in lost if each not in first]
        waiting, self.pool = self.pool, first
        for timestamp in times[:-1]:
            self.mine(timestamp)
        self.pool += rest
        self.mine(times[-1])
        self.pool += waiting

    def transfers(self):
        """Ground truth: what has moved money to us, for good."""
        return [
            each
            for block in self.blocks
            for each in block.mined
            if each.has_worked and each.kind in ("pay", "plain") and each.to == PAY_TO
        ]

    def place_of(self, each):
        """Where in its block the transfer's log is."""
        return 10 * self.blocks[each.block].mined.index(each) + int(self.is_eip3009)

    # --- seen from outside

    def handle(self, body, view):
        """`view`: how far this node is."""
        asked = msgspec.json.decode(body)
        if isinstance(asked, list):
            return msgspec.json.encode([self._answer(each, view) for each in asked])
        return msgspec.json.encode(self._answer(asked, view))

    def _answer(self, asked, view):
        try:
            result = getattr(self, asked["method"])(view, *asked["params"])
        except Refused as refused:
            return {"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32000, "message": str(refused)}}
        return {"jsonrpc": "2.0", "id": asked["id"], "result": result}

    def eth_blockNumber(self, view):
        return hex(view.head)

    def eth_getBlockByNumber(self, view, which, _full):
        number = view.head if which == "latest" else int(which, 16)
        if number > view.head:
            return None
        block = self.blocks[number]
        return {"number": hex(number), "hash": block.hash, "timestamp": hex(block.timestamp)}

    def eth_getCode(self, _view, _address, _where):
        return "0x"

    def eth_getTransactionReceipt(self, view, name):
        each = self.seen.get(name)
        if each is None or each.block is None or each.block > view.head:
            return None
        logs = self._logs_of(self.blocks[each.block], each)
        return {"status": hex(int(each.has_worked)), "blockNumber": hex(each.block), "logs": logs}

    def eth_getTransactionByHash(self, view, name):
        each = self.seen.get(name)
        if each is None or each.block is None or each.block > view.head:
            return None
        words = (int(self.asset, 16), each.amount, each.nonce, each.deadline)
        shown = "0x12345678" + "".join(f"{word:064x}" for word in words)
        to = self.asset if each.kind == "plain" else ELSEWHERE
        return {"hash": name, "to": to, "input": shown if each.kind == "pay" and not each.is_hidden else "0xa9059cbb"}

    def eth_call(self, view, call, where):
        number = view.head if where == "latest" else int(where, 16)
        if number > view.head:
            raise Refused("header not found")
        data = call["data"][2:]
        if call["to"] == MULTICALL:
            return _aggregated(data, lambda inner: self._state(inner, number))
        return "0x" + self._state(data, number)

    def _state(self, data, number):
        owner, word = "0x" + data[32:72], int(data[72:136], 16)
        if self.is_eip3009:
            return f"{int(self.is_used(owner, word, number)):064x}"
        used = {
            each.nonce
            for block in self.blocks[400 : number + 1]
            for each in block.mined
            if each.has_worked and each.kind != "plain" and each.payer == owner and each.nonce >> 8 == word
        }
        return f"{sum(1 << (nonce & 255) for nonce in used):064x}"

    def eth_getLogs(self, view, query):
        first, last = int(query["fromBlock"], 16), int(query["toBlock"], 16)
        if last - first > view.log_range:
            return []
        found = [
            log
            for block in self.blocks[first : min(last, view.head) + 1]
            for each in block.mined
            for log in self._logs_of(block, each)
        ]
        return [log for log in found if log["address"] in query["address"] and _matches(log["topics"], query["topics"])]

    def _logs_of(self, block, each):
        if not each.has_worked:
            return []
        base = 10 * block.mined.index(each)
        logs = []
        if each.kind == "cross" and self.is_eip3009:
            logs.append((self.asset, [CANCELED, _topic(each.payer), f"0x{each.nonce:064x}"], "0x"))
        elif each.kind == "cross":
            logs.append(
                (PERMIT2, [CROSSED, _topic(each.payer)], f"0x{each.nonce >> 8:064x}{1 << (each.nonce & 255):064x}")
            )
        if each.kind in ("pay", "plain"):
            if self.is_eip3009 and each.kind == "pay":
                logs.append((self.asset, [USED, _topic(each.payer), f"0x{each.nonce:064x}"], "0x"))
            logs.append((self.asset, [TRANSFER, _topic(each.payer), _topic(each.to)], f"0x{each.amount:064x}"))
        shared = {"blockNumber": hex(block.number), "blockHash": block.hash, "transactionHash": each.hash}
        return [
            {**shared, "address": address, "topics": topics, "data": data, "logIndex": hex(base + n)}
            for n, (address, topics, data) in enumerate(logs)
        ]

    def _hash(self, number):
        return "0x" + sha256(f"{number}/{self.rng.random()}".encode()).hexdigest()


def _matches(got, wanted):
    if len(got) < len(wanted):
        return False
    return all(topic in (want if isinstance(want, list) else [want]) for topic, want in zip(got, wanted, strict=False))


def _aggregated(data, read):
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
