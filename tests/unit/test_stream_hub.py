"""Who listens at a process and what they are told, over a real store and a clock that is the test's."""

import asyncio
import json
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from random import Random
from types import SimpleNamespace

import pytest

from tickyard.features.actions.archive import archive
from tickyard.features.history.store import record
from tickyard.features.history.stream import replay
from tickyard.features.history.stream.cursor import Cursor
from tickyard.features.history.stream.hub import GOODBYE, Hub, TooManyListeners
from tickyard.features.history.stream.told import EVENTS, Told
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address, Symbol
from tickyard.market.sampling.rounds import Round
from tickyard.sources.issuer.api import IssuerAction
from tickyard.store.opening import open_store
from tickyard.store.tokens import token_ids
from yards.clocks import MovedClock, SkippingClock
from yards.patience import STUCK_S
from yards.schema import lay

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TOKENS = {"AAPL": Address(f"0x{1:040x}"), "MSFT": Address(f"0x{2:040x}")}
ALL = frozenset(EVENTS)
SLOT = 5_900_000


class Stage:
    def __init__(self, store, clock):
        self.store, self.clock, self.mirror = store, clock, SimpleNamespace(block=None)
        market = SimpleNamespace(live=SimpleNamespace(mirror=self.mirror))
        settings = SimpleNamespace(stream_max=4, stream_max_per_client=2, stream_buffer_kb=64, chain_id=4663)
        self.hub = Hub(SimpleNamespace(store=store, clock=clock, market=market, settings=settings))

    async def record(self, slot, doubted=(), **prices):
        async with self.store.begin() as tx:
            ids = await token_ids(tx, [(Symbol(each), token) for each, token in TOKENS.items()])
            by_id = {ids[TOKENS[each]]: price * 10**9 for each, price in prices.items()}
            odd = {ids[TOKENS[each]]: 5 for each in doubted}
            at = EPOCH + timedelta(minutes=5 * slot)
            await record(tx, Round(slot, slot + 1, "0x", by_id, 0, at, odd), history_start=EPOCH)

    async def act(self, *numbers):
        of = [IssuerAction(f"asset{number}", "MSFT", "split", "ANNOUNCED", None, {}) for number in numbers]
        async with self.store.begin() as tx:
            await archive(tx, of, self.clock.now())

    async def join(self, client="c", symbols=None, events=ALL, last_id=None):
        """A listener who has heard the past, and the past."""
        listener = await self.hub.join(client, symbols, events, last_id)
        past = [part async for part in self.hub.past(listener, is_resumed=last_id is not None)]
        assert listener.is_here
        return listener, read(b"".join(past))


def read(data):
    """(id, name, fields) of each event; a comment is its text."""
    found = []
    for letter in data.decode().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in letter.split("\n") if line and not line.startswith("retry"))
        if lines:
            said = json.loads(lines["data"]) if "data" in lines else lines.get("")
            found.append((lines.get("id"), lines.get("event"), said))
    return found


@pytest.fixture
def run(tmp_path):
    def run(work):
        async def go():
            clock = SkippingClock()
            store = open_store(tmp_path / "tickyard.db", clock, Random(1))
            try:
                await lay(store)
                async with asyncio.timeout(STUCK_S):
                    return await work(Stage(store, clock))
            finally:
                await store.close()

        return asyncio.run(go())

    return run


def test_each_client_and_all_together_have_a_bound_and_leaving_makes_room(run):
    async def work(stage):
        first, _ = await stage.join("a")
        await stage.join("a")
        with pytest.raises(TooManyListeners):
            stage.hub.admit("a")
        await stage.join("b")
        await stage.join("b")
        with pytest.raises(TooManyListeners):
            stage.hub.admit("c")
        stage.hub.leave(first)
        stage.hub.leave(first)
        stage.hub.admit("c")
        stage.hub.admit("a")
        with pytest.raises(TooManyListeners):
            await stage.hub.join("b", None, ALL, None)

    run(work)


def test_who_cannot_be_let_in_is_not_counted(run):
    async def work(stage):
        real = stage.hub._begin

        async def down():
            raise UpstreamDown("the store is away")

        stage.hub._begin = down
        for _ in range(5):
            with pytest.raises(UpstreamDown):
                await stage.join("a")
        stage.hub._begin = real
        await stage.join("a")
        assert len(stage.hub._listeners) == 1

    run(work)


def test_a_newcomer_gets_a_snapshot_of_what_they_asked_for(run):
    async def work(stage):
        _, [(at, name, empty)] = await stage.join()
        assert (name, empty["prices"], empty["lastSlot"], at) == ("snapshot", [], None, "0.0.0.")
        assert set(empty) == {"asOf", "chainId", "lastSlot", "prices"}
        stage.hub._cursor = None
        await stage.record(SLOT, AAPL=200, MSFT=30)
        await stage.act(1)
        stage.hub._prices.latest["AAPL"] = priced("AAPL", "201")
        _, [(at, name, shown)] = await stage.join("b")
        assert (name, shown["chainId"], Cursor.parse(at).round) == ("snapshot", 4663, (SLOT, 999))
        assert shown["prices"] == [
            {"symbol": "AAPL", "price": 200, "live": {"symbol": "AAPL", "price": "201"}},
            {"symbol": "MSFT", "price": 30, "live": None},
        ]
        assert shown["lastSlot"] == (EPOCH + timedelta(minutes=5 * SLOT)).strftime("%Y-%m-%dT%H:%M:%SZ")
        _, [(_, _, chosen)] = await stage.join("b", symbols=frozenset({"MSFT"}))
        assert [each["symbol"] for each in chosen["prices"]] == ["MSFT"]
        _, [(_, name, none)] = await stage.join("d", symbols=frozenset({"TSLA"}))
        assert (name, none["prices"], none["chainId"]) == ("snapshot", [], 4663)

    run(work)


def test_what_happens_is_told_once_with_a_status_after_each_round(run):
    async def work(stage):
        await stage.record(SLOT, AAPL=200)
        one, _ = await stage.join("a")
        few, _ = await stage.join("b", events=frozenset({"action"}))
        await stage.hub._tell_durable()
        await stage.record(SLOT + 1, doubted=["MSFT"], AAPL=210, MSFT=31)
        await stage.act(1)
        stage.mirror.block = SimpleNamespace(number=9)
        await stage.hub._tell_durable()
        await stage.hub._tell_durable()
        told = read(await one.next())
        assert [name for _, name, _ in told][:2] == ["sample", "candle"]
        assert [name for _, name, _ in told][-2:] == ["status", "action"]
        (status,) = [said for _, name, said in told if name == "status"]
        assert (status["sampled"], status["suspect"], status["blockNumber"]) == (2, ["MSFT"], SLOT + 2)
        assert status["lastSlot"] == told[0][2]["slot"]
        assert set(status) == {"asOf", "lastSlot", "sampled", "suspect", "blockNumber"}
        assert [name for _, name, _ in read(await few.next())] == ["action"]
        stage.mirror.block = SimpleNamespace(number=SLOT * 2)
        await stage.record(SLOT + 2, AAPL=211)
        await stage.hub._tell_durable()
        (status,) = [said for _, name, said in read(await one.next()) if name == "status"]
        assert (status["blockNumber"], status["suspect"]) == (SLOT * 2, [])
        _, [(_, _, shown)] = await stage.join("d")
        assert {each["symbol"]: each["price"] for each in shown["prices"]} == {"AAPL": 211, "MSFT": 31}

    run(work)


def test_a_store_that_is_away_is_waited_out_and_what_happened_meanwhile_is_told(run):
    async def work(stage):
        await stage.record(SLOT, AAPL=200)
        one, _ = await stage.join()
        await stage.record(SLOT + 1, AAPL=201)
        real = stage.store.read

        @asynccontextmanager
        async def away():
            raise UpstreamDown("the store is away")
            yield

        stage.store.read = away
        await stage.hub._tell_durable()
        stage.store.read = real
        await stage.hub._tell_durable()
        assert read(await one.next())[0][2]["samples"][0]["price"] == 201

    run(work)


@pytest.mark.slow
@pytest.mark.parametrize("missed", [1, 5, 13, 40])
def test_who_comes_back_hears_every_sample_they_missed_in_order(run, missed):
    async def work(stage):
        await stage.record(SLOT, AAPL=100)
        _, [(at, _, _)] = await stage.join("a")
        for n in range(1, missed + 1):
            await stage.record(SLOT + n, AAPL=100 + n)
        await stage.act(*range(3))
        stage.hub._cursor = None
        one, past = await stage.join("b", last_id=at)
        prices = [said["samples"][0]["price"] for _, name, said in past if name == "sample"]
        assert prices == [100 + n for n in range(1, missed + 1)]
        assert sum(name == "action" for _, name, _ in past) == 3
        assert not {name for _, name, _ in past} & {"snapshot", "gap"}
        assert one.cursor.is_at_least(stage.hub._here())

    run(work)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("last_id", "reason"),
    [
        ("nonsense", "this is not an id of ours"),
        (f"{SLOT - 289}.999.0.", "you were away for more than a day"),
        (f"{SLOT + 1}.0.0.", "this id is ahead of all that has happened here"),
        (f"{SLOT}.999.9999999999999999.a", "this id is ahead of all that has happened here"),
        (f"{SLOT - 288}.999.0.", None),
        (f"{SLOT}.999.0.", None),
    ],
)
def test_what_cannot_be_told_again_is_a_gap_with_its_reason_and_a_snapshot(run, last_id, reason):
    async def work(stage):
        await stage.record(SLOT, AAPL=100)
        _, past = await stage.join(last_id=last_id)
        gaps = [said["reason"] for _, name, said in past if name == "gap"]
        assert gaps == ([] if reason is None else [reason])
        assert ("snapshot" in {name for _, name, _ in past}) is (reason is not None)

    run(work)


def test_an_id_that_the_store_knows_and_this_process_not_yet_is_no_gap(run):
    async def work(stage):
        await stage.record(SLOT, AAPL=100)
        await stage.join("a")
        await stage.record(SLOT + 1, AAPL=101)
        assert stage.hub._here().round == (SLOT, 999)
        assert await stage.hub._why_not(Cursor((SLOT + 1, 0), (0, ""))) is None

    run(work)


def test_a_sign_of_life_reaches_those_who_are_here_and_ends_those_who_stand_still(run):
    async def work(stage):
        here, _ = await stage.join("a")
        still = await stage.hub.join("b", None, ALL, "1.0.0.")
        stage.hub._beat()
        assert read(await here.next()) == [("0.0.0.", None, "still here")]
        assert not still.is_cut
        stage.hub._beat()
        assert still.is_cut
        assert not here.is_cut

    run(work)


class Steps(MovedClock):
    """Pauses go by at once; after so many the life of the test ends."""

    def __init__(self, most):
        super().__init__()
        self.left = most

    def monotonic(self):
        return self.offset.total_seconds()

    async def sleep(self, seconds):
        self.move(seconds)
        self.left -= 1
        if self.left < 0:
            raise asyncio.CancelledError
        await super().sleep(0)


def test_a_sign_of_life_comes_every_fifteen_seconds_from_when_somebody_came(run):
    async def work(stage):
        stage.hub._deps.clock = clock = Steps(20)
        beats = []
        stage.hub._beat = lambda: beats.append(clock.monotonic())
        with pytest.raises(asyncio.CancelledError):
            await stage.hub._keep_beating()
        assert beats == []
        clock.left = 100
        came = clock.monotonic()
        stage.hub._listeners.add(object())
        with pytest.raises(asyncio.CancelledError):
            await stage.hub._keep_beating()
        assert [round(each - came) for each in beats] == [15, 30, 45]

    run(work)


def test_who_comes_after_everybody_has_left_begins_where_the_store_is_then(run):
    async def work(stage):
        await stage.record(SLOT, AAPL=100)
        one, _ = await stage.join()
        stage.hub._deps.clock = Steps(1)
        with pytest.raises(asyncio.CancelledError):
            await stage.hub._keep_durable()
        assert stage.hub._cursor is not None
        stage.hub.leave(one)
        stage.hub._deps.clock = Steps(1)
        with pytest.raises(asyncio.CancelledError):
            await stage.hub._keep_durable()
        assert stage.hub._cursor is None

    run(work)


def test_more_actions_than_are_told_at_once_are_told_in_turns(run, monkeypatch):
    monkeypatch.setattr(replay, "ACTIONS_MAX", 2)

    async def work(stage):
        _, [(at, _, _)] = await stage.join("a")
        await stage.act(*range(7))
        stage.hub._cursor = None
        _, past = await stage.join("b", last_id=at)
        assert len({said["id"] for _, name, said in past if name == "action"}) == len(past) == 7

    run(work)


def test_the_first_word_says_when_to_come_back(run):
    async def work(stage):
        listener = await stage.hub.join("a", None, ALL, None)
        assert await anext(stage.hub.past(listener, is_resumed=False)) == b"retry: 2000\n\n"

    run(work)


def test_rounds_prices_quotes_and_signs_of_life_are_each_looked_after(run):
    async def work(stage):
        seen = []

        def strand(name, pauses):
            async def tell():
                seen.append(name)
                if seen.count(name) > pauses:
                    raise asyncio.CancelledError

            return tell

        await stage.join()
        stage.hub._tell_durable, stage.hub._tell_prices = strand("durable", 2), strand("prices", 2)
        stage.hub._prices.ask_issuer = strand("quotes", 2)
        keeping = asyncio.ensure_future(stage.hub.keep())
        while min(map(seen.count, ("durable", "prices", "quotes"))) < 3:
            await stage.clock.sleep(0)
        keeping.cancel()
        with pytest.raises(asyncio.CancelledError):
            await keeping

    run(work)


def test_only_the_prices_that_somebody_follows_are_asked_for(run):
    async def work(stage):
        asked = []

        async def moved(symbols):
            asked.append(symbols)
            return [Told("price", {"AAPL": None}, {"symbol": "AAPL", "price": "7"})]

        stage.hub._prices.moved = moved
        stage.hub._prices.latest["AAPL"] = priced("AAPL", "1")
        deaf, _ = await stage.join("a", events=frozenset({"sample"}))
        await stage.hub._tell_prices()
        assert (asked, stage.hub._prices.latest) == ([], {})
        one, _ = await stage.join("b", symbols=frozenset({"AAPL"}), events=frozenset({"price"}))
        two, _ = await stage.join("c", symbols=frozenset({"MSFT"}), events=frozenset({"price"}))
        await stage.hub._tell_prices()
        assert asked == [{"AAPL", "MSFT"}]
        assert read(await one.next()) == [(None, "price", {"symbol": "AAPL", "price": "7"})]
        assert not two._queue
        assert not deaf._queue
        await stage.join("d", events=frozenset({"price"}))
        await stage.hub._tell_prices()
        assert asked[1] is None

    run(work)


def priced(symbol, price):
    return Told("price", {symbol: None}, {"symbol": symbol, "price": price})


def test_who_comes_back_hears_the_prices_that_moved_while_they_were_away(run):
    async def work(stage):
        await stage.record(SLOT, AAPL=1, MSFT=1)
        live = stage.hub._prices.latest
        both, follows = frozenset({"AAPL", "MSFT"}), frozenset({"price", "sample"})
        await stage.join("stays", events=follows)
        leaving, [(last_id, _, _)] = await stage.join("leaves", both, follows)
        stage.hub.leave(leaving)
        live.update(AAPL=priced("AAPL", "7"), MSFT=priced("MSFT", "8"))
        await stage.record(SLOT + 1, AAPL=7, MSFT=8)
        await stage.hub._tell_durable()
        _, [sample, *prices] = await stage.join("leaves", frozenset({"AAPL"}), follows, last_id)
        assert sample[1] == "sample"
        assert prices == [(None, "price", {"symbol": "AAPL", "price": "7"})]
        _, past = await stage.join("other", both, frozenset({"sample"}), last_id)
        assert [name for _, name, _ in past] == ["sample"]

    run(work)


def test_a_newcomer_hears_the_price_of_a_symbol_that_was_never_sampled(run):
    async def work(stage):
        await stage.record(SLOT, AAPL=1)
        stage.hub._prices.latest.update(AAPL=priced("AAPL", "7"), MSFT=priced("MSFT", "8"))
        _, [(_, _, snapshot), *prices] = await stage.join()
        assert [(each["symbol"], each["live"]["price"]) for each in snapshot["prices"]] == [("AAPL", "7")]
        assert prices == [(None, "price", {"symbol": "MSFT", "price": "8"})]

    run(work)


def test_a_process_that_goes_away_says_when_to_come_back(run):
    async def work(stage):
        one, _ = await stage.join()
        assert not stage.hub.is_closed
        stage.hub.close()
        assert await one.next() == GOODBYE == b"retry: 2000\n: going away, come back soon\n\n"
        assert await one.next() == b""
        assert stage.hub.is_closed

    run(work)
