"""The load generator: keep-alive connections, each sending its next request when the answer is complete.

It is a process of its own, so that it shares neither core nor interpreter with the server or the harness:

    python -m bench.load '{"url": ..., "pid": ..., "length": ...}'    ->  one line of JSON
"""

import asyncio
import json
import os
import sys
import time
from dataclasses import asdict, dataclass
from urllib.parse import urlsplit

import uvloop

from bench.cpu import cores, cpu_seconds, pin


@dataclass(frozen=True)
class Target:
    """A URL, the process that serves it, and the length of the body it must answer with."""

    url: str
    pid: int
    length: int


@dataclass(frozen=True)
class Sample:
    """One repetition."""

    requests: int
    seconds: float
    server_cpu: float
    client_cpu: float

    @property
    def per_second(self) -> float:
        return self.requests / self.seconds

    @property
    def cpu_us(self) -> float:
        return self.server_cpu / self.requests * 1e6

    @property
    def is_client_bound(self) -> bool:
        """The client was the bottleneck, so requests per second say nothing about the server."""
        return self.client_cpu > 0.9 * self.seconds and self.server_cpu < 0.85 * self.seconds


class Connection(asyncio.Protocol):
    def __init__(self, request: bytes, length: int, failed: asyncio.Future) -> None:
        self.request, self.length, self.failed = request, length, failed
        self.answers = 0
        self.buffer = b""

    def connection_made(self, transport) -> None:
        self.transport = transport
        transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        if self.buffer:
            data = self.buffer + data
        end = data.find(b"\r\n\r\n")
        if end < 0 or len(data) < end + 4 + self.length:
            # An error's body is shorter than ours: look at the status before waiting for more.
            self.buffer = data
            if not data.startswith(b"HTTP/1.1 200"[: len(data)]):
                self.fail(f"answered {data[:200]!r}")
            return
        head = data[:end].lower()
        if not head.startswith(b"http/1.1 200 ") or b"\r\ncontent-length: %d\r\n" % self.length not in head + b"\r\n":
            self.fail(f"answered {data[:200]!r}")
        elif len(data) != end + 4 + self.length:
            self.fail("sent more than the announced body")
        else:
            self.buffer = b""
            self.answers += 1
            self.transport.write(self.request)

    def connection_lost(self, exc: Exception | None) -> None:
        self.fail(f"closed the connection after {self.answers} answers ({exc})")

    def fail(self, what: str) -> None:
        if not self.failed.done():
            self.failed.set_exception(RuntimeError(f"the server {what}"))


async def load(target: Target, connections: int, warm_up_s: float, seconds: float) -> Sample:
    loop = asyncio.get_running_loop()
    parts = urlsplit(target.url)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    request = f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\nAccept: */*\r\nUser-Agent: bench\r\n\r\n".encode()
    failed: asyncio.Future = loop.create_future()
    opened = [
        (await loop.create_connection(lambda: Connection(request, target.length, failed), parts.hostname, parts.port))[
            1
        ]
        for _ in range(connections)
    ]

    async def until(seconds: float) -> tuple[float, float, float, int]:
        await asyncio.wait([failed], timeout=seconds)
        if failed.done():
            failed.result()
        return time.perf_counter(), cpu_seconds(target.pid), time.process_time(), sum(c.answers for c in opened)

    before = await until(warm_up_s)
    after = await until(seconds)
    failed.cancel()
    for connection in opened:
        connection.transport.abort()
    elapsed, server_cpu, client_cpu, requests = (b - a for a, b in zip(before, after, strict=True))
    if not requests or not server_cpu:
        raise RuntimeError(f"process {target.pid} did not serve {target.url}")
    return Sample(requests, elapsed, server_cpu, client_cpu)


async def measure(target: Target, *, connections: int, warm_up_s: float = 0.3, seconds: float = 1.5) -> Sample:
    """Run one repetition in a process of its own."""
    job = {"target": asdict(target), "connections": connections, "warm_up_s": warm_up_s, "seconds": seconds}
    command = [sys.executable, "-m", "bench.load", json.dumps(job)]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    out, _ = await asyncio.wait_for(process.communicate(), 30 + 10 * seconds)
    if process.returncode:
        raise RuntimeError(f"the load generator failed on {target.url}")
    return Sample(**json.loads(out))


if __name__ == "__main__":
    pair = cores()
    pin(os.getpid(), pair and pair[1])
    job = json.loads(sys.argv[1])
    sample = uvloop.run(load(Target(**job.pop("target")), **job))
    print(json.dumps(asdict(sample)))
