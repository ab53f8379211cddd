"""Fills and curves at their borders: what a quote may say, what a pool can give, and which pools cannot be."""

from dataclasses import replace
from fractions import Fraction

import pytest
from eth_abi import decode, encode

from tickyard.chain import aggregate3
from tickyard.chain.v3.bitmap import TickLiquidity
from tickyard.chain.v3.math import PoolState, swap
from tickyard.chain.v3.pools import Slot0
from tickyard.chain.v3.ticks import MAX_TICK, MIN_TICK, sqrt_ratio_at, tick_at
from tickyard.config.pinned import MAINNET
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.kernel.units import AMOUNT_MAX_RAW, TokenAmount, UsdgAmount
from tickyard.market.mirror.offers import fills_of, winning_fills
from tickyard.market.swaps.charts import Chart, curve_of
from tickyard.market.swaps.fills import Question, Trade, tied_best
from tickyard.market.swaps.pools import Pool, PoolSpot

LOW, HIGH = Address("0x" + "1" * 40), Address("0x" + "9" * 40)
# One base unit of USDG for 2^16 of the token, without a rounding.
ROOTS = {LOW: 2**88, HIGH: 2**104}
UNITS = 2**16


def pool(token, number=1, fee=500):
    return Pool(Address(f"0x{number:040x}"), token, fee, token_is_0=token == LOW, spacing=10)


def quote(amount, after):
    return encode(["uint256", "uint160", "uint32", "uint256"], [amount, after, 0, 100_000])


class Book:
    """Pools that stand where they stood."""

    def __init__(self, roots):
        self.roots = roots

    def last_sqrt_price(self, each):
        return self.roots.get(each)

    def read_state(self, each, slot0, liquidity):
        return PoolSpot(each, self.roots[each], 10**20)


def filled(token, trade, amount, after):
    each = pool(token)
    book = Book({each: ROOTS[token]})
    question = Question.to([each], trade, book)
    return question.fills(book, [quote(amount, after), b"", b""]), question


def trade(side, denom, raw):
    kind = UsdgAmount if denom == "usd" else TokenAmount
    return replace(Trade.parse(side, denom, "1"), fixed=kind(raw))


@pytest.mark.parametrize("token", [LOW, HIGH])
@pytest.mark.parametrize(
    ("side", "denom", "fixed", "at_spot", "worse"),
    [
        ("buy", "usd", 10**8, 10**8 * UNITS, -1),
        ("buy", "token", 10**8 * UNITS, 10**8, 1),
        ("sell", "usd", 10**8, 10**8 * UNITS, 1),
        ("sell", "token", 10**8 * UNITS, 10**8, -1),
    ],
)
def test_nobody_gets_more_than_the_price_before_the_trade(token, side, denom, fixed, at_spot, worse):
    goes_up = (token == LOW) == (side == "buy")
    after = ROOTS[token] + (1 if goes_up else -1)
    for amount in (at_spot, at_spot + worse):
        [fill], _ = filled(token, trade(side, denom, fixed), amount, after)
        assert {int(fill.usdg), int(fill.token)} == {fixed, amount}
        assert fill.pool_gas == 100_000
    with pytest.raises(UpstreamDown, match="no pool could give"):
        filled(token, trade(side, denom, fixed), at_spot - worse, after)


@pytest.mark.parametrize("token", [LOW, HIGH])
@pytest.mark.parametrize("side", ["buy", "sell"])
def test_the_price_goes_towards_its_limit_and_at_the_limit_there_is_no_fill(token, side):
    root, goes_up = ROOTS[token], (token == LOW) == (side == "buy")
    limit, step = (4 * root, 1) if goes_up else (root // 4, -1)
    wants = trade(side, "usd", 10**8)
    amount = 10**8 * UNITS + (-5 if side == "buy" else 5)
    for after in (root, root + step, limit - step):
        assert len(filled(token, wants, amount, after)[0]) == 1
    assert filled(token, wants, amount, limit)[0] == []
    for after in (root - step, limit + step):
        with pytest.raises(UpstreamDown, match="no pool could give"):
            filled(token, wants, amount, after)


def test_an_amount_beyond_all_amounts_is_not_believed():
    wants = trade("sell", "usd", 1)
    assert filled(LOW, wants, AMOUNT_MAX_RAW, ROOTS[LOW] - 1)[0]
    with pytest.raises(UpstreamDown):
        filled(LOW, wants, AMOUNT_MAX_RAW + 1, ROOTS[LOW] - 1)


def test_a_limit_is_too_near_to_judge_by_when_the_price_is_within_half_of_it():
    each, wants = pool(LOW), trade("buy", "usd", 10**8)
    question = Question.to([each], wants, Book({each: 2**88}))
    limit = 4 * 2**88
    for root, is_near in (
        (limit // 2, False),
        (limit // 2 + 1, True),
        (limit, True),
        (2 * limit - 1, True),
        (2 * limit, False),
    ):
        assert question.is_outdated(Book({each: root}), []) is is_near
    assert question.is_outdated(Book({}), []), "of one without a price nothing is known"
    moved = question.at({each: 2**90, pool(HIGH, 2): 0})
    assert moved.asked == ((each, 4 * 2**90),)
    assert moved.pools == (each,)


@pytest.mark.parametrize(
    ("side", "denom", "name"),
    [
        ("buy", "usd", "c6a5026a"),
        ("buy", "token", "bd21704a"),
        ("sell", "token", "c6a5026a"),
        ("sell", "usd", "bd21704a"),
    ],
)
def test_every_tier_is_quoted_and_then_every_pool_looked_at(side, denom, name):
    pools = (pool(LOW, 1), pool(LOW, 2, 3000))
    question = Question.to((*pools, pool(LOW, 3, 100)), trade(side, denom, 77), Book(dict.fromkeys(pools, 2**88)))
    calls = question.calls(MAINNET)
    assert [(to, data[:4].hex()) for to, data in calls] == [
        (MAINNET.quoter, name),
        (MAINNET.quoter, name),
        *((each.address, getter) for each in pools for getter in ("3850c7bd", "1a686502")),
        *((token, "23b872dd") for each in pools for token in (MAINNET.usdg, each.token)),
    ]
    for (_, data), each in zip(calls[6::2], pools, strict=True):
        assert decode(["address", "address", "uint256"], data[4:]) == (each.address, MAINNET.quoter, 0)
    pair = (MAINNET.usdg, LOW) if side == "buy" else (LOW, MAINNET.usdg)
    limit = 2**90 if side == "buy" else 2**86
    for (_, data), each in zip(calls, pools, strict=False):
        [told] = decode(["(address,address,uint256,uint24,uint160)"], data[4:])
        assert told == (*pair, 77, each.fee, limit)
    assert question.values == (77, limit, limit)
    form = question.form(MAINNET)
    assert form.calls(*question.values)[1:] == calls
    assert form.fill(question.values) == aggregate3.encode(form.calls(*question.values))
    assert form.count == 1 + len(calls)
    assert question.trade.mode == {"c6a5026a": "exactIn", "bd21704a": "exactOut"}[name]


def chart(token, *, usdg, tokens, liquidity=10**24, number=1, root=None):
    root = root or ROOTS[token]
    curve = PoolState(root, tick_at(root), liquidity, 500, 10, ())
    return Chart(
        PoolSpot(pool(token, number), root, liquidity, curve), range(0), {}, UsdgAmount(usdg), TokenAmount(tokens)
    )


@pytest.mark.parametrize("token", [LOW, HIGH])
@pytest.mark.parametrize("side", ["buy", "sell"])
@pytest.mark.parametrize("denom", ["usd", "token"])
def test_a_pool_gives_what_it_holds_and_not_a_unit_more(token, side, denom):
    wants = trade(side, denom, 10**8 if denom == "usd" else 10**8 * UNITS)
    plenty = chart(token, usdg=10**30, tokens=10**40)
    [fill] = fills_of([plenty], wants)
    is_in = (side == "buy") == (denom == "usd")
    down = (token == LOW) == (side == "sell")
    made = swap(plenty.spot.curve, zero_for_one=down, amount=int(wants.fixed) * (1 if is_in else -1))
    paid, got = (fill.usdg, fill.token) if side == "buy" else (fill.token, fill.usdg)
    assert (paid, got) == (made.amount_in, made.amount_out) == fill.amounts(wants.side)
    assert Fraction(fill.price.num, fill.price.den) == Fraction(int(fill.usdg), 10**6) / Fraction(
        int(fill.token), 10**18
    )
    assert tied_best(wants, [fill]) == [fill]
    exact = {"tokens" if side == "buy" else "usdg": int(got)}
    short = {name: held - 1 for name, held in exact.items()}
    for held, count in ((exact, 1), (short, 0)):
        one = chart(token, **{"usdg": 10**30, "tokens": 10**40, **held})
        assert len(fills_of([one], wants)) == len(winning_fills([one], wants)) == count
    dry = replace(plenty, spot=replace(plenty.spot, liquidity=0))
    bare = replace(plenty, spot=replace(plenty.spot, curve=None))
    assert fills_of([dry, bare], wants) == winning_fills([dry, bare], wants) == []
    thin = chart(token, usdg=10**30, tokens=10**40, liquidity=10**3)
    assert fills_of([thin], wants) == [], "it would run dry"
    other = chart(token, usdg=10**30, tokens=10**40, number=2, liquidity=10**22)
    assert len(fills_of([other, plenty], wants)) == 2
    assert fill in winning_fills([other, plenty], wants)
    assert [each.before.pool.address for each in winning_fills([plenty, plenty], wants)] == [
        plenty.spot.pool.address
    ] * 2


def curve(tick, liquidity, ticks=(), root=None):
    known = {at: TickLiquidity(gross, net) for at, gross, net in ticks}
    price = sqrt_ratio_at(tick) if root is None else root
    return curve_of(pool(LOW), Slot0(price, tick), liquidity, known)


def test_a_pool_stands_between_its_tick_and_the_next_or_exactly_on_it():
    for root in (sqrt_ratio_at(30), sqrt_ratio_at(31) - 1, sqrt_ratio_at(31)):
        assert curve(30, 5, root=root) == PoolState(root, 30, 5, 500, 10, ())
    for tick in (MIN_TICK, MAX_TICK - 1):
        assert curve(tick, 0).tick == tick
    for tick, root in (
        (30, sqrt_ratio_at(30) - 1),
        (30, sqrt_ratio_at(31) + 1),
        (MIN_TICK - 1, 2**40),
        (MAX_TICK, 2**159),
    ):
        with pytest.raises(UpstreamDown, match="cannot be"):
            curve(tick, 5, root=root)


def test_liquidity_never_falls_below_nothing_on_either_side():
    ticks = [(10, 7, -7), (-10, 7, 7)]
    assert curve(0, 7, ticks).ticks == ((-10, 7), (10, -7))
    for liquidity, changed in ((6, ticks), (7, [(-10, 8, 8), (10, 7, -7)]), (7, [(-10, 7, 7), (10, 8, -8)])):
        with pytest.raises(UpstreamDown, match="cannot be"):
            curve(0, liquidity, changed)
    with pytest.raises(UpstreamDown, match="cannot be"):
        curve(0, 7, [*ticks, (20, 0, 0)])
    # The tick of the price itself lies below.
    assert curve(0, 7, [(0, 7, 7)]).liquidity == 7
    with pytest.raises(UpstreamDown):
        curve(0, 6, [(0, 7, 7)])
    assert curve(0, 0, [(10, 3, 3), (20, 3, -3)]).liquidity == 0
    with pytest.raises(UpstreamDown):
        curve(0, 0, [(10, 3, -3), (20, 3, 3)])
