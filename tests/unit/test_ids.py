"""Tickers and addresses as callers type them."""

import pytest

from tickyard.kernel.errors import BadRequest
from tickyard.kernel.ids import read_address, read_symbol


def test_ascii_letters_are_upper_cased():
    assert read_symbol("aapl") == "AAPL"


@pytest.mark.parametrize("text", ["ſ", "ı", "ﬁ", "ß"])
def test_other_letters_never_become_ascii_ones(text):
    assert read_symbol(text) == text


@pytest.mark.parametrize("text", ["", "A" * 17])
def test_a_symbol_of_the_wrong_length_is_refused(text):
    with pytest.raises(BadRequest):
        read_symbol(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0x",
        "0x" + "a" * 39,
        "0x" + "a" * 41,
        "0X" + "a" * 40,
        "0x" + "g" * 40,
        "0x" + "a" * 40 + "\n",
        "0x" + "１" * 40,
    ],
)
def test_an_address_out_of_shape_is_refused(text):
    with pytest.raises(BadRequest):
        read_address(text)


def test_letter_case_makes_no_second_address():
    assert read_address("0x" + "aB" * 20) == "0x" + "ab" * 20
