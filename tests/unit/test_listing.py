from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from tickyard.sandbox.world.listing import by_symbol, load
from tickyard.sandbox.world.place import USDG
from tickyard.sandbox.world.walk import mid_e6, quote_e6

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


def luhn(isin: str) -> int:
    digits = "".join(str(int(c, 36)) for c in isin)
    doubled = [int(d) * (2 if i % 2 else 1) for i, d in enumerate(reversed(digits))]
    return sum(n // 10 + n % 10 for n in doubled) % 10


def shapes(listed):
    return {plan.shape for plan in listed.pools}


def test_194_assets_are_listed_once_each():
    listing = load()
    assert len(listing) == 194
    assert len({listed.symbol for listed in listing}) == 194
    assert len({listed.isin for listed in listing}) == 194
    addresses = [listed.address for listed in listing if listed.address]
    assert len(set(addresses)) == len(addresses) == 193


def test_every_isin_has_twelve_characters_and_a_right_check_digit():
    assert [listed.symbol for listed in load() if len(listed.isin) != 12 or luhn(listed.isin)] == []


def test_the_fixture_tokens_are_where_mainnet_has_them():
    assert by_symbol()["NVDA"].address == "0xd0601ce157db5bdc3162bbac2a2c8af5320d9eec"
    assert by_symbol()["TSLA"].address == "0x322f0929c4625ed5bad873c95208d54e1c003b2d"


def test_multipliers_keep_all_their_digits():
    assert by_symbol()["CRWD"].multiplier_e18 == 4 * 10**18
    assert by_symbol()["AAPL"].multiplier_e18 == 1_000566080061092436
    assert sum(listed.multiplier_e18 % 10**18 != 0 for listed in load()) > 10
    assert sum(listed.pending is not None for listed in load()) == 1


def test_the_odd_ones_are_there():
    listing = load()
    assert Counter(listed.status for listed in listing)["ASSET_STATUS_INACTIVE"] == 1
    assert sum(listed.is_halted for listed in listing) == 1
    assert sum(listed.is_paused for listed in listing) == 1
    assert [listed.symbol for listed in listing if listed.address is None] == ["SMR"]


def test_the_market_has_every_shape():
    listing = [listed for listed in load() if listed.address]
    assert sum(not listed.pools for listed in listing) == 12
    assert sum(shapes(listed) == {"bare"} for listed in listing) == 2
    assert sum(shapes(listed) == {"away"} for listed in listing) == 3
    assert sum(shapes(listed) == {"thin"} for listed in listing) == 5
    assert {plan.fee for listed in listing for plan in listed.pools} == {100, 500, 3000, 10000}
    orders = Counter(int(listed.address, 16) < int(USDG, 16) for listed in listing if listed.pools)
    assert min(orders.values()) > 30


def test_the_walk_stays_within_three_percent_and_moves():
    for listed in load():
        mids = [mid_e6(listed, NOON + timedelta(minutes=5 * i)) for i in range(40)]
        assert all(abs(mid - listed.price_e6) * 100 <= 3 * listed.price_e6 for mid in mids), listed.symbol
        assert len(set(mids)) == 1 if listed.is_halted else len(set(mids)) > 1, listed.symbol


def test_the_walk_is_gentle_from_slot_to_slot():
    nvda = by_symbol()["NVDA"]
    mids = [mid_e6(nvda, NOON + timedelta(minutes=5 * i)) for i in range(2_000)]
    assert max(abs(b - a) * 1000 // a for a, b in pairwise(mids)) < 6


def test_quotes_are_whole_cents_with_the_bid_below_the_ask():
    for listed in load():
        bid, ask = quote_e6(listed, NOON)
        assert 0 < bid < ask
        assert bid % 10_000 == ask % 10_000 == 0
        assert mid_e6(listed, NOON) * 2 == bid + ask
