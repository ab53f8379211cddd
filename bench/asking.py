"""The service of this process on a socket, and one who asks it from another process, one request after the other.

python -m bench.asking BASE SECONDS PATH...    ->  [milliseconds, ...] on stdout
"""

import asyncio
import json
import os
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import uvicorn
import uvloop

from bench.cpu import cores, pin
from tickyard.doors.http.fast_path import ReadyProtocol


@asynccontextmanager
async def serving(edge) -> AsyncIterator[str]:
    sock = socket.create_server(("127.0.0.1", 0), backlog=1024)
    config = uvicorn.Config(
        edge,
        loop="none",
        http=ReadyProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        proxy_headers=False,
        access_log=False,
    )
    server = uvicorn.Server(config)
    task = asyncio.create_task(server._serve([sock]))
    try:
        yield f"http://127.0.0.1:{sock.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task


async def ask(base: str, seconds: float, paths: list[str]) -> list[float]:
    """Milliseconds of each request, in a process of its own."""
    command = [sys.executable, "-m", "bench.asking", base, str(seconds), *paths]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    out, _ = await asyncio.wait_for(process.communicate(), 30 + 2 * seconds)
    if process.returncode:
        raise RuntimeError("who asks the quotes failed")
    return json.loads(out)


async def asker(base: str, seconds: float, paths: list[str]) -> list[float]:
    parts = urlsplit(base)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    took: list[float] = []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        path = paths[len(took) % len(paths)]
        began = time.perf_counter()
        writer.write(f"GET {path} HTTP/1.1\r\nHost: bench\r\n\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        if not head.startswith(b"http/1.1 200 "):
            raise RuntimeError(head.decode())
        await reader.readexactly(int(head.split(b"content-length: ")[1].split(b"\r\n")[0]))
        took.append((time.perf_counter() - began) * 1e3)
        # A person or a bot asks now and then: a load that never pauses is measured elsewhere.
        await asyncio.sleep(0.001)
    return took


if __name__ == "__main__":
    pair = cores()
    pin(os.getpid(), pair and pair[1])
    print(json.dumps(uvloop.run(asker(sys.argv[1], float(sys.argv[2]), sys.argv[3:]))))
