"""The figures of a token's statistics: supply, premium, pools. Worked out here with fractions."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from math import isqrt
from types import SimpleNamespace

import pytest

from tickyard.chain.v3.math import PoolState
from tickyard.chain.v3.ticks import tick_at
from tickyard.features import stats
from tickyard.features.stats import _calls, _price, _stats, _without_token
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address, Symbol
from tickyard.kernel.units import Price, TokenAmount, UsdgAmount
from tickyard.market.listing.asset import Asset, MultiplierSchedule
from tickyard.market.swaps.charts import Chart
from tickyard.market.swaps.pools import Pool, PoolSpot

TOKEN = Address("0x" + "1" * 40)
ONE = 10**18
AT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
ROOTS = {price: isqrt(price * 2**192 // 10**12) for price in (200, 220)}
"""Of the price in dollars, where the stock is token0."""


def asset(schedule=None, *, pending=None, address=TOKEN):
    listed = SimpleNamespace(
        symbol=Symbol("AAPL"), name="Apple", address=address, multiplier_e18=2 * ONE, pending_multiplier_e18=pending
    )
    return Asset(listed, schedule, address and "0x" + "1" * 40)


def chart(number, price, liquidity, *, usdg=0, tokens=0, fee=500):
    root = ROOTS.get(price, 0)
    curve = PoolState(root, tick_at(root), liquidity, fee, 10, ()) if root else None
    pool = Pool(Address(f"0x{number:040x}"), TOKEN, fee, token_is_0=True)
    return Chart(PoolSpot(pool, root, liquidity, curve), range(0), {}, UsdgAmount(usdg), TokenAmount(tokens))


def word(number):
    return number.to_bytes(32, "big")


def deps(change=None):
    return SimpleNamespace(
        market=SimpleNamespace(samples=SimpleNamespace(change_24h=lambda token, now: change)),
        clock=SimpleNamespace(now=lambda: AT),
        settings=SimpleNamespace(chain_id=4663),
    )


@pytest.mark.parametrize(
    ("dex", "percent"),
    [(Price(200, 1), "0.0000"), (Price(202, 1), "1.0000"), (Price(199, 1), "-0.5000"), (Price(601, 3), "0.1667")],
)
def test_the_premium_is_the_pools_price_over_the_equity_times_the_multiplier(dex, percent):
    told = _price(asset(), Price(100, 1), 2 * ONE, dex)
    assert Fraction(told.equity_token_usd) == 200
    assert Fraction(told.underlying_mid_usd) == 100
    assert (told.multiplier, told.dex_premium_pct, told.change24h_pct) == ("2", percent, None)
    assert abs(Fraction(told.dex_usd) - Fraction(dex.num, dex.den)) < Fraction(1, 10**5)


def test_without_a_quote_there_is_no_price():
    with pytest.raises(UpstreamDown, match="AAPL"):
        _price(asset(), None, ONE)


def test_a_token_is_shown_with_its_supply_and_the_price_of_its_deepest_pool():
    charts = [
        chart(1, 220, 10**15, usdg=5_000_000, tokens=2 * ONE, fee=3000),
        chart(2, 200, 10**18, usdg=7_000_000, tokens=0),
        chart(3, None, 0, usdg=9_000_000, tokens=4 * ONE, fee=100),
    ]
    told = _stats(deps((-1, 4)), asset(), charts, (word(3 * ONE), word(2 * ONE)), Price(100, 1), AT)
    assert (told.symbol, told.name, told.token_address, told.chain_id) == ("AAPL", "Apple", "0x" + "1" * 40, 4663)
    assert (Fraction(told.supply.total_tokens), Fraction(told.supply.value_usd)) == (3, 600)
    assert round(Fraction(told.price.dex_usd), 4) == 200
    assert told.price.change24h_pct == "-25.0000"
    assert told.as_of.startswith("2026-03-04T05:06:07")
    assert [(pool.pool[-1], pool.fee_tier) for pool in told.pools] == [("1", 3000), ("2", 500), ("3", 100)]
    shown = [(Fraction(pool.usdg_liquidity), Fraction(pool.token_liquidity)) for pool in told.pools]
    assert shown == [(5, 2), (7, 0), (9, 4)]
    # Dollars, and the tokens at the pool's own price: one without a price has dollars alone.
    assert [round(Fraction(pool.tvl_usd), 1) for pool in told.pools] == [445, 7, 9]
    assert [pool.price and round(Fraction(pool.price), 3) for pool in told.pools] == [220, 200, None]


def test_a_token_without_a_usable_pool_has_an_equity_side():
    told = _stats(deps(), asset(), [], (word(0), word(ONE)), Price(100, 1), AT)
    assert (told.price.dex_usd, told.price.dex_premium_pct, told.pools) == (None, None, [])
    assert (told.price.multiplier, Fraction(told.supply.value_usd)) == ("1", 0)


@pytest.mark.parametrize("own", [(None, word(ONE)), (word(1), None), (word(1), word(0))])
def test_a_token_that_cannot_be_read_is_the_nodes_failure(own):
    with pytest.raises(UpstreamDown):
        _stats(deps(), asset(), [], own, Price(100, 1), AT)


def test_what_is_listed_without_a_token_has_the_multiplier_of_the_list():
    told = _without_token(deps(), asset(address=None), Price(100, 1), AT)
    assert (told.token_address, told.supply.total_tokens, told.supply.value_usd, told.pools) == (None, None, None, [])
    assert (told.price.multiplier, Fraction(told.price.equity_token_usd), told.price.dex_usd) == ("2", 200, None)


def test_a_token_is_asked_for_its_supply_and_its_multiplier():
    assert [(to, data.hex()) for to, data in _calls(TOKEN)] == [(TOKEN, "18160ddd"), (TOKEN, "a60bf13d")]


def test_the_chains_multiplier_goes_before_the_lists():
    second = int(AT.timestamp())
    soon = MultiplierSchedule(ONE, 4 * ONE, effective_at=second + 1, read_at=second - 9)
    told = asset(soon, pending=7 * ONE)
    assert (told.multiplier_e18(AT), told.pending_multiplier_e18(AT)) == (ONE, 4 * ONE)
    over = replace(soon, effective_at=second)
    assert (asset(over).multiplier_e18(AT), asset(over, pending=7).pending_multiplier_e18(AT)) == (4 * ONE, None)
    assert (asset(pending=7 * ONE).multiplier_e18(AT), asset(pending=7 * ONE).pending_multiplier_e18(AT)) == (
        2 * ONE,
        7 * ONE,
    )
    assert (asset().multiplier(AT).num, asset().multiplier(AT).den) == (2 * ONE, ONE)


@pytest.mark.parametrize(("left_s", "reuse_s"), [(0, 0), (3, 3), (5, 5), (15, 5)])
def test_all_stats_are_reused_for_as_long_as_their_quotes_and_five_seconds_at_most(monkeypatch, left_s, reuse_s):
    monkeypatch.setattr(stats, "chosen", lambda *_: [])

    async def look(pools, extra):
        return SimpleNamespace(charts=[], extra=[], at=AT)

    async def quotes():
        return SimpleNamespace(value={})

    mids = SimpleNamespace(all=quotes, reuse_s=lambda copy: left_s)
    market = SimpleNamespace(registry=None, look=look, mids=mids)
    kept = asyncio.run(stats.list_stats(SimpleNamespace(market=market), SimpleNamespace(symbols=None)))
    assert (kept.answer.count, kept.seconds) == (0, reuse_s)


@pytest.mark.parametrize(("left_s", "reuse_s"), [(0, 0), (3, 3), (5, 5), (15, 5)])
@pytest.mark.parametrize("address", [None, TOKEN])
def test_one_tokens_stats_are_reused_no_longer_than_its_quote(left_s, reuse_s, address):
    async def look(pools, extra):
        return SimpleNamespace(charts=[], extra=[word(ONE), word(ONE)], at=AT)

    async def quote(symbol):
        return SimpleNamespace(mid=Price(100, 1)), left_s

    registry = SimpleNamespace(find=lambda symbol: asset(address=address))
    rooms = deps()
    rooms.market = SimpleNamespace(
        registry=registry,
        look=look,
        mids=SimpleNamespace(one=quote),
        pools=SimpleNamespace(of=lambda token: ()),
        samples=rooms.market.samples,
    )
    kept = asyncio.run(stats.get_stats(rooms, SimpleNamespace(symbol="AAPL")))
    assert (kept.answer.token_address, kept.seconds) == (address, reuse_s)
