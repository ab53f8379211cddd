"""Path tricks through the real router and edge: no body ever leaves without payment."""

import asyncio

import pytest

from yards import paying
from yards.patience import STUCK_S

call = paying.call

NO_ROUTE = [
    b"/v1/x402/build/",
    b"//v1/x402/build",
    b"/v1//x402/build",
    b"/v1/x402//build",
    b"/V1/x402/build",
    b"/v1/X402/build",
    b"/v1/x402/BUILD",
    b"/v1/x402/./build",
    b"/v1/./x402/build",
    b"/v1/x402/../x402/build",
    b"/v1/x402/../build",
    b"/v1/x402%2Fbuild",
    b"/v1%2Fx402/build",
    b"/v1/x402/%62uild",
    b"/v1/x402/build%20",
    b"/v1/x402/build%00",
    b"/v1/x402/build;x=1",
    b"/v1/x402/build\\",
    b"/v1/x402\\build",
    b"http://api.example/v1/x402/build",
    b"/v1/x402/item",
    b"/v1/x402/item/",
    b"/v1/x402/item/AAPL/",
    b"/v1/x402/item/AAPL/more",
    b"/v1/x402/item//AAPL",
    b"*",
    b"",
]
PAID = [
    b"/v1/x402/build",
    b"/v1/x402/build?",
    b"/v1/x402/build?x402=no&payment=1",
    b"/v1/x402/item/AAPL",
    b"/v1/x402/item/%2e%2e",
    b"/v1/x402/item/..",
    b"/v1/x402/item/.",
    b"/v1/x402/item/..%2f..%2fv1%2fbuild",
    b"/v1/x402/item/a%2Fb",
    b"/v1/x402/item/%00",
    b"/v1/x402/item/;jsessionid=1",
    b"/v1/x402/item/\xff\xfe",
    b"/v1/x402/item/" + b"A" * 4000,
]


def run(tmp_path, scenario):
    async def bounded():
        async with asyncio.timeout(STUCK_S), paying.World(tmp_path / "x.db") as world:
            await scenario(world)

    asyncio.run(bounded())


@pytest.mark.parametrize("headers", [(), (("x-original-url", "/v1/item/AAPL"), ("x-http-method-override", "GET"))])
def test_no_spelling_of_a_path_brings_an_answer_without_payment(tmp_path, headers):
    async def scenario(world):
        for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"):
            for target in NO_ROUTE:
                answer = await call(world.app, method, target, *headers)
                assert answer.status == 404, (method, target)
            for target in PAID:
                answer = await call(world.app, method, target, *headers)
                assert answer.status == 402, (method, target)
                assert len(answer.headers["payment-required"]) <= 4096
        assert world.deps.runs == 0

    run(tmp_path, scenario)


@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "PROPFIND", "get", "Get"])
def test_no_odd_method_brings_an_answer_without_payment(tmp_path, method):
    async def scenario(world):
        for target in PAID:
            assert (await call(world.app, method, target)).status in (402, 405)
        assert world.deps.runs == 0

    run(tmp_path, scenario)


def test_a_kept_free_answer_does_not_open_the_paid_twin(tmp_path):
    async def scenario(world):
        assert (await call(world.app, "GET", "/v1/kept/AAPL")).status == 200
        for target in (b"/v1/x402/kept/AAPL", b"/v1/x402/kept/aapl", b"/v1/x402/kept/AAPL?"):
            assert (await call(world.app, "GET", target)).status == 402

    run(tmp_path, scenario)


@pytest.mark.parametrize("value", ["", " ", "null", "e30=", "x" * 20_000, "\xff\xfe", "bnVsbA=="])
@pytest.mark.parametrize("name", ["payment-signature", "x-payment"])
def test_no_header_brings_an_answer_or_an_error_of_ours(tmp_path, name, value):
    async def scenario(world):
        for method in ("GET", "POST"):
            for target in PAID:
                answer = await call(world.app, method, target, (name, value))
                assert answer.status in (402, 405)
        assert world.deps.runs == world.verifies() == 0

    run(tmp_path, scenario)
