"""The issuer's client and the issuer's stand-in, over a real socket: every quirk, seen from our side."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from random import Random

import msgspec
import pytest

from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.units import Price
from tickyard.sandbox.standins.faults import FaultBoard
from tickyard.sandbox.standins.issuer import QUIET, IssuerStandIn
from tickyard.sandbox.standins.process import open_port
from tickyard.sandbox.world import listing, walk
from tickyard.sources.http import Source
from tickyard.sources.issuer.api import MAX_BYTES, Issuer

START = datetime(2026, 10, 14, 15, 30, tzinfo=UTC)


class SetClock(WallClock):
    """Wall time for waiting, a chosen moment for `now`."""

    def __init__(self, moment=START):
        self.moment = moment

    def now(self):
        return self.moment


@asynccontextmanager
async def issuer_at(port, clock, **options):
    settings = {"max_bytes": MAX_BYTES} | options
    source = Source("issuer", f"http://127.0.0.1:{port}/issuer", clock=clock, rng=Random(1), **settings)
    await source.start()
    try:
        yield Issuer(source)
    finally:
        await source.close()


def with_issuer(use: Callable[[Issuer, FaultBoard, SetClock], Awaitable], **options):
    async def run():
        board, clock = FaultBoard(), SetClock()
        runner, port = await open_port([IssuerStandIn(board, clock, listing.load(), began=START)])
        try:
            async with issuer_at(port, clock, **options) as issuer:
                return await use(issuer, board, clock)
        finally:
            await runner.cleanup()

    return asyncio.run(run())


def listed(symbol):
    return listing.by_symbol()[symbol]


def test_every_listed_asset_comes_through_the_border():
    async def use(issuer, _board, _clock):
        return await issuer.assets()

    found = with_issuer(use)
    assert found.broken == ()
    assert [asset.symbol for asset in found.assets] == [each.symbol for each in listing.load()]
    by_symbol = {asset.symbol: asset for asset in found.assets}
    apple = by_symbol["AAPL"]
    assert (apple.name, apple.isin, apple.multiplier_e18) == ("Apple", "US0378331005", 1_000566080061092436)
    assert apple.address == "0xaf3d76f1834a1d425780943c99ea8a608f8a93f9"
    assert apple.id == "0x" + listed("AAPL").uid.hex()
    assert apple.logo_url.startswith("https://")
    assert "market" in msgspec.json.decode(apple.trading_capabilities)
    assert [asset.symbol for asset in found.assets if asset.address is None] == ["SMR"]
    assert by_symbol["WBD"].status == "ASSET_STATUS_INACTIVE"


def test_a_pending_multiplier_is_announced_and_then_applied():
    async def use(issuer, _board, clock):
        before = await issuer.assets()
        clock.moment += timedelta(seconds=listing.PENDING_AFTER_S)
        return before, await issuer.assets()

    before, after = ({asset.symbol: asset for asset in found.assets}["XOM"] for found in with_issuer(use))
    xom = listed("XOM")
    assert (before.multiplier_e18, before.pending_multiplier_e18) == (xom.multiplier_e18, xom.pending)
    assert before.pending_effective_at == START + timedelta(seconds=listing.PENDING_AFTER_S)
    assert (after.multiplier_e18, after.pending_multiplier_e18) == (xom.pending, None)
    assert after.pending_effective_at is None


def test_quotes_of_all_leave_range_and_volume_unknown():
    async def use(issuer, _board, _clock):
        return await issuer.quotes()

    quotes = with_issuer(use)
    assert list(quotes) == [each.symbol for each in listing.load()]
    bid_e6, ask_e6 = walk.quote_e6(listed("NVDA"), START)
    nvda = quotes["NVDA"]
    assert nvda.bid.equals(Price(bid_e6, 10**6))
    assert nvda.ask.equals(Price(ask_e6, 10**6))
    assert nvda.mid.equals(Price(bid_e6 + ask_e6, 2 * 10**6))
    assert (nvda.daily_high, nvda.daily_low, nvda.daily_volume) == (None, None, None)
    assert [symbol for symbol, quote in quotes.items() if quote.is_halted] == ["GME"]
    assert [symbol for symbol, quote in quotes.items() if not quote.is_usable] == [QUIET]
    assert quotes[QUIET].bid is None
    assert quotes[QUIET].ask is not None


def test_the_quote_of_one_symbol_has_its_day():
    async def use(issuer, _board, _clock):
        return await issuer.quote("NVDA")

    nvda = with_issuer(use)
    assert Price.parse(nvda.daily_low) <= nvda.bid
    assert nvda.ask <= Price.parse(nvda.daily_high)
    assert int(nvda.daily_volume) > 0
    assert nvda.currency == "USD"
    assert nvda.generated_at == START


def test_unknown_and_lower_case_symbols_are_not_known():
    async def use(issuer, _board, _clock):
        unknown = [await issuer.quote(symbol) for symbol in ("ZZZZ", "nvda", "..", "A/B", "", "A" * 17)]
        raw = await issuer.source.get("prices/nvda")
        return unknown, raw

    unknown, raw = with_issuer(use)
    assert unknown == [None] * 6
    assert raw.status == 404
    assert msgspec.json.decode(raw.body) == {
        "code": 5,
        "message": 'no whitelisted asset with symbol "nvda"',
        "details": [],
    }


def test_the_raw_shapes_keep_the_issuers_quirks():
    async def use(issuer, _board, _clock):
        bodies = [await issuer.source.get(path) for path in ("assets", "prices", "prices/AAPL", "price-deviations")]
        return [msgspec.json.decode(fetched.body) for fetched in bodies]

    assets, prices, price, deviations = with_issuer(use)
    apple = next(asset for asset in assets["assets"] if asset["tokenSymbol"] == "AAPL")
    assert apple["tokenName"] == "Apple • Robinhood Token"
    assert apple["pendingMultiplier"] == ""
    assert "pendingMultiplierEffectiveTime" not in apple
    assert apple["currentMultiplier"] == "1.000566080061092436"
    bulk = next(quote for quote in prices["quotes"] if quote["tokenSymbol"] == "AAPL")
    assert (bulk["dailyHigh"], bulk["dailyLow"], bulk["dailyTradingVolume"]) == ("0", "0", "0")
    (one,) = price["quotes"]
    assert one["generatedAt"] == "2026-10-14T15:30:00.000000303Z"
    bid_e6, _ = walk.quote_e6(listed("AAPL"), START)
    token_bid = bid_e6 * 1_000566080061092436 // 10**6
    assert one["tokenBid"] == f"{token_bid // 10**18}.{token_bid % 10**18:018d}"
    assert deviations["rows"][0]["symbol"] not in listing.by_symbol()


def test_corporate_actions_roll_out_of_the_window():
    async def use(issuer, _board, clock):
        now = await issuer.corporate_actions()
        clock.moment += timedelta(days=60)
        return now, await issuer.corporate_actions()

    now, later = with_issuer(use)
    assert {action.type for action in now} >= {"CORPORATE_ACTION_TYPE_CASH_DIVIDEND"}
    assert {action.status.removeprefix("CORPORATE_ACTION_STATUS_") for action in now} == {
        "COMPLETED",
        "IN_PROGRESS",
    }
    dated = {(action.symbol, action.process_date) for action in now if action.process_date}
    assert dated
    assert not dated & {(action.symbol, action.process_date) for action in later}
    assert all(START.date() - timedelta(days=30) <= day for _, day in dated)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["down", "slow", "throttle"])
def test_a_bad_day_of_the_issuer_is_upstream_down_and_then_over(mode):
    async def use(issuer, board, _clock):
        board.set("issuer", mode)
        with pytest.raises(UpstreamDown, match="the issuer's API did not answer"):
            await issuer.quotes()
        board.set("issuer", "ok")
        return await issuer.quotes()

    assert len(with_issuer(use, budget_s=1.2, try_s=0.5)) == len(listing.load())


def test_each_kind_of_garbage_is_refused_or_unusable():
    async def use(issuer, board, _clock):
        board.set("issuer", "garbage")
        negative = await issuer.quotes()
        kinds = []
        for _ in range(4):
            with pytest.raises(UpstreamDown):
                await issuer.quotes()
            kinds.append(dict(issuer.source.counts))
        return negative, kinds[-1]

    negative, counts = with_issuer(use, tries=1)
    assert not any(quote.is_usable for quote in negative.values())
    assert counts == {"ok": 1, "throttled": 1, "malformed": 2, "oversize": 1}


def test_a_listing_full_of_garbage_is_refused_as_a_whole():
    async def use(issuer, board, _clock):
        board.set("issuer", "garbage")
        for _ in range(5):
            with pytest.raises(UpstreamDown):
                await issuer.assets()

    with_issuer(use, tries=1)
