"""Finding assets: what is found, in which order, and what must not be."""

import asyncio
from types import SimpleNamespace

import pytest

from tickyard.features.search import Known, SearchAsk, find_match, read_query, search_assets

TOKEN = "0xaf3d76f1834a1d425780943c99ea8a608f8a93f9"
OTHER = "0x875f7121a37a8af309b8e85f297b46aa19d85dad"
APPLE = Known("AAPL", "Apple", "US0378331005", TOKEN)
HOSPITALITY = Known("APLE", "Apple Hospitality REIT", "US03784Y2000", OTHER)
BERKSHIRE = Known("BRK.B", "Berkshire Hathaway Inc. Class B", "US0846707026", None)


def best(query, *assets):
    found = [(find_match(query, each), each.symbol) for each in assets]
    return [symbol for match, symbol in sorted((fit, symbol) for fit, symbol in found if fit is not None)]


@pytest.mark.parametrize(
    ("query", "match"),
    [
        ("AAPL", (0, "symbol")),
        ("aapl", (0, "symbol")),
        ("us0378331005", (0, "isin")),
        ("apple", (1, "name")),
        ("aa", (2, "symbol")),
        ("app", (3, "name")),
        ("ple", None),
        ("US03783310", None),
        (TOKEN, (0, "address")),
        (TOKEN.upper().replace("0X", "0x"), (0, "address")),
        (TOKEN.upper(), (0, "address")),
        (f"{TOKEN[:10]} {TOKEN[10:]}", (0, "address")),
        ("US 0378331005", (0, "isin")),
        ("us03 7833 1005", (0, "isin")),
        (OTHER, None),
        (OTHER.upper(), None),
        (TOKEN[:-1], None),
    ],
)
def test_an_asset_is_found_by_what_people_know_of_it(query, match):
    assert find_match(query, APPLE) == match


def test_words_may_come_in_any_order_and_by_their_beginning():
    assert find_match("hathaway berk", BERKSHIRE) == (4, "name")
    assert find_match("class b", BERKSHIRE) == (4, "name")
    assert find_match("berkshire insurance", BERKSHIRE) is None


@pytest.mark.parametrize("query", ["Apple Inc", "Apple Inc.", "apple, inc", "The Apple Company"])
def test_the_legal_form_may_be_missing_from_the_name(query):
    assert find_match(query, APPLE) == (5, "name")
    assert find_match(query, BERKSHIRE) is None


@pytest.mark.parametrize("query", ["inc", "the company", "Apple Bank Inc"])
def test_a_legal_form_alone_or_beside_another_name_finds_nothing(query):
    assert find_match(query, APPLE) is None


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("  Apple \t Inc\n", "Apple Inc"),
        ("\uff21\uff21\uff30\uff2c", "AAPL"),  # as a Japanese keyboard has it
        ("A\u200bAPL\ufeff", "AAPL"),  # what copying brings along
        ("US\u00a00378331005", "US 0378331005"),
        ("\u3000", ""),
    ],
)
def test_a_query_is_read_as_a_person_means_it(typed, read):
    assert read_query(typed) == read


def test_a_control_character_separates_no_words():
    """It was between two words, each the beginning of another company's name."""
    for sign in "\x00\x1b\x7f\x85\x1f":
        assert read_query(f"a{sign}b") == "ab"


def test_the_better_match_comes_first():
    assert best("apple", HOSPITALITY, APPLE) == ["AAPL", "APLE"]
    assert best("ap", HOSPITALITY, APPLE) == ["APLE", "AAPL"]
    assert best("berkshire inc", BERKSHIRE, Known("BRKL", "Berkshire Hills", "", None)) == ["BRK.B", "BRKL"]


def test_an_asset_without_address_or_isin_is_not_found_by_nothing():
    bare = Known("X", "Nameless", "", None)
    assert find_match("", bare) != (0, "isin")
    assert find_match(TOKEN, bare) is None


def test_signs_alone_find_nothing():
    assert find_match("...", APPLE) is None
    assert find_match("%", APPLE) is None


@pytest.mark.parametrize("blank", [" ", "\x1c", "\u2003 "])
def test_blanks_find_nothing(blank):
    market = SimpleNamespace(registry=SimpleNamespace(all=lambda: [APPLE]))
    answer = asyncio.run(search_assets(SimpleNamespace(market=market), SearchAsk(q=blank)))
    assert getattr(answer, "answer", answer).assets == []
