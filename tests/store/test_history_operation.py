"""GET /v1/history/{symbol}, over a real store on both databases."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import msgspec
import pytest

from tickyard.doors.http.binding import Binder
from tickyard.features.history import store as history
from tickyard.features.history.operations import CSV_HEADER, SOURCE, History, HistoryAsk, get_history
from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import BadRequest, NotFound
from tickyard.kernel.ids import Address, Symbol
from tickyard.kernel.operation import Operation
from tickyard.kernel.wire import encode
from tickyard.market.listing.registry import Registry
from tickyard.market.sampling.rounds import Round, slot_number
from tickyard.store.identities import keep_listing
from tickyard.store.opening import open_store
from tickyard.store.tokens import token_ids
from yards.schema import lay

START = datetime(2026, 9, 16, tzinfo=UTC)
NOW = datetime(2026, 10, 3, 14, 7, 30, tzinfo=UTC)
SLOT = slot_number(NOW)
ADDRESS = Address("0x" + "a" * 40)
ROW = Operation(
    name="get_history",
    method="GET",
    path="/v1/history/{symbol}",
    run=get_history,
    answer=History,
    tag="x",
    ask=HistoryAsk,
)


class FixedClock(WallClock):
    def now(self):
        return NOW


def listed(symbol, address):
    return {
        "id": symbol,
        "symbol": symbol,
        "name": symbol,
        "address": address,
        "multiplier_e18": 10**18,
        "pending_multiplier_e18": None,
        "pending_effective_at": None,
        "status": "ASSET_STATUS_ACTIVE",
        "logo_url": "",
        "isin": "US0000000000",
        "trading_capabilities": None,
    }


async def no_schedules(_tokens):
    return {}


def run(where, tmp_path, rounds, work, synthetic_before=None):
    """The operation over these rounds (slot -> price of the one sampled token)."""

    async def go():
        clock = FixedClock()
        assets = [listed("AAPL", ADDRESS), listed("NEW", "0x" + "b" * 40), listed("BARE", None)]
        store = open_store(where, clock)
        registry = Registry(None, no_schedules, clock, store)
        try:
            await lay(store)
            async with store.begin() as tx:
                await keep_listing(tx, json.dumps(assets), NOW)
            await registry.follow_store()
            async with store.begin() as tx:
                ids = await token_ids(tx, [(Symbol("AAPL"), ADDRESS)])
                taken = [Round(slot, 1, "0x", {ids[ADDRESS]: price}, 0, NOW) for slot, price in rounds.items()]
                await history.record_all(tx, taken, history_start=START)
                if synthetic_before is not None:
                    await history.mark_synthetic(tx, synthetic_before)
            deps = SimpleNamespace(clock=clock, market=SimpleNamespace(registry=registry), store=store)

            async def ask(query="", symbol="AAPL"):
                bound = Binder(ROW).from_url({"symbol": symbol}, query.encode())
                return await get_history(deps, bound)

            return await work(ask)
        finally:
            await store.close()

    return asyncio.run(go())


def test_the_answer_has_exactly_the_specified_fields(where, tmp_path):
    async def work(ask):
        kept = await ask("interval=15m")
        assert json.loads(encode(kept.answer)) == {
            "symbol": "AAPL",
            "interval": "15m",
            "source": "dex-v3 TOKEN/USDG deepest pool, sampled every 5 minutes",
            "historySince": "2026-10-03T14:00:00Z",
            "candles": [
                {"t": "2026-10-03T14:00:00Z", "open": 0.3, "high": 371.615, "low": 0.3, "close": 371.615, "ticks": 2}
            ],
        }

    run(where, tmp_path, {SLOT - 1: 300_000_000, SLOT: 371_615_000_000}, work)


def test_an_hour_and_a_hundred_candles_are_the_default(where, tmp_path):
    async def work(ask):
        answer = (await ask()).answer
        assert answer.interval == "1h"
        assert len(answer.candles) == 100
        assert [candle.t for candle in answer.candles] == sorted(candle.t for candle in answer.candles)
        assert answer.candles[-1].t == NOW.replace(minute=0, second=0)
        assert len((await ask("limit=300")).answer.candles) == 101

    run(where, tmp_path, {SLOT - 12 * hour: 10**9 for hour in range(101)}, work)


@pytest.mark.parametrize("interval", ["5m", "15m", "1h", "4h", "1d"])
def test_paging_back_with_before_visits_every_candle_once(where, tmp_path, interval):
    async def work(ask):
        everything = (await ask(f"interval={interval}&limit=300")).answer.candles
        pages, before = [], ""
        while page := (await ask(f"interval={interval}&limit=7{before}")).answer.candles:
            pages = page + pages
            before = f"&before={page[0].t.strftime('%Y-%m-%dT%H:%M:%SZ')}"
        assert pages == everything

    run(where, tmp_path, {SLOT - n * n: 10**9 + n for n in range(60) if n % 7}, work)


def test_before_takes_any_iso_time_and_nothing_else(where, tmp_path):
    async def work(ask):
        async def count(before):
            return len((await ask(f"interval=5m&before={before}")).answer.candles)

        assert await count("2026-10-03T14:05:00Z") == 1
        assert await count("2026-10-03T14:05:00.001Z") == 2
        assert await count("2026-10-03T16:05:00%2B02:00") == 1
        assert await count("2026-10-03T16:05:00+02:00") == 1
        assert await count("2026-10-03T14:05:00") == 1
        assert await count("2026-10-03") == 0
        assert await count("0001-01-01") == 0
        assert await count("9999-12-31T23:59:59Z") == 2
        for wrong in ("", "yesterday", "1759500000", "2026-13-01", "9999-12-31T23:59:59-23:00", "x" * 65, "%00"):
            with pytest.raises(BadRequest, match="before must be"):
                await ask(f"before={wrong}")

    run(where, tmp_path, {SLOT - 1: 10**9, SLOT: 10**9}, work)


@pytest.mark.parametrize(
    "query",
    [
        "interval=2h",
        "interval=1H",
        "interval=",
        "limit=0",
        "limit=301",
        "limit=1.5",
        "limit=",
        "limit=ten",
        "format=xml",
    ],
)
def test_what_is_out_of_shape_is_refused(query):
    name = query.partition("=")[0]
    with pytest.raises(BadRequest, match=f"{name} must be"):
        Binder(ROW).from_url({"symbol": "AAPL"}, query.encode())


def test_a_token_never_sampled_or_without_address_has_no_candles(where, tmp_path):
    async def work(ask):
        for symbol in ("NEW", "BARE"):
            answer = (await ask(symbol=symbol)).answer
            assert (answer.history_since, answer.candles, answer.source) == (None, [], SOURCE)
        with pytest.raises(NotFound):
            await ask(symbol="NONE")

    run(where, tmp_path, {SLOT: 10**9}, work)


def test_an_answer_is_kept_until_the_next_round_and_shortly_while_one_is_overdue(where, tmp_path):
    async def work(ask):
        return (await ask()).seconds

    # 14:07:30, the slot ends at 14:10:00.
    assert run(where, tmp_path, {SLOT: 10**9}, work) == 153


def test_an_overdue_round_keeps_answers_short(where, tmp_path):
    async def work(ask):
        assert (await ask()).seconds == 5
        assert (await ask(symbol="NEW")).seconds == 5

    run(where, tmp_path, {SLOT - 1: 10**9}, work)


def test_demo_history_says_where_it_ends(where, tmp_path):
    async def work(ask):
        assert (await ask()).answer.source == SOURCE + ", synthetic before 2026-10-03T14:05:00Z"

    run(where, tmp_path, {SLOT: 10**9}, work, synthetic_before=SLOT)


def test_csv_has_a_line_per_candle_and_exact_prices(where, tmp_path):
    async def work(ask):
        answer = (await ask("interval=5m&format=csv")).answer
        assert answer.content_type == "text/csv; charset=utf-8"
        assert answer.text.split("\r\n") == [
            CSV_HEADER,
            "2026-10-03T14:00:00Z,0.000000001,0.000000001,0.000000001,0.000000001,1",
            "2026-10-03T14:05:00Z,999999999.123456789,999999999.123456789,999999999.123456789,999999999.123456789,1",
            "",
        ]

    run(where, tmp_path, {SLOT - 1: 1, SLOT: 999_999_999_123_456_789}, work)


def test_prices_on_the_wire_are_the_nearest_doubles(where, tmp_path):
    prices = [1, 3, 10**9 // 3, 371_615_000_001, 999_999_999_999_999_999, 10**18]

    async def work(ask):
        shown = msgspec.json.decode(encode((await ask("interval=5m")).answer))["candles"]
        assert [candle["close"] for candle in shown] == [float(f"{p // 10**9}.{p % 10**9:09d}") for p in prices]

    run(where, tmp_path, {SLOT - len(prices) + n: price for n, price in enumerate(prices, start=1)}, work)


def test_history_since_is_the_first_sample_whatever_is_asked(where, tmp_path):
    async def work(ask):
        answer = (await ask("limit=1&before=2026-09-01T00:00:00Z")).answer
        first = NOW.replace(minute=5, second=0) - timedelta(days=2)
        assert answer.history_since == first.strftime("%Y-%m-%dT%H:%M:%SZ")
        assert answer.candles == []

    run(where, tmp_path, {SLOT - 576: 10**9, SLOT: 10**9}, work)
