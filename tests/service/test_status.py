"""GET /v1/status: how the service is, told also when something is wrong."""

import asyncio
from datetime import datetime

import pytest

from tickyard.features.history import store as history
from tickyard.kernel.clock import WallClock
from tickyard.market.sampling.rounds import Round, slot_number
from tickyard.store.tokens import token_ids
from yards import paperyard
from yards.patience import STUCK_S


async def record(deps, symbol, ago, price, equity=None):
    """One sample, so many slots ago; one that is far from the equity says from which."""
    asset = deps.market.registry.find(symbol)
    async with deps.store.begin() as tx:
        known = (await token_ids(tx, [(asset.symbol, asset.address)]))[asset.address]
        doubted = {} if equity is None else {known: equity}
        slot = slot_number(deps.clock.now()) - ago
        taken = Round(slot, 1, "0x", {known: price}, 0, deps.clock.now(), doubted)
        await history.record_all(tx, [taken], history_start=deps.settings.history_start_at)


def live(folder, scenario):
    async def run():
        async with asyncio.timeout(STUCK_S), paperyard.open_yard(folder) as yard:
            return await scenario(yard)

    return asyncio.run(run())


@pytest.mark.slow
def test_a_status_says_how_old_everything_is_and_what_was_sampled(tmp_path):
    async def scenario(yard):
        for ago in (0, 1, 287, 288):
            await record(yard.deps, "AAPL", ago, 210 * 10**9)
        return (await yard.get("/v1/status")).json()

    told = live(tmp_path, scenario)
    assert told["chainId"] == 4663
    assert told["block"]["number"] > 0
    assert told["block"]["lagSeconds"] in range(60)
    assert {each["name"]: each["ageSeconds"] in range(60) for each in told["upstreams"]} == {
        "issuer": True,
        "node": True,
    }
    assert (WallClock().now() - datetime.fromisoformat(told["lastSlot"])).total_seconds() < 360
    # A day of them ends with the one that is a day old.
    assert (told["slotsPerDay"], told["coverage24h"]) == (288, [{"symbol": "AAPL", "samples": 3}])
    assert told["suspect"] == []


def test_a_sample_far_from_the_equity_is_named_with_both_prices(tmp_path):
    async def scenario(yard):
        await record(yard.deps, "AAPL", 0, 300 * 10**9, equity=210 * 10**9)
        return (await yard.get("/v1/status")).json()

    assert live(tmp_path, scenario)["suspect"] == [{"symbol": "AAPL", "price": "300", "equityTokenUsd": "210"}]


def test_without_a_node_there_is_a_status_that_says_so(tmp_path):
    async def scenario(yard):
        await yard.deps.rpc.head()
        yard.node.mode = "html"
        answer = await yard.get("/v1/status")
        assert answer.status == 200
        return answer.json()

    told = live(tmp_path, scenario)
    assert told["block"] is None
    node = next(each for each in told["upstreams"] if each["name"] == "node")
    assert node["lastOkAt"] is not None, "it was well a moment ago, and null means never"
    assert node["ageSeconds"] in range(60)
    assert (told["lastSlot"], told["coverage24h"]) == (None, [])
