"""The votes feed and vote power, over real sockets."""

import asyncio
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from random import Random
from types import SimpleNamespace

import msgspec
import pytest
from aiohttp import web
from eth_abi import decode, encode

from tickyard.chain.address import checksum
from tickyard.chain.rpc.client import Rpc
from tickyard.config import pinned
from tickyard.features.votes.feed import VoteFeed
from tickyard.features.votes.operations import VotePowerAsk, get_vote_power, list_votes
from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import NotFound, UpstreamDown
from tickyard.kernel.operation import NoAsk
from tickyard.market.listing.asset import Asset
from tickyard.market.market import Market
from tickyard.market.reading import ChainReader
from tickyard.sandbox.standins.process import open_port
from tickyard.sources.issuer.border import ListedAsset
from tickyard.sources.votes import Votes
from yards import rpcnode
from yards.clocks import MovedClock
from yards.patience import STUCK_S

MULTICALL = "0xca11bde05977b3631167028862be2a173976ca11"
WALLET = "0x" + "ab" * 20


class Feed:
    def __init__(self):
        self.reply = lambda: web.Response(status=404)
        self.asked = []

    def add_to(self, app):
        app.router.add_get("/{path:.*}", self.answer)

    async def answer(self, request):
        self.asked.append(request.path_qs)
        return self.reply()


@asynccontextmanager
async def feed_at(path="/rhj/votes?open=1"):
    feed, clock = Feed(), MovedClock()
    runner, port = await open_port([feed])
    votes = Votes(f"http://127.0.0.1:{port}{path}", clock=clock, rng=Random(1))
    await votes.source.start()
    try:
        yield feed, clock, SimpleNamespace(votes=VoteFeed(votes, clock))
    finally:
        await votes.source.close()
        await runner.cleanup()


async def votes_of(deps):
    return msgspec.json.decode(msgspec.json.encode((await list_votes(deps, NoAsk())).answer))


def test_without_a_feed_nothing_is_live():
    deps = SimpleNamespace(votes=VoteFeed(None, WallClock()))
    answer = asyncio.run(votes_of(deps))
    assert (answer["events"], answer["upstreamVotes"], answer["voting"]["live"]) == ([], None, False)
    assert answer["voting"]["status"]


def test_a_feed_that_comes_alive_appears_by_itself():
    async def go():
        async with feed_at() as (feed, clock, deps):
            before = await votes_of(deps)
            body = [{"id": 7, "symbol": "AAPL", "type": "MEETING", "processDate": "2026-11-20", "weight": 1.50}]
            feed.reply = lambda: web.json_response({"events": body})
            assert await votes_of(deps) == before
            clock.offset += timedelta(seconds=61)
            live = await votes_of(deps)
            feed.reply = lambda: web.Response(status=500)
            clock.offset += timedelta(seconds=61)
            still = await votes_of(deps)
            clock.offset += timedelta(minutes=16)
            return before, live, still, await votes_of(deps), feed.asked

    before, live, still, gone, asked = asyncio.run(go())
    assert (before["voting"]["live"], before["upstreamVotes"]) == (False, None)
    assert live == still
    assert live["voting"]["live"] is True
    assert live["upstreamVotes"]["events"][0]["id"] == 7
    assert live["events"] == [
        {
            "id": "7",
            "source": "votes feed",
            "symbol": "AAPL",
            "type": "MEETING",
            "status": None,
            "processDate": "2026-11-20",
            "details": {"id": 7, "symbol": "AAPL", "type": "MEETING", "processDate": "2026-11-20", "weight": 1.5},
        }
    ]
    assert (gone["voting"]["live"], gone["events"], gone["upstreamVotes"]) == (False, [], None)
    assert set(asked) == {"/rhj/votes?open=1"}


@pytest.mark.parametrize(
    "reply",
    [
        lambda: web.Response(text="<html>", content_type="text/html"),
        lambda: web.Response(body=b'{"events":[', content_type="application/json"),
        lambda: web.Response(body=b'{"a":' * 9 + b"{}" + b"}" * 9, content_type="application/json"),
        lambda: web.Response(body=b"[" + b" " * 300_000 + b"]", content_type="application/json"),
        lambda: web.Response(status=503),
    ],
)
def test_a_feed_that_makes_no_sense_is_not_live_and_no_failure(reply):
    async def go():
        async with feed_at("/votes") as (feed, _, deps):
            feed.reply = reply
            return await votes_of(deps)

    answer = asyncio.run(go())
    assert (answer["events"], answer["upstreamVotes"], answer["voting"]["live"]) == ([], None, False)
    assert "no usable answer" in answer["voting"]["status"]


def asset(number, symbol, has_address=True):
    address = f"0x{number:040x}" if has_address else None
    listed = ListedAsset("0x1", symbol, symbol, address, 2 * 10**18, None, None, "ASSET_STATUS_ACTIVE", "", "", None)
    return Asset(listed, None, address)


ASSETS = {"AAPL": asset(1, "AAPL"), "CRWD": asset(2, "CRWD"), "NONE": asset(3, "NONE", False), "TSLA": asset(4, "TSLA")}


class Registry:
    def all(self):
        return list(ASSETS.values())

    def find(self, symbol):
        if symbol not in ASSETS:
            raise NotFound("no such asset")
        return ASSETS[symbol]


def power(tokens, symbol=None, failing=()):
    """Vote power on a chain where `tokens` maps an address's number to (balance, multiplier)."""

    def call(params):
        [calls] = decode(["(address,bool,bytes)[]"], bytes.fromhex(params[0]["data"][10:]))
        results = []
        for to, _, data in calls:
            if to == MULTICALL:
                word = int(datetime(2026, 10, 1, tzinfo=UTC).timestamp())
            else:
                word = tokens[int(to, 16)][0 if data.hex().startswith("70a08231") else 1]
            results.append((int(to, 16) not in failing, word.to_bytes(32, "big")))
        return "0x" + encode(["(bool,bytes)[]"], [results]).hex()

    async def go():
        clock = WallClock()
        async with asyncio.timeout(STUCK_S), rpcnode.Node() as node:
            node.results["eth_call"] = call
            async with Rpc([node.url], chain_id=4663, clock=clock, budget_s=2.0) as rpc:
                market = Market(Registry(), None, None, ChainReader(rpc, MULTICALL, clock), None, pinned.MAINNET)
                deps = SimpleNamespace(market=market, clock=clock, settings=SimpleNamespace(chain_id=4663))
                answer = await get_vote_power(deps, VotePowerAsk(address=WALLET, symbol=symbol))
                return msgspec.to_builtins(answer), len(node.seen)

    return asyncio.run(go())


TOKENS = {1: (3 * 10**18, 1_000566080061092436), 2: (10**18, 4 * 10**18), 4: (0, 10**18)}


def test_all_positions_are_read_in_one_call_and_the_largest_comes_first():
    answer, calls = power(TOKENS)
    assert calls == 1
    assert answer == {
        "address": checksum(WALLET),
        "chainId": 4663,
        "positions": [
            {"symbol": "CRWD", "tokenBalance": "1", "multiplier": "4", "shareEquivalent": "4.000000"},
            {
                "symbol": "AAPL",
                "tokenBalance": "3",
                "multiplier": "1.000566080061092436",
                "shareEquivalent": "3.001698",
            },
        ],
        "totalShareEquivalent": "7.001698",
    }


@pytest.mark.parametrize("symbol", ["TSLA", "NONE"])
def test_one_symbol_is_always_shown_also_when_nothing_is_held(symbol):
    answer, calls = power(TOKENS, symbol)
    (position,) = answer["positions"]
    assert (position["symbol"], position["tokenBalance"]) == (symbol, "0")
    assert (position["shareEquivalent"], answer["totalShareEquivalent"]) == ("0.000000", "0.000000")
    assert position["multiplier"] == ("2" if symbol == "NONE" else "1")
    assert calls == (0 if symbol == "NONE" else 1)


def test_the_largest_balance_there_can_be_is_exact():
    answer, _ = power({1: (2**256 - 1, 1_000566080061092436)}, "AAPL")
    exact = (2**256 - 1) * 1_000566080061092436 // 10**30
    assert answer["totalShareEquivalent"] == f"{exact // 10**6}.{exact % 10**6:06d}"


def test_an_unknown_symbol_is_not_found_and_a_failed_read_is_upstream_down():
    with pytest.raises(NotFound):
        power(TOKENS, "ZZZZ")
    with pytest.raises(UpstreamDown):
        power(TOKENS, failing=(1,))
