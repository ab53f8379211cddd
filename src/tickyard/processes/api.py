"""`tickyard serve`: the API process."""

import asyncio
import contextlib

from tickyard.catalog import rows_of
from tickyard.chain.address import checksum
from tickyard.config.settings import Settings
from tickyard.doors.app import Plan, build_app
from tickyard.features.history.follow import follow_rounds
from tickyard.observe.log import AccessLog, log
from tickyard.observe.metrics import serve_metrics
from tickyard.processes.serving import make_server
from tickyard.processes.stopping import stop_on_signal
from tickyard.wiring import open_clock, open_deps, stop_task


async def serve(settings: Settings) -> None:
    """Run the API until a signal says stop."""
    if settings.is_sandbox:
        from tickyard.sandbox.controls.attached import world_is_built

        await world_is_built(settings)
    clock = open_clock(settings)
    access_log = AccessLog() if settings.access_log else None
    async with contextlib.AsyncExitStack() as stack:
        deps = await stack.enter_async_context(open_deps(settings, clock))
        plan = Plan(rows_of(has_earn=settings.has_earn), deps, terms=deps.payments.terms, cashier=deps.payments.cashier)
        if settings.is_sandbox:
            from tickyard.sandbox.controls.attached import open_sandbox
            from tickyard.sandbox.controls.catalog import SANDBOX_CATALOG
            from tickyard.sandbox.world.wallets import wallets

            plan.example_wallet = checksum(wallets()[0].address)
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
        server = make_server(settings, app.edge, clock)
        stop_on_signal(settings, server.stop)
        log.info("serving", host=settings.host, port=settings.port, profile=settings.profile)
        await server.serve()
    log.info("stopped")
