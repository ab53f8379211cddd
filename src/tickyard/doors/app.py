"""The HTTP application: catalog rows, their paid twins, the tool server and the door's own pages, behind the edge."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from starlette.routing import Router
from starlette.types import ASGIApp

from tickyard.deps import Deps
from tickyard.doors.describe.examples import example_of, with_wallet
from tickyard.doors.describe.pages import make_pages
from tickyard.doors.describe.paths import MCP_PATH
from tickyard.doors.http.cache import FrontCache
from tickyard.doors.http.edge import Edge
from tickyard.doors.http.limits import RateLimit, client_key, own_address, read_networks
from tickyard.doors.http.pages import Health, Page, Readiness
from tickyard.doors.http.readiness import Lookout
from tickyard.doors.http.stream import PATH as STREAM_PATH
from tickyard.doors.http.stream import StreamDoor
from tickyard.doors.http.web_app import docs_script, is_built, web_routes
from tickyard.doors.mcp.door import McpDoor
from tickyard.doors.paid.gate import Doorkeeper, Gate, OwnAddress
from tickyard.doors.routes import ClientOf, Endpoint, build_router
from tickyard.features.history.stream.hub import Hub
from tickyard.kernel.ids import EXAMPLE_WALLET
from tickyard.kernel.operation import Operation
from tickyard.observe.log import AccessLog
from tickyard.observe.requests import request_counts
from tickyard.payments.layer import Payments
from tickyard.payments.offer.challenge import PaidOffer

DID_PATH: Final = "/.well-known/did.json"
_ALL_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")

Routes = list[tuple[str, str, ASGIApp]]
"""(method, path, endpoint)."""


@dataclass
class Plan:
    """What the application is made of."""

    rows: tuple[Operation, ...]
    deps: Deps
    payments: Payments | None = None
    """With it, every row that has a price gets its paid twin."""
    example_wallet: str = EXAMPLE_WALLET
    """Whose address examples show. The sandbox has one that may be used; elsewhere everybody has their own."""
    sandbox_rows: tuple[Operation, ...] = ()
    sandbox_deps: Any = field(default=None)


@dataclass(frozen=True)
class App:
    """The application, and the parts of it that others must reach."""

    edge: Edge
    cache: FrontCache
    mcp: McpDoor
    hub: Hub


def build_app(plan: Plan, *, access_log: AccessLog | None) -> App:
    deps = plan.deps
    settings, clock = deps.settings, deps.clock
    cache = FrontCache(clock)
    deps.market.registry.on_change.append(cache.clear)
    proxies = read_networks(settings.trusted_proxies)
    client_of: ClientOf = partial(client_key, trusted_proxies=proxies)
    endpoints = {row.name: _endpoint(row, deps, cache, client_of, plan) for row in plan.rows}
    controls = {row.name: _endpoint(row, plan.sandbox_deps, cache, client_of, plan) for row in plan.sandbox_rows}
    routes: Routes = [
        (row.method, row.path, {**endpoints, **controls}[row.name]) for row in (*plan.rows, *plan.sandbox_rows)
    ]
    # We speak plain HTTP: where the public address is one of https, somebody stands before us, named or not.
    is_direct = not settings.base_url.startswith("https:")
    address_of: OwnAddress = partial(own_address, trusted_proxies=proxies, is_direct=is_direct)
    routes += _paid_twins(plan, endpoints, client_of, address_of)
    pages = make_pages(
        plan.rows,
        plan.sandbox_rows,
        settings,
        clock.now(),
        example_wallet=plan.example_wallet,
        docs_script=docs_script(),
        has_app=is_built(),
    )
    for path, (content_type, body) in pages.items():
        routes.append(("GET", path, Page(path, body, cache, [(b"content-type", content_type.encode())])))
    if plan.payments is not None and plan.payments.receipt_key is not None:
        did = plan.payments.receipt_key.document()
        routes.append(("GET", DID_PATH, Page(DID_PATH, did, cache, [(b"content-type", b"application/json")])))
    hub = Hub(deps)
    routes.append(("GET", STREAM_PATH, StreamDoor(hub, client_of)))
    routes += [("GET", "/healthz", Health()), ("GET", "/readyz", Readiness(Lookout(deps)))]
    routes += web_routes([*settings.rpc_urls, *settings.rpc_urls_8453] if settings.is_sandbox else [])
    mcp = McpDoor(
        plan.rows,
        deps,
        cache,
        base_url=settings.base_url,
        openapi=pages["/openapi.json"][1],
        example_wallet=plan.example_wallet,
        client_of=client_of,
        quotas={name: endpoint.take for name, endpoint in endpoints.items() if endpoint.has_quota},
        hosts=settings.mcp_hosts,
        origins=settings.mcp_origins,
    )
    routes += [(method, MCP_PATH, mcp) for method in _ALL_METHODS]
    request_counts.expect(path for _, path, _ in routes)
    edge = _edge(build_router(routes), cache, plan, access_log)
    edge.at_once = {row.path.encode(): endpoints[row.name].at_once for row in plan.rows if row.at_once is not None}
    return App(edge, cache, mcp, hub)


def _edge(router: Router, cache: FrontCache, plan: Plan, access_log: AccessLog | None) -> Edge:
    settings = plan.deps.settings
    limit = RateLimit(settings.rate_limit, settings.replicas, settings.trusted_proxies) if settings.rate_limit else None
    return Edge(
        router,
        cache,
        plan.deps.clock,
        rate_limit=limit,
        access_log=access_log,
        profile_header=b"sandbox" if settings.is_sandbox else None,
    )


def _endpoint(row: Operation, deps: Any, cache: FrontCache, client_of: ClientOf, plan: Plan) -> Endpoint:
    quota = row.quota_per_minute if plan.deps.settings.rate_limit else None
    return Endpoint(row, deps, cache, plan.deps.clock, client_of=client_of, quota=quota)


def _paid_twins(plan: Plan, free: Mapping[str, Endpoint], client_of: ClientOf, address_of: OwnAddress) -> Routes:
    """The gate around the very endpoint of the free route, for every method of the paid path."""
    till = plan.payments
    if till is None:
        return []
    keeper = Doorkeeper(
        till.cashier,
        plan.deps.clock,
        client_of,
        till.identity,
        receipt_key=till.receipt_key,
        own_address=address_of,
    )
    twins: Routes = []
    for row in plan.rows:
        if row.price is not None:
            asked, answered = (with_wallet(example_of(kind), plan.example_wallet) for kind in (row.ask, row.answer))
            offer = PaidOffer(row, till.terms, ask_example=asked, answer_example=answered)
            gate = Gate(row, free[row.name], offer, keeper)
            twins += [(method, offer.path, gate) for method in _ALL_METHODS]
    return twins
