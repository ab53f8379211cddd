"""The paper chain behind a socket and a distance, with the issuer's stand-in beside it, in a process of its own.

    python -m bench.far_node SECONDS    ->  {"port": ..., "standins": ...} on stdout

Once it was told to (`POST /move`), every look at the newest block finds a new one. `GET /calls` counts what was asked.
"""

import asyncio
import json
import os
import sys

import uvloop
from aiohttp import web

from bench.cpu import cores, pin
from tickyard.kernel.clock import WallClock
from tickyard.sandbox.standins.faults import FaultBoard
from tickyard.sandbox.standins.issuer import IssuerStandIn
from tickyard.sandbox.standins.process import open_port
from tickyard.sandbox.world.listing import load
from yards.paper import PaperChain


class FarNode:
    def __init__(self, away_s: float) -> None:
        self.chain = PaperChain(WallClock().now())
        self.away_s = away_s
        self.calls = 0
        self.known: dict[str, object] = {}
        self.is_moving = False

    def add_to(self, app: web.Application) -> None:
        app.router.add_post("/", self.answer)
        app.router.add_post("/move", self.move)
        app.router.add_get("/calls", self.tell_calls)

    async def move(self, _request: web.Request) -> web.Response:
        self.is_moving = True
        return web.Response()

    async def tell_calls(self, _request: web.Request) -> web.Response:
        return web.json_response(self.calls)

    async def answer(self, request: web.Request) -> web.Response:
        asked = json.loads(await request.read())
        await asyncio.sleep(self.away_s)
        many = asked if isinstance(asked, list) else [asked]
        self.calls += len(many)
        said = [{"jsonrpc": "2.0", "id": each["id"], "result": self.result(each)} for each in many]
        return web.json_response(said if isinstance(asked, list) else said[0])

    def result(self, call: dict) -> object:
        method, params = call["method"], call.get("params") or []
        if method == "eth_getLogs":
            return []
        if method == "eth_getBlockByNumber":
            if params[0] == "latest" and self.is_moving:
                self.chain.block += 8
            number = self.chain.block if params[0] == "latest" else int(params[0], 16)
            return {"number": hex(number), "hash": f"0x{number:064x}", "timestamp": hex(self.chain.time)}
        if method != "eth_call":
            return self.chain.rpc(method, params)
        key = params[0]["to"] + params[0]["data"]
        if key not in self.known:
            self.known[key] = self.chain.rpc(method, params)
        return self.known[key]


async def main() -> None:
    clock = WallClock()
    _, port = await open_port([FarNode(float(sys.argv[1]))])
    _, standins = await open_port([IssuerStandIn(FaultBoard(), clock, load(), began=clock.now())])
    pair = cores()
    pin(os.getpid(), pair and pair[1])
    print(json.dumps({"port": port, "standins": standins}), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(main())
