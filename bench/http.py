"""Cached answers against a raw ASGI app that sends the same bytes.

`plain` is the service with access log and rate limit off, `shipped` the service as an operator runs it (the limit
counts every request but is set so high that it refuses none).
"""

import asyncio
import tempfile
import urllib.request
from contextlib import AsyncExitStack
from pathlib import Path

from bench.load import Target
from bench.reference import start_reference
from bench.report import Row, compare, show
from bench.world import Service, sandbox, service

# GME is halted in the sandbox: its price, and so the length of the answer, stands still.
PATHS = ("/v1/assets", "/v1/prices/GME")
PLAIN = {"TICKYARD_ACCESS_LOG": "false", "TICKYARD_RATE_LIMIT": "0"}
SHIPPED = {"TICKYARD_RATE_LIMIT": "1000000000"}
GOALS = (("plain", PLAIN, 1.20), ("shipped", SHIPPED, 1.00))


def fetch(url: str) -> tuple[bytes, list[tuple[str, str]]]:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read(), answer.headers.items()


async def against_reference(name: str, url: str, pid: int, goal: float) -> Row:
    """Compare one URL of a running service with a reference that answers the same bytes."""
    # Twice: the first call fills the cache.
    await asyncio.to_thread(fetch, url)
    body, headers = await asyncio.to_thread(fetch, url)
    async with AsyncExitStack() as stack:
        reference = await stack.enter_async_context(start_reference(body, headers))
        return await compare(name, Target(url, pid, len(body)), reference, goal)


async def run() -> list[Row]:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        async with sandbox(Path(folder)) as base:
            for name, settings, goal in GOALS:
                async with service(Path(folder), name, base, **settings) as under_test:
                    rows += await measure(name, under_test, goal)
    return rows


async def measure(name: str, under_test: Service, goal: float) -> list[Row]:
    return [await against_reference(f"{path} {name}", under_test.base + path, under_test.pid, goal) for path in PATHS]


def main(_arguments: list[str]) -> int:
    return show(asyncio.run(run()))
