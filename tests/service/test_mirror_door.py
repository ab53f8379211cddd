"""The mirror through the door: no round trips while it is fresh, the same figures, and nothing when it is not."""

import asyncio
from contextlib import asynccontextmanager

import msgspec
import pytest

from tickyard.catalog import CATALOG
from tickyard.doors.app import Plan, build_app
from tickyard.kernel.clock import WallClock
from tickyard.market.mirror.mirror import QUIET_S
from tickyard.observe import metrics
from tickyard.sandbox.standins.faults import FaultBoard
from tickyard.sandbox.standins.issuer import IssuerStandIn
from tickyard.sandbox.standins.process import open_port
from tickyard.sandbox.world.listing import load
from yards import asgi, house, paperyard, rpcnode, serving
from yards.patience import STUCK_S, beside_naps

QUOTE = "/v1/quote?symbol=AAPL&side=buy&amount=100"
JSON = {"content-type": "application/json"}


class MovableClock(WallClock):
    """Wall time, which the test may push forward."""

    ahead_s = 0.0

    def monotonic(self):
        return super().monotonic() + self.ahead_s


class CrookedChain(paperyard.LyingChain):
    """Its quoter says a little more than its pools give, or less."""

    more = 0

    def _quote(self, data):
        told = super()._quote(data)
        return told and (int.from_bytes(told[:32]) + self.more).to_bytes(32) + told[32:]


@asynccontextmanager
async def mirrored(folder):
    clock, chain = MovableClock(), CrookedChain()
    async with rpcnode.Node() as node:
        node.chain = chain
        node.results = {
            "eth_call": lambda params: chain.rpc("eth_call", params),
            "eth_getCode": "0x6001",
            "eth_blockNumber": lambda _: chain.rpc("eth_blockNumber", []),
            "eth_getBlockByNumber": lambda _: chain.rpc("eth_getBlockByNumber", []),
        }
        standins, port = await open_port([IssuerStandIn(FaultBoard(), clock, load(), began=clock.now())])
        try:
            issuer = f"http://127.0.0.1:{port}/issuer"
            async with house.open_house(folder, node.url, issuer, clock, MIRROR="on") as deps:
                yield clock, node, deps, build_app(Plan(CATALOG, deps), access_log=None).edge
        finally:
            await standins.cleanup()


async def woken(deps):
    pools = deps.market.pools.of(deps.market.registry.find("AAPL").address)
    while deps.market.live.serve(pools) is None:
        await WallClock().sleep(0.02)


@pytest.mark.slow
def test_a_quote_from_memory_asks_nobody_and_says_the_same(tmp_path):
    async def scenario():
        async with asyncio.timeout(STUCK_S), mirrored(tmp_path) as (_, _, deps, app):
            asked = await asgi.ask_app(app, "GET", QUOTE)
            await woken(deps)
            before = deps.rpc.round_trips
            remembered = await asgi.ask_app(app, "GET", QUOTE)
            assert deps.rpc.round_trips == before
            for name in ("usdAmount", "tokenAmount", "feeTier", "effectivePricePerToken", "asOf"):
                assert remembered.json()[name] == asked.json()[name]
            too_much = QUOTE.replace("100", "1" + "0" * 30)
            assert (await asgi.ask_app(app, "GET", too_much)).status == 422

    asyncio.run(scenario())


@pytest.mark.slow
@pytest.mark.parametrize("at_once", [1, 50])
def test_one_quote_in_five_hundred_is_compared_and_a_difference_drops_the_mirror(tmp_path, at_once):
    """However they are asked for."""
    same, different = (metrics.mirror_audits.labels(name)._value for name in ("same", "different"))

    async def ask(app, amount):
        if at_once == 1:
            assert (await asgi.ask_app(app, "GET", QUOTE.replace("100", amount))).status == 200
        else:
            many = msgspec.json.encode({"quotes": [{"symbol": "AAPL", "side": "buy", "amount": amount}] * at_once})
            assert (await asgi.ask_app(app, "POST", "/v1/quotes", headers=JSON, chunks=(many,))).status == 200

    async def scenario():
        async with asyncio.timeout(STUCK_S), mirrored(tmp_path) as (_, node, deps, app):
            await asgi.ask_app(app, "GET", QUOTE)
            await woken(deps)
            # Other amounts: what was read at a block is so for ever, and this chain has but one.
            for more, audits, amount in ((0, same, "100"), (-1, different, "101")):
                node.chain.more, before = more, audits.get()
                # On a slow machine some are not answered from memory, and are not counted.
                while True:
                    counted = deps.market.live._quotes
                    await ask(app, amount)
                    if deps.market.live._quotes % 500 == 0 and deps.market.live._quotes != counted:
                        break
                    assert audits.get() == before
                await deps.market.live._audit
                assert audits.get() == before + 1
            assert (
                deps.market.live.mirror.serve(deps.market.pools.of(deps.market.registry.find("AAPL").address)) is None
            )

    asyncio.run(scenario())


async def told(base, target, *headers, method="GET"):
    """Status line, headers and body of one answer, on a connection that is kept alive."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(base.rpartition(":")[2]))
    writer.write("\r\n".join([f"{method} {target} HTTP/1.1", "Host: a", *headers, "", ""]).encode())
    head = (await reader.readuntil(b"\r\n\r\n")).decode().removesuffix("\r\n\r\n")
    status, *lines = head.split("\r\n")
    found = dict(line.split(": ", 1) for line in lines)
    body = b"" if method == "HEAD" else await reader.readexactly(int(found["content-length"]))
    writer.close()
    for changing in ("date", "x-request-id"):
        assert found.pop(changing)
    return status, found, body


@pytest.mark.slow
def test_a_quote_written_at_once_is_the_quote_of_the_long_way(tmp_path):
    async def scenario():
        async with asyncio.timeout(STUCK_S), mirrored(tmp_path) as (clock, _, deps, app), serving.serving(app) as base:
            # A host is looked at once, on the long way.
            assert (await told(base, QUOTE))[0] == "HTTP/1.1 200 OK"
            await woken(deps)
            passed = []
            app.wrap(lambda inner: lambda scope, receive, send: passed.append(scope) or inner(scope, receive, send))
            short = await told(base, QUOTE)
            assert passed == []
            # A body, even an empty one that is announced, is nothing for the short way.
            long = await told(base, QUOTE, "Content-Length: 0")
            assert len(passed) == 1
            assert short == long
            assert await told(base, QUOTE, method="HEAD") == (*short[:2], b"")
            turned = "/v1/quote?amount=100&unknown=1&side=buy&symbol=aapl"
            assert (await told(base, turned))[2] == short[2]
            assert len(passed) == 1
            failing = {QUOTE + "&side=sell": "400", QUOTE.replace("AAPL", "NOSUCH"): "404", QUOTE + "0" * 30: "422"}
            for target, status in failing.items():
                assert (await told(base, target))[0].split()[1] == status
            assert len(passed) == 4
            clock.ahead_s += 10
            assert (await told(base, QUOTE))[0] == "HTTP/1.1 200 OK"
            assert len(passed) == 5, "what is not fresh is asked for"

    asyncio.run(scenario())


@pytest.mark.slow
def test_what_was_not_confirmed_lately_is_not_served(tmp_path):
    async def scenario():
        async with asyncio.timeout(STUCK_S), mirrored(tmp_path) as (clock, node, deps, app):
            await woken(deps)
            node.mode = "500"
            clock.ahead_s += 2
            answer = await asgi.ask_app(app, "GET", QUOTE)
            assert answer.status == 502
            node.mode = "ok"
            await woken(deps)
            assert (await asgi.ask_app(app, "GET", QUOTE)).status == 200

    asyncio.run(scenario())


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/v1/trade/build", "/v1/trade/check"])
def test_a_node_that_falls_silent_under_a_fresh_mirror_is_waited_for_once(tmp_path, path):
    """What the mirror's block could not be asked for is asked of the newest one: within the same five seconds."""
    trade = {"symbol": "AAPL", "side": "buy", "amount": "100", "recipient": "0x" + "ab" * 20}
    body = msgspec.json.encode(trade)

    async def scenario():
        async with asyncio.timeout(STUCK_S), mirrored(tmp_path) as (_, node, deps, app):
            await woken(deps)
            node.mode = "hang"
            asked = asgi.ask_app(app, "POST", path, headers=JSON, chunks=(body,))
            answer, took, budget = await beside_naps(WallClock(), 5, asked)
            assert answer.status == 502
            assert took < budget + 1

    asyncio.run(scenario())


@pytest.mark.slow
def test_when_nobody_asks_for_a_minute_nothing_is_followed(tmp_path):
    async def scenario():
        async with asyncio.timeout(STUCK_S), mirrored(tmp_path) as (clock, _, deps, app):
            await woken(deps)
            assert deps.market.live.mirror.hot()
            clock.ahead_s += QUIET_S + 1
            assert deps.market.live.mirror.hot() == []
            # The next one takes the round trip, and wakes it.
            before = deps.rpc.round_trips
            assert (await asgi.ask_app(app, "GET", QUOTE)).status == 200
            assert deps.rpc.round_trips > before
            await woken(deps)

    asyncio.run(scenario())


@pytest.mark.slow
def test_every_pool_is_held_as_soon_as_one_is_asked_about(tmp_path):
    async def scenario():
        async with asyncio.timeout(STUCK_S), mirrored(tmp_path) as (_, _, deps, app):
            await woken(deps)
            mirror = deps.market.live.mirror
            while not all(pool.address in mirror._held for pool in deps.market.pools.every()):
                await woken(deps)
                await mirror.step()
            before = deps.rpc.round_trips
            answer = await asgi.ask_app(app, "GET", QUOTE.replace("AAPL", "MSFT"))
            assert (answer.status, deps.rpc.round_trips - before) == (200, 0)

    asyncio.run(scenario())
