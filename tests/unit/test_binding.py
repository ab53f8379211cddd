"""From request to ask: the sentence names what is wrong."""

from typing import Annotated, Literal

import msgspec
import pytest
from msgspec import Meta

from tickyard.catalog import CATALOG
from tickyard.doors.http.binding import Binder
from tickyard.features.assets import FieldsAsk
from tickyard.kernel.errors import BadRequest
from tickyard.kernel.operation import Operation
from tickyard.kernel.wire import Answer, Ask, SymbolField


class HistoryAsk(Ask):
    symbol: SymbolField
    interval: Literal["5m", "1h"] = "1h"
    limit: Annotated[int, Meta(ge=1, le=300)] = 100


class BodyAsk(Ask):
    symbol: SymbolField
    side: Literal["buy", "sell"]
    note: str | None = None


async def run(_deps, _ask):
    """Nothing."""


def binder(method="GET", path="/v1/history/{symbol}", ask=HistoryAsk):
    return Binder(Operation(name="x", method=method, path=path, run=run, ask=ask, answer=Answer, tag="registry"))


def bind(query=b"", symbol="AAPL"):
    return binder().from_url({"symbol": symbol}, query)


def test_defaults_fill_what_is_left_out():
    assert bind() == HistoryAsk(symbol="AAPL", interval="1h", limit=100)


def test_unknown_parameters_are_ignored_whatever_they_hold():
    assert bind(b"x=%ff&%zz=1&=&&limit=5").limit == 5


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        (b"limit=0", "limit must be an integer from 1 to 300"),
        (b"limit=301", "limit must be an integer from 1 to 300"),
        (b"limit=5.0", "limit must be an integer from 1 to 300"),
        (b"limit=", "limit must be an integer from 1 to 300"),
        (b"limit", "limit must be an integer from 1 to 300"),
        (b"limit=%205", "limit must be an integer from 1 to 300"),
        (b"limit=1_0", "limit must be an integer from 1 to 300"),
        (b"limit=" + b"9" * 5000, "limit must be an integer from 1 to 300"),
        (b"limit=%D9%A1", "limit must be an integer from 1 to 300"),
        (b"interval=2h", "interval must be one of 5m, 1h"),
        (b"limit=1&limit=1", "limit is given twice"),
        (b"limit=1&l%69mit=2", "limit is given twice"),
        (b"interval=%ff", "interval is not UTF-8 text"),
        (b"interval=%zz", "interval has a broken percent escape"),
    ],
)
def test_a_query_out_of_shape_is_named(query, sentence):
    with pytest.raises(BadRequest) as refused:
        bind(query)
    assert refused.value.message == sentence


@pytest.mark.parametrize("symbol", ["A" * 17, "%41" * 17])
def test_the_symbol_is_measured_after_decoding(symbol):
    with pytest.raises(BadRequest, match="symbol must be 1 to 16 characters long"):
        bind(symbol=symbol)
    assert bind(symbol="%41apl").symbol == "AAPL"


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "the body is not valid JSON"),
        (b"[1]", "the body must be a JSON object"),
        (b'{"symbol":"A"', "the body is not valid JSON"),
        (b'{"symbol":"A"}', "side is required"),
        (b'{"symbol":"A","side":"buy","sIde":1}', "unknown field: sIde"),
        (b'{"symbol":"A","symbol":"B","side":"buy"}', "the body has a key twice"),
        (b'{"symbol":"A","side":NaN}', "NaN is not JSON"),
        (b'{"symbol":"A","side":-Infinity}', "-Infinity is not JSON"),
        (b'{"symbol":5,"side":"buy"}', "symbol must be a string: 1 to 16 characters long"),
        (b'{"symbol":"A","side":true}', "side must be a string: one of buy, sell"),
        (b'{"symbol":"A","side":' + b"9" * 5000 + b"}", "the body has a number that is too long"),
        (b"[" * 60_000, "the body is not valid JSON"),
        (b'{"symbol":"A","side":"\xff"}', "the body is not valid JSON"),
        # Half a character, as a text that was cut ends: nothing could write it again.
        (b'{"symbol":"A","side":"\\ud83d"}', "the body is not valid JSON"),
        (b'{"symbol":"A","side":"buy","note":"\\udc00"}', "the body is not valid JSON"),
        (b'{"\\ud83d":1}', "the body is not valid JSON"),
    ],
)
def test_a_body_out_of_shape_is_named(body, sentence):
    with pytest.raises(BadRequest) as refused:
        binder("POST", "/v1/trade/build", BodyAsk).from_body({}, body)
    assert refused.value.message == sentence


def test_a_whole_character_may_be_escaped_in_a_body():
    body = b'{"symbol":"A","side":"buy","note":"\\ud83d\\ude00 \\\\ud83d"}'
    assert binder("POST", "/v1/trade/build", BodyAsk).from_body({}, body).note == "\U0001f600 \\ud83d"


def test_one_ask_has_one_canonical_target():
    one = binder()
    spellings = [("aapl", b"limit=100"), ("AAPL", b""), ("%41APL", b"interval=1h&x=1")]
    targets = {one.canonical_target(one.from_url({"symbol": symbol}, query)) for symbol, query in spellings}
    assert targets == {b"/v1/history/AAPL"}
    assert one.canonical_target(one.from_url({"symbol": "a/b"}, b"limit=7")) == b"/v1/history/A%2FB?limit=7"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"amount": 100}, "amount must be a string: digits, optionally followed by a dot and digits"),
        ({"amount": "1" * 101}, "amount must be at most 100 characters long"),
        ({"amount": "1e3"}, "amount must be digits, optionally followed by a dot and digits"),
        ({"symbol": "A" * 17}, "symbol must be 1 to 16 characters long"),
        ({"side": "hold"}, "side must be one of buy, sell"),
        ({"side": None}, "side must be a string: one of buy, sell"),
    ],
)
def test_a_refusal_tells_the_mistake_that_was_made(body, said):
    whole = {"symbol": "AAPL", "side": "buy", "amount": "100", "recipient": "0x" + "11" * 20}
    with pytest.raises(BadRequest) as refused:
        Binder(_row("build_trade")).from_body({}, msgspec.json.encode({**whole, **body}))
    assert refused.value.message == said


def test_choices_are_told_in_their_natural_order():
    with pytest.raises(BadRequest, match="interval must be one of 5m, 15m, 1h, 4h, 1d"):
        Binder(_row("get_history")).from_url({"symbol": "AAPL"}, b"interval=2h")


def _row(name):
    return next(row for row in CATALOG if row.name == name)


GOOD = {"symbol": "AAPL", "side": "buy", "amount": "100"}


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ([GOOD, GOOD | {"amount": "-1"}], "quotes[1]: amount must be "),
        ([GOOD | {"side": "hold"}, GOOD], "quotes[0]: side must be one of buy, sell"),
        ([GOOD, GOOD, GOOD | {"amount": 5}], "quotes[2]: amount must be a string: "),
        ([{"symbol": "AAPL", "side": "buy"}], "quotes[0]: amount is required"),
        ([GOOD, GOOD | {"fee": 1}], "quotes[1]: unknown field: fee"),
        ([GOOD, 7], "quotes must be a list of 1 to 50 objects"),
        ([GOOD] * 51, "quotes must be a list of 1 to 50 objects"),
        ([], "quotes must be a list of 1 to 50 objects"),
        ("AAPL", "quotes must be a list of 1 to 50 objects"),
    ],
)
def test_what_is_wrong_with_one_of_a_list_is_said_of_that_one(items, said):
    row = next(row for row in CATALOG if row.name == "get_quotes")
    with pytest.raises(BadRequest) as refused:
        Binder(row).from_body({}, msgspec.json.encode({"quotes": items}))
    assert refused.value.message.startswith(said)


def test_blanks_around_a_header_are_no_part_of_it():
    class HeaderAsk(Ask):
        since: Annotated[str, Meta(extra={"header": "last-event-id"})] | None = None

    headers = [(b"last-event-id", b"1.2.3.a b \t ")]
    assert binder(path="/v1/x", ask=HeaderAsk).around(headers, "client") == {"since": "1.2.3.a b"}


WORDS = "one of symbol, name, address, chainId, decimals, multiplier, status, logoUrl, isin"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["nope"], f"fields[0] is nope, not {WORDS}"),
        (["symbol", "no\npe" + "e" * 90], f"fields[1] is no?pe{'e' * 59}, not {WORDS}"),
        (["symbol", 5], f"fields[1] is no string, not {WORDS}"),
        (["symbol", ["name"]], f"fields[1] is no string, not {WORDS}"),
        ("symbol", "fields must be a list of names of fields"),
        ([], "fields must be a list of names of fields"),
    ],
)
def test_of_a_list_of_words_the_wrong_one_is_named_and_the_right_ones(given, says):
    with pytest.raises(BadRequest) as caught:
        binder("POST", "/v1/assets", FieldsAsk).from_arguments({"fields": given})
    assert caught.value.message == says
