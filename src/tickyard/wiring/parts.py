"""Everything an operation may use, built in order."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Final

from tickyard.chain.boot import check_contracts
from tickyard.chain.multicall import LIGHT_CALLS
from tickyard.chain.rpc.client import Rpc
from tickyard.chain.rpc.feed import LogFeed
from tickyard.chain.v3.events import TOPICS
from tickyard.config.settings import Settings, SettingsError
from tickyard.deps import Deps
from tickyard.features.alerts.deliver import Courier
from tickyard.features.alerts.operations import AlertDesk
from tickyard.features.earn.room import EarnRoom
from tickyard.features.research.library import Library
from tickyard.features.votes.feed import VoteFeed
from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import UpstreamDown
from tickyard.market.listing.kept import ListingBroken
from tickyard.market.listing.multipliers import read_schedules
from tickyard.market.listing.registry import Registry
from tickyard.market.market import Market
from tickyard.market.mids import Mids
from tickyard.market.mirror.follow import LiveMarket
from tickyard.market.mirror.mirror import Mirror
from tickyard.market.reading import ChainReader
from tickyard.market.swaps.charts import ChartReader
from tickyard.market.swaps.pools import PoolBook
from tickyard.observe.metrics import observe_upstream
from tickyard.payments.layer import Payments
from tickyard.sources.http import Source
from tickyard.sources.issuer.api import MAX_BYTES, Issuer
from tickyard.supervisor import Supervisor
from tickyard.wiring.alerts import check_keys, open_desk
from tickyard.wiring.earn import open_earn
from tickyard.wiring.payments import open_payments
from tickyard.wiring.research import open_research
from tickyard.wiring.spares import watch_spares
from tickyard.wiring.store import ready_store

_NODE_PATIENCE_S: Final = 20
USER_AGENT: Final = "tickyard-webhook/1.0"


@dataclass(frozen=True, slots=True)
class ServiceDeps(Deps):
    """Deps, and what single rooms need beyond them."""

    alerts: AlertDesk
    courier: Courier
    payments: Payments
    earn: EarnRoom
    issuer: Issuer
    filings: Library
    votes: VoteFeed


@contextlib.asynccontextmanager
async def open_deps(settings: Settings, clock: Clock, *, is_hurried: bool = False) -> AsyncIterator[ServiceDeps]:
    """Everything an operation may use, opened in order and closed in reverse. Hurried: callers wait for answers."""
    rng = Random()  # noqa: S311  jitter, not secrets
    async with contextlib.AsyncExitStack() as stack:
        rpc = Rpc(
            settings.rpc_urls,
            chain_id=settings.chain_id,
            clock=clock,
            max_age_s=settings.head_age_max_s,
            observe=_observe_rpc,
        )
        stack.push_async_callback(rpc.close)
        await _check_chain(rpc, settings, clock)
        store = await stack.enter_async_context(ready_store(settings, clock, is_hurried=is_hurried))
        source = Source(
            "issuer", settings.issuer_url, clock=clock, rng=rng, max_bytes=MAX_BYTES, observe=observe_upstream
        )
        await source.start()
        stack.push_async_callback(source.close)
        issuer = Issuer(source, chain_id=settings.chain_id)
        schedules = partial(read_schedules, rpc, settings.contracts.multicall3, clock)
        registry = Registry(issuer, schedules, clock, store)
        await _load(registry)
        calls_max = min(LIGHT_CALLS, settings.multicall_max)
        reader = ChainReader(rpc, settings.contracts.multicall3, clock, calls_max=calls_max)
        pools = PoolBook(reader, settings.contracts, settings.fee_tiers, clock)
        registry.on_change.append(pools.look_soon)
        charts = ChartReader(reader, pools, settings.contracts)
        pools.on_found = charts.warm
        tasks = Supervisor(clock, rng)
        stack.push_async_callback(tasks.stop)
        live = None
        if settings.mirror:
            fresh_s = settings.mirror_fresh_ms / 1000
            mirror = Mirror(
                rpc,
                charts,
                settings.contracts,
                clock,
                fresh_s=fresh_s,
                calls_max=settings.multicall_max,
                every=pools.every,
            )
            feed = None
            if settings.rpc_ws_urls:
                feed = LogFeed(settings.rpc_ws_urls, chain_id=settings.chain_id, topics=TOPICS, clock=clock)
                tasks.start("feed", feed.keep)
            live = LiveMarket(mirror, reader, pools, settings.contracts, clock, feed)
            stack.push_async_callback(live.close)
            tasks.start("mirror", live.keep)
        market = Market(
            registry, Mids(issuer, clock, registry.symbol_at), pools, reader, charts, settings.contracts, live
        )
        tasks.start("registry", registry.keep_fresh)
        if len(settings.rpc_urls) > 1:
            tasks.start("nodes", partial(watch_spares, rpc, clock))
        tasks.start("pools", partial(_keep_pools_fresh, registry, pools))
        desk = open_desk(settings, clock)
        await check_keys(store, desk.keys)
        payments = await stack.enter_async_context(open_payments(settings, store, rpc, clock, tasks))
        reading = await stack.enter_async_context(open_research(settings, store, clock, rng))
        earn = open_earn(settings, clock)
        if earn.second_logs is not None:
            stack.push_async_callback(earn.second_logs.close)
        yield ServiceDeps(
            settings=settings,
            clock=clock,
            market=market,
            rpc=rpc,
            store=store,
            tasks=tasks,
            alerts=desk,
            courier=Courier(store, desk.egress, desk.keys, clock, rng, user_agent=USER_AGENT),
            payments=payments,
            earn=earn,
            issuer=issuer,
            filings=reading.filings,
            votes=reading.votes,
        )


async def _keep_pools_fresh(registry: Registry, pools: PoolBook) -> None:
    await registry.loaded.wait()
    await pools.keep_fresh(registry.addresses)


async def _load(registry: Registry) -> None:
    try:
        await registry.follow_store()
    except ListingBroken as broken:
        raise SettingsError(str(broken)) from None


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


def _observe_rpc(_url_index: int, _method: str, outcome: str, seconds: float) -> None:
    observe_upstream("node", outcome, seconds)
