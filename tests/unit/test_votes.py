"""What a feed of unknown shape may send, and what we make of it."""

import json
from datetime import date

import msgspec
import pytest

from tickyard.features.votes.power import Stake, ranked, shares_text, total_text
from tickyard.kernel.units import TokenAmount
from tickyard.sources.votes import EVENTS_MAX, read_votes


def book(value):
    return read_votes(json.dumps(value).encode())


MEETING = {
    "id": "m-1",
    "tokenSymbol": "AAPL",
    "type": "ANNUAL_MEETING",
    "status": "OPEN",
    "processDate": {"year": 2026, "month": 11, "day": 20},
    "details": {"question": "Elect the board?"},
}


@pytest.mark.parametrize("wrap", [lambda e: e, lambda e: {"events": e}, lambda e: {"data": {"votes": e}, "next": None}])
def test_events_are_found_wherever_they_are_listed(wrap):
    (event,) = book(wrap([MEETING])).events
    assert (event.id, event.symbol, event.type, event.status) == ("m-1", "AAPL", "ANNUAL_MEETING", "OPEN")
    assert event.process_date == date(2026, 11, 20)
    assert event.details == {"question": "Elect the board?"}


def test_the_feeds_own_data_is_passed_on():
    value = {"odd": [1, None, True, {"deep": "text"}], "votes": "none yet"}
    found = book(value)
    assert (found.raw, found.events) == (value, ())


def test_numbers_keep_every_digit():
    body = b'{"weight":0.10000000000000000000001,"big":123456789012345678901234567890,"odd":1e400}'
    assert msgspec.json.encode(read_votes(body).raw) == body


def test_an_event_without_an_id_is_known_by_what_it_says():
    first, second = ({"symbol": "AAPL", "type": kind} for kind in ("MEETING", "TENDER"))
    ids = [event.id for event in book([first, second, first]).events]
    assert len(ids) == 2
    assert ids == [event.id for event in book([first, second]).events]
    assert all(each.startswith("vote_") for each in ids)


@pytest.mark.parametrize(
    ("field", "value", "day"),
    [
        ("processDate", "2026-11-20", date(2026, 11, 20)),
        ("meetingDate", "2026-11-20T15:00:00Z", date(2026, 11, 20)),
        ("recordDate", {"year": 2026, "month": 2, "day": 30}, None),
        ("deadline", "soon", None),
        ("date", "2026-13-01", None),
        ("processDate", 5, None),
        ("processDate", {"year": 10**30, "month": 1, "day": 1}, None),
    ],
)
def test_dates_are_read_where_they_make_sense(field, value, day):
    (event,) = book([{"symbol": "AAPL", field: value}]).events
    assert event.process_date == day


@pytest.mark.parametrize("entry", [None, 5, "AAPL", [], {}, {"id": "x"}, {"symbol": "aapl"}, {"symbol": ["AAPL"]}])
def test_what_names_no_asset_is_no_event(entry):
    assert book([entry]).events == ()


def test_texts_lose_what_disguises():
    (event,) = book([{"symbol": "AAPL", "type": "A\u202eB\u0000", "id": "\u200bx" + "y" * 900}]).events
    assert event.type == "AB"
    assert event.id == "x" + "y" * 79


def test_long_lists_are_cut():
    assert len(book([{"symbol": "AAPL", "id": n} for n in range(EVENTS_MAX + 50)]).events) == EVENTS_MAX


@pytest.mark.parametrize("body", [b"", b"{", b"[" * 100_000, b'{"a":' * 9 + b"{}" + b"}" * 9, b'{"a":"\xff"}'])
def test_what_is_no_sane_json_is_refused(body):
    with pytest.raises((ValueError, msgspec.MsgspecError, RecursionError)):
        read_votes(body)


def test_shares_are_cut_to_six_decimals_and_the_total_sums_what_is_shown():
    stakes = ranked(
        [
            Stake("AAPL", TokenAmount(1_999999999999999999), 10**18),
            Stake("CRWD", TokenAmount(500_000_000_000_999_999), 4 * 10**18),
            Stake("TINY", TokenAmount(999_999_999_999), 10**18),
        ]
    )
    assert [(stake.symbol, shares_text(stake)) for stake in stakes] == [
        ("CRWD", "2.000000"),
        ("AAPL", "1.999999"),
        ("TINY", "0.000000"),
    ]
    assert total_text(stakes) == "3.999999"


def test_equal_stakes_are_ordered_by_symbol():
    stakes = ranked(Stake(symbol, TokenAmount(10**18), 10**18) for symbol in ("MSFT", "AAPL", "XOM"))
    assert [stake.symbol for stake in stakes] == ["AAPL", "MSFT", "XOM"]
