"""Many listeners on one process: how long until the last has heard, and what each takes in memory."""

import asyncio
import gc
import json
import os
import resource
import sys
import time
from pathlib import Path

from bench.asking import serving
from bench.cpu import cores, pin
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


async def tell(app, count: int) -> tuple[float, float]:
    """(milliseconds until the last one has heard, KB a connection). The listeners are a process of their own."""
    allow_files(count)
    keeping = asyncio.create_task(app.hub.keep())
    async with serving(app.edge) as base:
        gc.collect()
        before = resident_kb()
        command = [sys.executable, "-m", "bench.stream", base.rpartition(":")[2], str(count)]
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
            app.hub.close()
    return (last - began) * 1e3, kilobytes


def allow_files(count: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, count + 500)), hard))


if __name__ == "__main__":
    allow_files(int(sys.argv[2]))
    pair = cores()
    pin(os.getpid(), pair and pair[1])
    asyncio.run(listen(int(sys.argv[1]), int(sys.argv[2])))
