"""What a facilitator's trouble is called: by the books, and by those who watch it."""

import asyncio
import contextlib

import pytest
from aiohttp import web

from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import UpstreamDown
from tickyard.payments.facilitators.facilitator import Facilitator, FacilitatorRefused, Settled, Unknown, Valid

NETWORK = "eip155:8453"
HASH, PAYER = "0x" + "AB" * 32, "0x" + "Cd" * 20
SETTLED = {"success": True, "transaction": HASH, "network": NETWORK, "payer": PAYER}


@contextlib.asynccontextmanager
async def facing(answer, seen, *, is_there=True):
    async def serve(request):
        return await answer(request)

    app = web.Application()
    app.router.add_post("/{call}", serve)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = site._server.sockets[0].getsockname()[1]
    if not is_there:
        await runner.cleanup()
    watch = lambda name, outcome, _seconds: seen.append((name, outcome))  # noqa: E731
    facilitator = Facilitator(
        NETWORK, f"http://127.0.0.1:{port}", WallClock(), connect_s=2, verify_s=0.5, settle_s=0.5, observe=watch
    )
    await facilitator.start()
    try:
        yield facilitator
    finally:
        await facilitator.close()
        await runner.cleanup()


def told(body, status=200):
    async def answer(_request):
        return (
            web.json_response(body, status=status)
            if not isinstance(body, bytes)
            else web.Response(body=body, status=status)
        )

    return answer


async def hang(_request):
    await WallClock().sleep(5)
    return web.Response()


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (hang, "timeout"),
        (None, "unreachable"),
        (told({}, 500), "status"),
        (told({}, 429), "status"),
        (told({}, 302), "status"),
        (told({}, 401), "credentials"),
        (told(b"x" * 2_000_000), "oversize"),
        (told(b"<html>"), "not_json"),
        (told([]), "shape"),
    ],
)
def test_trouble_is_known_by_its_kind_and_watched(answer, kind):
    async def run():
        seen = []
        async with asyncio.timeout(20), facing(answer, seen, is_there=answer is not None) as facilitator:
            assert await facilitator.settle(b"{}") == Unknown(kind)
            with pytest.raises(UpstreamDown, match="nothing was taken"):
                await facilitator.verify(b"{}")
        assert seen == [(f"facilitator-{NETWORK}-settle", kind), (f"facilitator-{NETWORK}-verify", kind)]

    asyncio.run(run())


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        (SETTLED, Settled(HASH.lower(), PAYER.lower())),
        (SETTLED | {"payer": ""}, Settled(HASH.lower(), None)),
        (SETTLED | {"network": "eip155:1"}, Unknown("shape")),
        (SETTLED | {"transaction": "0x12"}, Unknown("shape")),
        (SETTLED | {"success": 1}, Unknown("shape")),
        ({"success": False, "errorReason": "no", "transaction": HASH}, FacilitatorRefused("no", HASH.lower())),
        ({"success": False, "errorReason": "no", "transaction": ""}, FacilitatorRefused("no", None)),
    ],
)
def test_a_settlement_is_believed_when_all_of_it_is_there(body, outcome):
    async def run():
        seen = []
        async with asyncio.timeout(20), facing(told(body), seen) as facilitator:
            assert await facilitator.settle(b"{}") == outcome
        assert seen == [(f"facilitator-{NETWORK}-settle", "ok")]

    asyncio.run(run())


@pytest.mark.parametrize(
    ("body", "outcome"),
    [({"isValid": True}, Valid()), ({"isValid": False, "invalidReason": "why"}, FacilitatorRefused("why"))],
)
def test_a_word_about_a_payment_is_yes_or_no(body, outcome):
    async def run():
        async with asyncio.timeout(20), facing(told(body), []) as facilitator:
            assert await facilitator.verify(b"{}") == outcome
        async with asyncio.timeout(20), facing(told({"isValid": "yes"}), []) as facilitator:
            with pytest.raises(UpstreamDown):
                await facilitator.verify(b"{}")

    asyncio.run(run())
