"""One listener to the stream, and the events as they travel."""

import asyncio

import pytest

from tickyard.features.history.stream.cursor import Cursor
from tickyard.features.history.stream.listener import Listener
from tickyard.features.history.stream.told import Told, number
from tickyard.kernel.clock import WallClock

HERE = Cursor((100, 0), (5, "split"))
ALL = frozenset({"price", "sample", "candle", "action", "status"})


def listener(symbols=None, events=ALL, bytes_max=1_000):
    return Listener("1.2.3.4", symbols, events, HERE, bytes_max)


def sample(slot, part=0, *symbols):
    return Told("sample", {symbol: {"symbol": symbol} for symbol in symbols}, {"slot": slot}, "samples", (slot, part))


def test_news_is_told_once_with_the_id_to_go_on_from():
    ears = listener()
    assert ears.framed([sample(100, 0, "AAPL"), sample(99, 7, "AAPL")]) == b"", "heard before"
    assert ears.framed([sample(100, 1, "AAPL")]) == (
        b'id: 100.1.5.split\nevent: sample\ndata: {"slot":100,"samples":[{"symbol":"AAPL"}]}\n\n'
    )
    acted = Told("action", {"AAPL": {}}, {"id": "merger"}, action=(5, "splitz"))
    assert ears.framed([acted]) == b'id: 100.1.5.splitz\nevent: action\ndata: {"id":"merger"}\n\n'
    assert ears.framed([acted]) == b""
    assert ears.cursor == Cursor((100, 1), (5, "splitz"))


def test_what_passes_has_no_id_and_is_told_whenever_it_comes():
    ears = listener()
    price = Told("price", {"AAPL": {"symbol": "AAPL"}}, {}, "prices")
    for _ in range(2):
        assert ears.framed([price]) == b'event: price\ndata: {"prices":[{"symbol":"AAPL"}]}\n\n'
    assert ears.cursor == HERE


def test_who_asked_for_something_else_hears_nothing_and_has_heard_it_all_the_same():
    ears = listener(events=frozenset({"price"}))
    assert ears.framed([sample(101, 0, "AAPL")]) == b""
    ears = listener(symbols=frozenset({"TSLA"}))
    assert ears.framed([sample(101, 0, "AAPL")]) == b""
    assert ears.cursor.round == (101, 0)
    assert b"TSLA" in ears.framed([sample(102, 0, "AAPL", "TSLA")])
    assert ears.framed([Told("action", {"AAPL": {}}, {"id": "a"}, action=(9, "a"))]) == b""
    assert ears.framed([Told("status", {}, {"ok": True})]) == b'event: status\ndata: {"ok":true}\n\n'
    # A round without samples is told to whoever wants all.
    assert listener().framed([sample(101)]) != b""
    assert listener(symbols=frozenset({"TSLA"})).framed([sample(101)]) == b""


def test_a_listener_never_goes_back():
    ears = listener()
    ears.move_to(Cursor((99, 5), (7, "a")))
    assert ears.cursor == Cursor((100, 0), (7, "a"))
    ears.move_to(Cursor((101, 5), (6, "z")))
    assert ears.cursor == Cursor((101, 5), (7, "a"))


def test_a_sign_of_life_says_how_far_they_have_heard():
    async def scenario():
        ears = listener()
        ears.beat()
        assert await ears.next() == b"id: 100.0.5.split\n: still here\n\n"

    asyncio.run(scenario())


def test_what_waits_comes_as_one_piece_and_wakes_who_waits_for_it():
    async def scenario():
        ears = listener()
        ears.push(b"a")
        ears.push(b"b")
        assert await ears.next() == b"ab"
        waiting = asyncio.create_task(ears.next())
        await WallClock().sleep(0)
        ears.push(b"c")
        assert await waiting == b"c"
        waiting = asyncio.create_task(ears.next())
        await WallClock().sleep(0)
        ears.end()
        assert await waiting == b""
        ears.push(b"d")
        assert await ears.next() == b"", "it is over"
        assert not ears.is_cut

    asyncio.run(scenario())


def test_too_much_that_waits_cuts_them_off_and_taking_it_makes_room():
    async def scenario():
        ears, cuts = listener(bytes_max=10), []
        ears.on_cut = lambda: cuts.append(1)
        for _ in range(3):
            ears.push(b"0123456789")
            assert await ears.next() == b"0123456789"
        ears.push(b"01234")
        ears.push(b"56789!")
        assert not ears.is_cut
        ears.push(b"?")
        assert (ears.is_cut, ears.is_over, cuts) == (True, True, [1])
        assert await ears.next() == b""

    asyncio.run(scenario())


def test_who_has_taken_everything_is_not_slow_however_much_comes_at_once():
    """Midnight closes a candle of every interval, and after a store that was away there are many rounds to tell."""

    async def scenario():
        ears = listener(bytes_max=10)
        ears.push(b"a price")
        ears.push(b"a round of more than ten bytes")
        assert not ears.is_cut
        assert await ears.next() == b"a pricea round of more than ten bytes"
        ears.push(b"the next round, as long as that")
        assert await ears.next() == b"the next round, as long as that"

    asyncio.run(scenario())


def test_who_takes_nothing_of_the_past_is_stuck_unless_they_wait_for_us():
    ears = listener()
    assert not ears.is_stuck(), "never asked before"
    assert ears.is_stuck()
    ears.framed([sample(101)])
    assert not ears.is_stuck()
    with ears.waiting():
        assert not ears.is_stuck()
        assert not ears.is_stuck()
    assert not ears.is_stuck(), "counted anew"
    assert ears.is_stuck()


@pytest.mark.parametrize(
    ("text", "cursor"),
    [
        ("100.0.5.split", HERE),
        ("1.2.3.", Cursor((1, 2), (3, ""))),
        ("999999999.999.9999999999999999.a_1", Cursor((999_999_999, 999), (9_999_999_999_999_999, "a_1"))),
        *(
            (text, None)
            for text in ("", "1.2.3", "1.2.3.A", "1234567890.0.0.", "1.1000.0.", "-1.0.0.", "1.0.0.a\n", "\u0661.0.0.")
        ),
    ],
)
def test_an_id_is_ours_or_none(text, cursor):
    assert Cursor.parse(text) == cursor
    if cursor is not None:
        assert cursor.text() == text


@pytest.mark.parametrize(
    ("mine", "other", "is_at_least"),
    [
        (HERE, HERE, True),
        (HERE, Cursor((100, 1), (5, "split")), False),
        (HERE, Cursor((100, 0), (5, "splitz")), False),
        (Cursor((101, 0), (6, "")), HERE, True),
        (Cursor((101, 0), (4, "z")), HERE, False),
    ],
)
def test_whoever_has_heard_more_of_both_has_heard_all(mine, other, is_at_least):
    assert mine.is_at_least(other) is is_at_least


def test_a_price_is_exact():
    assert bytes(number(187_250_000_001)) == b"187.250000001"
