"""The whole service over a chain of paper and a scriptable issuer, both behind real sockets on loopback."""

import asyncio
import json
from contextlib import asynccontextmanager, nullcontext
from typing import ClassVar
from urllib.parse import urlencode

import aiohttp
from aiohttp import web

from tickyard.catalog import CATALOG
from tickyard.doors.app import Plan, build_app
from tickyard.kernel.clock import WallClock
from tickyard.sandbox.standins.faults import FaultBoard
from tickyard.sandbox.standins.issuer import IssuerStandIn
from tickyard.sandbox.standins.process import open_port
from tickyard.sandbox.world.listing import load
from yards import asgi, house, paper, rpcnode

NOW = WallClock().now()


class LyingChain(paper.PaperChain):
    """A paper chain with an end to its patience: every call of a multicall may fail, or its answer be cut."""

    fails_all = False
    cuts = 0
    longest = 10**9
    """Calldata beyond so many characters is too much for the node in one piece."""
    _truth: ClassVar = {}

    def __init__(self):
        super().__init__(NOW)
        # Of the test's own day, not of the run's; rounded, so that those that run together share the truth.
        self.time = WallClock().seconds() // 20 * 20
        self._known = len(self.pools)

    def rpc(self, method, params):
        """The truth is worked out once for all tests: they wait for our side, not for this one."""
        if (
            method != "eth_call"
            or len(params) > 2
            or self.says
            or self.fails_all
            or self.cuts
            or len(self.pools) != self._known
            or len(self.by_pair) != self._known
        ):
            return super().rpc(method, params)
        key = (params[0]["to"], params[0]["data"], self.time)
        if key not in self._truth:
            self._truth[key] = super().rpc(method, params)
        return self._truth[key]

    def _multicall(self, data):
        answer = super()._multicall(data)
        if self.fails_all and paper.selector(data) == "82ad56cb":
            return paper.aggregated((None,) * len(paper.aggregated_calls(data)))
        return answer[: len(answer) - self.cuts]


class Issuer:
    """Passes the stand-in's answers on. `edit` may change the list of assets before it is passed on."""

    def __init__(self, behind):
        self.behind = behind
        self.edit = lambda assets: assets
        self.is_down = False
        self.is_slow = False

    def add_to(self, app):
        app.router.add_get("/{path:.*}", self.pass_on)

    async def pass_on(self, request):
        if self.is_slow:
            await asyncio.Event().wait()
        if self.is_down:
            return web.Response(status=503)
        async with aiohttp.ClientSession() as session, session.get(self.behind + request.path_qs) as answer:
            body = await answer.json()
            if request.path == "/assets":
                body["assets"] = self.edit(body["assets"])
            return web.json_response(body, status=answer.status)


class Yard:
    def __init__(self, chain, node, issuer, deps, app):
        self.chain, self.node, self.issuer, self.deps, self.app = chain, node, issuer, deps, app

    async def get(self, path, **query):
        target = f"{path}?{urlencode(query)}" if query else path
        return await asgi.ask_app(self.app, "GET", target)

    async def raw(self, target):
        return await asgi.ask_app(self.app, "GET", target)

    async def post(self, path, body):
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await asgi.ask_app(
            self.app, "POST", path, headers={"Content-Type": "application/json"}, chunks=(content,)
        )


class FarEnds:
    """The chain of paper behind its node, and the issuer behind its front."""

    def __init__(self, chain, node, issuer, issuer_url):
        self.chain, self.node, self.issuer, self.issuer_url = chain, node, issuer, issuer_url


@asynccontextmanager
async def open_far_ends(chain=None):
    clock = WallClock()
    chain = chain or LyingChain()

    def call(params):
        if len(params[0]["data"]) > chain.longest:
            raise rpcnode.Refused(-32000, "out of gas")
        result = chain.rpc("eth_call", params)
        if result is None:
            raise rpcnode.Refused(3, "execution reverted")
        return result

    async with rpcnode.Node() as node:
        node.results = {
            "eth_call": call,
            "eth_getCode": "0x6001",
            "eth_blockNumber": lambda _: chain.rpc("eth_blockNumber", []),
            "eth_getBlockByNumber": lambda _: chain.rpc("eth_getBlockByNumber", []),
            "eth_getBlockByHash": lambda _: chain.rpc("eth_getBlockByHash", []),
            **{name: chain.rpc(name, []) for name in ("eth_getBalance", "eth_maxPriorityFeePerGas", "eth_estimateGas")},
        }
        standins, port = await open_port([IssuerStandIn(FaultBoard(), clock, load(), began=clock.now())])
        issuer = Issuer(f"http://127.0.0.1:{port}/issuer")
        front, front_port = await open_port([issuer])
        try:
            yield FarEnds(chain, node, issuer, f"http://127.0.0.1:{front_port}")
        finally:
            await front.cleanup()
            await standins.cleanup()


@asynccontextmanager
async def open_yard(folder, *, chain=None, far_ends=None, clock=None, **more):
    """A service that is ready: registry and pools are read. The same folder again is a restart. `more`: settings."""
    async with (
        open_far_ends(chain) if far_ends is None else nullcontext(far_ends) as far,
        house.open_house(folder, far.node.url, far.issuer_url, clock or WallClock(), **more) as deps,
    ):
        yield Yard(far.chain, far.node, far.issuer, deps, build_app(Plan(CATALOG, deps), access_log=None).edge)
