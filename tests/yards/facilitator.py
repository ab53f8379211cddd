"""The far ends of a payment: two chains that remember, and facilitators that answer as a script says."""

import asyncio
import json
import secrets
from dataclasses import dataclass

from tickyard.config import pinned
from tickyard.payments.offer.terms import FIRST, SECOND
from tickyard.payments.proof.chain import AUTHORIZATION_USED, TRANSFER
from yards import rpcnode
from yards.selling import PAY_TO


@dataclass
class Mined:
    transaction: str
    block: int
    status: str
    logs: list


class Chain:
    """A chain that remembers nonces and transfers, behind real sockets. One block per payment."""

    def __init__(self, network, clock):
        self.network = network
        self.clock = clock
        self.asset = pinned.MAINNET.usdg if network == FIRST else pinned.USDC_8453
        self.used = set()
        self.mined = {}
        self.head = 1000
        self.times = {}
        self.node = rpcnode.Node(4663 if network == FIRST else 8453)
        self.node.results = {
            "eth_blockNumber": lambda _: hex(self.head),
            "eth_getBlockByNumber": self._block,
            "eth_call": self._call,
            "eth_getLogs": self._logs,
            "eth_getTransactionReceipt": self._receipt,
        }

    @property
    def transfers(self):
        return [log for mined in self.mined.values() for log in mined.logs if log["topics"][0] == TRANSFER]

    def pay(self, payer, nonce, amount, *, moves=True, status="0x1"):
        """Mine a settlement. `moves` False: the nonce is used up, and no money moves."""
        self.head += 1
        self.times[self.head] = self.clock.seconds()
        transaction = "0x" + secrets.token_hex(32)
        logs = []
        if status == "0x1":
            assert (payer.lower(), nonce) not in self.used, "the chain would have reverted"
            self.used.add((payer.lower(), nonce))
            if self.network == SECOND and moves:
                logs.append([AUTHORIZATION_USED, _word(payer), f"0x{nonce:064x}"])
            if moves:
                logs.append([TRANSFER, _word(payer), _word(PAY_TO)])
        shared = {"address": self.asset, "transactionHash": transaction, "blockNumber": hex(self.head)}
        entries = [
            {
                **shared,
                "topics": topics,
                "data": f"0x{amount:064x}" if topics[0] == TRANSFER else "0x",
                "logIndex": hex(n),
            }
            for n, topics in enumerate(logs)
        ]
        self.mined[transaction] = Mined(transaction, self.head, status, entries)
        return transaction

    def _block(self, params):
        number = self.head if params[0] in ("latest", "finalized") else int(params[0], 16)
        # Empty blocks before the first payment are two seconds apart, counted back from now.
        moment = (
            self.clock.seconds()
            if number == self.head
            else self.times.get(number, self.clock.seconds() - 2 * (self.head - number))
        )
        return {"number": hex(number), "hash": "0x" + "11" * 32, "timestamp": hex(moment)}

    def _call(self, params):
        data = params[0]["data"][10:]
        payer, word = "0x" + data[24:64], int(data[64:], 16)
        if self.network == SECOND:
            return f"0x{int((payer, word) in self.used):064x}"
        bitmap = sum(1 << (nonce & 255) for owner, nonce in self.used if owner == payer and nonce >> 8 == word)
        return f"0x{bitmap:064x}"

    def _logs(self, params):
        wanted = params[0]
        first, last = int(wanted["fromBlock"], 16), int(wanted["toBlock"], 16)
        return [
            log
            for mined in self.mined.values()
            for log in mined.logs
            if first <= mined.block <= last and log["topics"] == wanted["topics"]
        ]

    def _receipt(self, params):
        mined = self.mined.get(params[0])
        return None if mined is None else {"status": mined.status, "logs": mined.logs}


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
        elif mode == "nonce-used":
            answer = {
                "success": False,
                "errorReason": "invalid_exact_evm_nonce_already_used",
                "transaction": "",
                "network": "",
            }
        elif mode == "reverted":
            payer, nonce, amount = self._parts(body)
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
