"""The tool server over a chain of paper."""

import asyncio
import contextlib

from tickyard.catalog import CATALOG
from tickyard.doors.http.cache import FrontCache
from tickyard.doors.http.edge import Edge
from tickyard.doors.mcp.door import McpDoor
from tickyard.doors.routes import Endpoint, build_router
from tickyard.kernel.clock import WallClock
from yards import paperyard, serving
from yards.patience import STUCK_S


@contextlib.asynccontextmanager
async def open_tools(folder):
    """The whole catalog behind both doors, over a chain of paper; yields its base URL."""
    async with asyncio.timeout(STUCK_S), paperyard.open_yard(folder) as yard:
        clock = WallClock()
        cache = FrontCache(clock)
        door = McpDoor(CATALOG, yard.deps, cache, base_url="http://127.0.0.1", openapi=b"{}")
        endpoints = [(row.method, row.path, Endpoint(row, yard.deps, cache, clock)) for row in CATALOG]
        endpoints += [(method, "/mcp", door) for method in ("GET", "POST", "DELETE")]
        app = Edge(build_router(endpoints), cache, clock, rate_limit=None, access_log=None, profile_header=None)
        try:
            async with serving.serving(app) as base:
                yield app, base
        finally:
            await door.close()
