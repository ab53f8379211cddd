"""What of the issuer's quotes and corporate actions is let in."""

from datetime import UTC, date, datetime, timedelta

import msgspec
import pytest

from tickyard.kernel.units import Price
from tickyard.sources.issuer.border import read_action, read_quote

NOW = datetime(2026, 10, 3, 14, 23, 11, tzinfo=UTC)
BREACH = (ValueError, msgspec.MsgspecError)

QUOTE = {
    "tokenSymbol": "TSLA",
    "bid": "371.43",
    "ask": "371.8",
    "currency": "USD",
    "dailyTradingVolume": "55329941",
    "isTradingHalt": False,
    "generatedAt": "2026-10-03T14:23:10.223339303Z",
    "dailyHigh": "374.6",
    "dailyLow": "354.9",
    "tokenBid": "371.430000000000000000",
}
ACTION = {
    "id": "0xabc",
    "type": "CORPORATE_ACTION_TYPE_CASH_DIVIDEND",
    "status": "CORPORATE_ACTION_STATUS_COMPLETED",
    "processDate": {"year": 2026, "month": 9, "day": 10},
    "tokenSymbol": "AAPL",
    "details": {"cashDividend": {"underlyingSymbol": "AAPL", "rate": "0.26"}},
}


def quote(**changes):
    return read_quote(msgspec.Raw(msgspec.json.encode(QUOTE | changes)), 4663, NOW)


def action(**changes):
    return read_action(msgspec.Raw(msgspec.json.encode(ACTION | changes)))


def test_a_quote_is_exact():
    tsla = quote()
    assert (tsla.bid.text(), tsla.ask.text(), tsla.mid.text()) == ("371.43", "371.8", "371.615")
    assert tsla.is_usable
    assert not tsla.is_halted
    assert (tsla.daily_high, tsla.daily_low, tsla.daily_volume) == ("374.6", "354.9", "55329941")
    assert tsla.generated_at == datetime(2026, 10, 3, 14, 23, 10, 223339, UTC)


@pytest.mark.parametrize(
    "text", ["0", "0.00", "", "-1", "NaN", "Infinity", "1e5", "1000000000", "9" * 200, " 1", "1_0", "\u0663"]
)
def test_a_side_without_sense_is_no_price_and_there_is_no_mid(text):
    for side in ("bid", "ask"):
        odd = quote(**{side: text})
        assert getattr(odd, side) is None
        assert odd.mid is None
        assert not odd.is_usable


def test_a_quiet_side_leaves_the_other_readable():
    assert quote(bid="0").ask.equals(Price(3718, 10))


def test_crossed_sides_are_both_dropped_and_equal_ones_are_not():
    assert (quote(bid="372").bid, quote(bid="372").ask) == (None, None)
    assert quote(bid="371.80").is_usable


def test_a_quote_from_the_future_is_not_usable():
    late = (NOW + timedelta(seconds=61)).isoformat()
    fine = (NOW + timedelta(seconds=60)).isoformat()
    assert not quote(generatedAt=late).is_usable
    assert quote(generatedAt=fine).is_usable


def test_a_quote_in_another_currency_is_not_usable():
    assert not quote(currency="EUR").is_usable


def test_zeros_of_the_bulk_form_mean_unknown():
    bulk = quote(dailyHigh="0", dailyLow="0.00", dailyTradingVolume="0")
    assert (bulk.daily_high, bulk.daily_low, bulk.daily_volume) == (None, None, None)
    assert quote(dailyHigh="-3", dailyLow="x").daily_high is None


@pytest.mark.parametrize(
    "changes",
    [
        {"bid": 371.43},
        {"ask": None},
        {"isTradingHalt": "false"},
        {"isTradingHalt": 0},
        {"generatedAt": 1},
        {"tokenSymbol": "tsla"},
        {"generatedAt": ""},
        {"currency": 840},
        {"dailyHigh": 3},
    ],
)
def test_a_quote_of_the_wrong_types_is_refused(changes):
    with pytest.raises(BREACH):
        quote(**changes)


def test_an_action_is_kept_with_its_day_and_details():
    paid = action()
    assert (paid.asset_id, paid.symbol, paid.process_date) == ("0xabc", "AAPL", date(2026, 9, 10))
    assert paid.details == ACTION["details"]
    assert action(processDate=None).process_date is None


def test_details_lose_hidden_characters():
    assert action(details={"x": {"y": "a\u202eb\x00"}}).details == {"x": {"y": "ab"}}


@pytest.mark.parametrize(
    "changes",
    [
        {"id": None},
        {"type": "CASH"},
        {"status": "DONE"},
        {"tokenSymbol": ""},
        {"processDate": {"year": 2026, "month": 2, "day": 30}},
        {"processDate": {"year": 2**40, "month": 2, "day": 3}},
        {"processDate": {"year": 2026, "month": 2, "day": 10**30}},
        {"processDate": "2026-02-03"},
        {"details": ["x"]},
        {"details": {"x": 0.5}},
        {"details": {"x": "y" * 9000}},
    ],
)
def test_an_action_that_breaks_its_shape_is_refused(changes):
    with pytest.raises(BREACH):
        action(**changes)
