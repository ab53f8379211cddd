"""From memory or from the chain: which way the market goes for an answer, at which block, and with what in it."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from eth_abi import encode

from tickyard.chain.multicall import Call
from tickyard.chain.rpc.client import Head
from tickyard.chain.v3.math import PoolState
from tickyard.chain.v3.ticks import tick_at
from tickyard.config.pinned import MAINNET
from tickyard.kernel.errors import NoLiquidity, UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.kernel.units import TokenAmount, UsdgAmount
from tickyard.market.market import Market, NamedBlock
from tickyard.market.swaps.charts import FAR, Chart, ChartReading, Crowded
from tickyard.market.swaps.fills import Trade
from tickyard.market.swaps.pools import Pool, PoolSpot

TOKEN = Address("0x" + "1" * 40)
ROOT, UNITS = 2**88, 2**16
POOL = Pool(Address("0x" + "a" * 40), TOKEN, 500, token_is_0=True, spacing=10)
OTHER = replace(POOL, address=Address("0x" + "b" * 40), fee=3000)
HEAD = Head(9, "0x" + "11" * 32, 1_800_000_000)
AT = datetime.fromtimestamp(HEAD.timestamp, UTC)
EXTRA = Call(TOKEN, b"\7")
TRADE = replace(Trade.parse("buy", "usd", "1"), fixed=UsdgAmount(10**8))


def chart(pool, liquidity=10**24):
    curve = PoolState(ROOT, tick_at(ROOT), liquidity, pool.fee, 10, ())
    return Chart(PoolSpot(pool, ROOT, liquidity, curve), range(0), {}, UsdgAmount(10**40), TokenAmount(10**40))


class World:
    """The book, the reader of the chain, the reader of charts and, if asked for, the mirror: all in one."""

    def __init__(self, pools=(POOL, OTHER), *, live=False):
        self.its = pools
        self.roots = dict.fromkeys(pools, ROOT)
        self.served = None
        self.is_gone, self.at, self.got = False, AT, {POOL: 10**8 * UNITS - 9, OTHER: 10**8 * UNITS - 5}
        self.log, self.stuck, self.has_moved, self.crowded = [], [], False, None
        self.market = Market(None, None, self, self, self, MAINNET, self if live else None)

    def of(self, token):
        return self.its

    def last_sqrt_price(self, pool):
        return self.roots.get(pool)

    def read_state(self, pool, slot0, liquidity):
        return PoolSpot(pool, ROOT, 10**24)

    def deadline(self):
        return 77.0

    async def head(self, *, deadline=None):
        return HEAD

    async def read(self, what, *, reach=None, block="latest", extra=(), max_calls_per_chunk=None, deadline=None):
        if what and isinstance(what[0], Pool):
            self.log.append(("charts", block, reach, deadline))
            if self.crowded in what and reach == FAR:
                raise Crowded(self.crowded)
            words = [None if index in self.stuck else b"extra" for index, _ in enumerate(extra)]
            return ChartReading([chart(pool) for pool in what], words, self.at)
        self.log.append(("calls", block, max_calls_per_chunk, deadline))
        if self.is_gone and block != "latest":
            raise UpstreamDown("no such block")
        return SimpleNamespace(results=self._results(what), at=self.at)

    async def read_unmoved(self, calls, block, *, deadline=None):
        self.log.append(("unmoved", block, None, deadline))
        if self.is_gone:
            raise UpstreamDown("no such block")
        return None if self.has_moved else self._results(calls)

    async def read_form(self, form, values, *, deadline=None):
        self.log.append(("form", "latest", None, deadline))
        return SimpleNamespace(results=self._results(form.calls(*values)[1:]), at=self.at)

    def _results(self, calls):
        results = []
        for to, data in calls:
            if to == MAINNET.quoter:
                pool = next(each for each in self.its if each.fee == int.from_bytes(data[100:132], "big"))
                types = ["uint256", "uint160", "uint32", "uint256"]
                results.append(encode(types, [self.got[pool], ROOT + 1, 0, 5]))
            else:
                results.append(b"extra" if data == b"\7" else b"state")
        return results

    def serve(self, pools, *, to_trade=False):
        self.log.append(("serve", list(pools), to_trade))
        return self.served

    def offer(self, pools, trade):
        return self.served

    def fills(self, head, charts, trade):
        return [each.spot.pool for each in charts]


def run(work):
    return asyncio.run(work)


def test_a_block_is_named_by_what_its_header_says_and_has_one_time():
    assert NamedBlock.of(HEAD) == NamedBlock(9, AT, HEAD.hash) == NamedBlock.proven(HEAD, AT)
    with pytest.raises(UpstreamDown, match="two times"):
        NamedBlock.proven(HEAD, datetime.fromtimestamp(HEAD.timestamp + 1, UTC))


def test_an_offer_of_the_chain_has_every_fill_and_what_else_was_asked_for():
    world = World()
    offer = run(world.market.offer(TOKEN, TRADE))
    assert [fill.token for fill in offer.fills] == [world.got[POOL], world.got[OTHER]]
    assert (offer.extra, offer.at, offer.block) == ([], AT, None)
    assert world.log == [("form", "latest", None, 77.0)]
    world = World()
    offer = run(world.market.offer(TOKEN, TRADE, [EXTRA, EXTRA]))
    assert (len(offer.fills), offer.extra) == (2, [b"extra", b"extra"])
    assert world.log == [("calls", "latest", 60, 77.0)]


def test_of_equal_fills_one_must_know_how_deep_their_pools_are():
    world = World()
    world.got[POOL] = world.got[OTHER]
    offer = run(world.market.offer(TOKEN, TRADE))
    assert [fill.before.curve is not None for fill in offer.fills] == [True, True]
    assert [each[0] for each in world.log] == ["form", "charts"]
    assert all(fill.before.depth > 0 for fill in offer.fills)


def test_without_a_pool_that_has_a_price_there_is_nothing_to_ask():
    for roots in ({}, {POOL: None}):
        world = World(live=True)
        world.roots = roots
        with pytest.raises(NoLiquidity, match="no TOKEN/USDG pool"):
            run(world.market.offer(TOKEN, TRADE))
        with pytest.raises(NoLiquidity, match="no TOKEN/USDG pool"):
            run(world.market.offer_at_block(TOKEN, TRADE))


def test_an_offer_from_memory_takes_no_trip_and_one_with_questions_takes_theirs_at_its_block():
    world = World(live=True)
    world.served = (HEAD, ["fill"])
    offer = run(world.market.offer(TOKEN, TRADE))
    assert (offer.fills, offer.extra, offer.at, offer.block, world.log) == (["fill"], [], AT, 9, [])
    offer = run(world.market.offer(TOKEN, TRADE, [EXTRA]))
    assert (offer.fills, offer.extra, offer.block) == (["fill"], [b"extra"], 9)
    assert world.log == [("unmoved", HEAD.hash, None, 77.0)]
    # Whoever asks may have traded since, or the block may have left the chain.
    world.has_moved = True
    offer = run(world.market.offer(TOKEN, TRADE, [EXTRA]))
    assert (len(offer.fills), offer.extra, offer.block) == (2, [b"extra"], None)
    assert [each[:2] for each in world.log[1:]] == [("unmoved", HEAD.hash), ("calls", "latest")]
    world.has_moved = False
    world.is_gone = True
    offer = run(world.market.offer(TOKEN, TRADE, [EXTRA]))
    assert (len(offer.fills), offer.block) == (2, None)
    assert world.log[-1] == ("calls", "latest", 60, 77.0)
    world.served = (HEAD, [])
    for roots in (world.roots, {POOL: ROOT, OTHER: None}):
        world.roots, before = roots, len(world.log)
        assert run(world.market.offer(TOKEN, TRADE)).fills == [], "pools with a price, and none of them fills it"
        assert len(world.log) == before


def test_pools_are_looked_at_from_memory_or_from_the_chain():
    world = World(live=True)
    world.served = (HEAD, ["chart"])
    told = run(world.market.look([POOL]))
    assert (told.charts, told.extra, told.at, told.block) == (["chart"], [], AT, 9)
    told = run(world.market.look([POOL], extra=[EXTRA]))
    assert (told.charts, told.extra, told.block) == (["chart"], [b"extra"], 9)
    world.is_gone = True
    told = run(world.market.look([POOL], extra=[EXTRA], reach=5, deadline=3.0))
    assert ([each.spot.pool for each in told.charts], told.extra) == ([POOL], [b"extra"])
    assert world.log[-1] == ("charts", "latest", 5, 3.0)
    assert world.log[0] == ("serve", [POOL], False)


def test_a_look_at_a_named_block_is_at_the_mirrors_or_at_the_newest():
    world = World(live=True)
    world.served = (HEAD, ["chart"])
    assert run(world.market.look_at_block([POOL], reach=5)) == (NamedBlock.of(HEAD), ["chart"])
    world.served = None
    named, charts = run(world.market.look_at_block([POOL], reach=5))
    assert (named, [each.spot.pool for each in charts]) == (NamedBlock.of(HEAD), [POOL])
    assert world.log[-1] == ("charts", HEAD.hash, 5, 77.0)
    for bare in (World(), World(live=True)):
        assert run(bare.market.look_at_block([], reach=5)) == (NamedBlock.of(HEAD), [])
        assert bare.log == [], "of no pool nobody is asked"
    assert run(World().market.look_at_block([POOL], reach=5))[0] == NamedBlock.of(HEAD)


def test_a_look_to_trade_is_into_the_mirror_only_where_all_tokens_move():
    world = World(live=True)
    world.served = (HEAD, ["chart"])
    assert run(world.market.look_to_trade([POOL])) == (NamedBlock.of(HEAD), [("chart", True)])
    assert world.log == [("serve", [POOL], True)]
    world.served = None
    for stuck in ([], [0], [1], [0, 1]):
        world.stuck = stuck
        named, looked = run(world.market.look_to_trade([POOL, OTHER]))
        assert [(each.spot.pool, can_trade) for each, can_trade in looked] == [(POOL, not stuck), (OTHER, True)]
        assert (named, world.log[-1]) == (NamedBlock.of(HEAD), ("charts", HEAD.hash, FAR, 77.0))
    assert run(World().market.look_to_trade([])) == (NamedBlock.of(HEAD), [])


def test_of_many_pools_those_that_can_be_read_are_looked_at():
    world = World()

    async def read_each(pools, *, reach, block, with_balances):
        assert (reach, block, with_balances) == (5, HEAD.hash, False)
        return [chart(POOL), UpstreamDown("no")], [], world.at

    world.read_each = read_each
    named, charts = run(world.market.look_at_each([POOL, OTHER], reach=5))
    assert (named, list(charts), charts[POOL].spot.pool) == (NamedBlock.of(HEAD), [POOL], POOL)
    world.at = datetime.fromtimestamp(HEAD.timestamp - 1, UTC)
    with pytest.raises(UpstreamDown, match="two times"):
        run(world.market.look_at_each([POOL], reach=5))


@pytest.mark.parametrize("is_served", [True, False])
def test_many_offers_are_of_one_block(is_served):
    world = World(live=True)
    world.served = (HEAD, [chart(OTHER), chart(POOL)]) if is_served else None
    named, offers = run(world.market.offers([(TOKEN, TRADE), (TOKEN, TRADE)]))
    assert named == NamedBlock.of(HEAD)
    if is_served:
        assert (offers, world.log) == ([[POOL, OTHER]] * 2, [("serve", [POOL, OTHER], True)])
        return
    assert [[fill.before.pool for fill in fills] for fills in offers] == [[POOL, OTHER]] * 2
    assert all(fill.before.curve is not None for fills in offers for fill in fills)
    assert world.log[1:] == [("charts", HEAD.hash, None, 77.0), ("calls", HEAD.hash, 60, 77.0)]
    for empty in (World(pools=()), World(pools=(), live=True)):
        assert run(empty.market.offers([(TOKEN, TRADE)])) == (NamedBlock.of(HEAD), [[]])
        assert empty.log == []
    assert len(run(World().market.offers([(TOKEN, TRADE)]))[1][0]) == 2


def test_of_many_offers_none_makes_another_seem_to_need_less_gas():
    world = World()
    more = replace(TRADE, fixed=UsdgAmount(10**9))
    _, offers = run(world.market.offers([(TOKEN, TRADE), (TOKEN, more), (TOKEN, TRADE)]))
    # Two calls for three trades: one that is asked for twice is asked once.
    assert world.log == [("charts", HEAD.hash, None, 77.0), *[("calls", HEAD.hash, 60, 77.0)] * 2]
    assert [fills[0].usdg for fills in offers] == [10**8, 10**9, 10**8]


def test_many_trades_do_not_fall_upon_the_node_all_at_once():
    world, under_way = World(), [0]
    whole = world.market.reader.read

    async def counted(what, **options):
        under_way.append(under_way[-1] + 1)
        await asyncio.sleep(0)  # noqa: TID251  no time goes by: everybody gets a turn
        told = await whole(what, **options)
        under_way.append(under_way[-1] - 1)
        return told

    world.market = replace(world.market, reader=SimpleNamespace(read=counted, head=world.head, deadline=world.deadline))
    trades = [(TOKEN, replace(TRADE, fixed=UsdgAmount(10**8 + each))) for each in range(50)]
    assert len(run(world.market.offers(trades))[1]) == 50
    assert max(under_way) == 16


def test_where_one_of_many_cannot_be_read_none_is_told():
    world = World()
    world.is_gone = True
    with pytest.raises(UpstreamDown, match="no such block"):
        run(world.market.offers([(TOKEN, TRADE), (TOKEN, replace(TRADE, fixed=UsdgAmount(10**9)))]))


def test_a_pool_full_of_ticks_keeps_nobody_from_an_offer_at_a_block():
    for deadline, until in ((4.0, 4.0), (None, 77.0)):
        world = World()
        world.crowded = OTHER
        named, fills = run(world.market.offer_at_block(TOKEN, TRADE, deadline=deadline))
        assert named == NamedBlock.of(HEAD)
        assert [fill.token for fill in fills] == [world.got[POOL], world.got[OTHER]]
        assert all(fill.before.depth > 0 for fill in fills)
        assert [each[3] for each in world.log] == [until] * 3


def test_an_offer_at_a_block_is_worked_out_over_pools_with_a_price():
    world = World()
    world.roots = {OTHER: ROOT}
    named, fills = run(world.market.offer_at_block(TOKEN, TRADE, deadline=4.0))
    assert (named, [fill.before.pool for fill in fills]) == (NamedBlock.of(HEAD), [OTHER])
    assert world.log == [("charts", HEAD.hash, 27_740, 4.0)]
    assert world.market.remembered_offer(TOKEN, TRADE) is None
    world = World(live=True)
    world.served = (HEAD, ["fill"])
    assert world.market.remembered_offer(TOKEN, TRADE) == (NamedBlock.of(HEAD), ["fill"])
