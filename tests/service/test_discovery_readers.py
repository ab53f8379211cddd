"""The discovery documents as served, read by the programs that other people read them with."""

import asyncio
import contextlib
import dataclasses
import json
import pathlib
import socket

import msgspec
import pytest

from tickyard.catalog import CATALOG
from tickyard.doors.app import Plan, build_app
from tickyard.kernel.ids import Address
from tickyard.payments.offer.bazaar import paid_path
from tickyard.payments.offer.terms import PaymentSettings, Terms
from yards import paperyard, serving
from yards.patience import STUCK_S

pytestmark = pytest.mark.node

HERE = pathlib.Path(__file__).parent
DOORS = {"GET /", "POST /mcp", "GET /v1/stream", "GET /healthz", "GET /readyz"}
FREE = {f"{row.method} {row.path}" for row in CATALOG} | DOORS
PAID = {f"{row.method} {paid_path(row)}": row for row in CATALOG if row.price is not None}


@contextlib.asynccontextmanager
async def open_service(folder):
    """The whole service, which knows its own address: that is what every document is made from."""
    sock = socket.create_server(("127.0.0.1", 0))
    base = f"http://127.0.0.1:{sock.getsockname()[1]}"
    async with paperyard.open_yard(folder) as yard:
        settings = msgspec.structs.replace(yard.deps.settings, base_url=base)
        deps = dataclasses.replace(yard.deps, settings=settings)
        payments = dataclasses.replace(
            deps.payments, terms=Terms(PaymentSettings(base, Address(settings.pay_to)), deps.clock)
        )
        app = build_app(Plan(CATALOG, deps, payments=payments), access_log=None)
        async with serving.serving(app.edge, sock) as served:
            yield served
        await app.mcp.close()


async def read(base):
    process = await asyncio.create_subprocess_exec(
        "node", str(HERE / "readers.mjs"), base, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        out, told = await asyncio.wait_for(process.communicate(), STUCK_S)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, told.decode()
    return json.loads(out)


@pytest.fixture(scope="module")
def readers(tmp_path_factory):
    async def run():
        async with asyncio.timeout(STUCK_S), open_service(tmp_path_factory.mktemp("yard")) as base:
            return base, await read(base)

    return asyncio.run(run())


def test_the_a2a_sdk_reads_the_agent_card_without_losing_anything(readers):
    _, told = readers
    # What the protocol does not know is dropped by its reader, and what has another type comes out changed.
    assert told["card"]["read"] == told["card"]["resolved"] == told["card"]["served"]
    assert [skill["id"] for skill in told["card"]["read"]["skills"]] == [row.name for row in CATALOG if row.is_tool]


def test_an_x402_directory_lists_exactly_the_catalog(readers):
    _, told = readers
    listed = {f"{route['method']} {route['path']}": route for route in told["routes"]}
    assert set(listed) == FREE | set(PAID)
    for name, route in listed.items():
        assert route.get("authMode") == ("paid" if name in PAID else None)
        if name in PAID:
            assert route["protocols"] == ["x402"]
            assert route["price"] == f"{PAID[name].price / 10**6:g} USD"
    # The reader has no word for a route that is simply free, so it misses one; of the paid ones it misses nothing.
    # And it finds two routes more than forty many: what it would fetch into one prompt, ours are asked for one by one.
    many, *warnings = sorted(told["warnings"], key=lambda warning: "path" in warning)
    assert many["code"] == "L2_ROUTE_COUNT_HIGH"
    missed = [(warning["code"], warning["path"]) for warning in warnings]
    assert sorted(missed) == sorted(("L2_AUTH_MODE_MISSING", name.partition(" ")[2]) for name in FREE)


def test_an_x402_directory_reads_the_manifest_and_meets_a_402_at_every_address(readers):
    base, told = readers
    assert told["manifest"]["warnings"] == []
    assert len(told["manifest"]["routes"]) == len(told["paid"]) == len(PAID)
    for met in told["paid"]:
        assert met["url"].startswith(f"{base}/v1/x402/")
        assert met["body"]["resource"]["url"] == met["url"]
        # The reader takes the offer to fetch an answer again by signing in for the way in; the price it reads all the same.
        assert (met["authMode"], met["hasInput"]) == ("siwx", True)
        assert met["networks"] == ["eip155:4663", "eip155:8453"]
        assert met["issues"] == []
