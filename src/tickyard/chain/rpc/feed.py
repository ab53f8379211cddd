"""A node that tells by itself when a log of certain contracts is new: `eth_subscribe` over a websocket.

What it tells is taken for a reason to look, and for nothing else: whoever looks asks as if nothing had been told. So a
feed that lies, repeats or falls silent costs a look too many or the time until the next one that is due anyway.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import aiohttp
import msgspec

from tickyard.chain.rpc.reply import any_value, read_one, read_quantity
from tickyard.chain.rpc.trouble import ForeignChain, Garbage, NodeUnreachable, RpcError, Trouble
from tickyard.kernel.clock import Clock
from tickyard.kernel.ids import Address
from tickyard.observe import metrics
from tickyard.observe.log import log

_PAUSE_FIRST_S: Final = 1.0
_PAUSE_MOST_S: Final = 60.0
_ANSWER_S: Final = 5.0
_HEARTBEAT_S: Final = 15.0
"""Pings: a market may be quiet for hours, a connection is not."""
_MESSAGE_MAX: Final = 2**20
_encode: Final = msgspec.json.Encoder().encode


class _Told(msgspec.Struct):
    method: str = ""


class LogFeed:
    """Wanted while somebody follows; otherwise there is no connection."""

    def __init__(self, urls: Sequence[str], *, chain_id: int, topics: Sequence[str], clock: Clock) -> None:
        self.news = asyncio.Event()
        """Set when a log was told."""
        self.is_on = False
        """Whether logs of what is followed would be told."""
        self._urls = list(urls)
        self._chain_id = chain_id
        self._topics = list(topics)
        self._clock = clock
        self._addresses: frozenset[Address] = frozenset()
        self._changed = asyncio.Event()

    def follow(self, addresses: frozenset[Address]) -> None:
        """From now on these contracts; none: nobody wants to know."""
        if addresses != self._addresses:
            self._addresses = addresses
            self._changed.set()

    async def keep(self) -> None:
        """Stay connected, for ever, whenever somebody follows."""
        turn, pause_s = 0, _PAUSE_FIRST_S
        while True:
            if not self._addresses:
                self._changed.clear()
                await self._changed.wait()
                continue
            began = self._clock.monotonic()
            try:
                await self._listen(self._urls[turn % len(self._urls)])
                continue
            except Trouble as trouble:
                # Never the URL: it may hold a key.
                log.warning("the feed of logs was lost", node=turn % len(self._urls), reason=trouble.outcome)
            finally:
                self.is_on = False
                metrics.mirror_feed.set(0)
            if self._clock.monotonic() - began > _PAUSE_MOST_S:
                pause_s = _PAUSE_FIRST_S
            turn += 1
            await self._clock.sleep(pause_s)
            pause_s = min(pause_s * 2, _PAUSE_MOST_S)

    async def try_once(self) -> None:
        """Dial the first node and ask to be told, once. Raises Trouble."""
        async with _dialled(self._urls[0]) as socket:
            await self._begin(socket)

    async def _listen(self, url: str) -> None:
        """One connection, until what is followed is another, or until Trouble."""
        async with _dialled(url) as socket:
            await self._begin(socket)
            await self._hear(socket)

    async def _begin(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._changed.clear()
        query = {"address": sorted(self._addresses), "topics": [self._topics]}
        try:
            async with asyncio.timeout(_ANSWER_S):
                if read_quantity(await _asked(socket, 1, "eth_chainId", [])) != self._chain_id:
                    raise ForeignChain
                if not isinstance(any_value(await _asked(socket, 2, "eth_subscribe", ["logs", query])), str):
                    raise Garbage
        except RpcError:
            raise Garbage from None
        self.is_on = True
        metrics.mirror_feed.set(1)

    async def _hear(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        changed = asyncio.ensure_future(self._changed.wait())
        try:
            while not self._changed.is_set():
                heard = asyncio.ensure_future(_text(socket))
                try:
                    await asyncio.wait({heard, changed}, return_when=asyncio.FIRST_COMPLETED)
                    if heard.done() and _is_news(heard.result()):
                        self.news.set()
                finally:
                    heard.cancel()
                    await asyncio.gather(heard, return_exceptions=True)
        finally:
            changed.cancel()


@asynccontextmanager
async def _dialled(url: str) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=_ANSWER_S)
    try:
        async with aiohttp.ClientSession(timeout=timeout) as session:
            # A node that takes the call and says nothing would else be waited for until the end of days.
            async with asyncio.timeout(_ANSWER_S):
                socket = await session.ws_connect(url, heartbeat=_HEARTBEAT_S, max_msg_size=_MESSAGE_MAX)
            async with socket:
                yield socket
    except (aiohttp.ClientError, OSError, TimeoutError):
        raise NodeUnreachable from None


async def _asked(socket: aiohttp.ClientWebSocketResponse, request_id: int, method: str, params: list[Any]) -> Any:
    await socket.send_str(_encode({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}).decode())
    while _is_news(text := await _text(socket)):
        pass
    return read_one(text, (request_id, method))


async def _text(socket: aiohttp.ClientWebSocketResponse) -> bytes:
    message = await socket.receive()
    if message.type is aiohttp.WSMsgType.TEXT:
        return str(message.data).encode()
    if message.type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSING, aiohttp.WSMsgType.CLOSED):
        raise NodeUnreachable
    raise Garbage


def _is_news(text: bytes) -> bool:
    try:
        return msgspec.json.decode(text, type=_Told).method == "eth_subscription"
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        raise Garbage from None
