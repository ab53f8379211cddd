"""The tool server's door: ANY /mcp, streamable HTTP without state, old and new protocol on the same path.

The protocol itself is the official package's. It is large, so it is imported when the first request comes (or
by `warm_up` in the background), off the event loop. What can be refused without it, is.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tickyard.doors.describe.paths import MCP_PATH
from tickyard.doors.http.answers import JSON, NO_STORE, header, send_bytes, send_error
from tickyard.doors.http.bodies import BodyRefused, read_json_body
from tickyard.doors.http.cache import FrontCache
from tickyard.doors.http.edge import ROUTE
from tickyard.doors.http.limits import client_key
from tickyard.doors.mcp.envelope import refusal
from tickyard.doors.mcp.guard import HostGuard
from tickyard.doors.mcp.tools import Take, build_tools
from tickyard.doors.routes import ClientOf
from tickyard.kernel.ids import EXAMPLE_WALLET
from tickyard.kernel.operation import Operation


class McpDoor:
    def __init__(
        self,
        rows: Iterable[Operation],
        deps: Any,
        cache: FrontCache,
        *,
        base_url: str,
        openapi: bytes,
        example_wallet: str = EXAMPLE_WALLET,
        client_of: ClientOf = client_key,
        quotas: Mapping[str, Take] = MappingProxyType({}),
        hosts: Iterable[str] = (),
        origins: Iterable[str] = (),
        build: Callable[[], Any] | None = None,
    ) -> None:
        """`openapi`: the API description as it is served, which is also a resource. `quotas`: by operation, the
        bucket that its tool shares with its HTTP route. `build`: another server of the protocol in place of ours."""
        self._rows = tuple(rows)
        self._deps = deps
        self._base_url = base_url
        self._cache = cache
        self._openapi = openapi
        self._wallet = example_wallet
        self._client_of = client_of
        self._quotas = quotas
        self._build = build
        self._guard = HostGuard(base_url, hosts, origins)
        self._app: ASGIApp | None = None
        self._opening: asyncio.Future[ASGIApp] | None = None
        self._keeper: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[ROUTE] = MCP_PATH
        if not self._guard.allows_host(scope["headers"]):
            await send_error(send, 421, "bad_request", "this host name is not one of ours")
        elif not self._guard.allows_origin(header(scope, b"origin")):
            await send_error(send, 403, "bad_request", "this origin may not call the tool server")
        elif scope["method"] != "POST":
            message = "the tool server keeps no stream and no state: it takes POST"
            await send_error(send, 405, "bad_request", message, [(b"allow", b"POST, OPTIONS")])
        else:
            await self._post(scope, receive, send)

    async def _post(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await read_json_body(scope, receive)
        except BodyRefused as refused:
            await send_error(send, refused.status, "bad_request", refused.message)
            return
        if (refused_with := refusal(body)) is not None:
            await send_bytes(send, 400, refused_with, [*JSON, NO_STORE])
            return
        app = self._app or await self.warm_up()
        # Blanks around a value are no part of it; servers leave the trailing ones to us.
        scope["headers"] = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        await app(scope, _replay(body, receive), send)

    async def warm_up(self) -> ASGIApp:
        """Import the protocol and start it, once. Who leaves while it happens does not undo it."""
        if self._keeper is None:
            self._opening = asyncio.get_running_loop().create_future()
            self._keeper = asyncio.create_task(self._keep(self._opening))
        assert self._opening is not None
        return await asyncio.shield(self._opening)

    async def close(self) -> None:
        if (keeper := self._keeper) is not None:
            keeper.cancel()
            await asyncio.wait([keeper])

    async def _keep(self, opening: asyncio.Future[ASGIApp]) -> None:
        """Hold the protocol's own context open: it must be left by the task that entered it."""
        try:
            protocol = await asyncio.to_thread(_load)
            tools = build_tools(self._rows, self._deps, self._cache, self._quotas, self._wallet)
            ours = partial(protocol.build_server, tools, self._client_of, self._openapi, self._base_url)
            async with protocol.open_protocol((self._build or ours)()) as app:
                self._app = app
                opening.set_result(app)
                await asyncio.Event().wait()
        except BaseException as error:
            # Whenever it ended: the next request tries again.
            self._app = self._keeper = None
            if not opening.done():
                opening.set_exception(error)
            raise


def _load() -> Any:
    from tickyard.doors.mcp import server as mcp_server

    return mcp_server


def _replay(body: bytes, receive: Receive) -> Receive:
    """The body that has been read and counted, once more; then whatever comes."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again
