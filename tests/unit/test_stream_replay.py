"""What the store tells again: every round with its samples, doubts and closed candles, every change of an action, from
any place to any other, against a list that this file keeps for itself."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from proof import SEED
from tickyard.features.actions.archive import archive
from tickyard.features.history.store import record
from tickyard.features.history.stream import replay
from tickyard.features.history.stream.cursor import Cursor
from tickyard.features.history.stream.replay import Rounds, actions_between, latest_prices, position
from tickyard.kernel.clock import WallClock
from tickyard.kernel.ids import Address, Symbol
from tickyard.market.sampling.rounds import Round
from tickyard.sources.issuer.api import IssuerAction
from tickyard.store.opening import open_store
from tickyard.store.tokens import token_ids
from yards.schema import lay

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SYMBOLS = ("AAPL", "MSFT", "TSLA")
MINUTES = {"5m": 5, "15m": 15, "1h": 60, "4h": 240, "1d": 1440}
NOON = datetime(2026, 11, 3, 12, tzinfo=UTC)


def moment(slot):
    return (EPOCH + timedelta(minutes=5 * slot)).isoformat().replace("+00:00", "Z")


def told(prices, slots, slot):
    """What the round of `slot` says, as (name, fields), from all prices by slot and symbol."""
    now = prices[slot]
    yield (
        "sample",
        {
            "slot": moment(slot),
            "blockNumber": 7_000_000 + slot,
            "samples": [
                {"symbol": each, "price": now[each][0], "suspect": now[each][1]} for each in SYMBOLS if each in now
            ],
        },
    )
    earlier = [each for each in slots if each < slot]
    if not earlier:
        return
    for name, minutes in MINUTES.items():
        length = minutes // 5
        bucket = earlier[-1] // length
        if bucket == slot // length:
            continue
        candles = []
        for symbol in SYMBOLS:
            its = [prices[each][symbol][0] for each in slots if each // length == bucket and symbol in prices[each]]
            if its:
                figures = {"open": its[0], "high": max(its), "low": min(its), "close": its[-1], "ticks": len(its)}
                candles.append({"symbol": symbol, **figures})
        yield "candle", {"interval": name, "t": moment(bucket * length), "candles": candles}


def read(event):
    name, data = event.data(None).decode().strip().split("\n")
    return name.removeprefix("event: "), json.loads(data.removeprefix("data: "))


async def fill(store, luck):
    """Rounds with gaps, of some of the symbols each, over two days; what was written."""
    slot, prices = 5_900_000 // 288 * 288 - 30, {}
    async with store.begin() as tx:
        ids = await token_ids(tx, [(Symbol(each), Address(f"0x{n:040x}")) for n, each in enumerate(SYMBOLS, 1)])
        for _ in range(45):
            slot += luck.choice([1, 1, 1, 1, 2, 3, 11, 12, 50])
            its = {each: (luck.randint(1, 400) / 4, luck.random() < 0.2) for each in SYMBOLS if luck.random() < 0.9}
            prices[slot] = its or {"AAPL": (1.0, False)}
            by_id = {ids[Address(f"0x{SYMBOLS.index(each) + 1:040x}")]: each for each in prices[slot]}
            samples = {key: int(prices[slot][each][0] * 10**9) for key, each in by_id.items()}
            doubted = {key: 5 for key, each in by_id.items() if prices[slot][each][1]}
            at = EPOCH + timedelta(minutes=5 * slot)
            taken = Round(slot, 7_000_000 + slot, "0x", samples, 0, at, doubted)
            await record(tx, taken, history_start=EPOCH)
    return prices


@pytest.fixture
def run(tmp_path):
    def run(work):
        async def go():
            store = open_store(tmp_path / "tickyard.db", WallClock(), Random(1))
            try:
                await lay(store)
                return await work(store)
            finally:
                await store.close()

        return asyncio.run(go())

    return run


@pytest.mark.slow
def test_every_event_of_every_round_is_told_between_any_two_places(run):
    luck = Random(f"{SEED} rounds")

    async def work(store):
        prices = await fill(store, luck)
        slots = sorted(prices)
        whole = [
            ((slot, list(MINUTES).index(event["interval"]) + 1 if name == "candle" else 0), name, event)
            for slot in slots
            for name, event in told(prices, slots, slot)
        ]
        async with store.read() as tx:
            rounds = Rounds()
            everything = await rounds.between(tx, (0, 0), (slots[-1], 999))
            assert [(each.round, *read(each)) for each in everything] == whole
            places = [(0, 0), *(place for place, _, _ in whole)]
            for _ in range(25):
                after, upto = sorted(luck.sample(places, 2))
                found = await rounds.between(tx, after, upto)
                assert [each.round for each in found] == [place for place, _, _ in whole if after < place <= upto]
            assert len(rounds._kept) <= 12
            newest = slots[-1]
            assert (await position(tx)).round == (newest, 999)
            for slot in (newest, slots[0]):
                shown = json.loads(
                    json.dumps(await latest_prices(tx, slot), default=lambda raw: json.loads(bytes(raw)))
                )
                assert shown == {each: {"symbol": each, "price": its[0]} for each, its in sorted(prices[slot].items())}

    run(work)


def test_a_round_that_is_another_one_now_is_read_again_and_the_newest_are_kept(run):
    async def work(store):
        prices = await fill(store, Random(3))
        slots = sorted(prices)
        rounds = Rounds()
        async with store.read() as tx:
            await rounds.between(tx, (0, 0), (slots[-1], 999))
            assert sorted(rounds._kept) == slots[-12:]
            kept = rounds._kept[slots[-1]][1]
            assert await rounds._of(tx, slots[-1], 7_000_000 + slots[-1]) is kept
            assert await rounds._of(tx, slots[-1], 1) is not kept

    run(work)


def test_changes_of_actions_are_told_between_any_two_places(run, monkeypatch):
    luck = Random(f"{SEED} actions")

    def action(number, status):
        day = None if number % 3 else NOON.date()
        return IssuerAction(f"asset{number:02}", SYMBOLS[number % 3], "split", status, day, {"ratio": str(number)})

    async def work(store):
        async with store.begin() as tx:
            assert (await position(tx)) == Cursor((0, 0), (0, ""))
            for hour, status in enumerate(["ANNOUNCED", "CONFIRMED", "PAID"]):
                numbers = luck.sample(range(12), 8)
                await archive(tx, [action(number, status) for number in numbers], NOON + timedelta(hours=hour))
        async with store.read() as tx:
            last = await position(tx)
            whole = await actions_between(tx, (0, ""), last.action)
            places = [each.action for each in whole]
            assert len(places) == 24
            assert places == sorted(set(places))
            assert places[-1] == last.action
            for place, event in zip(places, whole, strict=True):
                name, said = read(event)
                number = int(said["details"]["ratio"])
                hour = (place[0] - int(NOON.timestamp()) * 10**6) // 3_600_000_000
                assert (name, list(event.items), said["id"], said["symbol"]) == (
                    "action", [SYMBOLS[number % 3]], place[1], SYMBOLS[number % 3],
                )  # fmt: skip
                assert said["status"] == ("ANNOUNCED", "CONFIRMED", "PAID")[hour]
                assert said["processDate"] == (None if number % 3 else "2026-11-03")
                assert (said["type"], said["details"]) == ("split", {"ratio": str(number)})
                assert place[0] == int((NOON + timedelta(hours=hour)).timestamp()) * 10**6
                assert said["updatedAt"] == f"2026-11-03T{12 + hour}:00:00Z"
            for _ in range(60):
                after, upto = luck.choice([(0, ""), *places]), luck.choice(places)
                found = [each.action for each in await actions_between(tx, after, upto)]
                assert found == [place for place in places if after < place <= upto]
            monkeypatch.setattr(replay, "ACTIONS_MAX", 5)
            assert [each.action for each in await actions_between(tx, (0, ""), last.action)] == places[:5]

    run(work)
