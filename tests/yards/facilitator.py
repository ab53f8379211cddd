"""The far ends of a payment: two chains that remember, and facilitators that answer as a script says."""

import asyncio
import contextlib
import json
import secrets
from types import SimpleNamespace

from eth_abi import decode, encode

from tickyard.chain.transfers import TRANSFER
from tickyard.config import pinned
from tickyard.payments.offer.terms import FIRST, SECOND
from tickyard.payments.proof.transfer import AUTHORIZATION_CANCELED, AUTHORIZATION_USED, NONCES_INVALIDATED
from yards import rpcnode
from yards.selling import PAY_TO

BATCHER = "0x" + "ba" * 20
"""A facilitator's contract that settles several payments in one transaction."""


class Chain:
    """A chain that remembers nonces and transfers, behind real sockets. One block per payment."""

    def __init__(self, network, clock):
        self.network = network
        self.clock = clock
        self.asset = pinned.MAINNET.usdg if network == FIRST else pinned.USDC_8453
        self.first_use = {}
        """In which block each nonce was used, by (owner, nonce)."""
        self.mined = {}
        self.deadlines = {}
        """Of permits, by (owner, nonce), as facilitators were shown them."""
        self.head = 1000
        self._is_open = False
        self.lag = 0
        """How many blocks the node is behind when asked for anything but a receipt."""
        self.times = {}
        self.contracts = set()
        self.factories = {}
        """For what deploys a contract wallet, (factory, calldata): the wallet."""
        self.young = set()
        """Contracts that a node that lags has not heard of."""
        self.yes = "0x1626ba7e".ljust(66, "0")
        """What a contract wallet says of its owner's signature."""
        self.signers = {}
        """For a contract wallet: the signatures it takes for its owner's."""
        self.cut_logs_over = None
        self.refuse_logs_over = None
        """A node that leaves out the logs of longer ranges, without a word."""
        self.keeps_states = None
        """Of how many blocks the node still knows the state; None: of all."""
        self.answers_state_of = lambda block: block
        """Of which block the node shows the state when it is asked for that of one."""
        self.final_after = 0
        """How many blocks it takes until one is finalized."""
        self.hashes = {}
        self.node = rpcnode.Node(4663 if network == FIRST else 8453)
        self.node.results = {
            "eth_blockNumber": lambda _: hex(self.seen),
            "eth_getBlockByNumber": self._block,
            "eth_call": self._call,
            "eth_getLogs": self._logs,
            "eth_getTransactionReceipt": self._receipt,
            "eth_getTransactionByHash": self._transaction,
            "eth_getCode": lambda params: "0x6001" if self._is_contract(params[0].lower()) else "0x",
        }

    @property
    def seen(self):
        return self.head - self.lag

    @property
    def used(self):
        return set(self.first_use)

    @property
    def transfers(self):
        return [log for mined in self.mined.values() for log in mined.logs if log["topics"][0] == TRANSFER]

    def pay(
        self, payer, nonce, amount, *, moves=True, status="0x1", is_foreign=False, is_hidden=False, is_silent=False
    ):
        """Mine a settlement. `moves` False: the nonce is crossed out by hand, or, silent, with a permit over nothing;
        foreign: money moves, and no nonce; hidden: its calldata says nothing of it."""
        self._next_block()
        logs = []
        if status == "0x1" and is_foreign:
            logs.append((self.asset, [TRANSFER, _word(payer), _word(PAY_TO)], f"0x{amount:064x}"))
        elif status == "0x1":
            logs += self._use(payer, nonce, amount if moves else None, is_silent=is_silent)
        shown = [] if is_hidden else [(payer.lower(), nonce, amount if moves else 0)]
        return self._mine(logs, status, (payer.lower(), nonce), shown, is_foreign=is_foreign)

    def pay_together(self, payments, failed=(), *, is_padded=False):
        """Several settlements in one transaction, which goes through although some of them failed. Padded: it is the
        call of the first, with the words of the others behind it."""
        self._next_block()
        logs = [log for payer, nonce, amount in payments for log in self._use(payer, nonce, amount)]
        shown = [(payer.lower(), nonce, amount) for payer, nonce, amount in (*payments, *failed)]
        return self._mine(logs, "0x1", None, shown, is_padded=is_padded)

    @contextlib.contextmanager
    def one_block(self):
        """All that is paid in here is in one block."""
        self._next_block()
        self._is_open = True
        yield
        self._is_open = False

    def _use(self, payer, nonce, amount, *, is_silent=False):
        assert (payer.lower(), nonce) not in self.used, "the chain would have reverted"
        self.first_use[payer.lower(), nonce] = self.head
        if amount is None:
            data = f"0x{nonce >> 8:064x}{1 << (nonce & 255):064x}"
            crossed = (pinned.MAINNET.permit2, [NONCES_INVALIDATED, _word(payer)], data)
            if self.network == SECOND:
                crossed = (self.asset, [AUTHORIZATION_CANCELED, _word(payer), f"0x{nonce:064x}"], "0x")
            return [] if is_silent else [crossed]
        named = (self.asset, [AUTHORIZATION_USED, _word(payer), f"0x{nonce:064x}"], "0x")
        moved = (self.asset, [TRANSFER, _word(payer), _word(PAY_TO)], f"0x{amount:064x}")
        return [named, moved] if self.network == SECOND else [moved]

    def _mine(self, logs, status, key, shown, *, is_foreign=False, is_padded=False):
        transaction = "0x" + secrets.token_hex(32)
        before = sum(len(mined.logs) for mined in self.mined.values() if mined.block == self.head)
        shared = {"transactionHash": transaction, "blockNumber": hex(self.head), "blockHash": self._hash(self.head)}
        entries = [
            {**shared, "address": address, "topics": topics, "data": data, "logIndex": hex(before + n)}
            for n, (address, topics, data) in enumerate(logs)
        ]
        self.mined[transaction] = SimpleNamespace(
            transaction=transaction,
            block=self.head,
            status=status,
            logs=entries,
            key=key,
            shown=shown,
            is_foreign=is_foreign,
            is_padded=is_padded,
        )
        return transaction

    def grow(self, blocks):
        """Blocks in which nothing happens."""
        for _ in range(blocks):
            self._next_block()

    def reorganise(self, transaction, *, is_mined_again):
        """The block of a transaction is replaced by another; it comes back alone in a later one, or never."""
        mined = self.mined.pop(transaction)
        keys = [mined.key] if mined.key else [(payer, nonce) for payer, nonce, _ in mined.shown]
        for key in keys:
            del self.first_use[key]
        self.hashes[mined.block] = "0x" + secrets.token_hex(32)
        self._next_block()
        if is_mined_again:
            self.first_use |= dict.fromkeys(keys, self.head)
            mined.block = self.head
            place = {"blockNumber": hex(self.head), "blockHash": self._hash(self.head)}
            for n, log in enumerate(mined.logs):
                log |= {**place, "logIndex": hex(n)}
            self.mined[transaction] = mined

    def _next_block(self):
        if self._is_open:
            return
        self.head += 1
        self.times[self.head] = self.clock.seconds()

    def _hash(self, number):
        return self.hashes.setdefault(number, f"0x{number:064x}")

    def _block(self, params):
        named = {"latest": self.seen, "finalized": max(0, self.seen - self.final_after)}
        number = named[params[0]] if params[0] in named else int(params[0], 16)
        if number > self.seen:
            return None
        # Empty blocks before the first payment are two seconds apart, counted back from now.
        moment = (
            self.clock.seconds()
            if number == self.head
            else self.times.get(number, self.clock.seconds() - 2 * (self.head - number))
        )
        return {"number": hex(number), "hash": self._hash(number), "timestamp": hex(moment)}

    def _call(self, params):
        to, data = params[0]["to"], params[0]["data"][2:]
        block = self.seen if params[1] == "latest" else int(params[1], 16)
        if block > self.seen:
            raise rpcnode.Refused(-32000, "header not found")
        if self.keeps_states is not None and block <= self.seen - self.keeps_states:
            raise rpcnode.Refused(-32000, f"historical state of block {block} is not available")
        block = self.answers_state_of(block)
        if to == pinned.MAINNET.multicall3 and "1626ba7e" in data:
            return self._deploy_and_ask(bytes.fromhex(data[8:]))
        if to == pinned.MAINNET.multicall3:
            return aggregated(data, lambda inner: self._read(inner, block))
        if data.startswith("1626ba7e"):
            if not self._is_contract(to):
                return "0x"
            return self.yes if data[200:330] in self.signers.get(to, ()) else "0x" + "0" * 64
        return "0x" + self._read(data, block)

    def _deploy_and_ask(self, data):
        """A wallet that is deployed for a question, and what it says to it."""
        (((factory, _, made), (account, _, asked)),) = decode(["(address,bool,bytes)[]"], data)
        says = b""
        if self.factories.get((factory, made)) == account:
            is_its_own = asked.hex()[200:330] in self.signers.get(account, ())
            says = bytes.fromhex(self.yes[2:]) if is_its_own else bytes(32)
        return "0x" + encode(["(bool,bytes)[]"], [[(True, b""), (True, says)]]).hex()

    def _is_contract(self, account):
        return account in self.contracts and not (self.lag and account in self.young)

    def _read(self, data, block):
        payer, word = "0x" + data[8:][24:64], int(data[72:], 16)
        used = [key for key, at in self.first_use.items() if at <= block]
        if self.network == SECOND:
            return f"{int((payer, word) in used):064x}"
        bitmap = sum(1 << (nonce & 255) for owner, nonce in used if owner == payer and nonce >> 8 == word)
        return f"{bitmap:064x}"

    def _logs(self, params):
        wanted = params[0]
        first, last = int(wanted["fromBlock"], 16), int(wanted["toBlock"], 16)
        if self.cut_logs_over is not None and last - first >= self.cut_logs_over:
            return []
        if self.refuse_logs_over is not None and last - first >= self.refuse_logs_over:
            raise rpcnode.Refused(-32000, "query exceeds block range limit")
        return [
            log
            for mined in self.mined.values()
            for log in mined.logs
            if first <= mined.block <= min(last, self.seen)
            and log["address"] in wanted["address"]
            and _matches(log, wanted["topics"])
        ]

    def _transaction(self, params):
        mined = self.mined.get(params[0])
        if mined is None:
            return None
        permits, others = [], [0x20, 0xA0, 10_000]
        for owner, nonce, amount in mined.shown:
            permits += [int(self.asset, 16), amount, nonce, self.deadlines.get((owner, nonce), 0)]
        # One payment is the proxy's own call; several are handed to it by a contract in between.
        # Whoever sends that may put anything behind it.
        is_direct = len(mined.shown) == 1 or mined.is_padded
        words = permits + others if is_direct else others + permits
        shown = "0x12345678" + "".join(f"{word:064x}" for word in words)
        # Who pays by hand asks the token itself.
        to = self.asset if mined.is_foreign else pinned.SPENDER if is_direct else BATCHER
        return {"hash": params[0], "to": to, "input": shown}

    def _receipt(self, params):
        mined = self.mined.get(params[0])
        return (
            None
            if mined is None
            else {
                "status": mined.status,
                "logs": mined.logs,
                "blockNumber": hex(mined.block),
            }
        )


def _matches(log, wanted):
    if len(log["topics"]) < len(wanted):
        return False
    either = [each if isinstance(each, list) else [each] for each in wanted]
    return all(got in want for got, want in zip(log["topics"], either, strict=False))


def aggregated(data, read):
    """Multicall3's aggregate3 over calls of one word's answer."""
    words = [data[8 + 64 * n : 72 + 64 * n] for n in range(len(data[8:]) // 64)]
    count = int(words[1], 16)
    answers = []
    for n in range(count):
        start = 16 + 2 * 64 + 2 * int(words[2 + n], 16) - 8
        size = int(data[start + 3 * 64 : start + 4 * 64], 16)
        answers.append(read(data[start + 4 * 64 : start + 4 * 64 + 2 * size]))
    heads = "".join(f"{32 * count + 128 * n:064x}" for n in range(count))
    return f"0x{32:064x}{count:064x}{heads}" + "".join(f"{1:064x}{64:064x}{32:064x}{each}" for each in answers)


def _word(address):
    return "0x" + "0" * 24 + address[2:].lower()


class ScriptedFacilitator:
    """Answers /verify and /settle. `script[call]` holds a mode for each coming request, after that `modes[call]`."""

    def __init__(self, chain):
        self.chain = chain
        self.modes = {"verify": "ok", "settle": "ok"}
        self.script = {"verify": [], "settle": []}
        self.asked = {"verify": [], "settle": []}
        self.on_stage = None
        self._writers = set()

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_):
        self._server.close()
        for writer in list(self._writers):
            writer.transport.abort()
        await self._server.wait_closed()

    async def _serve(self, reader, writer):
        self._writers.add(writer)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                size = int(head.lower().split("content-length:")[1].split("\r\n")[0])
                body = json.loads(await reader.readexactly(size))
                call = head.split(" ")[1].removeprefix("/")
                if not await self._answer(call, body, writer):
                    break
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _stage(self, name):
        if self.on_stage is not None:
            await self.on_stage(name)

    async def _answer(self, call, body, writer):
        self.asked[call].append(body)
        mode = self.script[call].pop(0) if self.script[call] else self.modes[call]
        await self._stage(f"{call} asked")
        answer = self._verdict(body) if call == "verify" else None
        if call == "settle" and mode in (
            "ok",
            "hang-landed",
            "cut-landed",
            "cut-body",
            "500-landed",
            "pending-landed",
            "text",
            "twice",
            "lost-reply",
        ):
            answer = self._settle(body)
            await self._stage("settle landed")
        if mode == "refuse":
            answer = {"isValid": False, "invalidReason": "invalid_exact_evm_insufficient_balance"}
            answer |= {
                "success": False,
                "errorReason": "invalid_exact_evm_insufficient_balance",
                "transaction": "",
                "network": "",
            }
        elif mode == "refuse-nasty":
            answer = {"isValid": False, "success": False}
            answer["invalidReason"] = answer["errorReason"] = "<b>http://evil/\r\n\x00" + "x" * 500
        elif mode == "refuse-400":
            refusal = {"isValid": False, "success": False, "transaction": "", "network": ""}
            refusal["invalidReason"] = refusal["errorReason"] = "invalid_exact_evm_insufficient_balance"
            self._send(writer, json.dumps(refusal).encode(), "400 Bad Request")
            return True
        elif mode == "lost-reply":
            # What the reference says when its node did send the transaction and the reply got lost.
            answer = {"success": False, "errorReason": "transaction_failed", "transaction": "", "network": ""}
        elif mode == "no-reason":
            answer = {"success": False, "transaction": "", "network": ""}
        elif mode == "nonce-used":
            answer = {
                "success": False,
                "errorReason": "invalid_exact_evm_nonce_already_used",
                "transaction": "",
                "network": "",
            }
        elif mode in ("reverted", "twin-paid"):
            payer, nonce, amount = self._parts(body)
            if mode == "twin-paid":
                # It sent the same payment twice, and tells of the one that came too late.
                self.chain.pay(payer, nonce, amount)
            hash_ = self.chain.pay(payer, nonce, amount, status="0x0")
            answer = {
                "success": False,
                "errorReason": "transaction_failed",
                "transaction": hash_,
                "network": self.chain.network,
            }
        elif mode in ("pending", "pending-landed"):
            hash_ = answer["transaction"] if answer else "0x" + "77" * 32
            answer = {
                "success": False,
                "errorReason": "settlement_pending",
                "transaction": hash_,
                "network": self.chain.network,
            }
        elif mode == "text":
            answer = {"isValid": "true"} if call == "verify" else answer | {"success": "true"}
        elif mode == "ghost":
            answer = {"success": True, "transaction": "0x" + secrets.token_hex(32), "network": self.chain.network}
        elif mode == "no-hash":
            answer = {"success": True, "transaction": "", "network": self.chain.network}
        elif mode == "other-network":
            answer = {"success": True, "transaction": "0x" + "66" * 32, "network": "eip155:1"}
        elif mode == "list":
            answer = [True]
        elif mode in ("hang", "hang-landed"):
            await asyncio.Event().wait()
        elif mode in ("cut", "cut-landed"):
            writer.transport.abort()
            return False
        elif mode in ("500", "500-landed"):
            self._send(writer, b"oops, database at 10.0.0.1", "500 Oops")
            return True
        elif mode == "401":
            # It does not know us, and says so in the form of a verdict.
            refusal = {
                "isValid": False,
                "invalidReason": "unauthorized",
                "success": False,
                "errorReason": "unauthorized",
            }
            self._send(writer, json.dumps(refusal).encode(), "401 Unauthorized")
            return True
        elif mode == "html":
            self._send(writer, b"<html>hello</html>")
            return True
        elif mode == "redirect":
            self._send(writer, b"", "307 Temporary Redirect", f"Location: {self.url}/{call}\r\n")
            return True
        elif mode == "huge":
            self._send(writer, b'{"isValid":true,"x":"' + b"x" * 10**6 + b'"}')
            return True
        elif mode == "deep":
            self._send(writer, b"[" * 30000)
            return True
        elif mode == "cut-body":
            whole = json.dumps(answer).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(whole) + whole[:-9])
            await writer.drain()
            return False
        self._send(writer, json.dumps(answer).encode())
        return True

    def _send(self, writer, body, status="200 OK", more=""):
        writer.write(
            f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n{more}Content-Length: {len(body)}\r\n\r\n".encode()
            + body
        )

    def _parts(self, body):
        inner = body["paymentPayload"]["payload"]
        if "authorization" in inner:
            signed = inner["authorization"]
            return signed["from"], int(signed["nonce"], 16), int(signed["value"])
        signed = inner["permit2Authorization"]
        self.chain.deadlines[signed["from"].lower(), int(signed["nonce"])] = int(signed["deadline"])
        return signed["from"], int(signed["nonce"]), int(signed["permitted"]["amount"])

    def _verdict(self, body):
        payer, nonce, _ = self._parts(body)
        if (payer.lower(), nonce) in self.chain.used:
            return {"isValid": False, "invalidReason": "invalid_exact_evm_nonce_already_used", "payer": payer}
        return {"isValid": True, "payer": payer}

    def _settle(self, body):
        payer, nonce, amount = self._parts(body)
        if (payer.lower(), nonce) in self.chain.used:
            return {
                "success": False,
                "errorReason": "invalid_exact_evm_nonce_already_used",
                "transaction": "",
                "network": "",
            }
        transaction = self.chain.pay(payer, nonce, amount)
        return {"success": True, "transaction": transaction, "network": self.chain.network, "payer": payer}
