"""The paper chain behind a socket, with the issuer's stand-in beside it, in a process of its own.

    python -m yards.papernode    ->  {"port": ..., "standins": ..., "pid": ...} on stdout

An answer is worked out once and then sent from memory: what is measured against it is the other side's work.
"""

import asyncio
import json
import os

import uvloop

from bench.cpu import cores, pin
from tickyard.kernel.clock import WallClock
from tickyard.sandbox.standins.faults import FaultBoard
from tickyard.sandbox.standins.issuer import IssuerStandIn
from tickyard.sandbox.standins.process import open_port
from tickyard.sandbox.world.listing import load
from yards.paper import PaperChain


class Conversation(asyncio.Protocol):
    """One keep-alive connection."""

    def __init__(self, results: "Results") -> None:
        self.results = results
        self.buffer = b""

    def connection_made(self, transport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while True:
            end = self.buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            head = self.buffer[:end].lower()
            size = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
            if len(self.buffer) < end + 4 + size:
                return
            body = self.results.answer(self.buffer[end + 4 : end + 4 + size])
            self.buffer = self.buffer[end + 4 + size :]
            self.transport.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
            )


class Results:
    def __init__(self, chain: PaperChain) -> None:
        self.chain = chain
        self.known: dict[tuple, str] = {}

    def answer(self, body: bytes) -> bytes:
        request = json.loads(body)
        if isinstance(request, list):
            return f"[{','.join(map(self._one, request))}]".encode()
        return self._one(request).encode()

    def _one(self, request: dict) -> str:
        params = request.get("params") or []
        asked = params[0] if params and isinstance(params[0], dict) else {}
        key = (request["method"], asked.get("to"), asked.get("data"), len(params) > 2)
        if key not in self.known:
            self.known[key] = json.dumps(self.chain.rpc(request["method"], params))
        return f'{{"jsonrpc":"2.0","id":{json.dumps(request["id"])},"result":{self.known[key]}}}'


async def main() -> None:
    clock = WallClock()
    now = clock.now()
    results = Results(PaperChain(now))
    server = await asyncio.get_running_loop().create_server(lambda: Conversation(results), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    _, standins = await open_port([IssuerStandIn(FaultBoard(), clock, load(), began=now)])
    pair = cores()
    pin(os.getpid(), pair and pair[1])
    print(json.dumps({"port": port, "standins": standins, "pid": os.getpid()}), flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main())
