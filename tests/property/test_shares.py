"""Shares: never more than the pool, dust below one unit each, exact for any balance a chain can hold."""

import random
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction

from hypothesis import given
from hypothesis.strategies import dates, integers, lists, timedeltas

from tickyard.features.earn import rules

MAX = 2**256 - 1
pools = integers(0, 10**18)
balances = integers(0, MAX)


def split(pool, held):
    total = sum(held)
    return [rules.share(pool, balance, total) for balance in held]


@given(pools, lists(balances, min_size=1, max_size=60))
def test_shares_never_exceed_the_pool_and_leave_less_than_one_unit_each(pool, held):
    shares = split(pool, held)
    assert sum(shares) <= pool
    if sum(held):
        assert pool - sum(shares) < len(held)
    else:
        assert shares == [0] * len(held)


@given(pools, lists(integers(1, MAX), min_size=1, max_size=30))
def test_a_share_is_the_exact_fraction_rounded_down(pool, held):
    total = sum(held)
    for balance, got in zip(held, split(pool, held), strict=True):
        exact = Fraction(pool) * balance / total
        assert got <= exact < got + 1


@given(pools, lists(integers(1, MAX), min_size=2, max_size=30))
def test_who_holds_more_never_gets_less(pool, held):
    held.sort()
    shares = split(pool, held)
    assert shares == sorted(shares)


@given(pools, integers(1, MAX))
def test_a_single_holder_gets_everything(pool, balance):
    assert split(pool, [balance]) == [pool]


def test_nothing_to_share_is_no_division():
    assert split(10**9, []) == []
    assert rules.share(10**9, 0, 0) == 0
    assert split(0, [1, 2, 3]) == [0, 0, 0]


def test_a_hundred_thousand_holders_share_to_the_base_unit():
    rng = random.Random(20260916)
    held = [rng.randrange(10**24, 10**30) if rng.random() < 0.9 else rng.randrange(MAX >> 20) for _ in range(100_000)]
    pool = 123_456_789_012
    shares = split(pool, held)
    total = sum(held)
    assert 0 <= pool - sum(shares) < len(held)
    for at in rng.sample(range(len(held)), 1000):
        assert shares[at] * total <= pool * held[at] < (shares[at] + 1) * total


@given(integers(0, 18))
def test_the_threshold_is_a_million_whole_tokens(decimals):
    assert rules.threshold_raw(decimals) == 10 ** (6 + decimals)


@given(dates(date(1970, 1, 2), date(9990, 1, 1)))
def test_an_epoch_is_its_date_and_its_moments_follow(day):
    epoch = rules.epoch_of(day)
    assert rules.day_of(epoch) == day
    assert str(epoch).rjust(8, "0") == day.isoformat().replace("-", "").rjust(8, "0")
    assert rules.snapshot_at(epoch) == datetime(day.year, day.month, day.day, 23, tzinfo=UTC)
    assert rules.opens_at(epoch) - rules.snapshot_at(epoch) == timedelta(hours=1)
    assert rules.closes_at(epoch) - rules.opens_at(epoch) == timedelta(hours=1)
    assert rules.next_epoch(epoch) == rules.epoch_of(day + timedelta(days=1))
    assert list(rules.epochs_between(epoch, rules.epoch_of(day + timedelta(days=3)))) == [
        rules.epoch_of(day + timedelta(days=n)) for n in (1, 2, 3)
    ]


@given(integers(-(10**9), 10**12))
def test_a_number_that_is_no_date_is_no_epoch(number):
    day = rules.day_of(number)
    assert day is None or rules.epoch_of(day) == number


@given(timedeltas(timedelta(0), timedelta(days=1200)).map(lambda later: datetime(2026, 9, 16, tzinfo=UTC) + later))
def test_exactly_one_window_or_none_holds_a_moment(moment):
    today = rules.accruing_epoch(moment)
    yesterday = rules.accruing_epoch(moment - timedelta(days=1))
    assert not rules.is_in_window(today, moment)
    assert rules.is_in_window(yesterday, moment) == (moment.hour == 0)
    assert rules.starts_at(today) <= moment < rules.opens_at(today)
    assert moment < rules.next_snapshot_at(moment) <= moment + timedelta(days=1)
    assert moment < rules.next_open_at(moment) <= moment + timedelta(days=1)


@given(timedeltas(timedelta(microseconds=1), timedelta(hours=1)))
def test_the_window_is_half_open(inside):
    epoch = 20261115
    opens, closes = rules.opens_at(epoch), rules.closes_at(epoch)
    assert rules.is_in_window(epoch, opens)
    assert rules.is_in_window(epoch, closes - inside)
    assert not rules.is_in_window(epoch, closes)
    assert not rules.is_in_window(epoch, opens - inside)
