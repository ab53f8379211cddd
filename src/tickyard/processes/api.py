"""`tickyard serve`: the API process."""

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Final

import uvicorn

from tickyard.catalog import rows_of
from tickyard.config.settings import Settings
from tickyard.doors.app import Plan, build_app
from tickyard.doors.http.fast_path import ReadyProtocol
from tickyard.features.history.follow import follow_rounds
from tickyard.observe.log import AccessLog, log
from tickyard.observe.metrics import serve_metrics
from tickyard.processes.stopping import stop_on_signal
from tickyard.wiring import open_clock, open_deps, stop_task

_DRAIN_S: Final = 3


class _Server(uvicorn.Server):
    """uvicorn ends the process by its own signal as soon as it has drained; ours has more to put away."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def stop(self) -> None:
        self.should_exit = True


async def serve(settings: Settings) -> None:
    """Run the API until a signal says stop."""
    if settings.is_sandbox:
        from tickyard.sandbox.controls.attached import world_is_built

        await world_is_built(settings)
    clock = open_clock(settings)
    access_log = AccessLog() if settings.access_log else None
    async with contextlib.AsyncExitStack() as stack:
        deps = await stack.enter_async_context(open_deps(settings, clock))
        plan = Plan(rows_of(has_earn=settings.has_earn, prices=settings.prices), deps, payments=deps.payments)
        if settings.is_sandbox:
            from tickyard.sandbox.controls.attached import open_sandbox
            from tickyard.sandbox.controls.catalog import SANDBOX_CATALOG

            plan.sandbox_rows = SANDBOX_CATALOG
            plan.sandbox_deps = await stack.enter_async_context(open_sandbox(deps, deps))
        app = build_app(plan, access_log=access_log)
        stack.push_async_callback(app.mcp.close)
        following = follow_rounds(deps.store, deps.market.samples, clock, app.cache.clear)
        stack.push_async_callback(stop_task, asyncio.create_task(following))
        metrics_server, _thread = serve_metrics(settings.metrics_port)
        stack.callback(metrics_server.server_close)
        stack.callback(metrics_server.shutdown)
        if access_log is not None:
            stack.callback(access_log.flush)
        config = uvicorn.Config(
            app.edge,
            host=settings.host,
            port=settings.port,
            loop="none",
            http=ReadyProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_DRAIN_S,
        )
        server = _Server(config)
        stop_on_signal(settings, server.stop)
        log.info("serving", host=settings.host, port=settings.port, profile=settings.profile)
        await server.serve()
    log.info("stopped")
