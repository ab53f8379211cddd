"""change24hPct, from the rounds in the store to the answer."""

import asyncio

import pytest

from tickyard.features.history import store as history
from tickyard.features.history.follow import follow_rounds
from tickyard.kernel.clock import WallClock
from tickyard.market.sampling.rounds import Round, slot_number
from tickyard.store.tokens import token_ids
from yards import paperyard
from yards.patience import STUCK_S

DAY = 288
"""Slots."""


def changes(folder, samples):
    """What the stats of these symbols say, each with its samples: (how many slots ago, price in nano-dollars)."""

    async def run():
        async with asyncio.timeout(STUCK_S), paperyard.open_yard(folder) as yard:
            deps, clock = yard.deps, WallClock()
            await _record(deps, samples, slot_number(clock.now()))
            seen = asyncio.Event()
            following = asyncio.create_task(follow_rounds(deps.store, deps.market.samples, clock, seen.set))
            await seen.wait()
            following.cancel()
            single = {}
            for symbol in samples:
                single[symbol] = (await yard.get(f"/v1/stats/{symbol}")).json()["price"]["change24hPct"]
            many = (await yard.get("/v1/stats", symbols=",".join(samples))).json()["stats"]
            assert {item["symbol"]: item["stats"]["price"]["change24hPct"] for item in many} == single
            return single

    return asyncio.run(run())


async def _record(deps, samples, now):
    registry = deps.market.registry
    listed = {symbol: registry.find(symbol) for symbol in samples}
    async with deps.store.begin() as tx:
        ids = await token_ids(tx, [(asset.symbol, asset.address) for asset in listed.values()])
        by_slot = {}
        for symbol, taken in samples.items():
            for ago, price in taken:
                by_slot.setdefault(now - ago, {})[ids[listed[symbol].address]] = price
        at = deps.clock.now()
        rounds = [Round(slot, 1, "0x", prices, 0, at) for slot, prices in sorted(by_slot.items())]
        await history.record_all(tx, rounds, history_start=deps.settings.history_start_at)


@pytest.mark.slow
def test_the_change_over_a_day_is_measured_from_the_older_price_and_keeps_its_sign(tmp_path):
    samples = {
        "AAPL": [(DAY, 200_000_000_000), (0, 250_000_000_000)],
        "TSLA": [(DAY, 400_000_000_000), (0, 300_000_000_000)],
        "GME": [(DAY, 3_000_000_000), (0, 2_999_999_000)],
        "NVDA": [(DAY, 7_000_000_000), (0, 7_000_000_000)],
    }
    assert changes(tmp_path, samples) == {"AAPL": "25.0000", "TSLA": "-25.0000", "GME": "0.0000", "NVDA": "0.0000"}


@pytest.mark.slow
@pytest.mark.parametrize("newest", [0, 2])
def test_the_older_price_may_be_a_quarter_of_an_hour_too_old_and_no_more(tmp_path, newest):
    samples = {
        "AAPL": [(newest + DAY, 10**11), (newest, 2 * 10**11)],
        "TSLA": [(newest + DAY + 3, 10**11), (newest, 2 * 10**11)],
        # The nearest to a day ago counts, not the oldest and not the youngest.
        "GME": [
            (newest + DAY + 2, 10**12),
            (newest + DAY + 1, 10**11),
            (newest + DAY - 1, 10**12),
            (newest, 2 * 10**11),
        ],
        "NVDA": [(newest + DAY + 4, 10**11), (newest, 2 * 10**11)],
        "MSFT": [(newest + DAY - 1, 10**11), (newest, 2 * 10**11)],
    }
    assert changes(tmp_path, samples) == {
        "AAPL": "100.0000",
        "TSLA": "100.0000",
        "GME": "100.0000",
        "NVDA": None,
        "MSFT": None,
    }


@pytest.mark.slow
def test_a_token_that_missed_the_newest_round_is_measured_from_its_own_newest_sample(tmp_path):
    samples = {
        "AAPL": [(DAY, 10**11), (0, 10**11)],
        "TSLA": [(DAY + 5, 10**11), (2, 3 * 10**11)],
        "GME": [(DAY + 6, 10**11), (2, 3 * 10**11)],
        "NVDA": [(DAY + 1, 10**11), (2, 3 * 10**11)],
    }
    assert changes(tmp_path, samples) == {"AAPL": "0.0000", "TSLA": "200.0000", "GME": None, "NVDA": None}


@pytest.mark.slow
def test_a_price_that_stopped_being_sampled_has_no_change(tmp_path):
    samples = {"AAPL": [(DAY + 5, 10**11), (5, 2 * 10**11)], "TSLA": [(0, 10**11)]}
    assert changes(tmp_path, samples) == {"AAPL": None, "TSLA": None}
