"""Tables and charts for the terminal."""

import io
import json
import sys
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickyard.terminal.ascii import print_json, show_what_it_can
from tickyard.terminal.chart import AXIS, Bar, draw
from tickyard.terminal.commands import WrongCommand, base_url, chart_screen, read_call
from tickyard.terminal.tables import label, render

START = datetime(2026, 10, 3, tzinfo=UTC)


def bar(at, opened, high, low, closed):
    return Bar(START + timedelta(minutes=5 * at), opened, high, low, closed)


def test_fields_stand_under_one_another_and_null_is_a_dash():
    shown = render("get_price", {"symbol": "AAPL", "dailyHigh": None, "halted": False, "token": {"midPrice": "1.5"}})
    assert shown.splitlines() == [
        "symbol      AAPL",
        "daily high  -",
        "halted      no",
        "",
        "token",
        "  mid price  1.5",
    ]


def test_a_list_is_a_table_with_numbers_to_the_right():
    rows = [{"symbol": "A", "price": {"usd": "1.5"}, "pools": [1, 2]}, {"symbol": "BRK", "price": {"usd": "1250"}}]
    assert render("list", {"items": rows, "none": []}).splitlines() == [
        "",
        "items (2)",
        "  symbol  price usd  pools",
        "  ------  ---------  -----",
        "  A             1.5      2",
        "  BRK          1250      -",
        "",
        "none (0)",
        "  none",
    ]


PRICES = [
    {"symbol": "A", "price": {"symbol": "A", "token": {"mid": "1.123456789"}}, "error": None},
    {"symbol": "B", "price": None, "error": {"code": "not_found"}},
]


def test_a_column_is_neither_repeated_nor_empty_and_shows_six_decimals():
    assert render("list", {"prices": PRICES}).splitlines()[2:] == [
        "  symbol  token mid  error code",
        "  ------  ---------  ----------",
        "  A        1.123456  -",
        "  B               -  not_found",
    ]


def test_a_choice_is_shown_without_its_family():
    rows = [{"status": "ASSET_STATUS_ACTIVE", "type": "CORPORATE_ACTION_TYPE_FORWARD_SPLIT"}]
    assert render("list", rows).splitlines()[-1] == "ACTIVE  FORWARD_SPLIT"


def test_a_table_gives_up_columns_to_fit_and_says_so():
    address = "0x5fc5360D0400a0Fd4f2af552ADD042D716F1d168"
    rows = [
        {"symbol": s, "chainId": 4663, "address": address, "name": f"{s} " * 20, "price": str(ord(s))} for s in "AB"
    ]
    lines = render("list", rows, 36).splitlines()
    assert lines[0] == "symbol  price"
    assert lines[-1] == "not shown: address, chain id, name; --json has all"
    assert max(map(len, lines[:-1])) <= 36
    assert address in render("list", rows)
    assert "0x5fc5…d168" in render("list", rows, 70)


@given(width=st.integers(1, 200), names=st.lists(st.text("abcdef", min_size=1), min_size=1, max_size=9, unique=True))
def test_a_table_is_never_wider_than_its_first_column_needs(width, names):
    lines = render("list", [{name: name * 9 for name in names}] * 2, width).splitlines()
    first = max(len(names[0]), min(24, len(names[0]) * 9))
    assert max(len(line) for line in lines if not line.startswith("not shown")) <= max(width, first)


def test_a_text_from_outside_cannot_move_the_cursor():
    assert "\x1b" not in render("x", {"name": "\x1b[2Jevil", "rows": [{"name": "\x1b]0;evil\x07"}]})


def test_names_are_shown_as_words():
    assert [label(name) for name in ("usdgLiquidity", "change24hPct", "t")] == ["usdg liquidity", "change24h pct", "t"]


def test_a_candle_has_a_body_between_open_and_close_and_a_wick_beyond():
    lines = draw([bar(0, 10, 14, 6, 12)], width=AXIS + 1, height=5)
    column = [line[0] if line else " " for line in lines[:-1]]
    assert column == ["│", "┃", "╿", "│"]


def test_a_rising_candle_is_green_and_a_falling_one_red_only_where_colours_are_wanted():
    bars = [bar(0, 1, 2, 1, 2), bar(1, 2, 2, 1, 1)]
    plain = "\n".join(draw(bars, width=40, height=6))
    painted = "\n".join(draw(bars, width=40, height=6, colours=True))
    assert "\x1b" not in plain
    assert "\x1b[32m" in painted
    assert "\x1b[31m" in painted


def test_without_candles_it_says_so():
    assert draw([], width=80, height=10) == ["no candles yet"]
    history = {"symbol": "A", "interval": "5m", "source": "x", "candles": []}
    assert "no candles yet" in chart_screen(history, 80, 24, colours=False)


SOURCE = "dex-v3 TOKEN/USDG deepest pool, sampled every 5 minutes, synthetic before 2026-11-16T10:25:00Z"


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_the_headline_of_a_chart_is_told_to_its_end_and_the_screen_is_not_longer(columns):
    candles = [{"t": "2026-10-03T00:00:00Z", "open": 1, "high": 2, "low": 1, "close": 2, "ticks": 1}]
    history = {"symbol": "AAPL", "interval": "5m", "source": SOURCE, "candles": candles}
    shown = chart_screen(history, columns, 24, colours=False).splitlines()
    assert SOURCE in " ".join(shown)
    assert all(len(line) <= columns for line in shown)
    assert len(shown) <= 24


prices = st.floats(min_value=0.01, max_value=1e6)


@given(
    figures=st.lists(st.tuples(prices, prices, prices, prices), min_size=1, max_size=50),
    width=st.integers(20, 120),
    height=st.integers(2, 40),
)
def test_a_chart_fits_its_place(figures, width, height):
    bars = [bar(at, four[0], max(four), min(four), four[1]) for at, four in enumerate(figures)]
    lines = draw(bars, width=width, height=height)
    assert len(lines) == height
    assert max(map(len, lines)) <= max(width, 12)


def test_values_are_read_as_the_operation_wants_them():
    assert read_call("get_history", ["symbol=AAPL", "limit=5"]) == {"symbol": "AAPL", "limit": 5}


@pytest.mark.parametrize(
    ("operation", "pairs", "says"),
    [
        ("get_qoute", [], "did you mean get_quote?"),
        ("get_quote", ["symbol=AAPL"], "needs side, amount"),
        ("get_quote", ["nothing"], "is not one of"),
        ("get_quote", ["symbol=A", "symbol=B"], "is not one of"),
        ("get_history", ["symbol=A", "limit=many"], "limit cannot be"),
        ("get_quote", ["symbol=A", "side=hold", "amount=1"], "side cannot be"),
    ],
)
def test_what_cannot_be_sent_is_said_in_a_sentence(operation, pairs, says):
    with pytest.raises(WrongCommand, match=says):
        read_call(operation, pairs)


def test_the_address_is_the_given_one_or_the_environments(monkeypatch):
    monkeypatch.setenv("TICKYARD_BASE_URL", "https://api.example.com")
    assert base_url("http://x") == "http://x"
    for unreachable in (
        "http://",
        "http://[",
        "http://a..b",
        f"http://{'a' * 64}",
        "http://x:0",
        "http://x:99999",
        "http://a b",
    ):
        with pytest.raises(WrongCommand, match="is not an address"):
            base_url(unreachable)
    assert base_url(None) == "https://api.example.com"
    monkeypatch.delenv("TICKYARD_BASE_URL")
    monkeypatch.setenv("TICKYARD_PORT", "9")
    assert base_url(None) == "http://127.0.0.1:9"


def shown_in(encoding, *lines):
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    show_what_it_can(out)
    print(*lines, sep="\n", file=out, flush=True)
    return out.buffer.getvalue().decode(encoding).splitlines()


def test_an_output_of_few_letters_gets_the_same_chart_column_for_column():
    bars = [bar(at, 1 + at % 3, 5 + at % 2, 1, 2 + at % 4) for at in range(30)]
    chart = draw(bars, width=60, height=12)
    plain = shown_in("ascii", *chart)
    assert [len(line) for line in plain] == [len(line) for line in chart]
    assert set("".join(plain[:-1])) - set("0123456789.") == {" ", "|", "#"}
    assert shown_in("utf-8", *chart) == chart
    assert shown_in("latin-1", "é a… ☃") == ["é a~ ?"]


def test_json_says_the_same_to_an_output_of_few_letters(monkeypatch):
    said = {"name": "Nestlé … 𝄞", "plain": "a"}
    for encoding, is_escaped in (("ascii", True), ("utf-8", False)):
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
        print_json(said)
        sys.stdout.flush()
        text = sys.stdout.buffer.getvalue().decode(encoding)
        assert json.loads(text) == said
        assert ("\\u00e9" in text) is is_escaped
