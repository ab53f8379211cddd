"""What a node is asked about a pool in memory, and which answers bear it out: asked and answered by another codec."""

from dataclasses import replace

import pytest
from eth_abi import decode, encode
from eth_utils import keccak

from tickyard.chain.aggregate3 import CallPart, cut, encode_pieces
from tickyard.chain.v3.bitmap import TickLiquidity
from tickyard.chain.v3.events import Resized, Swapped, TokensMoved
from tickyard.chain.v3.math import PoolState, swap
from tickyard.chain.v3.ticks import MAX_TICK, MIN_TICK, sqrt_ratio_at
from tickyard.chain.v3.wear import Wear
from tickyard.config.pinned import MAINNET
from tickyard.kernel.ids import Address
from tickyard.kernel.units import TokenAmount, UsdgAmount
from tickyard.market.mirror.held import Held, Misfit
from tickyard.market.swaps.charts import Chart
from tickyard.market.swaps.pools import Pool, PoolSpot, moving_calls

POOL = Pool(Address("0x" + "aa" * 20), Address("0x" + "bb" * 20), 3000, token_is_0=True, spacing=60)
SIZE = 10**18
PRICE = sqrt_ratio_at(30) + 12_345
USDG, TOKENS = 7 * 10**18, 3 * 10**18
NOW, LATER = "0x" + "01" * 32, "0x" + "02" * 32


def held(*, span=range(-1200, 1201), gone=frozenset(), spacing=60, **changes):
    """One position from -600 to 600."""
    curve = PoolState(PRICE, 30, SIZE, 3000, spacing, ((-600, SIZE), (600, -SIZE)))
    ticks = {-600: TickLiquidity(SIZE, SIZE), 600: TickLiquidity(SIZE, -SIZE)}
    spot = PoolSpot(replace(POOL, spacing=spacing), PRICE, SIZE, curve)
    return Held(Chart(spot, span, ticks, UsdgAmount(USDG), TokenAmount(TOKENS)), NOW, gone, **changes)


def call(to, signature, *values):
    types = signature.partition("(")[2][:-1]
    return to, keccak(text=signature)[:4] + encode(types.split(",") if types else [], values)


def asked(piece):
    calldata = bytes.fromhex(encode_pieces([piece]))
    [calls] = decode(["(address,bool,bytes)[]"], calldata[4:])
    assert all(may_fail for _, may_fail, _ in calls)
    return [(to, data) for to, _, data in calls]


def told(piece, outcomes):
    [part] = cut(encode(["(bool,bytes)[]"], [outcomes]), [piece])
    return part


def words(*values):
    return b"".join(value.to_bytes(32, "big", signed=value < 0) for value in values)


def tick_words(gross, net):
    return words(gross, net, 0, 0, 0, 0, 0, int(gross > 0))


def honest(*gone):
    """The answers of a chain on which it is so."""
    answers = [
        words(PRICE, 30, 0, 1, 1, 0, 1),
        words(SIZE),
        words(USDG),
        words(TOKENS),
        words(1),
        words(1),
        words(2**255),
        words(0),
        tick_words(SIZE, SIZE),
        tick_words(SIZE, -SIZE),
        *[tick_words(0, 0) for _ in gone],
    ]
    return [(True, answer) for answer in answers]


def test_the_node_is_asked_for_the_state_the_balances_whether_tokens_move_and_every_tick():
    own = call(MAINNET.usdg, "balanceOf(address)", POOL.address)[1]
    moving = call(MAINNET.usdg, "transferFrom(address,address,uint256)", POOL.address, MAINNET.quoter, 0)[1]
    assert asked(held(gone=frozenset({540, -540})).witness(MAINNET)) == [
        call(POOL.address, "slot0()"),
        call(POOL.address, "liquidity()"),
        (MAINNET.usdg, own),
        (POOL.token, own),
        (MAINNET.usdg, moving),
        (POOL.token, moving),
        call(POOL.address, "feeGrowthGlobal0X128()"),
        call(POOL.address, "feeGrowthGlobal1X128()"),
        *[call(POOL.address, "ticks(int24)", tick) for tick in (-600, 600, -540, 540)],
    ]
    assert moving_calls(POOL, MAINNET) == [(MAINNET.usdg, moving), (POOL.token, moving)]


@pytest.mark.parametrize("gone", [(), (-540, 540)])
def test_only_a_node_that_says_just_that_bears_it_out(gone):
    pool = held(gone=frozenset(gone))
    piece, right = pool.witness(MAINNET), honest(*gone)
    assert pool.is_borne_out(told(piece, right)) is True
    wrong = {
        0: [words(PRICE + 1, 30, 0, 1, 1, 0, 1), words(PRICE, 31, 0, 1, 1, 0, 1)],
        1: [words(SIZE + 1)],
        2: [words(USDG + 1)],
        3: [words(TOKENS - 1)],
        8: [tick_words(SIZE + 1, SIZE), tick_words(SIZE, SIZE - 1)],
        9: [tick_words(0, 0)],
        **{10 + index: [tick_words(1, 0)] for index in range(len(gone))},
    }
    for place, lies in wrong.items():
        for lie in (*[(True, each) for each in lies], (False, right[place][1])):
            assert pool.is_borne_out(told(piece, [*right[:place], lie, *right[place + 1 :]])) is False, (place, lie)
    for place in (4, 5):
        # Whether its tokens move says nothing of its curve.
        assert pool.is_borne_out(told(piece, [*right[:place], (False, b""), *right[place + 1 :]]))


def test_a_pool_without_a_price_is_borne_out_by_one_without():
    pool = held()
    bare = Held(Chart(PoolSpot(POOL, 0, 0), range(0), {}, UsdgAmount(USDG), TokenAmount(TOKENS)), NOW)
    piece = bare.witness(MAINNET)
    zero = [(True, words(0, 0, 0, 0, 0, 0, 0)), (True, words(0)), *honest()[2:8]]
    assert bare.is_borne_out(told(piece, zero))
    assert not bare.is_borne_out(told(piece, honest()[:8]))
    assert (bare.map_words, pool.map_words) == (range(0), range(-1, 1))
    # Words of 256 places: the span begins and ends with a tick of the next one.
    assert held(span=range(-15_361, 15_361)).map_words == range(-2, 2)


def test_a_pool_moves_while_both_of_its_tokens_do():
    pool = held()
    piece, right = pool.witness(MAINNET), honest()
    assert not pool.moves
    for failing, moves in (((), True), ((4,), False), ((5,), False), ((4, 5), False)):
        outcomes = [(at not in failing, data) for at, (_, data) in enumerate(right)]
        assert pool.proven(LATER, piece, told(piece, outcomes)).moves is moves


def test_what_was_proven_is_proven_again_by_the_same_bytes_and_by_no_others():
    pool = held(gone=frozenset({540}))
    piece, right = pool.witness(MAINNET), honest(540)
    first = pool.proven(LATER, piece, told(piece, right))
    worn = Wear((0, 17_100), {-600: (19_900, 39_800), 600: (19_900, 39_800)})
    assert first.chart == replace(pool.chart, wear=worn)
    assert (first.block, first.gone, first.moves) == (LATER, frozenset(), True)
    assert first.witness(MAINNET) is piece
    same = CallPart(b"", 0, 0, told(piece, right).raw)
    assert first.is_borne_out(same) is True
    assert first.proven(NOW, piece, same) == replace(first, block=NOW)
    frozen = told(piece, [*right[:4], (False, b""), *right[5:]])
    assert not first.proven(NOW, piece, frozen).moves
    assert first.proven(NOW, piece, frozen).seen == (piece, frozen.raw)
    lie = told(piece, [(True, words(PRICE + 1, 30, 0, 1, 1, 0, 1)), *right[1:]])
    assert first.is_borne_out(lie) is False
    # A log makes it another pool, of which nothing is proven yet.
    assert (first.after(TokensMoved(1, 0)).seen, first.after(TokensMoved(1, 0)).moves) == (None, False)


def test_the_bitmap_must_have_the_ticks_that_are_held_and_within_the_span_no_other():
    pool = held()
    piece = pool.map_piece()
    assert asked(piece) == [call(POOL.address, "tickBitmap(int16)", word) for word in (-1, 0)]

    def mapped(*places):
        bits = {word: sum(1 << place % 256 for place in places if place // 256 == word) for word in (-1, 0)}
        return pool.is_mapped(told(piece, [(True, words(bits[word])) for word in (-1, 0)]))

    assert mapped(-10, 10)
    # The words show more than was looked at.
    assert mapped(-10, 10, -21, 21, 100)
    for places in ((-10,), (10,), (), (-10, 10, 11), (-20, -10, 10), (-10, 10, 20)):
        assert mapped(*places) is False, places
    right = [(True, words(1 << 246)), (True, words(1 << 10))]
    assert pool.is_mapped(told(piece, right))
    for place in (0, 1):
        failing = [(at != place, data) for at, (_, data) in enumerate(right)]
        assert pool.is_mapped(told(piece, failing)) is False


def test_the_first_and_the_last_of_all_ticks_bear_a_position():
    # So little, so far out: what it costs is a unit of rounding, or the whole of it.
    pool = held(spacing=1, span=range(MIN_TICK, MAX_TICK + 1))
    low, high = sqrt_ratio_at(MIN_TICK), sqrt_ratio_at(MAX_TICK)
    for lower, upper in ((MIN_TICK, 0), (0, MAX_TICK)):
        a, b = max(sqrt_ratio_at(lower), low), min(sqrt_ratio_at(upper), high)
        amount0 = -(-(2**96) * (b - PRICE) // (b * PRICE)) if b > PRICE else 0
        amount1 = -(-(min(b, PRICE) - a) // 2**96)
        after = pool.after(Resized(lower, upper, 1, amount0, amount1))
        assert {lower, upper} <= after.chart.ticks.keys()
    for lower, upper in ((MIN_TICK - 1, 0), (0, MAX_TICK + 1)):
        with pytest.raises(Misfit, match="where none can"):
            pool.after(Resized(lower, upper, 1, 0, 0))


@pytest.mark.parametrize("moved", [(-TOKENS, 5), (5, -USDG), (-TOKENS, -USDG)])
def test_a_pool_can_be_emptied_of_either_token(moved):
    assert held().after(TokensMoved(*moved)).balances == (TOKENS + moved[0], USDG + moved[1])


def test_all_is_known_where_every_tick_is():
    everything = held(span=range(MIN_TICK, MAX_TICK + 1))
    assert everything.covers(10**7)
    assert not held(span=range(MIN_TICK + 1, MAX_TICK + 1)).covers(10**7)
    assert not held(span=range(MIN_TICK, MAX_TICK)).covers(10**7)


@pytest.mark.parametrize("end", [-301, -599, 29, 61, 301, 599])
def test_a_swap_that_went_up_to_a_price_is_made_again_up_to_that_price(end):
    """Whoever asked for it paid what it took: neither leg was asked for."""
    pool, down = held(), end < 30
    limit = sqrt_ratio_at(end) + 77
    made = swap(pool.chart.spot.curve, zero_for_one=down, amount=2**200, sqrt_price_limit=limit)
    moved = (made.amount_in, -made.amount_out) if down else (-made.amount_out, made.amount_in)
    after = pool.after(Swapped(*moved, limit, SIZE, end))
    assert (after.chart.spot.sqrt_price_x96, after.chart.spot.curve.tick) == (limit, end)
    for place in (0, 1):
        lie = [amount + (at == place) for at, amount in enumerate(moved)]
        with pytest.raises(Misfit, match="where it should"):
            pool.after(Swapped(*lie, limit, SIZE, end))
    # And no further than is known.
    near = held(span=range(min(30, end + 1), max(30, end)))
    with pytest.raises(Misfit, match="where it should"):
        near.after(Swapped(*moved, limit, SIZE, end))


def test_a_swap_that_moved_nothing_is_told_by_its_price_alone():
    """A dry pool goes wherever it is sent, and nobody pays."""
    pool = held()
    dry = replace(pool.chart.spot, liquidity=0, curve=PoolState(PRICE, 30, 0, 3000, 60, ()))
    pool = replace(pool, chart=replace(pool.chart, spot=dry, ticks={}))
    for end in (-301, 301):
        after = pool.after(Swapped(0, 0, sqrt_ratio_at(end) + 77, 0, end))
        assert (after.chart.spot.curve.tick, after.balances) == (end, pool.balances)


@pytest.mark.parametrize("down", [True, False])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_swap_of_any_size_is_made_again_from_either_leg(down, sign):
    """The last units decide: what an exact input leaves over is fee, and an exact output is never exceeded."""
    pool, limit = held(), sqrt_ratio_at(-1100 if down else 1100)
    sizes = [*range(1, 40), *range(10**9, 10**9 + 40), 10**15 + 7, 10**16 + 7]
    for size in sizes:
        made = swap(pool.chart.spot.curve, zero_for_one=down, amount=sign * size, sqrt_price_limit=limit)
        moved = (made.amount_in, -made.amount_out) if down else (-made.amount_out, made.amount_in)
        after = pool.after(Swapped(*moved, made.sqrt_price_after, made.liquidity_after, made.tick_after))
        assert after.chart.spot.sqrt_price_x96 == made.sqrt_price_after, size
