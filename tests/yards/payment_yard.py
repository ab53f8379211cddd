"""A yard of API processes around one world of payments: chains and facilitators live in the test, processes may die."""

import asyncio
import contextlib
import json
import os
import pathlib
import signal
import sys
from dataclasses import dataclass

import aiohttp

from yards import paying

URL = "/v1/x402/item/AAPL"
VALID_S = 3600 * 12
TESTS = pathlib.Path(__file__).parents[1]


@dataclass(frozen=True)
class Server:
    pid: int
    base: str

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


class Yard:
    """`world` has the chains and the scripted facilitators; `born()` is a new API process on its database."""

    def __init__(self, world, *, is_staged=False, **limits):
        self.world = world
        self.on_stage = None
        self._is_staged = is_staged
        self._limits = {"settle_s": 2.0, "verify_s": 2.0, "wait_s": 5.0}
        self._limits |= {"unsettled_per_minute": None, "bad_payments_per_minute": None} | limits
        self._ahead_s = 0
        self._servers = []

    async def __aenter__(self):
        self._stages = await asyncio.start_server(self._stage, "127.0.0.1", 0)
        job = {
            "where": self.world.where,
            "stages": self._stages.sockets[0].getsockname()[1],
            "is_staged": self._is_staged,
            "facilitators": {network: far.url for network, far in self.world.facilitators.items()},
            "nodes": {network: chain.node.url for network, chain in self.world.chains.items()},
            "limits": self._limits,
        }
        pipe = asyncio.subprocess.PIPE
        command = (sys.executable, "-m", "yards.payment_server", json.dumps(job))
        self._nursery = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, cwd=TESTS)
        assert await self._nursery.stdout.readline() == b"ready\n"
        self._http = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0, force_close=True))
        for facilitator in self.world.facilitators.values():
            facilitator.on_stage = self._tell
        return self

    async def __aexit__(self, *_):
        await self._http.close()
        for server in self._servers:
            await self.bury(server)
        self._nursery.stdin.close()
        await self._nursery.wait()
        self._stages.close()
        await self._stages.wait_closed()

    async def born(self):
        self._nursery.stdin.write(f"{self._ahead_s}\n".encode())
        line = await self._nursery.stdout.readline()
        assert line != b"stillborn\n", "a server died at its birth: its trace is on stderr"
        pid, port = line.split()
        server = Server(int(pid), f"http://127.0.0.1:{int(port)}")
        self._servers.append(server)
        return server

    async def bury(self, server):
        """Kill it, and wait until it is gone."""
        server.kill()
        while _lives(server.pid):
            await self.world.clock.sleep(0.002)

    def move(self, seconds):
        """Time goes by, for the chains now and for every process born from now on."""
        self._ahead_s += seconds
        self.world.clock.move(seconds)

    def payment(self, network):
        return self.world.payment(network=network, valid_s=VALID_S)

    async def ask(self, server, payment, path=URL):
        """The answer; None when the connection broke."""
        try:
            async with self._http.get(server.base + path, headers=dict([payment])) as answer:
                headers = {name.lower(): value for name, value in answer.headers.items()}
                return paying.Response(answer.status, headers, await answer.read())
        except (aiohttp.ClientError, ConnectionError):
            return None

    async def _stage(self, reader, writer):
        try:
            pid, _, name = (await reader.readline()).decode().strip().partition(" ")
            # What one that is dead by now has said last is about a sale that is over.
            if name and _lives(int(pid)):
                await self._tell(name)
            writer.write(b"on\n")
            await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    async def _tell(self, name):
        if self.on_stage is not None:
            await self.on_stage(name)


def _lives(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
