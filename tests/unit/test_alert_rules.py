"""Thresholds, crossings, lifetimes and states of alerts."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import get_args

import pytest

from tickyard.features.alerts.rules import (
    Condition,
    Delivery,
    crossed_range,
    expiry_of,
    has_expired,
    read_threshold,
)
from tickyard.kernel.errors import BadRequest


@pytest.mark.parametrize(
    ("given", "nanos"),
    [
        (1, 10**9),
        (10**9, 10**18),
        (Decimal("371.615"), 371_615_000_000),
        (Decimal("1E9"), 10**18),
        (Decimal("0.000000001"), 1),
        (Decimal("0.0000000005"), None),
        (Decimal("0.0000000015"), 2),
        (Decimal("0.0000000025"), 2),
        (Decimal("0.00000000150000000000000000000000000000000000000000001"), 2),
        (Decimal("0.00000000249999999999999999999999999999999999999999999"), 2),
        (Decimal("123456789.123456789"), 123_456_789_123_456_789),
        (Decimal("999999999.9999999999"), 10**18),
        (0.1, 100_000_000),
        (371.615, 371_615_000_000),
    ],
)
def test_a_threshold_is_rounded_half_even_to_nine_decimals(given, nanos):
    if nanos is None:
        with pytest.raises(BadRequest):
            read_threshold(given)
    else:
        assert read_threshold(given) == nanos


@pytest.mark.parametrize(
    "given",
    [
        True,
        False,
        None,
        "5",
        "1e3",
        [5],
        {"price": 5},
        0,
        -1,
        10**9 + 1,
        10**99,
        -(10**99),
        Decimal("0.0"),
        Decimal("-0.0000000001"),
        Decimal("1000000000.0000000001"),
        Decimal("1e400"),
        Decimal("-1e400"),
        Decimal("1e-400"),
        Decimal("1e999999999"),
        Decimal("1e-999999999"),
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("Infinity"),
        Decimal("-Infinity"),
        float("nan"),
        float("inf"),
        -0.0,
    ],
)
def test_what_is_no_sensible_price_is_refused(given):
    with pytest.raises(BadRequest, match="price"):
        read_threshold(given)


def crosses(condition, threshold, previous, current):
    """Whether a move fires an alert, as people say it; the code looks for all of them at once."""
    if condition == "above":
        return previous < threshold <= current
    return previous > threshold >= current


@pytest.mark.parametrize(
    ("condition", "previous", "current", "fires"),
    [
        ("above", 99, 100, True),
        ("above", 99, 101, True),
        ("above", 100, 101, False),
        ("above", 98, 99, False),
        ("above", 101, 99, False),
        ("above", 100, 100, False),
        ("below", 101, 100, True),
        ("below", 101, 99, True),
        ("below", 100, 99, False),
        ("below", 102, 101, False),
        ("below", 99, 101, False),
    ],
)
def test_the_threshold_counts_as_crossed_where_the_price_arrives(condition, previous, current, fires):
    found = crossed_range(previous, current)
    assert (found is not None and found[0] == condition and found[1] <= 100 <= found[2]) is fires


def test_the_range_of_a_move_holds_exactly_the_thresholds_it_crosses():
    for previous in range(1, 8):
        for current in range(1, 8):
            found = crossed_range(previous, current)
            for condition in get_args(Condition):
                for threshold in range(1, 9):
                    inside = found is not None and found[0] is condition and found[1] <= threshold <= found[2]
                    assert inside is crosses(condition, threshold, previous, current)


def test_an_alert_lives_thirty_days_and_not_a_moment_longer():
    born = datetime(2026, 10, 1, 12, tzinfo=UTC)
    end = expiry_of(born)
    assert end - born == timedelta(days=30)
    assert not has_expired(end, end - timedelta(microseconds=1))
    assert has_expired(end, end)


def test_sending_is_shown_as_pending():
    assert {state: state.shown for state in Delivery if state.shown is not state} == {
        Delivery.SENDING: Delivery.PENDING
    }
