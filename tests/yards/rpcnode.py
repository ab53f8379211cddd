"""A stand-in chain node: real sockets on loopback, and every bad habit a real one may have."""

import asyncio
import gzip
import json

from tickyard.kernel.clock import WallClock

OK_HEADERS = "Content-Type: application/json\r\n"

BATCH_REFUSALS = {
    "small-batches": ("200 OK", (-32600, "Batch of more than 3 requests are not allowed"), False),
    "small-batches-listed": ("200 OK", (-32600, "batch too large"), True),
    "small-batches-limit": ("200 OK", (-32005, "Batch size limit exceeded"), False),
    "small-batches-400": ("400 Bad Request", (-32600, "batch too large"), False),
    "small-batches-413": ("413 Payload Too Large", (-32600, "batch too large"), False),
}
"""How nodes of several makes refuse a batch for its size: status, error, whether a list of that one error."""


class Refused(Exception):
    """Raised by a result function: the code and message of a JSON-RPC error."""


class Node:
    """Answers JSON-RPC. `script` holds a mode for each coming request, after that `mode` rules.

    Chain id checks are always answered: with the id the node had when the connection was opened.
    `barrier` answers nobody before `together` requests are waiting; the other modes speak for themselves.
    """

    def __init__(self, chain_id=4663):
        self.chain_id = chain_id
        self.mode = "ok"
        self.delay_s = 1
        self.script = []
        self.results = {"eth_blockNumber": "0x10"}
        self.seen = []
        self.checks = 0
        self.refused = 0
        self.connections = 0
        self.together = 1
        self._waiting = 0
        self._all_here = asyncio.Event()
        self._writers = set()

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/secret-key"
        return self

    async def __aexit__(self, *_):
        self._server.close()
        self.drop_connections()
        await self._server.wait_closed()

    def drop_connections(self):
        for writer in list(self._writers):
            writer.transport.abort()

    async def _serve(self, reader, writer):
        self.connections += 1
        chain_id = self.chain_id
        self._writers.add(writer)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                size = int(head.split("content-length:")[1].split("\r\n")[0])
                body = json.loads(await reader.readexactly(size))
                if isinstance(body, dict) and body["method"] == "eth_chainId":
                    self.checks += 1
                    self._send(writer, self._reply(body["id"], hex(chain_id)))
                elif not await self._answer(writer, body):
                    break
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        except asyncio.CancelledError:
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _answer(self, writer, body):
        """False: the connection is over."""
        mode = self.script.pop(0) if self.script else self.mode
        self.seen.append(body)
        good = self._good(body)
        if mode == "ok":
            self._send(writer, good)
        elif mode in BATCH_REFUSALS and isinstance(body, list) and len(body) > 3:
            self.refused += 1
            status, error, is_list = BATCH_REFUSALS[mode]
            refusal = self._error(body[0] if is_list else body, *error)
            self._send(writer, b"[" + refusal + b"]" if is_list else refusal, status=status)
        elif mode in BATCH_REFUSALS:
            self._send(writer, good)
        elif mode == "closing":
            self._send(writer, good, headers=OK_HEADERS + "Connection: close\r\n")
            return False
        elif mode == "barrier":
            self._waiting += 1
            if self._waiting == self.together:
                self._all_here.set()
            await self._all_here.wait()
            self._send(writer, good)
        elif mode == "429":
            self._send(writer, b"slow down", status="429 Too Many Requests", headers="Retry-After: 0\r\n")
        elif mode == "429-later":
            self._send(writer, b"slow down", status="429 Too Many Requests", headers="Retry-After: 86400\r\n")
        elif mode == "rpc-throttle":
            self._send(writer, self._error(body, -32005, "daily request count exceeded, request rate limited"))
        elif mode == "revert":
            self._send(writer, self._error(body, 3, "execution reverted: rate limit", "0x08c379a0"))
        elif mode == "lagging":
            self._send(writer, self._error(body, -32000, "header not found"))
        elif mode == "logs-cap":
            self._send(writer, self._error(body, -32005, "query returned more than 10000 results"))
        elif mode == "html":
            self._send(writer, b"<html>hello</html>", headers="Content-Type: text/html\r\n")
        elif mode == "truncated":
            self._send(writer, good[:-5])
        elif mode == "cut-off":
            writer.write(b"HTTP/1.1 200 OK\r\n" + OK_HEADERS.encode() + b"Content-Length: 9999\r\n\r\n" + good)
            return False
        elif mode == "wrong-id":
            self._send(writer, self._reply(999999, "0x10"))
        elif mode == "bad-hex":
            self._send(writer, self._reply(body["id"], "0x1 2"))
        elif mode == "reversed":
            self._send(writer, json.dumps(json.loads(good)[::-1]).encode())
        elif mode == "twice":
            self._send(writer, json.dumps([json.loads(good)[0]] * len(body)).encode())
        elif mode == "huge":
            writer.write(b"HTTP/1.1 200 OK\r\n" + OK_HEADERS.encode() + b"Transfer-Encoding: chunked\r\n\r\n")
            for _ in range(60):
                writer.write(b"100000\r\n" + b" " * 2**20 + b"\r\n")
                await writer.drain()
            writer.write(b"0\r\n\r\n")
        elif mode == "bomb":
            self._send(writer, gzip.compress(b" " * 2**23), headers=OK_HEADERS + "Content-Encoding: gzip\r\n")
        elif mode == "redirect":
            self._send(writer, b"", status="302 Found", headers=f"Location: {self.url}\r\n")
        elif mode == "500":
            self._send(writer, b"{}", status="500 Oops")
        elif mode == "unauthorised":
            self._send(writer, self._error(body, -32600, "Must be authenticated!"), status="401 Unauthorized")
        elif mode == "reset":
            writer.transport.abort()
            return False
        elif mode == "slow":
            await WallClock().sleep(self.delay_s)
            self._send(writer, good)
        elif mode == "hang":
            await asyncio.Event().wait()
        return True

    def _good(self, body):
        if isinstance(body, list):
            return b"[" + b",".join(self._good(each) for each in body) + b"]"
        if body.get("jsonrpc") != "2.0":
            return self._error(body, -32600, "invalid request")
        result = self.results.get(body["method"], "0x")
        try:
            return self._reply(body["id"], result(body["params"]) if callable(result) else result)
        except Refused as refused:
            return self._error(body, *refused.args)

    def _reply(self, request_id, result):
        return json.dumps({"jsonrpc": "2.0", "id": request_id, "result": result}).encode()

    def _error(self, body, code, message, data=None):
        request_id = None if isinstance(body, list) else body["id"]
        error = {"code": code, "message": message, "data": data}
        return json.dumps({"jsonrpc": "2.0", "id": request_id, "error": error}).encode()

    def _send(self, writer, body, *, status="200 OK", headers=OK_HEADERS):
        writer.write(f"HTTP/1.1 {status}\r\n{headers}Content-Length: {len(body)}\r\n\r\n".encode() + body)
