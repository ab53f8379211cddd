"""The stream through a real socket: what is told, who is refused, who is cut off, how it ends."""

import asyncio
import contextlib
import io
import re
from datetime import timedelta
from types import SimpleNamespace

import aiohttp
import msgspec
import pytest

from tickyard.catalog import CATALOG, STREAM
from tickyard.chain.v3.ticks import tick_at
from tickyard.client import AsyncClient, BadRequest, Client
from tickyard.client import stream as client_stream
from tickyard.doors.app import Plan, build_app
from tickyard.features.actions.archive import archive
from tickyard.features.history.store import record
from tickyard.features.history.stream.cursor import Cursor
from tickyard.features.history.stream.prices import PriceFeed
from tickyard.features.history.stream.replay import Rounds
from tickyard.features.history.stream.told import Told
from tickyard.kernel.clock import WallClock
from tickyard.kernel.ids import Symbol
from tickyard.market.sampling.rounds import Round, slot_number, slot_start
from tickyard.market.swaps.charts import NEAR
from tickyard.sandbox.standins.faults import FaultBoard
from tickyard.sandbox.standins.issuer import IssuerStandIn
from tickyard.sandbox.standins.process import open_port
from tickyard.sandbox.world.listing import load
from tickyard.sources.issuer.api import IssuerAction
from tickyard.store.tables import to_micros
from tickyard.store.tokens import token_ids
from tickyard.terminal.commands import watch
from yards import house, paperyard, rpcnode, serving
from yards.clocks import MovedClock, SkippingClock
from yards.patience import STUCK_S


@contextlib.asynccontextmanager
async def open_stream(folder, clock=None, **settings):
    """The service on a socket, with the address, its parts and a hand that records rounds."""
    clock = clock or WallClock()
    chain = paperyard.LyingChain()
    async with rpcnode.Node() as node:
        node.results = {
            "eth_call": lambda params: chain.rpc("eth_call", params),
            "eth_getCode": "0x6001",
            "eth_blockNumber": lambda _: chain.rpc("eth_blockNumber", []),
            "eth_getBlockByNumber": lambda _: chain.rpc("eth_getBlockByNumber", []),
        }
        faults = FaultBoard()
        standins, port = await open_port([IssuerStandIn(faults, clock, load(), began=clock.now())])
        try:
            issuer = f"http://127.0.0.1:{port}/issuer"
            async with house.open_house(folder, node.url, issuer, clock, **settings) as deps:
                app = build_app(Plan(CATALOG, deps), access_log=None)
                keeping = asyncio.create_task(app.hub.keep())
                async with serving.serving(app.edge) as url:
                    stage = Stage(url, deps, app, chain, node, faults)
                    yield stage
                    for told in stage.open:
                        await told.aclose()
                    app.hub.close()
                keeping.cancel()
        finally:
            await standins.cleanup()


class Stage:
    def __init__(self, url, deps, app, chain, node, faults):
        self.url, self.deps, self.app, self.chain, self.node = url, deps, app, chain, node
        self.faults = faults
        self.open = []
        self.slot = slot_number(deps.clock.now()) - 400

    async def record(self, prices, suspects=(), block=1):
        assets = {asset.symbol: asset.address for asset in self.deps.market.registry.all()}
        async with self.deps.store.begin() as tx:
            ids = await token_ids(tx, [(Symbol(symbol), assets[symbol]) for symbol in prices])
            by_id = {ids[assets[symbol]]: price for symbol, price in prices.items()}
            doubted = {ids[assets[symbol]]: 5 for symbol in suspects}
            taken = Round(self.slot, block, "0x", by_id, 0, slot_start(self.slot), doubted)
            await record(tx, taken, history_start=self.deps.settings.history_start_at)
        self.slot += 1

    async def act(self, numbers, ago_s=0):
        """Corporate actions that have just become known, by a clock that may be behind."""
        of = [IssuerAction(f"asset{number:05}", "AAPL", "split", "ANNOUNCED", None, {}) for number in numbers]
        async with self.deps.store.begin() as tx:
            await archive(tx, of, self.deps.clock.now() - timedelta(seconds=ago_s))

    def listen(self, **query):
        self.open.append(AsyncClient(self.url).stream(**query))
        return self.open[-1]


def on_stage(folder, work, **settings):
    async def run():
        async with asyncio.timeout(STUCK_S), open_stream(folder, **settings) as stage:
            return await work(stage)

    return asyncio.run(run())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("last", "closed"),
    [(0, ["5m", "15m", "1h", "4h", "1d"]), (48, ["5m", "15m", "1h", "4h"]), (12, ["5m", "15m", "1h"]), (1, ["5m"])],
    ids=["a day", "four hours", "an hour", "five minutes"],
)
def test_the_first_round_of_a_day_or_an_hour_closes_their_candles(tmp_path, last, closed):
    async def work(stage):
        stage.slot = stage.slot // 288 * 288 + last - 1
        await stage.record({"AAPL": 200 * 10**9})
        told = stage.listen(events=["candle"])
        await anext(told)
        await stage.record({"AAPL": 210 * 10**9})
        assert [(await anext(told)).data["interval"] for _ in closed] == closed

    on_stage(tmp_path, work)


@pytest.mark.slow
def test_every_event_is_of_the_shape_that_the_clients_know(tmp_path):
    async def work(stage):
        stage.slot = stage.slot // 288 * 288 - 1
        await stage.record({"AAPL": 200 * 10**9})
        known = stage.listen(symbols=["AAPL"])
        heard = [await anext(known)]
        while heard[-1].name != "price":
            heard.append(await anext(known))
        await stage.record({"AAPL": 310 * 10**9}, suspects=["AAPL"])
        await stage.act([1])
        late = stage.listen(symbols=["AAPL"], last_event_id="of another service")
        heard += [await anext(late), await anext(late)]
        wanted = {*STREAM}
        while not wanted <= {event.name for event in heard}:
            heard.append(await anext(known))
        for event in heard:
            shape = msgspec.convert(event.data, STREAM[event.name])
            assert msgspec.json.decode(msgspec.json.encode(shape)) == event.data, event.name
        assert any(item["live"] for event in heard if event.name == "snapshot" for item in event.data["prices"])

    on_stage(tmp_path, work)


@pytest.mark.slow
def test_rounds_are_told_with_their_candles_and_doubts(tmp_path):
    async def work(stage):
        await stage.record({"AAPL": 200 * 10**9, "MSFT": 5 * 10**8})
        told = stage.listen(events=["sample", "candle", "status"])
        snapshot = await anext(told)
        assert snapshot.name == "snapshot"
        assert [item["symbol"] for item in snapshot.data["prices"]] == ["AAPL", "MSFT"]
        await stage.record({"AAPL": 210 * 10**9, "MSFT": 6 * 10**8}, suspects=["MSFT"])
        sample = await anext(told)
        assert [(each["symbol"], each["price"], each["suspect"]) for each in sample.data["samples"]] == [
            ("AAPL", 210, False),
            ("MSFT", 0.6, True),
        ]
        candle = await anext(told)
        assert (candle.name, candle.data["interval"]) == ("candle", "5m")
        assert candle.data["t"] == slot_start(stage.slot - 2).isoformat().replace("+00:00", "Z")
        assert candle.data["candles"][0] == {
            "symbol": "AAPL",
            "open": 200,
            "high": 200,
            "low": 200,
            "close": 200,
            "ticks": 1,
        }
        while (event := await anext(told)).name != "status":
            assert event.name == "candle"
        assert event.data["suspect"] == ["MSFT"]

    on_stage(tmp_path, work)


def test_a_listener_hears_only_the_symbols_that_were_asked_for(tmp_path):
    async def work(stage):
        await stage.record({"AAPL": 10**9})
        told = stage.listen(symbols=["msft"], events=["sample"])
        assert (await anext(told)).data["prices"] == []
        await stage.record({"AAPL": 2 * 10**9})
        await stage.record({"AAPL": 2 * 10**9, "MSFT": 10**9})
        assert [item["symbol"] for item in (await anext(told)).data["samples"]] == ["MSFT"]

    on_stage(tmp_path, work)


@pytest.mark.slow
def test_who_comes_back_hears_what_they_missed_and_nothing_twice(tmp_path):
    async def work(stage):
        for price in range(1, 30):
            await stage.record({"AAPL": price})
        first = stage.slot - 20
        told = stage.listen(events=["sample"], last_event_id=Cursor((first, 999), (0, "")).text())
        slots = [(await anext(told)).data["slot"] for _ in range(19)]
        assert slots == [slot_start(slot).isoformat().replace("+00:00", "Z") for slot in range(first + 1, first + 20)]
        await stage.record({"AAPL": 7})
        assert (await anext(told)).data["samples"][0]["price"] == 7e-9

    on_stage(tmp_path, work)


@pytest.mark.slow
@pytest.mark.parametrize("last", ["nonsense", "1.0.0.", "999999999999999.0.0.", "5.5", "7." * 2000])
def test_what_cannot_be_told_again_is_a_gap_and_a_snapshot(tmp_path, last):
    async def work(stage):
        await stage.record({"AAPL": 10**9})
        told = stage.listen(last_event_id=last, events=["sample"])
        assert [(await anext(told)).name for _ in range(2)] == ["gap", "snapshot"]

    on_stage(tmp_path, work)


@pytest.mark.slow
@pytest.mark.parametrize("ahead", [(1, 0), (0, 3_600_000_000)])
def test_an_id_of_another_database_is_a_gap_and_no_silence(tmp_path, ahead):
    async def work(stage):
        await stage.record({"AAPL": 10**9})
        slots, micros = ahead
        there = to_micros(stage.deps.clock.now()) if micros else 0
        forged = Cursor((stage.slot - 1 + slots, 999), (there + micros, "zz")).text()
        told = stage.listen(last_event_id=forged, events=["sample", "action"])
        assert [(await anext(told)).name for _ in range(2)] == ["gap", "snapshot"]
        await stage.record({"AAPL": 7})
        assert (await anext(told)).data["samples"][0]["price"] == 7e-9
        await stage.act([1])
        assert (await anext(told)).name == "action"

    on_stage(tmp_path, work)


@pytest.mark.slow
def test_an_id_that_another_replica_has_just_told_is_no_gap(tmp_path):
    async def work(stage):
        await stage.record({"AAPL": 10**9})
        await anext(stage.listen(events=["sample"]))
        # This process looks every half second: until then the other one is ahead of it.
        await stage.record({"AAPL": 5})
        told = stage.listen(last_event_id=Cursor((stage.slot - 1, 3), (0, "")).text(), events=["sample"])
        await stage.record({"AAPL": 7})
        assert (await anext(told)).data["samples"][0]["price"] == 7e-9

    on_stage(tmp_path, work)


@pytest.mark.slow
def test_who_missed_thousands_of_actions_hears_them_all(tmp_path):
    async def work(stage):
        await stage.record({"AAPL": 10**9})
        await stage.act(range(2_500))
        told = stage.listen(last_event_id=Cursor((stage.slot - 1, 999), (0, "")).text(), events=["action"])
        heard = [(await anext(told)).data["id"] for _ in range(2_500)]
        assert heard == sorted(set(heard))
        assert len(heard) == 2_500

    on_stage(tmp_path, work)


def test_of_actions_of_one_moment_those_that_were_heard_are_not_told_again(tmp_path):
    async def work(stage):
        await stage.record({"AAPL": 10**9})
        await stage.act([1, 2, 3])
        begin = Cursor((stage.slot - 1, 999), (0, "")).text()
        told = stage.listen(last_event_id=begin, events=["action"])
        heard = [await anext(told) for _ in range(3)]
        for n, last in enumerate(heard[:2]):
            again = stage.listen(last_event_id=last.id, events=["action"])
            assert (await anext(again)).data == heard[n + 1].data

    on_stage(tmp_path, work)


def test_an_action_is_told_although_a_clock_was_set_back(tmp_path):
    async def work(stage):
        await stage.act([1])
        told = stage.listen(events=["action"])
        assert (await anext(told)).name == "snapshot"
        await stage.act([1, 2], ago_s=60)
        await stage.act([1, 2, 3], ago_s=30)
        ids = [(await anext(told)).data["id"] for _ in range(2)]
        assert len(set(ids)) == 2

    on_stage(tmp_path, work)


def test_connections_are_counted_per_client(tmp_path):
    async def work(stage):
        async with aiohttp.ClientSession() as session:
            held = [await session.get(f"{stage.url}/v1/stream") for _ in range(2)]
            async with session.get(f"{stage.url}/v1/stream") as third:
                assert (third.status, third.headers["Retry-After"]) == (429, "10")
            for each in held:
                each.close()
            status = 429
            while status == 429:
                async with session.get(f"{stage.url}/v1/stream") as again:
                    status = again.status
            assert status == 200

    on_stage(tmp_path, work, STREAM_MAX_PER_CLIENT="2")


@pytest.mark.slow
def test_who_does_not_read_is_cut_off_and_the_others_are_not(tmp_path):
    async def work(stage):
        await stage.record({"AAPL": 10**9})
        reader, writer = await asyncio.open_connection("127.0.0.1", int(stage.url.rsplit(":", 1)[1]), limit=1024)
        writer.write(b"GET /v1/stream HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readuntil(b"snapshot")
        told = stage.listen(events=["sample"])
        await anext(told)
        [deaf] = [each for each in stage.app.hub._listeners if "candle" in each.events]
        for _ in range(2_000):
            if deaf.is_cut:
                break
            deaf.push(b": " + b"x" * 60_000 + b"\n\n")
            await WallClock().sleep(0)
        assert deaf.is_cut
        await stage.record({"AAPL": 2 * 10**9})
        assert (await anext(told)).name == "sample"
        writer.transport.abort()

    on_stage(tmp_path, work)


@pytest.mark.slow
def test_a_node_that_says_nothing_keeps_nothing_else_back(tmp_path):
    async def work(stage):
        await stage.record({"AAPL": 10**9})
        told = stage.listen(events=["price", "sample"])
        assert (await anext(told)).name == "snapshot"
        stage.node.mode, asked = "hang", len(stage.node.seen)
        while len(stage.node.seen) == asked:
            await WallClock().sleep(0.01)
        began = WallClock().monotonic()
        await stage.record({"AAPL": 2 * 10**9})
        while (await anext(told)).name != "sample":
            pass
        assert WallClock().monotonic() - began < 2, "what is waited for the node is three seconds and more"

    on_stage(tmp_path, work, MIRROR="off")


class Fast(WallClock):
    """A quarter of a minute in a quarter of a second."""

    def monotonic(self):
        return super().monotonic() * 60


@pytest.mark.slow
def test_who_stops_reading_in_the_middle_of_the_past_is_cut_off(tmp_path):
    async def work(stage):
        symbols = [asset.symbol for asset in stage.deps.market.registry.all() if asset.address]
        # More than a socket and its buffers hold.
        for price in range(200):
            await stage.record(dict.fromkeys(symbols, 10**9 + price))
        since = Cursor((stage.slot - 199, 999), (0, "")).text()
        reader, writer = await asyncio.open_connection("127.0.0.1", int(stage.url.rsplit(":", 1)[1]), limit=1024)
        writer.write(b"GET /v1/stream HTTP/1.1\r\nHost: x\r\nLast-Event-ID: %b\r\n\r\n" % since.encode())
        await reader.readuntil(b"sample")
        [deaf] = stage.app.hub._listeners
        while stage.app.hub._listeners:
            await WallClock().sleep(0.01)
        assert deaf.is_cut
        assert not deaf.is_here
        writer.transport.abort()

    on_stage(tmp_path, work, clock=Fast())


def test_a_round_is_read_once_for_all_who_come_back(tmp_path):
    async def work(stage):
        for price in range(20):
            await stage.record({"AAPL": 10**9 + price})
        rounds, newest = Rounds(), stage.slot - 1

        async def read(slot):
            async with stage.deps.store.read() as tx:
                return await rounds.between(tx, (slot - 1, 999), (slot, 999))

        first = await read(newest)
        assert first
        # A whole day that one reads again does not push out what all others come for.
        for slot in range(newest - 18, newest):
            assert await read(slot)
        assert all(one is other for one, other in zip(first, await read(newest), strict=True))
        async with stage.deps.store.read() as tx:
            assert await rounds.between(tx, (newest, 0), (newest, 999)) == first[1:]

    on_stage(tmp_path, work)


def test_what_is_kept_of_an_event_does_not_grow_with_what_strangers_choose():
    event = Told("sample", {f"S{n}": {"symbol": f"S{n}"} for n in range(500)}, {}, "samples", round=(1, 0))
    for n in range(500):
        assert b'"S%d"' % n in event.data(frozenset({f"S{n}"}))
    assert len(event._made) < 100


@pytest.mark.slow
def test_who_was_away_for_long_waits_for_a_turn_and_is_not_taken_for_deaf(tmp_path):
    async def work(stage):
        for price in range(40):
            await stage.record({"AAPL": 10**9 + price})
        far, near = (Cursor((stage.slot - ago, 999), (0, "")).text() for ago in (39, 3))
        told = stage.listen(events=["sample"], last_event_id=far)
        async with stage.app.hub._turns:
            waiting = asyncio.ensure_future(anext(told))
            while not stage.app.hub._listeners:
                await WallClock().sleep(0.01)
            [patient] = stage.app.hub._listeners
            quick = stage.listen(events=["sample"], last_event_id=near)
            assert (await anext(quick)).data["samples"][0]["price"] == 1.000000038
            # Three signs of life, by this clock.
            await WallClock().sleep(1.2)
            assert not waiting.done()
            assert not patient.is_cut
        assert (await waiting).data["samples"][0]["price"] == 1.000000002

    on_stage(tmp_path, work, clock=Fast())


@pytest.mark.slow
def test_while_one_hears_a_long_past_everybody_else_is_served(tmp_path):
    async def work(stage):
        for price in range(60):
            await stage.record({"AAPL": 10**9 + price})
        hub = stage.app.hub
        listener = await hub.join(
            "somebody", None, frozenset({"sample"}), Cursor((stage.slot - 60, 999), (0, "")).text()
        )
        turns, is_over = 0, False

        async def others():
            nonlocal turns
            while not is_over:
                turns += 1
                await WallClock().sleep(0)

        waiting = asyncio.create_task(others())
        told = b"".join([data async for data in hub.past(listener, is_resumed=True)])
        is_over = True
        await waiting
        assert told.count(b"event: sample") == 59
        assert turns > 30, "between any two rounds it is somebody else's turn"

    on_stage(tmp_path, work)


def test_a_process_that_goes_away_says_when_to_come_back(tmp_path):
    async def work(stage):
        async with aiohttp.ClientSession() as session, session.get(f"{stage.url}/v1/stream?events=sample") as answer:
            assert answer.headers["Cache-Control"] == "no-store"
            await answer.content.readuntil(b"snapshot")
            stage.app.hub.close()
            rest = await answer.read()
        assert rest.endswith(b"retry: 2000\n: going away, come back soon\n\n")
        # A browser would never come back after anything but 200, and nobody should over the same connection.
        async with aiohttp.ClientSession() as session, session.get(f"{stage.url}/v1/stream") as answer:
            assert (answer.status, answer.headers["Connection"]) == (200, "close")
            assert await answer.read() == b"retry: 2000\n: going away, come back soon\n\n"

    on_stage(tmp_path, work)


class Quick(WallClock):
    async def sleep(self, seconds):
        await super().sleep(min(seconds, 0.01))


@pytest.mark.slow
def test_a_listener_whose_process_goes_away_in_order_hears_the_rest_elsewhere(tmp_path):
    async def work(stage):
        """Behind one address, as behind a proxy: first the process that leaves, then its successor."""
        await stage.record({"AAPL": 10**9})
        successor = build_app(Plan(CATALOG, stage.deps), access_log=None)
        keeping = asyncio.create_task(successor.hub.keep())

        async def proxy(scope, receive, send):
            leaving = stage.app.hub.is_closed and next(tries, None) is None
            await (successor if leaving else stage.app).edge(scope, receive, send)

        tries = iter([1, 2])
        async with serving.serving(proxy) as url, AsyncClient(url, clock=Quick()) as client:
            told = client.stream(events=["sample"])
            assert (await anext(told)).name == "snapshot"
            await stage.record({"AAPL": 2 * 10**9})
            assert (await anext(told)).data["samples"][0]["price"] == 2
            stage.app.hub.close()
            for price in (3, 4):
                await stage.record({"AAPL": price * 10**9})
            assert [(await anext(told)).data["samples"][0]["price"] for _ in range(2)] == [3, 4]
            await told.aclose()
            successor.hub.close()
        keeping.cancel()

    on_stage(tmp_path, work)


@pytest.mark.slow
def test_who_waits_for_something_rare_comes_back_without_a_gap(tmp_path):
    """They were there all the time: that nothing they asked for has happened in more than a day is no absence."""

    async def work(stage):
        await stage.record({"AAPL": 10**9})
        async with aiohttp.ClientSession() as session, session.get(f"{stage.url}/v1/stream?events=action") as answer:
            await answer.content.readuntil(b"snapshot")
            stage.slot += 300
            await stage.record({"AAPL": 10**9})
            [listener] = stage.app.hub._listeners
            while listener.cursor.round[0] < stage.slot - 1:
                await WallClock().sleep(0.01)
            for _ in range(2):
                beat = await answer.content.readuntil(b"still here\n\n")
        # The connection is lost, and what they wait for happens meanwhile.
        await stage.act([1])
        told = stage.listen(events=["action"], last_event_id=re.findall("id: (.*)", beat.decode())[-1])
        assert (await anext(told)).name == "action"

    on_stage(tmp_path, work, clock=Fast())


def told_by(blocks, statuses=()):
    """What the client asks with, time after time, and what it hears of a service that says these things in turn."""
    asked, statuses, blocks = [], iter(statuses), iter(blocks)

    async def service(scope, receive, send):
        asked.append(dict(scope["headers"]).get(b"last-event-id"))
        status = next(statuses, 200)
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": next(blocks) if status == 200 else b"<h1>later</h1>"})

    async def listen():
        async with (
            asyncio.timeout(STUCK_S),
            serving.serving(service) as url,
            AsyncClient(url, clock=Quick()) as client,
        ):
            told = client.stream()
            event = await anext(told)
            await told.aclose()
            return event

    return asyncio.run(listen()), asked


def test_the_client_goes_on_from_where_a_sign_of_life_said_that_it_is():
    event, asked = told_by([b"id: 7.0.0.\n: still here\n\nid: 8.0.0.\n", b"event: gap\ndata: {}\n\n"])
    assert event.name == "gap"
    assert asked == [None, b"7.0.0."]


def test_the_client_comes_back_when_it_is_cut_off_in_the_middle_of_a_letter():
    event, asked = told_by([b"id: 7.0.0.\n: still here\n\ndata: \xe2\x82", b"event: gap\ndata: {}\n\n"])
    assert event.name == "gap"
    assert asked == [None, b"7.0.0."]


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 520])
def test_the_client_comes_back_whatever_a_proxy_says_while_there_is_no_service(status):
    event, asked = told_by([b"event: gap\ndata: {}\n\n"], [status, status])
    assert event.name == "gap"
    assert len(asked) == 3


@pytest.mark.slow
def test_prices_are_told_when_they_move(tmp_path):
    async def work(stage):
        await stage.record({"AAPL": 10**9})
        told = stage.listen(symbols=["AAPL"], events=["price"])
        await anext(told)
        price = await anext(told)
        assert (price.name, price.id, price.data["symbol"]) == ("price", None, "AAPL")
        assert float(price.data["price"]) > 0
        assert abs(float(price.data["premiumPct"])) < 5

    on_stage(tmp_path, work)


@pytest.mark.slow
def test_a_pool_that_cannot_be_read_costs_no_other_symbol_its_price(tmp_path):
    async def work(stage):
        await stage.record({"AAPL": 10**9})
        apple = {listed.symbol: listed.address for listed in load()}["AAPL"]
        for pool in stage.deps.market.pools.of(apple):
            # As if every tick there were one.
            stage.chain.says[pool.address, "5339c296"] = b"\xff" * 32
        told = stage.listen(symbols=["AAPL", "MSFT"], events=["price"])
        await anext(told)
        assert (await anext(told)).data["symbol"] == "MSFT"

    on_stage(tmp_path, work)


@pytest.mark.slow
def test_a_price_that_nobody_follows_any_more_is_no_live_one(tmp_path):
    async def work(stage):
        await stage.record({"AAPL": 10**9, "MSFT": 10**9})
        leaving = stage.listen(symbols=["AAPL"], events=["price"])
        staying = stage.listen(symbols=["MSFT"], events=["price"])
        for told in (leaving, staying):
            assert [(await anext(told)).name for _ in range(2)] == ["snapshot", "price"]
        await leaving.aclose()
        is_live = True
        while is_live:
            async with contextlib.aclosing(stage.listen(symbols=["AAPL", "MSFT"], events=["sample"])) as told:
                apple, microsoft = (await anext(told)).data["prices"]
            assert microsoft["live"]["symbol"] == "MSFT"
            is_live = apple["live"] is not None

    on_stage(tmp_path, work)


def move_up(stage, symbol):
    """Its pools say a price that is a little higher."""
    address = {listed.symbol: listed.address for listed in load()}[symbol]
    for pool in stage.deps.market.pools.of(address):
        root = stage.deps.market.pools.last_sqrt_price(pool)
        moved = root + root // 100_000 if root else 0
        words = (moved, tick_at(moved) if moved else 0, 0, 0, 0, 0, 1)
        stage.chain.says[pool.address, "3850c7bd"] = b"".join((each % 2**256).to_bytes(32, "big") for each in words)


async def price_at(stage, feed, block):
    """What is told of AAPL when a node is at this block, a few seconds after the last look."""
    stage.deps.clock.move(6)
    stage.chain.block = block
    return [told.around["blockNumber"] for told in await feed.moved({"AAPL"})]


@pytest.mark.slow
def test_a_node_that_lags_does_not_take_a_price_back(tmp_path):
    async def work(stage):
        feed = PriceFeed(stage.deps)
        assert await price_at(stage, feed, 1000) == [1000]
        move_up(stage, "AAPL")
        assert await price_at(stage, feed, 995) == []
        assert await price_at(stage, feed, 1001) == [1001]

    on_stage(tmp_path, work, clock=MovedClock())


def test_a_price_that_is_held_in_memory_is_told_from_there(tmp_path):
    async def work(stage):
        market = stage.deps.market
        apple = {listed.symbol: listed.address for listed in load()}["AAPL"]
        _, charts = await market.look_at_each(market.pools.of(apple), reach=NEAR)
        head = SimpleNamespace(number=1234, hash="0x12", timestamp=stage.deps.clock.seconds())
        market.live.serve = lambda its: (head, [charts[pool] for pool in its]) if its[0].token == apple else None
        asked_before = len(stage.node.seen)
        assert [told.around["blockNumber"] for told in await PriceFeed(stage.deps).moved({"AAPL"})] == [1234]
        assert len(stage.node.seen) == asked_before

    on_stage(tmp_path, work, MIRROR="on")


def test_the_price_of_a_chain_that_was_rolled_back_is_told_after_a_while(tmp_path):
    async def work(stage):
        feed = PriceFeed(stage.deps)
        assert await price_at(stage, feed, 1000) == [1000]
        move_up(stage, "AAPL")
        told = [await price_at(stage, feed, 990) for _ in range(6)]
        assert told == [[], [], [], [], [990], []]

    on_stage(tmp_path, work, clock=MovedClock())


def test_a_silent_issuer_costs_a_price_its_premium_and_nothing_else(tmp_path):
    async def work(stage):
        feed = PriceFeed(stage.deps)
        assert await price_at(stage, feed, 1000) == [1000]
        assert feed.latest["AAPL"].around["premiumPct"] is not None
        stage.faults.set("issuer", "down")
        # Longer than the last quotes stand in for it.
        stage.deps.clock.move(20)
        move_up(stage, "AAPL")
        assert await price_at(stage, feed, 1001) == [1001]
        assert feed.latest["AAPL"].around["premiumPct"] is None

    on_stage(tmp_path, work, clock=MovedClock())


@pytest.mark.slow
def test_a_slow_issuer_keeps_no_price_back(tmp_path):
    async def work(stage):
        feed = PriceFeed(stage.deps)
        assert await price_at(stage, feed, 1000) == [1000]
        stage.deps.market.mids.all = asyncio.Event().wait
        move_up(stage, "AAPL")
        assert await price_at(stage, feed, 1001) == [1001]
        assert feed.latest["AAPL"].around["premiumPct"] is not None

    on_stage(tmp_path, work, clock=MovedClock())


@pytest.mark.slow
def test_the_first_price_is_read_when_the_issuer_has_answered(tmp_path):
    async def work(stage):
        mids = stage.deps.market.mids
        ask = mids.all

        async def slow():
            answer = await ask()
            stage.chain.block = 1040
            return answer

        mids.all = slow
        feed = PriceFeed(stage.deps)
        assert await price_at(stage, feed, 1000) == [1040]
        assert feed.latest["AAPL"].around["premiumPct"] is not None

    on_stage(tmp_path, work, clock=MovedClock())


@pytest.mark.slow
def test_the_issuer_is_asked_beside_the_prices_while_somebody_follows_them(tmp_path):
    async def work(stage):
        mids, asked = stage.deps.market.mids, asyncio.Event()
        ask, quoted = mids.all, []

        async def counted():
            quoted.append(stage.deps.clock.monotonic())
            if len(quoted) == 3:
                asked.set()
            return await ask()

        mids.all = counted
        assert quoted == []
        told = stage.listen(symbols=["AAPL"], events=["price"])
        await anext(told)
        await asked.wait()

    on_stage(tmp_path, work)


@pytest.mark.slow
def test_a_status_does_not_tell_the_block_at_which_the_mirror_fell_asleep(tmp_path):
    async def work(stage):
        await stage.record({"AAPL": 10**9})
        await stage.deps.market.live.step()
        assert stage.deps.market.live.mirror.block.number == 1000
        told = stage.listen(events=["status"])
        await anext(told)
        await stage.record({"AAPL": 10**9}, block=5000)
        assert (await anext(told)).data["blockNumber"] == 5000

    on_stage(tmp_path, work, MIRROR="on")


class Screen(io.StringIO):
    """A terminal that tells when it has shown a text."""

    def __init__(self, text):
        super().__init__()
        self.shown, self._text = asyncio.Event(), text

    def isatty(self):
        return True

    def write(self, text):
        if self._text in text:
            self.shown.set()
        return super().write(text)


class Still(WallClock):
    """Nothing is drawn again because time has passed."""

    async def sleep(self, seconds):
        await asyncio.Event().wait()


@pytest.mark.slow
def test_watch_draws_a_price_the_moment_it_is_told(tmp_path):
    async def work(stage):
        await stage.record({"AAPL": 10**9})
        screen = Screen("  now ")
        watching = asyncio.create_task(watch("AAPL", "5m", stage.url, out=screen, clock=Still()))
        await screen.shown.wait()
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

    on_stage(tmp_path, work)


@pytest.mark.slow
def test_the_client_without_an_event_loop_listens_too_and_leaves_nothing_open(tmp_path):
    async def work(stage):
        await stage.record({"AAPL": 10**9})

        def leave():
            with Client(stage.url) as client:
                for event in client.stream(events=["sample"]):
                    assert event.name == "snapshot"
                    break
                kept = client.stream(events=["sample"])
                assert next(kept).name == "snapshot"
            return kept

        kept = await asyncio.to_thread(leave)
        while stage.app.hub._listeners:
            await WallClock().sleep(0.01)
        kept.close()

    on_stage(tmp_path, work)


@pytest.mark.slow
@pytest.mark.parametrize("query", ["events=gossip", "symbols=", "events="])
def test_what_cannot_be_listened_to_is_refused(tmp_path, query):
    async def work(stage):
        async with aiohttp.ClientSession() as session, session.get(f"{stage.url}/v1/stream?{query}") as answer:
            assert answer.status == 400
        async with aiohttp.ClientSession() as session, session.head(f"{stage.url}/v1/stream") as answer:
            assert answer.status == 200

    on_stage(tmp_path, work)


def test_a_refusal_is_the_clients_own_exception(tmp_path):
    async def work(stage):
        with pytest.raises(BadRequest):
            await anext(stage.listen(events=["gossip"]))

    on_stage(tmp_path, work)


_CHUNKED = b"content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("before", "drop"),
    [
        (b"HTTP/1.1 200 OK\r\nx-slow: ", b"x"),
        (b"HTTP/1.1 503 Busy\r\n" + _CHUNKED, b"1\r\nx\r\n"),
        (b"HTTP/1.1 200 OK\r\n" + _CHUNKED, b"1\r\nx\r\n"),
        (b"HTTP/1.1 200 OK\r\n" + _CHUNKED, b"8\r\ndata: 1\n\r\n"),
    ],
    ids=["head", "refusal", "line", "event"],
)
def test_a_stream_that_drips_and_brings_nothing_whole_is_a_lost_one(monkeypatch, before, drop):
    monkeypatch.setattr(client_stream, "_SILENCE_S", 0.2)
    connections = []

    async def serve(reader, writer):
        connections.append(writer)
        await reader.readuntil(b"\r\n\r\n")
        event = b'id: 5\nevent: sample\ndata: {"symbol": "AAPL"}\n\n'
        with contextlib.suppress(ConnectionError):
            if len(connections) > 1:
                writer.write(b"HTTP/1.1 200 OK\r\n" + _CHUNKED + b"%x\r\n%s\r\n" % (len(event), event))
            else:
                writer.write(before)
            while len(connections) == 1:
                writer.write(drop)
                await writer.drain()
                await WallClock().sleep(0.02)

    async def work():
        async with asyncio.timeout(STUCK_S), await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            told = client_stream.listen(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", SkippingClock())
            event = await anext(told)
            await told.aclose()
            for writer in connections:
                writer.transport.abort()
            return event

    assert asyncio.run(work()).id == "5"
    assert len(connections) == 2
