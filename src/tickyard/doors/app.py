"""The HTTP application: catalog rows and the door's own pages behind the edge."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from starlette.types import ASGIApp

from tickyard.deps import Deps
from tickyard.doors.cache import FrontCache
from tickyard.doors.edge import Edge
from tickyard.doors.examples import example_of
from tickyard.doors.http import ClientOf, Endpoint, build_router
from tickyard.doors.index import Health, Index, Page, Readiness, endpoint_lines
from tickyard.doors.limits import RateLimit, client_key, read_networks
from tickyard.doors.openapi import TITLE, describe
from tickyard.kernel.operation import Operation
from tickyard.kernel.wire import encode
from tickyard.observe.log import AccessLog
from tickyard.payments.cashier import Cashier
from tickyard.payments.challenge import Offer
from tickyard.payments.gate import Doorkeeper, Gate
from tickyard.payments.terms import Terms

_DESCRIPTION = "Data and execution preparation for tokenized US stocks on chain 4663. Non-custodial."
_SANDBOX_DESCRIPTION = f"{_DESCRIPTION} This is a sandbox: a local chain, made-up prices, no real money."


_ALL_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


@dataclass
class Plan:
    """What the application is made of."""

    rows: tuple[Operation, ...]
    deps: Deps
    terms: Terms | None = None
    cashier: Cashier | None = None
    """With terms and a cashier, every row that has a price gets its paid twin."""
    sandbox_rows: tuple[Operation, ...] = ()
    sandbox_deps: Any = field(default=None)


def build_app(plan: Plan, *, access_log: AccessLog | None) -> Edge:
    deps = plan.deps
    settings, clock = deps.settings, deps.clock
    cache = FrontCache(clock)
    deps.market.registry.on_change.append(cache.clear)
    endpoints: list[tuple[str, str, ASGIApp]] = []
    networks = read_networks(settings.trusted_proxies)
    client_of = partial(client_key, trusted_proxies=networks)
    for rows, their_deps in ((plan.rows, deps), (plan.sandbox_rows, plan.sandbox_deps)):
        for row in rows:
            quota = row.quota_per_minute if settings.rate_limit else None
            endpoint = Endpoint(row, their_deps, cache, clock, client_of=client_of, quota=quota)
            endpoints.append((row.method, row.path, endpoint))
    endpoints += _paid_twins(plan, dict(zip((row.name for row in plan.rows), endpoints, strict=False)), client_of)
    for path, body in pages(plan).items():
        endpoints.append(("GET", path, Page(path, body, cache, clock)))
    endpoints += [("GET", "/healthz", Health()), ("GET", "/readyz", Readiness(lambda: check_ready(deps)))]
    limit = RateLimit(settings.rate_limit, settings.replicas, settings.trusted_proxies) if settings.rate_limit else None
    return Edge(
        build_router(endpoints),
        cache,
        clock,
        rate_limit=limit,
        access_log=access_log,
        profile_header=b"sandbox" if settings.is_sandbox else None,
    )


def _paid_twins(
    plan: Plan, free: Mapping[str, tuple[str, str, ASGIApp]], client_of: ClientOf
) -> list[tuple[str, str, ASGIApp]]:
    """The gate around the very endpoint of the free route, for every method of the paid path."""
    if plan.terms is None or plan.cashier is None:
        return []
    keeper = Doorkeeper(plan.cashier, plan.deps.clock, client_of)
    twins: list[tuple[str, str, ASGIApp]] = []
    for row in plan.rows:
        if row.price is not None:
            endpoint = free[row.name][2]
            offer = Offer(row, plan.terms, ask_example=example_of(row.ask), answer_example=example_of(row.answer))
            gate = Gate(row, endpoint, offer, keeper)
            twins += [(method, offer.path, gate) for method in _ALL_METHODS]
    return twins


def pages(plan: Plan) -> dict[str, bytes]:
    """The pages made once, at start."""
    settings = plan.deps.settings
    description = _SANDBOX_DESCRIPTION if settings.is_sandbox else _DESCRIPTION
    index = Index(
        name=TITLE,
        description=description,
        chain_id=settings.chain_id,
        docs=f"{settings.base_url}/openapi.json",
        endpoints=endpoint_lines(plan.rows, plan.sandbox_rows),
    )
    rows = (*plan.rows, *plan.sandbox_rows)
    return {
        "/": encode(index),
        "/openapi.json": encode(describe(rows, base_url=settings.base_url, description=description)),
    }


async def check_ready(deps: Deps) -> None:
    """Raise UpstreamDown while something we cannot serve without is missing."""
    for asset in deps.market.registry.all():
        if asset.address is not None:
            deps.market.pools.of(asset.address)
    await deps.rpc.head()
