"""Which refresh of the registry is believed, and what a multiplier is at a moment."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import msgspec
import pytest

from tickyard.kernel.ids import Address, Symbol
from tickyard.market.listing.asset import Asset, MultiplierSchedule
from tickyard.market.listing.identity import ListingRefused, check_refresh, identity_of
from tickyard.market.listing.kept import ListingBroken, decode_listing, encode_listing
from tickyard.market.listing.registry import Registry
from tickyard.sources.issuer.api import ListedAsset

ONE = 10**18


def at(number):
    return Address(f"0x{number:040x}")


def listed(symbol, address=None, **more):
    fields = {
        "id": symbol,
        "name": symbol,
        "multiplier_e18": ONE,
        "pending_multiplier_e18": None,
        "pending_effective_at": None,
        "status": "ASSET_STATUS_ACTIVE",
        "logo_url": "",
        "isin": "",
        "trading_capabilities": None,
    }
    return ListedAsset(symbol=Symbol(symbol), address=address, **{**fields, **more})


KNOWN = [listed(f"S{number}", at(number + 1)) for number in range(10)]


PINS = {asset.symbol: identity_of(asset) for asset in KNOWN}


def changed(position, **fields):
    return [replace(asset, **fields) if index == position else asset for index, asset in enumerate(KNOWN)]


@pytest.mark.parametrize(
    "new",
    [
        KNOWN,
        KNOWN[::-1],
        [*KNOWN, listed("NEW", at(99)), listed("LATER")],
        KNOWN[:8],
        changed(3, name="Renamed", multiplier_e18=4 * ONE, status="ASSET_STATUS_INACTIVE"),
    ],
)
def test_an_honest_successor_is_taken(new):
    check_refresh(KNOWN, new, PINS)


@pytest.mark.parametrize(
    ("new", "why"),
    [
        (changed(3, address=at(99)), "S3 changed its address"),
        (changed(3, address=None), "S3 has no token on this chain any more"),
        (changed(3, address=None, id="other"), "S3 changed its token uid"),
        (changed(3, id="other"), "S3 changed its token uid"),
        (changed(3, symbol=Symbol("S33")), "S33 is the token that we know as S3"),
        (changed(3, symbol=Symbol("S33"), address=at(99)), "S33 is the token that we know as S3"),
        (changed(3, symbol=Symbol("S33"), id="other"), "S33 is the token that we know as S3"),
        ([*KNOWN, listed("NEW", at(99), id="S3")], "share a token uid"),
        ([*KNOWN, listed("S3", at(99))], "listed twice"),
        ([*KNOWN, listed("NEW", at(1))], "share an address"),
        (KNOWN[:7], "3 of 10 assets vanished"),
        ([], "10 of 10 assets vanished"),
    ],
)
def test_a_list_that_lies_is_refused(new, why):
    with pytest.raises(ListingRefused, match=why):
        check_refresh(KNOWN, new, PINS)


def test_all_who_changed_are_named_for_the_person_who_looks():
    new = [replace(asset, address=at(90 + n)) if n in (2, 5) else asset for n, asset in enumerate(KNOWN)]
    with pytest.raises(ListingRefused) as refused:
        check_refresh(KNOWN, new, PINS)
    assert refused.value.changed == ("S2", "S5")


def test_an_asset_may_gain_its_address_later():
    check_refresh([listed("LATER")], [listed("LATER", at(5))], {})


def test_who_left_may_come_back_only_to_the_same_address():
    departed = {**PINS, Symbol("GONE"): identity_of(listed("GONE", at(50)))}
    check_refresh(KNOWN, [*KNOWN, listed("GONE", at(50))], departed)
    with pytest.raises(ListingRefused, match="GONE changed its address"):
        check_refresh(KNOWN, [*KNOWN, listed("GONE", at(51))], departed)


def test_who_was_forgotten_may_be_listed_without_a_token_and_comes_back_as_nobody_else():
    forgotten = [asset for asset in KNOWN if asset.symbol != "S3"]
    without = changed(3, address=None)
    check_refresh(forgotten, without, PINS)
    check_refresh(without, without, PINS)
    check_refresh(without, KNOWN, PINS)
    for other in ({"address": at(51)}, {"address": at(4), "id": "other"}, {"address": None, "id": "other"}):
        with pytest.raises(ListingRefused, match="S3 changed"):
            check_refresh(without, changed(3, **other), PINS)


def test_the_first_list_of_all_is_checked_against_itself():
    check_refresh([], KNOWN, {})
    with pytest.raises(ListingRefused):
        check_refresh([], [*KNOWN, KNOWN[0]], {})


def test_a_list_comes_back_from_the_store_as_it_went_in():
    rich = listed(
        "RICH",
        at(7),
        pending_multiplier_e18=2 * ONE,
        pending_effective_at=datetime(2026, 10, 1, tzinfo=UTC),
        trading_capabilities=msgspec.Raw(b'{"market": {"whole": "TRADING_STATUS_TRADABLE"}, "n": [1, null]}'),
    )
    plain = [*KNOWN, listed("BARE"), listed("TEXT", at(8), trading_capabilities=msgspec.Raw(b'"any"'))]
    assert decode_listing(encode_listing([rich, *plain])) == [rich, *plain]


@pytest.mark.parametrize("body", ["", "{", "[{}]", '{"assets": []}', '[{"id": 1}]'])
def test_a_kept_list_that_cannot_be_read_is_an_error_and_never_ignored(body):
    with pytest.raises(ListingBroken, match="tickyard registry forget"):
        decode_listing(body)


NOON = datetime(2026, 10, 1, 12, tzinfo=UTC)
SECOND = int(NOON.timestamp())


def asset(schedule):
    return Asset(listed("A", at(1), multiplier_e18=3 * ONE, pending_multiplier_e18=None), schedule, "0x")


def test_the_chain_wins_over_the_registry():
    assert asset(MultiplierSchedule(4 * ONE, 4 * ONE, 0, SECOND)).multiplier_e18(NOON) == 4 * ONE
    assert asset(None).multiplier_e18(NOON) == 3 * ONE


def test_a_scheduled_multiplier_flips_at_its_second():
    flips = asset(MultiplierSchedule(ONE, 2 * ONE, SECOND + 60, SECOND))
    before, after = NOON + timedelta(seconds=59), NOON + timedelta(seconds=60)
    assert (flips.multiplier_e18(before), flips.pending_multiplier_e18(before)) == (ONE, 2 * ONE)
    assert (flips.multiplier_e18(after), flips.pending_multiplier_e18(after)) == (2 * ONE, None)


def test_a_schedule_that_was_never_cleared_changes_nothing():
    done = asset(MultiplierSchedule(2 * ONE, 2 * ONE, SECOND - 60, SECOND))
    assert (done.multiplier_e18(NOON), done.pending_multiplier_e18(NOON)) == (2 * ONE, None)
    again = asset(MultiplierSchedule(2 * ONE, 2 * ONE, SECOND + 60, SECOND))
    assert again.pending_multiplier_e18(NOON) is None


def test_nothing_is_reused_past_the_second_at_which_a_multiplier_flips():
    now = datetime.fromtimestamp(SECOND, UTC)
    for flips_after_s, reuse_s in (((), 60), ((-1, 0), 60), ((1,), 1), ((59, 7, -7), 7), ((61,), 60)):
        each = {n: MultiplierSchedule(ONE, 2 * ONE, SECOND + s, SECOND) for n, s in enumerate(flips_after_s)}
        assert Registry.reuse_s(SimpleNamespace(_schedules=each), 60, now) == reuse_s
