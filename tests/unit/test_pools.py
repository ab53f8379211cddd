"""What pools and quotes say, and what is not believed of them. No chain: answers are made here."""

import asyncio
from dataclasses import replace
from math import isqrt
from types import SimpleNamespace

import pytest
from eth_abi import encode

from tickyard.chain.rpc.client import Rpc
from tickyard.chain.v3.math import PoolState
from tickyard.chain.v3.ticks import tick_at
from tickyard.config.pinned import MAINNET
from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import NoLiquidity, UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.market.reading import ChainReader
from tickyard.market.swaps.fills import Question, Side, Trade, best_fill, tied_best
from tickyard.market.swaps.pools import Pool, PoolBook, PoolSpot, deepest

LOW, HIGH = Address("0x" + "1" * 40), Address("0x" + "9" * 40)
ROOT = isqrt(200 * 2**192 // 10**12)


def pool(number, fee=500, token=LOW):
    return Pool(Address(f"0x{number:040x}"), token, fee, token < MAINNET.usdg)


def slot0(root, tick=0):
    types = ["uint160", "int24", "uint16", "uint16", "uint16", "uint8", "bool"]
    return encode(types, [root, tick, 0, 1, 1, 0, True])


def word(number):
    return number.to_bytes(32, "big")


def quote(amount, after, gas=100_000):
    return encode(["uint256", "uint160", "uint32", "uint256"], [amount, after, 0, gas])


def book():
    """Nobody answers behind it: these tests bring the answers themselves."""
    clock = WallClock()
    rpc = Rpc(["http://127.0.0.1:1"], chain_id=4663, clock=clock)
    return PoolBook(ChainReader(rpc, MAINNET.multicall3, clock), MAINNET, (500, 3000), clock)


def test_before_the_first_look_nobody_says_that_there_are_no_pools():
    with pytest.raises(UpstreamDown):
        book().of(LOW)


def test_a_pool_never_loses_its_price():
    books = book()
    books.read_state(pool(1), slot0(0), word(0))
    books.read_state(pool(1), slot0(ROOT), word(5))
    with pytest.raises(UpstreamDown, match="contradicts"):
        books.read_state(pool(1), slot0(0), word(5))


@pytest.mark.parametrize("root", [1, 4295128738, 1461446703485210103287273052203988822378723970342, 2**160 - 1])
def test_a_price_outside_of_all_prices_is_not_believed(root):
    with pytest.raises(UpstreamDown):
        book().read_state(pool(1), slot0(root), word(5))


@pytest.mark.parametrize(
    ("first", "second"), [(None, word(5)), (slot0(ROOT), None), (b"", word(5)), (word(1), word(5))]
)
def test_a_pool_that_answers_nothing_or_nonsense_is_the_nodes_failure(first, second):
    with pytest.raises(UpstreamDown):
        book().read_state(pool(1), first, second)


def spot(number, liquidity, root=ROOT, ticks=()):
    curve = PoolState(root, tick_at(root), liquidity, 500, 10, ticks) if root else None
    return PoolSpot(pool(number), root, liquidity, curve)


def test_the_deepest_pool_has_the_most_liquidity_in_range():
    shallow, deep = spot(1, 10**18), spot(2, 10**19)
    dry, bare = spot(3, 0), spot(4, 10**30, root=0)
    assert deepest([shallow, dry, deep, bare]) is deep
    assert deepest([dry, bare]) is None
    assert (dry.price, bare.price) == (None, None)


def test_a_pool_without_liquidity_a_price_or_known_ticks_has_no_depth():
    usable = spot(1, 10**19)
    assert usable.depth > 0
    assert [each.depth for each in (replace(usable, liquidity=0), replace(usable, curve=None), spot(4, 5, root=0))] == [
        0,
        0,
        0,
    ]
    assert replace(usable, sqrt_price_x96=0).depth == 0
    assert replace(usable, liquidity=1).is_usable


TRADE = Trade.parse("buy", "usd", "100")
HALF = 5 * 10**17
"""What 100 dollars buy at 200."""


def offered(*results, trade=TRADE, liquidities=(10**19, 10**20)):
    """The fills among the quotes of two pools that stand at 200 dollars."""
    books, pools = book(), (pool(1), pool(2, 3000))
    for each in pools:
        books.read_state(each, slot0(ROOT), word(1))
    question = Question.to(pools, trade, books)
    states = [part for size in liquidities for part in (slot0(ROOT), word(size))]
    return question.fills(books, [*results, *states])


def test_the_best_fill_leaves_the_caller_richest():
    fills = offered(quote(HALF - 9, ROOT + 1), quote(HALF - 5, ROOT + 1))
    assert best_fill(TRADE, fills).token == HALF - 5
    wants = Trade.parse("buy", "token", "0.5")
    fills = offered(quote(100_000_009, ROOT + 1), quote(100_000_005, ROOT + 1), trade=wants)
    assert best_fill(wants, fills).usdg == 100_000_005


def test_equal_fills_go_to_the_deeper_pool():
    fills = offered(quote(HALF - 5, ROOT + 1), quote(HALF - 5, ROOT + 1))
    assert len(tied_best(TRADE, fills)) == 2
    sizes = {pool(1): 10**19, pool(2, 3000): 10**20}
    fills = [replace(fill, before=replace(spot(1, sizes[fill.before.pool]), pool=fill.before.pool)) for fill in fills]
    assert best_fill(TRADE, fills).before.pool == pool(2, 3000)
    assert best_fill(TRADE, reversed(fills)).before.pool == pool(2, 3000)


def test_a_pool_that_reaches_its_limit_or_reverts_gives_no_fill():
    assert offered(quote(HALF - 5, 4 * ROOT), None) == []
    with pytest.raises(NoLiquidity):
        best_fill(TRADE, [])


def test_what_buys_nothing_at_all_is_no_fill():
    [fill] = offered(quote(0, ROOT + 1), quote(HALF - 9, ROOT + 1))
    assert fill.token == HALF - 9


def test_a_pool_without_liquidity_in_range_gives_no_fill():
    [fill] = offered(quote(HALF - 5, ROOT + 1), quote(HALF - 9, ROOT + 1), liquidities=(0, 1))
    assert fill.token == HALF - 9


@pytest.mark.parametrize(
    ("trade", "answer"),
    [
        (TRADE, quote(HALF + 10**6, ROOT + 1)),
        (TRADE, quote(HALF - 5, ROOT - 1)),
        (TRADE, quote(HALF - 5, 4 * ROOT + 1)),
        (TRADE, quote(2**256 - 1, ROOT + 1)),
        (Trade.parse("buy", "token", "0.5"), quote(0, ROOT + 1)),
        (Trade.parse("buy", "token", "0.5"), quote(99_999_999, ROOT + 1)),
        (Trade.parse("buy", "token", "0.5"), quote(2**256 - 1, ROOT + 1)),
        (Trade.parse("sell", "token", "0.5"), quote(100_000_001, ROOT - 1)),
        (Trade.parse("sell", "token", "0.5"), quote(99_000_000, ROOT + 1)),
        (Trade.parse("sell", "usd", "100"), quote(HALF - 1, ROOT - 1)),
        (TRADE, b""),
        (TRADE, quote(5, ROOT + 1)[:-1]),
    ],
)
def test_a_fill_that_no_pool_could_give_is_the_nodes_failure(trade, answer):
    """More than the price before the trade, a price that goes the wrong way, an amount beyond all amounts."""
    with pytest.raises(UpstreamDown):
        offered(answer, None, trade=trade)


def test_a_limit_that_the_price_has_come_near_to_is_set_anew():
    near, far = pool(1), pool(2, 3000)
    books = book()
    for each in (near, far):
        books.read_state(each, slot0(ROOT), word(1))
    question = Question.to([near, far], TRADE, books)
    assert not question.is_outdated(books, [])
    books.read_state(near, slot0(3 * ROOT), word(1))
    assert question.is_outdated(books, [])
    results = [quote(HALF // 9 - 10**6, 3 * ROOT + 1), None, slot0(3 * ROOT), word(1), slot0(ROOT), word(1)]
    fills = question.fills(books, results)
    assert not question.is_outdated(books, fills), "who could fill was not kept by the limit"


def test_the_limit_lies_ahead_of_the_trade_for_both_token_orders():
    for token in (LOW, HIGH):
        for side in Side:
            books = book()
            each = pool(1, token=token)
            books.read_state(each, slot0(ROOT), word(1))
            question = Question.to([each], Trade.parse(side.value, "usd", "1"), books)
            [(_, limit)] = question.asked
            goes_up = (token < MAINNET.usdg) == (side is Side.BUY)
            assert limit == (4 * ROOT if goes_up else ROOT // 4)


def test_a_factory_that_a_node_fails_to_ask_has_not_said_that_there_is_no_pool():
    class Mute:
        async def read(self, calls):
            return SimpleNamespace(results=[None for _ in calls])

    known = PoolBook(Mute(), MAINNET, (500, 3000), WallClock())
    with pytest.raises(UpstreamDown, match="failed to ask the factory"):
        asyncio.run(known.discover([LOW]))
    with pytest.raises(UpstreamDown):
        known.of(LOW)
