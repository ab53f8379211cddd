"""A node that is stuck answers everything, and all of it is old: its age is judged, and another one is asked."""

import asyncio
import time
from contextlib import suppress
from random import Random

import pytest

from tickyard.catalog import CATALOG
from tickyard.chain.rpc.client import Rpc, RpcError
from tickyard.doors.app import Plan, build_app
from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from yards import asgi, house, paperyard, rpcnode
from yards.patience import STUCK_S

Node = rpcnode.Node
CLOCK = WallClock()
TOKEN = Address("0x" + "11" * 20)
ASKS = {
    "head": lambda rpc: rpc.head(),
    "block_number": lambda rpc: rpc.block_number(),
    "eth_call": lambda rpc: rpc.eth_call(TOKEN, b"\1\2\3\4"),
    "get_logs": lambda rpc: rpc.get_logs(from_block=1, to_block=2, addresses=[TOKEN]),
    "batch": lambda rpc: rpc.batch([("eth_getCode", [TOKEN, "latest"])]),
    "call": lambda rpc: rpc.call("eth_getBlockByNumber", ["finalized", False]),
    "dated_call": lambda rpc: rpc.dated_call(TOKEN, b"\1\2\3\4", lambda data: (data, int.from_bytes(data, "big"))),
}


def dates(node, age_s):
    """The node's newest block is so old."""
    moment = hex(CLOCK.seconds() - age_s)
    node.results |= {
        "eth_getBlockByNumber": {"number": "0x10", "hash": "0x" + "ab" * 32, "timestamp": moment},
        "eth_call": "0x" + moment[2:].rjust(64, "0"),
        "eth_getLogs": [],
    }


def run(scenario, **options):
    async def bounded():
        async with asyncio.timeout(STUCK_S), Node() as first, Node() as second:
            given = {"chain_id": 4663, "clock": CLOCK, "max_age_s": 60, "rng": Random(7)} | options
            async with Rpc([first.url, second.url], **given) as rpc:
                await scenario(rpc, first, second)

    asyncio.run(bounded())


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize("age", [250, -100_000])
def test_a_node_whose_time_stands_still_or_runs_ahead_is_left_for_the_next(ask, age):
    async def scenario(rpc, frozen, fresh):
        dates(frozen, age)
        dates(fresh, 1)
        await ASKS[ask](rpc)
        assert fresh.seen
        before = len(frozen.seen)
        for _ in range(5):
            await ASKS[ask](rpc)
        assert len(frozen.seen) == before, "the good one must stay preferred"

    run(scenario)


def test_who_came_to_a_node_that_has_stopped_goes_on_to_one_that_moves():
    """Not only when it is so old that nobody may be told: a better one was away for a moment, and is back."""

    async def scenario(rpc, stopped, moving):
        dates(stopped, 20)
        dates(moving, 0)
        moving.results["eth_getBlockByNumber"]["number"] = "0x11"
        while (await rpc.head()).number != 17:
            pass
        before = len(stopped.seen)
        await rpc.eth_call(TOKEN, b"\1\2\3\4")
        assert (await rpc.head()).number == 17
        assert len(stopped.seen) == before

    run(scenario)


@pytest.mark.parametrize("mode", ["ok", "500", "html"])
def test_where_the_whole_chain_is_quiet_the_others_are_looked_at_now_and_then(mode):
    async def scenario(rpc, first, second):
        dates(first, 20)
        dates(second, 20)
        second.mode = mode
        while not second.seen:
            assert (await rpc.head()).number == 16
        asked = len(first.seen)
        for _ in range(5):
            assert (await rpc.head()).number == 16
        assert len(first.seen) == asked + 5
        assert len(second.seen) == 1

    run(scenario)


def test_a_chain_that_moves_has_nobody_look_elsewhere():
    async def scenario(rpc, first, second):
        dates(first, 2)
        dates(second, 0)
        for _ in range(5):
            await rpc.head()
        assert not second.seen

    run(scenario)


@pytest.mark.parametrize("ask", ASKS)
def test_when_all_are_frozen_nothing_is_answered(ask):
    async def scenario(rpc, first, second):
        dates(first, 250)
        dates(second, 90)
        began = time.monotonic()
        with pytest.raises(UpstreamDown, match="behind the chain"):
            await ASKS[ask](rpc)
        assert time.monotonic() - began < 5.5

    run(scenario)


def test_a_node_that_freezes_while_we_use_it_is_left():
    class Later(WallClock):
        skipped = 0

        def monotonic(self):
            return super().monotonic() + self.skipped

    clock = Later()

    async def scenario(rpc, first, second):
        dates(first, 1)
        dates(second, 1)
        assert await rpc.block_number() == 16
        assert not second.seen
        dates(first, 61)
        clock.skipped += 6
        assert await rpc.block_number() == 16
        assert second.seen

    run(scenario, clock=clock)


def test_a_refusal_of_a_frozen_node_is_no_answer_either():
    async def scenario(rpc, frozen, fresh):
        dates(frozen, 250)
        dates(fresh, 1)
        frozen.mode = "revert"
        assert len(await rpc.eth_call(TOKEN, b"\1\2\3\4")) == 32
        fresh.script = ["revert"]
        with pytest.raises(RpcError):
            await rpc.eth_call(TOKEN, b"\1\2\3\4")

    run(scenario)


def test_looking_at_the_age_costs_a_request_every_few_seconds_and_not_one_per_call():
    async def scenario(rpc, first, _second):
        dates(first, 1)
        for _ in range(50):
            await rpc.block_number()
        assert rpc.round_trips == 50
        assert len(first.seen) == 51

    run(scenario)


def lone(node):
    return Rpc([node.url], chain_id=4663, clock=CLOCK, rng=Random(7))


def test_a_wrong_id_hangs_the_connection_up():
    """The node answers each request with the answer to the one before: whatever stays connected stays wrong."""

    async def scenario(rpc, node, _other):
        dates(node, 1)
        assert await rpc.block_number() == 16
        before = node.connections
        node.script = ["wrong-id"]
        assert await rpc.block_number() == 16
        assert await rpc.block_number() == 16
        assert node.connections == before + 1

    async def bounded():
        async with asyncio.timeout(STUCK_S), Node() as node, lone(node) as rpc:
            await scenario(rpc, node, None)

    asyncio.run(bounded())


@pytest.mark.parametrize("mode", ["truncated", "bad-hex"])
def test_so_does_an_answer_that_is_none(mode):
    async def bounded():
        async with asyncio.timeout(STUCK_S), Node() as node, lone(node) as rpc:
            await rpc.block_number()
            node.script = [mode]
            await rpc.block_number()
            assert node.connections == 2

    asyncio.run(bounded())


def test_a_node_that_told_another_chain_for_a_moment_is_used_again_within_seconds():
    class Later(WallClock):
        skipped = 0

        def monotonic(self):
            return super().monotonic() + self.skipped

    async def bounded():
        clock = Later()
        async with (
            asyncio.timeout(STUCK_S),
            Node(chain_id=1) as node,
            Rpc([node.url], chain_id=4663, clock=clock) as rpc,
        ):
            with pytest.raises(UpstreamDown, match="another chain"):
                await rpc.block_number()
            node.chain_id = 4663
            node.drop_connections()
            clock.skipped += 6
            assert await rpc.block_number() == 16

    asyncio.run(bounded())


QUOTE = "/v1/quote?symbol=HOOD&side=buy&amount=5"


@pytest.mark.slow
def test_the_service_quotes_fresh_figures_past_a_frozen_node_and_none_when_all_are_frozen(tmp_path):
    async def go():
        async with asyncio.timeout(STUCK_S), paperyard.open_far_ends() as frozen, paperyard.open_far_ends() as good:
            urls = f"{frozen.node.url},{good.node.url}"
            async with house.open_house(tmp_path, urls, good.issuer_url, CLOCK) as deps:
                app = build_app(Plan(CATALOG, deps), access_log=None).edge
                truth = await asgi.ask_app(app, "GET", QUOTE)
                assert truth.status == 200
                frozen.chain.time -= 250
                # Its pool says another price: what was true four minutes ago.
                token = next(t for t, listed in frozen.chain.tokens.items() if listed.symbol == "HOOD")
                for address, (market, root, liquidity) in list(frozen.chain.pools.items()):
                    if market.token == token:
                        frozen.chain.pools[address] = (market, root * 11 // 10, liquidity)
                for _ in range(20):
                    again = await asgi.ask_app(app, "GET", QUOTE)
                    assert (again.status, again.json()["usdAmount"]) == (200, truth.json()["usdAmount"])
                good.chain.time -= 250
                for target in (QUOTE, "/v1/stats/HOOD", "/v1/markets?limit=1", f"/v1/portfolio/{TOKEN}"):
                    began = time.monotonic()
                    assert (await asgi.ask_app(app, "GET", target)).status == 502, target
                    assert time.monotonic() - began < 6
                good.chain.time += 250
                assert (await asgi.ask_app(app, "GET", QUOTE)).status == 200

    asyncio.run(go())


@pytest.mark.parametrize("dead", [0, 1, 2])
def test_one_lie_about_the_height_is_not_held_against_the_others_for_ever(dead):
    async def scenario():
        async with asyncio.timeout(STUCK_S), Node() as liar, Node() as second, Node() as third:
            for node in (liar, second, third):
                dates(node, 1)
            truth = liar.results["eth_getBlockByNumber"]
            liar.results["eth_getBlockByNumber"] = truth | {"number": hex(10**9)}
            urls = [node.url for node in (liar, second, third)]
            async with Rpc(urls, chain_id=4663, clock=CLOCK, rng=Random(7)) as rpc:
                assert (await rpc.head()).number == 10**9
                liar.results["eth_getBlockByNumber"] = truth
                for node in (second, third)[:dead]:
                    node.mode = "500"
                # Where only one is left that answers, its word is taken from the second time on.
                with suppress(UpstreamDown):
                    await rpc.head()
                await CLOCK.sleep(0.6)
                before = rpc.round_trips
                assert (await rpc.head()).number == await rpc.block_number() == 0x10
                assert rpc.round_trips - before == 2

    asyncio.run(scenario())
