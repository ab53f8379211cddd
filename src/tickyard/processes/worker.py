"""`tickyard work`: a worker process. Any number of them share the work."""

import contextlib
from random import Random

from tickyard.config.settings import Settings, SettingsError
from tickyard.observe.log import log
from tickyard.processes.folder import ready_folder
from tickyard.processes.metrics import show_metrics
from tickyard.processes.stopping import stop_on_signal
from tickyard.processes.tracing import start_tracing
from tickyard.store.engine import Store
from tickyard.wiring import open_clock, open_deps
from tickyard.worker.jobs import jobs
from tickyard.worker.runner import Runner


async def work(settings: Settings) -> None:
    """Work until a signal says stop; then finish what has begun."""
    ready_folder(settings)
    clock = open_clock(settings)
    async with contextlib.AsyncExitStack() as stack:
        deps = await stack.enter_async_context(open_deps(settings, clock))
        runner = Runner(deps, jobs(deps, deps, Random()))  # noqa: S311  a moment nobody can foresee, not a secret
        # Before anything is waited for: what brings it about may be what cannot be kept alive.
        stop_on_signal(settings, runner.stop)
        deps.tasks.on_give_up.append(runner.stop)
        await runner.wait_for(deps.market.pools.discovered)
        stack.push_async_callback(deps.courier.stop)
        deps.tasks.start("courier", deps.courier.keep_delivering)
        stack.push_async_callback(deps.tasks.stop, "courier")
        _show_metrics(settings, deps.store, stack)
        start_tracing(settings, "worker", stack)
        log.info("working", profile=settings.profile)
        await runner.run()
        deps.tasks.check()
    log.info("stopped")


def _show_metrics(settings: Settings, store: Store, stack: contextlib.AsyncExitStack) -> None:
    """On a port of the worker's own. A second worker on this machine does its work without, and says so."""
    try:
        show_metrics(settings, settings.worker_metrics_port, store, stack)
    except SettingsError:
        log.warning("the worker's metrics cannot be shown: its port is taken", port=settings.worker_metrics_port)
