"""`tickyard serve`: the API process."""

import contextlib
from functools import partial

from tickyard.catalog import rows_of
from tickyard.chain.address import checksum
from tickyard.config.settings import Settings
from tickyard.doors.app import Plan, build_app
from tickyard.doors.http.cache import FrontCache
from tickyard.features.history.follow import follow_rounds
from tickyard.observe.log import AccessLog, log
from tickyard.observe.watched import watched
from tickyard.processes.folder import ready_folder
from tickyard.processes.metrics import show_metrics
from tickyard.processes.serving import Server, bound, make_server
from tickyard.processes.stopping import stop_on_signal
from tickyard.processes.tracing import start_tracing
from tickyard.wiring import open_clock, open_deps


async def serve(settings: Settings) -> None:
    """Run the API until a signal says stop."""
    if settings.is_sandbox:
        from tickyard.sandbox.controls.attached import world_is_built

        await world_is_built(settings)
    ready_folder(settings)
    clock = open_clock(settings)
    access_log = AccessLog() if settings.access_log else None
    async with contextlib.AsyncExitStack() as stack:
        # Before anything is asked of anybody: a taken port is found at once.
        door = stack.enter_context(bound(settings))
        deps = await stack.enter_async_context(open_deps(settings, clock, is_hurried=True))
        plan = Plan(rows_of(has_earn=settings.has_earn, prices=settings.prices), deps, payments=deps.payments)
        if settings.is_sandbox:
            from tickyard.sandbox.controls.attached import open_sandbox
            from tickyard.sandbox.controls.catalog import SANDBOX_CATALOG
            from tickyard.sandbox.world.wallets import wallets

            plan.example_wallet = checksum(wallets()[0].address)
            plan.sandbox_rows = SANDBOX_CATALOG
            plan.sandbox_deps = await stack.enter_async_context(open_sandbox(deps, deps))
        app = build_app(plan, access_log=access_log)
        stack.push_async_callback(app.mcp.close)
        deps.tasks.start("rounds", partial(follow_rounds, deps.store, deps.market.samples, clock, app.cache.clear))
        deps.tasks.start("stream", app.hub.keep)
        show_metrics(settings, settings.metrics_port, deps.store, stack)
        if access_log is not None:
            stack.callback(access_log.flush)
        start_tracing(settings, "api", stack, app.edge)
        server = make_server(settings, app.edge, clock)
        _watch(server, app.cache)

        def stop() -> None:
            # Listeners are told at once: they come back to another replica while the rest is served on.
            app.hub.close()
            server.stop()

        stop_on_signal(settings, stop)
        deps.tasks.on_give_up.append(stop)
        log.info("serving", host=settings.host, port=settings.port, profile=settings.profile)
        await server.serve([door])
        deps.tasks.check()
    log.info("stopped")


def _watch(server: Server, cache: FrontCache) -> None:
    state = server.server_state
    watched.add("tickyard_http_connections", "Open connections of clients", lambda: len(state.connections))
    watched.add("tickyard_http_running", "Requests being worked on", lambda: len(state.tasks))
    watched.add("tickyard_front_cache_bytes", "What the front cache holds", lambda: cache.size)
    watched.add("tickyard_front_cache_entries", "Answers in the front cache", lambda: len(cache))
