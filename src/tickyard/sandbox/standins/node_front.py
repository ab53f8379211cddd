"""The front of the node: passes JSON-RPC through untouched, unless the board says otherwise."""

import io
import re
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import msgspec
from aiohttp import web

from tickyard.kernel.clock import Clock
from tickyard.kernel.wire import encode
from tickyard.sandbox.standins.faults import FaultBoard, faulty, hang_up, html, truncated

_WORD = re.compile(r"[0-9a-f]{64}")
_ZERO_WORD = "0" * 64
_OTHER_CHAIN_ID = "0x539"
_PLAIN_MAX_BYTES = 1024 * 1024


# Pages that this machine serves itself, such as the web app with the demo wallet; nobody else's.
_OWN_ORIGIN = re.compile(r"http://(127\.0\.0\.1|localhost)(:[0-9]+)?")


async def _preflight(_request: web.Request) -> web.Response:
    return web.Response(status=204)


async def _allow_pages_of_this_machine(request: web.Request, response: web.StreamResponse) -> None:
    origin = request.headers.get("Origin", "")
    if request.path == "/rpc" and _OWN_ORIGIN.fullmatch(origin):
        response.headers["Access-Control-Allow-Origin"] = origin
        response.headers["Access-Control-Allow-Headers"] = "content-type"
        response.headers["Vary"] = "Origin"


class NodeFront:
    """`POST /rpc`, byte for byte to the node and back."""

    def __init__(self, board: FaultBoard, clock: Clock, node_url: str) -> None:
        self._board = board
        self._clock = clock
        self._node_url = node_url
        self._session: aiohttp.ClientSession | None = None

    def add_to(self, app: web.Application) -> None:
        serve = faulty(self._board, "rpc", self._clock, self.forward, garbage=self._garbage, throttle=self._throttle)
        app.router.add_post("/rpc", serve)
        app.router.add_options("/rpc", _preflight)
        app.on_response_prepare.append(_allow_pages_of_this_machine)
        app.cleanup_ctx.append(self._client)

    async def _client(self, _app: web.Application) -> AsyncIterator[None]:
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60),
            timeout=aiohttp.ClientTimeout(total=None),
            trust_env=False,
        ) as self._session:
            yield

    async def forward(self, request: web.Request) -> web.StreamResponse:
        try:
            status, content_type, body = await self._ask(await request.read())
        except (aiohttp.ClientError, OSError):
            # A node that is gone looks like one: no answer, rather than an answer of our own invention.
            return hang_up(request)
        return web.Response(status=status, body=body, headers={"Content-Type": content_type})

    async def _ask(self, body: bytes) -> tuple[int, str, bytes]:
        assert self._session is not None
        headers = {"Content-Type": "application/json"}
        # aiohttp wants large bodies as a stream; for all others plain bytes are the fast way.
        data = body if len(body) <= _PLAIN_MAX_BYTES else io.BytesIO(body)
        async with self._session.post(self._node_url, data=data, headers=headers) as response:
            return (
                response.status,
                response.headers.get("Content-Type", "application/json"),
                await response.read(),
            )

    async def _garbage(self, request: web.Request, turn: int) -> web.StreamResponse:
        if turn % 4 == 0:
            return html()
        asked = await request.read()
        try:
            _, _, body = await self._ask(asked)
        except (aiohttp.ClientError, OSError):
            return hang_up(request)
        if turn % 4 == 1:
            return truncated(body)
        if turn % 4 == 2 and b'"eth_chainId"' in asked:
            return _json(_with_results(body, lambda _: _OTHER_CHAIN_ID))
        return _json(_with_results(body, _zeroed))

    async def _throttle(self, request: web.Request, turn: int) -> web.StreamResponse:
        if turn % 2 == 0:
            return web.Response(status=429, headers={"Retry-After": "1"}, text="Too Many Requests")
        try:
            asked = msgspec.json.decode(await request.read())
        except msgspec.DecodeError:
            asked = {}
        refused = [_over_limit(each) for each in asked] if isinstance(asked, list) else _over_limit(asked)
        return _json(encode(refused))


def _json(body: bytes) -> web.Response:
    return web.Response(body=body, content_type="application/json")


def _over_limit(call: Any) -> dict[str, Any]:
    error = {"code": -32005, "message": "request rate exceeded"}
    return {"jsonrpc": "2.0", "id": call.get("id") if isinstance(call, dict) else None, "error": error}


def _with_results(body: bytes, change: Any) -> bytes:
    """The node's answer, single or batch, with every result changed."""
    answer = msgspec.json.decode(body)
    for each in answer if isinstance(answer, list) else [answer]:
        if "result" in each:
            each["result"] = change(each["result"])
    return encode(answer)


def _zeroed(value: Any) -> Any:
    """Every 32-byte word of every hex text turned to zero; the shape stays right, the meaning is gone."""
    if isinstance(value, str):
        return "0x" + _WORD.sub(_ZERO_WORD, value[2:]) if value.startswith("0x") else value
    if isinstance(value, list):
        return [_zeroed(each) for each in value]
    if isinstance(value, dict):
        return {key: _zeroed(each) for key, each in value.items()}
    return value
