"""The composition root: Settings -> Deps -> a running server. The only place that builds things."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Iterator
from functools import partial
from random import Random
from typing import Final

import uvicorn

from tickyard.catalog import CATALOG
from tickyard.chain.boot import check_contracts
from tickyard.chain.rpc import Rpc
from tickyard.config.settings import Settings
from tickyard.deps import Deps
from tickyard.doors.app import Plan, build_app
from tickyard.doors.protocol import LimitedProtocol
from tickyard.kernel.clock import Clock, WallClock
from tickyard.kernel.errors import UpstreamDown
from tickyard.market.market import Market
from tickyard.market.mids import Mids
from tickyard.market.multipliers import read_schedules
from tickyard.market.pools import PoolBook
from tickyard.market.reading import ChainReader
from tickyard.market.registry import Registry
from tickyard.observe.log import AccessLog, log
from tickyard.observe.metrics import observe_upstream, serve_metrics
from tickyard.sources.http import Source
from tickyard.sources.issuer import MAX_BYTES, Issuer

_NODE_PATIENCE_S: Final = 20
_DRAIN_S: Final = 3


def open_clock(settings: Settings) -> Clock:
    """Wall time; in the sandbox, the clock that its world shares."""
    if not settings.is_sandbox:
        return WallClock()
    from tickyard.sandbox.clock import CLOCK_FILE, SandboxClock

    return SandboxClock(settings.data_path / CLOCK_FILE)


@contextlib.asynccontextmanager
async def open_deps(settings: Settings, clock: Clock) -> AsyncIterator[Deps]:
    """Everything an operation may use, opened in order and closed in reverse."""
    async with contextlib.AsyncExitStack() as stack:
        rpc = Rpc(settings.rpc_urls, chain_id=settings.chain_id, clock=clock, observe=_observe_rpc)
        stack.push_async_callback(rpc.close)
        await _check_chain(rpc, settings, clock)
        source = Source(
            "issuer",
            settings.issuer_url,
            clock=clock,
            rng=Random(),  # noqa: S311  jitter, not secrets
            max_bytes=MAX_BYTES,
            observe=observe_upstream,
        )
        await source.start()
        stack.push_async_callback(source.close)
        issuer = Issuer(source, chain_id=settings.chain_id)
        schedules = partial(read_schedules, rpc, settings.contracts.multicall3, clock)
        registry = Registry(issuer, schedules, clock, settings.data_path / "registry.json")
        registry.load_last_good()
        reader = ChainReader(rpc, settings.contracts.multicall3, clock)
        pools = PoolBook(reader, settings.contracts, settings.fee_tiers, clock)
        registry.on_change.append(pools.look_soon)
        market = Market(registry, Mids(issuer, clock), pools, reader, settings.contracts)
        for work in (registry.keep_fresh(), _keep_pools_fresh(registry, pools)):
            stack.push_async_callback(_stop, asyncio.create_task(work))
        yield Deps(settings=settings, clock=clock, market=market, rpc=rpc)


async def _keep_pools_fresh(registry: Registry, pools: PoolBook) -> None:
    await registry.loaded.wait()
    await pools.keep_fresh(registry.addresses)


async def _check_chain(rpc: Rpc, settings: Settings, clock: Clock) -> None:
    """A wrong chain refuses to start at once; a silent node gets a moment first."""
    deadline = clock.monotonic() + _NODE_PATIENCE_S
    while True:
        try:
            await check_contracts(rpc, settings.contracts)
            return
        except UpstreamDown:
            if clock.monotonic() > deadline:
                raise
            await clock.sleep(0.5)


async def _stop(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


def _observe_rpc(_url_index: int, _method: str, outcome: str, seconds: float) -> None:
    observe_upstream("node", outcome, seconds)


class _Server(uvicorn.Server):
    """uvicorn ends the process by its own signal as soon as it has drained; ours has more to put away."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def stop(self) -> None:
        self.should_exit = True


async def serve(settings: Settings) -> None:
    """Run the API until a signal says stop."""
    clock = open_clock(settings)
    access_log = AccessLog() if settings.access_log else None
    async with contextlib.AsyncExitStack() as stack:
        deps = await stack.enter_async_context(open_deps(settings, clock))
        plan = Plan(CATALOG, deps)
        if settings.is_sandbox:
            from tickyard.sandbox.inside import open_sandbox

            plan.sandbox_rows, plan.sandbox_deps = await stack.enter_async_context(open_sandbox(settings, clock))
        app = build_app(plan, access_log=access_log)
        metrics_server, _thread = serve_metrics(settings.metrics_port)
        stack.callback(metrics_server.server_close)
        stack.callback(metrics_server.shutdown)
        if access_log is not None:
            stack.callback(access_log.flush)
        config = uvicorn.Config(
            app,
            host=settings.host,
            port=settings.port,
            loop="none",
            http=LimitedProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_DRAIN_S,
        )
        server = _Server(config)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, server.stop)
        if settings.is_sandbox:
            from tickyard.sandbox.lifeline import on_parent_gone

            on_parent_gone(server.stop)
        log.info("serving", host=settings.host, port=settings.port, profile=settings.profile)
        await server.serve()
    log.info("stopped")
