"""A connection that is given up on its way closes its own socket, once, and nobody else's."""

import asyncio
import os
import socket
import subprocess
import sys

import pytest
import uvloop

from tickyard.kernel.loop import Loop
from yards.patience import STUCK_S

STORM = """
import asyncio, random, socket, sys
import aiohttp
from tickyard.kernel.loop import Loop

async def main():
    full = socket.create_server(("127.0.0.1", 0), backlog=0)
    async def hang_up(reader, writer):
        writer.transport.abort()
    server = await asyncio.start_server(hang_up, "127.0.0.1", 0, backlog=4)
    ports = [full.getsockname()[1], server.sockets[0].getsockname()[1]]
    rng = random.Random(1)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=200)) as session:
        async def call():
            for _ in range(40):
                try:
                    async with asyncio.timeout(rng.uniform(0, 0.1)):
                        await session.post(f"http://127.0.0.1:{rng.choice(ports)}/", data=b"x")
                except (aiohttp.ClientError, OSError, TimeoutError):
                    pass
        await asyncio.gather(*(call() for _ in range(400)))

with asyncio.Runner(loop_factory=LOOP) as runner:
    runner.run(main())
"""


async def _given_up():
    """The number of a descriptor whose connection was given up on its way, and the object that was handed over."""
    loop = asyncio.get_running_loop()
    with socket.create_server(("127.0.0.1", 0)) as server:
        link = socket.socket()
        link.setblocking(False)
        await loop.sock_connect(link, server.getsockname())
    number = link.fileno()
    opening = asyncio.ensure_future(loop.create_connection(asyncio.Protocol, sock=link))
    await asyncio.sleep(0)  # noqa: TID251  one turn of the loop
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    return number, link


def _closes_anothers(loop_factory):
    async def work():
        number, link = await _given_up()
        others = [socket.socket() for _ in range(10)]
        assert number in [other.fileno() for other in others], "its number is free again"
        link.close()
        lost = []
        for other in others:
            try:
                os.fstat(other.fileno())
                other.close()
            except OSError:
                lost.append(other.detach())
        return lost == [number]

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        return runner.run(work())


def test_a_connection_that_was_given_up_never_closes_anothers_socket():
    assert not _closes_anothers(Loop)


def test_the_loop_that_we_build_on_still_needs_it():
    assert _closes_anothers(uvloop.Loop), "uvloop has mended it: kernel/loop.py can go"


@pytest.mark.slow
def test_connections_given_up_by_the_thousand_do_not_end_the_process():
    done = subprocess.run(
        [sys.executable, "-c", STORM.replace("LOOP", "Loop")], capture_output=True, text=True, timeout=STUCK_S
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_connection_over_a_given_socket_works_and_ends():
    async def work():
        async def answer(reader, writer):
            writer.write(await reader.readline())
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        link = socket.create_connection(server.sockets[0].getsockname())
        reader, writer = await asyncio.open_connection(sock=link)
        writer.write(b"hello\n")
        assert await reader.read() == b"hello\n"
        writer.close()
        await writer.wait_closed()
        server.close()
        await server.wait_closed()
        assert link.fileno() == -1

    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(work())


def test_a_socket_that_was_handed_over_wrongly_is_closed():
    async def work():
        link = socket.socket(type=socket.SOCK_DGRAM)
        number = link.fileno()
        with pytest.raises(ValueError, match="Stream"):
            await asyncio.get_running_loop().create_connection(asyncio.Protocol, sock=link)
        with pytest.raises(OSError, match="Bad file"):
            os.fstat(number)

    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(work())
