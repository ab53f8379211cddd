"""The front of a facilitator: passes its three routes through, unless the board says otherwise."""

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import msgspec
from aiohttp import web

from tickyard.kernel.clock import Clock
from tickyard.kernel.wire import encode
from tickyard.sandbox.standins.faults import FaultBoard, faulty, hang_up, html, truncated

# Well formed and wrong in every type: a careless reader would take the text "true" for a yes.
_WRONG_TYPES = {"isValid": "true", "success": "true", "transaction": 1, "network": None, "payer": []}
_UPSTREAM_S = 60


def port_file(chain_id: int) -> str:
    """The file of the run's folder into which a facilitator writes its port once it listens."""
    return f"facilitator-{chain_id}.json"


class FacilitatorFront:
    """`/facilitator-4663/...` and its like, byte for byte to the process behind it and back."""

    def __init__(self, board: FaultBoard, clock: Clock, run_dir: Path, chain_id: int) -> None:
        self._board = board
        self._clock = clock
        self._name = f"facilitator-{chain_id}"
        self._port_file = run_dir / port_file(chain_id)
        self._session: aiohttp.ClientSession | None = None

    def add_to(self, app: web.Application) -> None:
        serve = faulty(
            self._board, self._name, self._clock, self.forward, garbage=self._garbage, throttle=self._throttle
        )
        app.router.add_get(f"/{self._name}/supported", serve)
        app.router.add_post(f"/{self._name}/verify", serve)
        app.router.add_post(f"/{self._name}/settle", serve)
        app.cleanup_ctx.append(self._client)

    async def _client(self, _app: web.Application) -> AsyncIterator[None]:
        timeout = aiohttp.ClientTimeout(total=_UPSTREAM_S)
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector, timeout=timeout, trust_env=False) as self._session:
            yield

    async def forward(self, request: web.Request) -> web.StreamResponse:
        try:
            status, content_type, body = await self._ask(request)
        except (aiohttp.ClientError, OSError):
            # A facilitator that is gone, or not there yet, looks like one.
            return hang_up(request)
        return web.Response(status=status, body=body, headers={"Content-Type": content_type})

    async def _ask(self, request: web.Request) -> tuple[int, str, bytes]:
        assert self._session is not None
        # Read each time: the process may start after us, and come back on another port.
        port = msgspec.json.decode(self._port_file.read_bytes(), type=dict[str, int])["port"]
        url = f"http://127.0.0.1:{port}/{request.path.rpartition('/')[2]}"
        headers = {"Content-Type": "application/json"}
        body = await request.read()
        async with self._session.request(request.method, url, data=body or None, headers=headers) as response:
            return response.status, response.headers.get("Content-Type", "application/json"), await response.read()

    async def _garbage(self, request: web.Request, turn: int) -> web.StreamResponse:
        if turn % 3 == 0:
            return html()
        if turn % 3 == 2:
            return web.Response(body=encode(_WRONG_TYPES), content_type="application/json")
        # The worst kind: the work was done, and only the answer is broken.
        try:
            _, _, body = await self._ask(request)
        except (aiohttp.ClientError, OSError):
            return hang_up(request)
        return truncated(body)

    async def _throttle(self, _request: web.Request, turn: int) -> web.StreamResponse:
        headers = {"Retry-After": "1"}
        if turn % 2 == 0:
            return web.Response(status=429, headers=headers, text="Too Many Requests")
        body = encode({"error": "rate limit exceeded"})
        return web.Response(status=429, headers=headers, body=body, content_type="application/json")
