"""What a facilitator's trouble is called: by the books, and by those who watch it."""

import asyncio
import contextlib
import hashlib
import json

import pytest
from aiohttp import web

from tickyard.kernel.clock import WallClock, breathe
from tickyard.kernel.errors import UpstreamDown
from tickyard.payments.facilitators.facilitator import (
    Facilitator,
    FacilitatorRefused,
    Settled,
    Unknown,
    Valid,
    VerifierDown,
)
from tickyard.payments.facilitators.till import Till
from tickyard.payments.signed.key import Key
from yards.patience import STUCK_S

NETWORK = "eip155:8453"
HASH, PAYER = "0x" + "AB" * 32, "0x" + "Cd" * 20
SETTLED = {"success": True, "transaction": HASH, "network": NETWORK, "payer": PAYER}


@contextlib.asynccontextmanager
async def facing(answer, seen, *, is_there=True, path=""):
    async def serve(request):
        return await answer(request)

    app = web.Application()
    app.router.add_post("/{call:.*}", serve)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = site._server.sockets[0].getsockname()[1]
    if not is_there:
        await runner.cleanup()

    def watch(name, outcome, seconds):
        assert 0 <= seconds < 20
        seen.append((name, outcome))

    facilitator = Facilitator(
        NETWORK, f"http://127.0.0.1:{port}{path}", WallClock(), connect_s=2, verify_s=0.5, settle_s=0.5, observe=watch
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
        (told({"success": True}, 399), "status"),
        *((told({"success": False, "isValid": False}, status), "credentials") for status in (401, 403, 407)),
        (told(SETTLED, 400), "status"),
        (told({"isValid": True}, 400), "status"),
        (told({**SETTLED, "isValid": True}, 201), "status"),
        (told(b"x" * 2_000_000), "oversize"),
        (told(b" " * (64 * 1024 - 1) + b"{}"), "oversize"),
        (told(b"<html>"), "not_json"),
        (told([]), "shape"),
    ],
)
def test_trouble_is_known_by_its_kind_and_watched(answer, kind):
    async def run():
        seen = []
        async with asyncio.timeout(STUCK_S), facing(answer, seen, is_there=answer is not None) as facilitator:
            assert await facilitator.settle(b"{}", is_plain=True) == Unknown(kind)
            with pytest.raises(UpstreamDown, match="nothing was taken"):
                await facilitator.verify(b"{}", is_plain=True)
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
        ({"success": False, "errorReason": "no", "transaction": 7}, FacilitatorRefused("no", None)),
        ({"success": False}, FacilitatorRefused("payment_refused", None)),
        (json.dumps(SETTLED).rjust(64 * 1024).encode(), Settled(HASH.lower(), PAYER.lower())),
    ],
)
def test_a_settlement_is_believed_when_all_of_it_is_there(body, outcome):
    async def run():
        seen = []
        async with asyncio.timeout(STUCK_S), facing(told(body), seen) as facilitator:
            assert await facilitator.settle(b"{}", is_plain=True) == outcome
        assert seen == [(f"facilitator-{NETWORK}-settle", "ok")]

    asyncio.run(run())


@pytest.mark.parametrize(
    ("body", "outcome"),
    [({"isValid": True}, Valid()), ({"isValid": False, "invalidReason": "why"}, FacilitatorRefused("why"))],
)
def test_a_word_about_a_payment_is_yes_or_no(body, outcome):
    async def run():
        async with asyncio.timeout(STUCK_S), facing(told(body), []) as facilitator:
            assert await facilitator.verify(b"{}", is_plain=True) == outcome
        async with asyncio.timeout(STUCK_S), facing(told({"isValid": "yes"}), []) as facilitator:
            with pytest.raises(UpstreamDown):
                await facilitator.verify(b"{}", is_plain=True)

    asyncio.run(run())


@pytest.mark.parametrize("status", [400, 402, 404, 428])
def test_a_refusal_may_come_with_a_status_of_its_own(status):
    async def run():
        body = {"isValid": False, "invalidReason": "why", "success": False, "errorReason": "why not"}
        async with asyncio.timeout(STUCK_S), facing(told(body, status), []) as facilitator:
            assert await facilitator.verify(b"{}", is_plain=True) == FacilitatorRefused("why")
            assert await facilitator.settle(b"{}", is_plain=True) == FacilitatorRefused("why not")

    asyncio.run(run())


def test_a_payment_goes_to_the_address_that_was_given_as_json_and_past_no_proxy(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    asked = []

    async def answer(request):
        kinds = request.headers["Content-Type"], request.headers["Accept"]
        asked.append((request.raw_path, await request.read(), *kinds))
        return web.json_response({"isValid": True})

    async def run():
        async with asyncio.timeout(STUCK_S), facing(answer, [], path="/a%7Eb/") as facilitator:
            assert await facilitator.verify(b"[1]", is_plain=True) == Valid()

    asyncio.run(run())
    assert asked == [("/a%7Eb/verify", b"[1]", "application/json", "application/json")]


def test_a_facilitator_that_sends_payments_elsewhere_is_not_followed():
    async def answer(request):
        if request.path == "/settle":
            return web.Response(status=307, headers={"Location": "/elsewhere"})
        return web.json_response(SETTLED)

    async def run():
        async with asyncio.timeout(STUCK_S), facing(answer, []) as facilitator:
            assert await facilitator.settle(b"{}", is_plain=True) == Unknown("status")

    asyncio.run(run())


def test_who_answers_nothing_is_not_asked_for_a_while_and_who_answers_is():
    asked = []

    async def answer(_request):
        asked.append(1)
        return web.json_response({"isValid": True}, status=200 if len(asked) == 3 else 500)

    async def run():
        async with asyncio.timeout(STUCK_S), facing(answer, []) as facilitator:
            ends = await ends_of(facilitator, 10)
            assert ends == [False, False, Valid()] + [False] * 7

    asyncio.run(run())
    assert len(asked) == 3 + 5


def test_one_that_is_not_started_or_closed_asks_nobody():
    async def run():
        async with asyncio.timeout(STUCK_S), facing(told(SETTLED), []) as facilitator:
            await facilitator.close()
            await facilitator.close()
            with pytest.raises(RuntimeError, match="start"):
                await facilitator.settle(b"{}", is_plain=True)
        with pytest.raises(RuntimeError, match="start"):
            await Facilitator(NETWORK, "http://127.0.0.1:9", WallClock()).settle(b"{}", is_plain=True)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("url", "secret"),
    [
        ("https://far.example", None),
        ("https://far.example/", None),
        ("https://far.example:8443//", None),
        ("https://far.example/keyX/", "/keyX"),
        ("https://far.example/key/?a=b", "/key/?a=b"),
    ],
)
def test_its_name_says_where_it_is_and_of_a_path_a_few_digits(url, secret):
    name = Facilitator(NETWORK, url, WallClock()).name
    where, _, rest = name.partition("#")
    assert where == "/".join(url.split("/")[:3])
    assert rest == ("" if secret is None else hashlib.sha256(secret.encode()).hexdigest()[:8])


class Eyes:
    """A chain that knows who has code."""

    def __init__(self, *with_code, is_up=True):
        self.with_code, self.is_up = with_code, is_up

    async def has_code(self, account):
        if not self.is_up:
            raise UpstreamDown("the chain does not answer")
        return account in self.with_code


PLAIN, DELEGATED = "0x" + "1" * 40, "0x" + "2" * 40


async def ends_of(facilitator, times, payer=PLAIN, *, is_seen=True, eyes=None):
    """What became of so many payments: a verdict, or whether it may be their own fault that there is none."""
    till = Till([facilitator], eyes or Eyes(DELEGATED), WallClock())
    ends = []
    for _ in range(times):
        try:
            ends.append((await till.verify(b"{}", Key(NETWORK, PAYER, payer, "0x1"), is_seen=is_seen))[0])
        except VerifierDown as down:
            ends.append(down.may_be_the_payments)
    return ends


@pytest.mark.parametrize(("payer", "is_seen"), [(PLAIN, False), (DELEGATED, True)], ids=["a contract", "EIP-7702"])
def test_payments_that_no_facilitator_can_judge_close_the_door_to_nobody_else(payer, is_seen):
    """In the name of somebody's code anybody can have such payments, without money."""
    asked, is_sick = [], True

    async def answer(_request):
        asked.append(1)
        return web.json_response({"isValid": True}, status=500 if is_sick else 200)

    async def run():
        nonlocal is_sick
        async with asyncio.timeout(STUCK_S), facing(answer, []) as facilitator:
            assert await ends_of(facilitator, 20, payer, is_seen=is_seen) == [True] * 20
            is_sick = False
            assert await ends_of(facilitator, 1) == [Valid()]
            is_sick = True
            # Of those in whose signature no code has a say each failure is the facilitator's own.
            asked.clear()
            assert await ends_of(facilitator, 7) == [False] * 7
            assert len(asked) == 5
            # And nobody else tries whether it is well again in their place.
            assert await ends_of(facilitator, 3, payer, is_seen=is_seen) == [False] * 3
            assert len(asked) == 5

    asyncio.run(run())


def test_while_nobody_knows_who_has_code_nobody_is_called_plain():
    async def run():
        async with asyncio.timeout(STUCK_S), facing(told({}, 500), []) as facilitator:
            assert await ends_of(facilitator, 7, eyes=Eyes(is_up=False)) == [True] * 7

    asyncio.run(run())


def test_trouble_that_no_payment_can_make_leaves_the_facilitator_alone_whoever_comes():
    async def run():
        seen = []
        async with asyncio.timeout(STUCK_S), facing(None, seen, is_there=False) as facilitator:
            assert await ends_of(facilitator, 7, is_seen=False) == [False] * 7
            assert len(seen) == 5
            assert await ends_of(facilitator, 1) == [False]
            assert len(seen) == 5

    asyncio.run(run())


def test_whoever_makes_a_facilitator_think_for_long_takes_no_connection_of_the_others():
    async def answer(request):
        if await request.read() == b"loop":
            return await hang(request)
        return web.json_response({"isValid": True})

    async def run():
        async with asyncio.timeout(STUCK_S), facing(answer, []) as facilitator:
            many = [asyncio.create_task(facilitator.verify(b"loop", is_plain=False)) for _ in range(200)]
            await breathe()
            assert await asyncio.wait_for(facilitator.verify(b"{}", is_plain=True), 0.4) == Valid()
            ends = await asyncio.gather(*many, return_exceptions=True)
            assert {type(end) for end in ends} == {VerifierDown}
            # Who only stood in line was not looked at.
            assert sum(end.may_be_the_payments for end in ends) < 100

    asyncio.run(run())


@pytest.mark.parametrize("payer", [PLAIN, DELEGATED], ids=["a contract", "EIP-7702"])
def test_settlements_that_somebodys_code_holds_up_take_no_connection_of_the_others(payer):
    """A contract may find its signature good at once, and think for ever when the money is asked for."""

    async def answer(request):
        if await request.read() == b"loop":
            return await hang(request)
        return web.json_response({"isValid": True} if request.path == "/verify" else SETTLED)

    async def run():
        async with asyncio.timeout(STUCK_S), facing(answer, []) as facilitator:
            till = Till([facilitator], Eyes(DELEGATED), WallClock())
            key, other = (Key(NETWORK, PAYER, each, "0x1") for each in (payer, PLAIN))
            held = [till.settle(b"loop", key, None, is_seen=payer == DELEGATED) for _ in range(200)]
            many = [asyncio.create_task(each) for each in held]
            await breathe()
            async with asyncio.timeout(0.4):
                assert (await till.verify(b"{}", other, is_seen=True))[0] == Valid()
                assert await till.settle(b"{}", other, None, is_seen=True) == Settled(HASH.lower(), PAYER.lower())
            ends = await asyncio.gather(*many)
            # Of those that never had their turn nobody has heard, which their buyers cannot know.
            assert set(ends) == {Unknown("timeout"), Unknown("crowded")}

    asyncio.run(run())
