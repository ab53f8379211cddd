"""Many listeners on one process: how long until the last has heard, and what each takes in memory."""

import asyncio
import gc
import json
import socket
import sys
import time
from pathlib import Path

import uvicorn

from tickyard.doors.http.fast_path import ReadyProtocol
from tickyard.features.history.stream.told import Told

ROOT = Path(__file__).parents[1]


class Ear(asyncio.Protocol):
    """One connection: notes when it hears the word."""

    heard = 0
    here = 0
    all_here: asyncio.Event
    count = 0

    def connection_made(self, transport) -> None:
        transport.write(b"GET /v1/stream?events=status HTTP/1.1\r\nHost: bench\r\n\r\n")
        self.is_here = False

    def data_received(self, data: bytes) -> None:
        if not self.is_here and b"snapshot" in data:
            self.is_here = True
            Ear.here += 1
            if Ear.here == Ear.count:
                print("here", flush=True)
        if b"the word" in data:
            Ear.heard += 1
            if Ear.heard == Ear.count:
                print(json.dumps(time.time()), flush=True)


async def listen(port: int, count: int) -> None:
    Ear.count = count
    loop = asyncio.get_running_loop()
    for _ in range(count):
        await loop.create_connection(Ear, "127.0.0.1", port)
    await asyncio.Event().wait()


def resident_kb() -> int:
    return int(next(line for line in Path("/proc/self/status").read_text().splitlines() if "VmRSS" in line).split()[1])


async def measure(app, count: int) -> tuple[float, float]:
    """(milliseconds until the last one has heard, KB a connection). The listeners are a process of their own."""
    sock = socket.create_server(("127.0.0.1", 0), backlog=1024)
    config = uvicorn.Config(
        app.edge,
        loop="none",
        http=ReadyProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        proxy_headers=False,
        access_log=False,
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server._serve([sock]))
    keeping = asyncio.create_task(app.hub.keep())
    gc.collect()
    before = resident_kb()
    command = [sys.executable, "-m", "bench.stream", str(sock.getsockname()[1]), str(count)]
    ears = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, cwd=ROOT)
    try:
        async with asyncio.timeout(120):
            assert (await ears.stdout.readline()).strip() == b"here"
            kilobytes = (resident_kb() - before) / count
            began = time.time()
            word = [Told("status", {}, {"say": "the word"})]
            for listener in app.hub._present:
                listener.hear(word)
            last = json.loads(await ears.stdout.readline())
    finally:
        ears.kill()
        await ears.wait()
        keeping.cancel()
        server.should_exit = True
        app.hub.close()
        await serving
    return (last - began) * 1e3, kilobytes


if __name__ == "__main__":
    asyncio.run(listen(int(sys.argv[1]), int(sys.argv[2])))
