"""A process that is told to stop: first a lame duck, then a drain, and nobody is left without an answer."""

import asyncio
import contextlib
import json
import socket

import uvicorn

from tickyard.doors.http.cache import FrontCache
from tickyard.doors.http.edge import Edge
from tickyard.doors.http.fast_path import ReadyProtocol
from tickyard.doors.http.pages import Readiness
from tickyard.doors.http.readiness import ReadyReport
from tickyard.doors.routes import build_router
from tickyard.kernel.clock import WallClock
from tickyard.processes.serving import Server

BODY = b'{"kept":true}'
GET = b"GET %b HTTP/1.1\r\nHost: a\r\n\r\n"


class Yard:
    def __init__(self, **times):
        clock = WallClock()
        cache = FrontCache(clock)
        cache.put(b"/kept", "/kept", BODY, 60)
        self.began, self.go = asyncio.Event(), asyncio.Event()
        router = build_router([("GET", "/slow", self.slow), ("GET", "/readyz", Readiness(self))])
        self.edge = Edge(router, cache, clock, rate_limit=None, access_log=None, profile_header=None)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        config = uvicorn.Config(
            self.edge,
            loop="none",
            http=ReadyProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
        )
        self.callers = []
        self.server = Server(config, self.edge, clock, **{"lame_duck_s": 0.3, "drain_s": 10} | times)

    async def report(self):
        return ReadyReport([], 0, 0, [])

    async def slow(self, _scope, _receive, send):
        self.began.set()
        await self.go.wait()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
        await send({"type": "http.response.body", "body": b"slow"})

    @contextlib.asynccontextmanager
    async def serving(self):
        task = asyncio.create_task(self.server.serve([self.socket]))
        try:
            yield task
        finally:
            self.server.should_exit = self.server.force_exit = True
            await asyncio.wait_for(task, 10)
            for _, writer in self.callers:
                writer.close()
                with contextlib.suppress(ConnectionError):
                    await writer.wait_closed()

    async def connect(self):
        self.callers.append(await asyncio.open_connection("127.0.0.1", self.port))
        return self.callers[-1]


async def answer(reader):
    status, headers = int((await reader.readline()).split()[1]), {}
    while (line := await reader.readline()) != b"\r\n":
        name, _, value = line.decode().partition(":")
        headers[name.lower()] = value.strip()
    return status, headers, await reader.readexactly(int(headers["content-length"]))


async def ask(connection, path):
    reader, writer = connection
    writer.write(GET % path)
    return await asyncio.wait_for(answer(reader), 10)


def run(scenario):
    asyncio.run(asyncio.wait_for(scenario(), 30))


def test_a_lame_duck_is_not_ready_but_serves_all_who_still_come():
    async def scenario():
        yard = Yard(lame_duck_s=5)
        async with yard.serving():
            old, idle = await yard.connect(), await yard.connect()
            assert (await ask(old, b"/readyz"))[0] == 200
            assert "connection" not in (await ask(old, b"/kept"))[1]
            yard.server.stop()
            # On a connection that was there before, and on new ones: served, and asked to leave.
            status, headers, body = await ask(old, b"/kept")
            assert (status, body, headers["connection"]) == (200, BODY, "close")
            status, headers, body = await ask(await yard.connect(), b"/readyz")
            assert (status, json.loads(body)["error"]["code"]) == (503, "upstream_error")
            assert (await ask(idle, b"/kept"))[0] == 200
            assert await idle[0].read() == b""

    run(scenario)


def test_what_has_begun_is_finished():
    async def scenario():
        yard = Yard(lame_duck_s=0)
        async with yard.serving() as stopped:
            slow, half = await yard.connect(), await yard.connect()
            slow[1].write(GET % b"/slow")
            half[1].write(b"GET /kept HTT")
            await yard.began.wait()
            yard.server.stop()
            while yard.server.servers[0].is_serving():
                await WallClock().sleep(0.01)
            half[1].write(b"P/1.1\r\nHost: a\r\n\r\n")
            status, headers, body = await asyncio.wait_for(answer(half[0]), 10)
            assert (status, body, headers["connection"]) == (200, BODY, "close")
            yard.go.set()
            assert (await asyncio.wait_for(answer(slow[0]), 10))[2] == b"slow"
            await asyncio.wait_for(stopped, 10)

    run(scenario)


def test_what_is_cut_off_gets_the_error_object():
    async def scenario():
        yard = Yard(lame_duck_s=0, drain_s=0.1)
        async with yard.serving() as stopped:
            slow = await yard.connect()
            slow[1].write(GET % b"/slow")
            await yard.began.wait()
            yard.server.stop()
            status, headers, body = await asyncio.wait_for(answer(slow[0]), 10)
            assert (status, json.loads(body)["error"]["code"]) == (502, "upstream_error")
            assert headers["retry-after"] == "1"
            await asyncio.wait_for(stopped, 10)

    run(scenario)


def test_a_second_signal_ends_it_now():
    async def scenario():
        yard = Yard(lame_duck_s=600, drain_s=600)
        async with yard.serving() as stopped:
            slow = await yard.connect()
            slow[1].write(GET % b"/slow")
            await yard.began.wait()
            yard.server.stop()
            yard.server.stop()
            assert (await asyncio.wait_for(answer(slow[0]), 10))[0] == 502
            await asyncio.wait_for(stopped, 10)

    run(scenario)
