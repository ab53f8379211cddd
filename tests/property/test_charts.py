"""A pool's ticks are remembered, and asked for again: whatever became of the pool since, an answer holds all of them for
as far as was asked, and costs one trip where nothing has changed. The pool that is read stands in this file."""

import asyncio
from datetime import UTC, datetime
from random import Random
from types import SimpleNamespace

import eth_abi
import pytest

from proof import SEED
from tickyard.chain.v3.ticks import sqrt_ratio_at
from tickyard.config.pinned import MAINNET
from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.market.swaps.charts import FAR, NEAR, TENTH, ChartReader, Crowded
from tickyard.market.swaps.pools import Pool, PoolBook

SIZE = 10**15


class ReadPool:
    """Positions with edges; answers what a pool would, in the words of its contract."""

    def __init__(self, spacing, tick):
        self.pool = Pool(Address("0x" + "aa" * 20), Address("0x" + "bb" * 20), 3000, token_is_0=True, spacing=spacing)
        self.tick, self.positions, self.trips = tick, [], 0

    def add(self, lower, upper):
        spacing = self.pool.spacing
        self.positions.append((lower // spacing * spacing, upper // spacing * spacing + spacing))

    def edges(self):
        gross, net = {}, {}
        for lower, upper in self.positions:
            for tick, sign in ((lower, 1), (upper, -1)):
                gross[tick] = gross.get(tick, 0) + SIZE
                net[tick] = net.get(tick, 0) + sign * SIZE
        return {tick: (gross[tick], net[tick]) for tick in sorted(gross)}

    def answer(self, call):
        selector, words = call.data[:4].hex(), call.data[4:]
        if selector == "3850c7bd":
            root = sqrt_ratio_at(self.tick) + 1
            kinds = ["uint160", "int24", "uint16", "uint16", "uint16", "uint8", "bool"]
            return eth_abi.encode(kinds, [root, self.tick, 0, 1, 1, 0, True])
        if selector == "1a686502":
            inside = sum(SIZE for lower, upper in self.positions if lower <= self.tick < upper)
            return eth_abi.encode(["uint128"], [inside])
        if selector in ("70a08231", "f3058399", "46141319"):
            return eth_abi.encode(["uint256"], [5])
        if selector == "5339c296":
            (word,) = eth_abi.decode(["int16"], words)
            places = [tick // self.pool.spacing for tick in self.edges()]
            return eth_abi.encode(["uint256"], [sum(1 << (place % 256) for place in places if place // 256 == word)])
        assert selector == "f30dba93"
        (tick,) = eth_abi.decode(["int24"], words)
        gross, net = self.edges().get(tick, (0, 0))
        kinds = ["uint128", "int128", "uint256", "uint256", "int56", "uint160", "uint32", "bool"]
        return eth_abi.encode(kinds, [gross, net, 0, 0, 0, 0, 0, gross > 0])

    async def read(self, calls, *, block, deadline):
        self.trips += 1
        return SimpleNamespace(results=[self.answer(call) for call in calls], at=datetime(2026, 11, 14, tzinfo=UTC))

    async def newest(self, *, deadline=None):
        return "0x" + "01" * 32


def reader_of(model):
    return ChartReader(model, PoolBook(model, MAINNET, [3000], WallClock()), MAINNET)


@pytest.mark.slow
@pytest.mark.parametrize("reach", [NEAR, TENTH, FAR])
@pytest.mark.parametrize("spacing", [1, 10, 60, 200])
def test_an_answer_holds_every_tick_for_as_far_as_was_asked(reach, spacing):
    luck = Random(f"{SEED} {reach} {spacing}")
    model = ReadPool(spacing, luck.randint(-300_000, 300_000))
    charts = reader_of(model)

    async def work():
        for _ in range(40):
            match luck.randrange(4):
                case 0:
                    # A little, and just as far as the last span reaches on one side.
                    model.tick += luck.choice([-1, 1]) * luck.choice([3, 159, 160, 161, reach // 8, reach // 8 + 1])
                case 1:
                    model.tick += luck.randint(-reach, reach)
                case 2:
                    around = model.tick + luck.randint(-2 * reach, 2 * reach)
                    model.add(around, around + luck.randint(0, reach))
                case 3 if model.positions:
                    model.positions.pop(luck.randrange(len(model.positions)))
            (chart,) = (await charts.read([model.pool], reach=reach)).charts
            assert model.tick - reach in chart.span
            assert model.tick + reach in chart.span
            there = model.edges()
            wanted = {tick: each for tick, each in there.items() if tick in chart.span}
            assert {tick: tuple(each) for tick, each in chart.ticks.items()} == wanted
            assert chart.spot.curve.ticks == tuple((tick, net) for tick, (_, net) in wanted.items())
            assert (chart.usdg, chart.tokens, chart.spot.curve.tick) == (5, 5, model.tick)
            model.trips = 0
            await charts.read([model.pool], reach=reach)
            assert model.trips == 1, "nothing has changed"

    asyncio.run(work())


@pytest.mark.parametrize("side", [-1, 1])
def test_a_price_that_stays_inside_what_was_looked_at_costs_no_further_trip(side):
    model = ReadPool(10, 1_000)
    model.add(-5_000, 5_000)
    charts = reader_of(model)

    async def trips(tick):
        model.tick, model.trips = tick, 0
        (chart,) = (await charts.read([model.pool], reach=NEAR)).charts
        assert {tick - NEAR, tick + NEAR} <= set(chart.span)
        return model.trips

    async def work():
        assert await trips(1_000) > 1
        assert await trips(1_000 + side * 160) == 1
        assert await trips(1_000 + side * 161) > 1
        assert await trips(1_000 + side * 2) == 1

    asyncio.run(work())


@pytest.mark.parametrize(("most", "is_read"), [(4, True), (3, False)])
def test_a_pool_with_more_ticks_than_are_worth_reading_is_named(most, is_read):
    model = ReadPool(1, 0)
    model.add(-50, 50)
    model.add(-20, 20)
    charts = reader_of(model)

    async def work():
        ((chart,), _, _) = await charts.read_each([model.pool], reach=NEAR, ticks_max=most)
        if is_read:
            assert len(chart.ticks) == 4
        else:
            assert isinstance(chart, Crowded)
            assert chart.pool == model.pool

    asyncio.run(work())


def test_ticks_that_are_others_at_every_look_are_a_contradiction():
    model = ReadPool(10, 0)
    charts = reader_of(model)
    answer = model.answer

    def moving(call):
        model.tick += 1_000
        return answer(call)

    model.answer = moving
    with pytest.raises(UpstreamDown, match="contradicts"):
        asyncio.run(charts.read([model.pool], reach=NEAR))
    assert model.trips == 5
