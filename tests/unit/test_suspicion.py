"""Which samples are recorded and not believed."""

from datetime import UTC, datetime, timedelta

import pytest

from tickyard.kernel.units import Price
from tickyard.market.sampling.suspicion import equity_e9, is_suspect, suspects
from tickyard.sources.issuer.border import IssuerQuote

NOW = datetime(2026, 11, 16, 15, tzinfo=UTC)


def quote(bid="100", ask="102", *, is_halted=False, age=timedelta(0)):
    sides = (None if side is None else Price.parse(side) for side in (bid, ask))
    return IssuerQuote("AAPL", None, *sides, "USD", is_halted, NOW - age, None, None, None)


@pytest.mark.parametrize(
    ("price", "suspect"),
    [(100, False), (75, False), (125, False), (74.9, True), (125.1, True), (1, True), (100_000, True)],
)
def test_a_price_is_suspect_that_is_more_than_a_quarter_from_the_equity(price, suspect):
    assert is_suspect(int(price * 10**9), 100 * 10**9) is suspect


def test_those_are_named_with_what_the_equity_says_and_nobody_without_a_quote():
    assert suspects({"a": 200, "b": 100, "c": 999}, {"a": 100, "b": 101}) == {"a": 100}


def test_what_a_token_is_worth_is_the_mid_times_its_multiplier():
    assert equity_e9(quote(), Price(3, 2), NOW) == 151_500_000_000
    assert equity_e9(quote("0.0000000014", "0.0000000014"), Price(1, 1), NOW) == 1


@pytest.mark.parametrize(
    ("told", "is_open"),
    [
        (quote(age=timedelta(minutes=15)), True),
        (quote(age=timedelta(minutes=15, microseconds=1)), False),
        (quote(is_halted=True), False),
        (quote(bid=None), False),
        (quote(ask=None), False),
    ],
)
def test_a_market_that_is_shut_or_silent_makes_nobody_suspect(told, is_open):
    assert (equity_e9(told, Price(1, 1), NOW) is not None) is is_open
