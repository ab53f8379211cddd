"""Cached answers against a raw ASGI app that sends the same bytes.

    python -m bench http --plain URL PID --shipped URL PID

`plain` is the service with access log and rate limit off, `shipped` the service as an operator runs it.
"""

import argparse
import asyncio
import urllib.request
from contextlib import AsyncExitStack

from bench.load import Target
from bench.reference import start_reference
from bench.report import Row, compare, show

PATHS = ("/v1/assets", "/v1/prices/AAPL")
PLAIN_GOAL = 0.90
SHIPPED_GOAL = 0.60


def fetch(url: str) -> tuple[bytes, str]:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read(), answer.headers["content-type"]


async def against_reference(name: str, url: str, pid: int, goal: float) -> Row:
    """Compare one URL of a running service with a reference that answers the same body."""
    # Twice: the first call fills the cache.
    await asyncio.to_thread(fetch, url)
    body, content_type = await asyncio.to_thread(fetch, url)
    async with AsyncExitStack() as stack:
        reference = await stack.enter_async_context(start_reference(body, content_type))
        return await compare(name, Target(url, pid, len(body)), reference, goal)


async def run(services: dict[str, tuple[str, int, float]]) -> list[Row]:
    """`services`: name -> (base URL, process id, goal)."""
    return [
        await against_reference(f"{path} {name}", base.rstrip("/") + path, pid, goal)
        for name, (base, pid, goal) in services.items()
        for path in PATHS
    ]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench http", description=__doc__)
    parser.add_argument("--plain", nargs=2, metavar=("URL", "PID"))
    parser.add_argument("--shipped", nargs=2, metavar=("URL", "PID"))
    given = parser.parse_args(arguments)
    goals = {"plain": PLAIN_GOAL, "shipped": SHIPPED_GOAL}
    services = {
        name: (where[0], int(where[1]), goal) for name, goal in goals.items() if (where := getattr(given, name))
    }
    if not services:
        parser.error("name at least one running service")
    return show(asyncio.run(run(services)))
