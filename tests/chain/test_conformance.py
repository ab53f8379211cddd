"""The official conformance suite of the protocol, for both versions.

It is run against the service over a chain of paper and, for all that needs tools made for the suite, against a
diagnostic server behind the same door. What is expected to fail is listed with its reason in `conformance/`: a
scenario that fails without being listed fails the test, and so does one that is listed and passes.
"""

import asyncio
import contextlib
import re
from pathlib import Path

import pytest

from tickyard.doors.http.cache import FrontCache
from tickyard.doors.http.edge import Edge
from tickyard.doors.mcp.door import McpDoor
from tickyard.doors.routes import build_router
from tickyard.kernel.clock import WallClock
from yards import serving, tools
from yards.conformance import build
from yards.patience import STUCK_S

pytestmark = pytest.mark.node

HERE = Path(__file__).parent / "conformance"
ROOT = Path(__file__).parents[2]
SUITE = ROOT / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"


@contextlib.asynccontextmanager
async def open_fixture(_folder):
    clock = WallClock()
    cache = FrontCache(clock)
    door = McpDoor((), None, cache, base_url="http://127.0.0.1", openapi=b"{}", build=build)
    router = build_router((method, "/mcp", door) for method in ("GET", "POST", "DELETE"))
    app = Edge(router, cache, clock, rate_limit=None, access_log=None, profile_header=None)
    try:
        async with serving.serving(app) as base:
            yield base
    finally:
        await door.close()


@contextlib.asynccontextmanager
async def open_service(folder):
    async with tools.open_tools(folder) as (_, base):
        yield base


TARGETS = {"service": open_service, "fixture": open_fixture}


async def run_node(*words, folder):
    process = await asyncio.create_subprocess_exec(
        "node", *words, cwd=folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    try:
        out, _ = await asyncio.wait_for(process.communicate(), 90)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode, out.decode()


@pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25"])
@pytest.mark.parametrize("target", TARGETS)
def test_the_official_suite_passes_but_for_what_is_listed(target, revision, tmp_path):
    async def run():
        async with asyncio.timeout(STUCK_S), TARGETS[target](tmp_path / "data") as base:
            words = [
                "--import",
                str(HERE / "glob.mjs"),
                str(SUITE),
                "server",
                "--url",
                f"{base}/mcp",
                "--timeout",
                "10000",
            ]
            words += ["--requirements", revision, "--expected-failures", str(HERE / f"{target}-{revision}.yaml")]
            return await run_node(*words, folder=tmp_path)

    code, shown = asyncio.run(run())
    summary = shown.partition("=== SUMMARY ===")[2]
    assert code == 0, summary or shown
    assert int(re.search(r"Total: (\d+) passed", summary)[1]) >= 35


def test_every_expected_failure_has_a_reason():
    for file in HERE.glob("*.yaml"):
        reason = False
        for line in file.read_text().splitlines():
            if line.startswith("  #"):
                reason = True
            elif line.startswith("  - "):
                assert reason, f"{file.name}: {line}"
