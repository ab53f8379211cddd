"""Amounts and prices: exact in, exact out."""

import pytest

from tickyard.kernel.errors import BadRequest, NoLiquidity
from tickyard.kernel.units import Price, TokenAmount, UsdgAmount, money_text, percent_text


@pytest.mark.parametrize(
    ("text", "raw"),
    [
        ("1", 10**18),
        ("0.000000000000000001", 1),
        ("1.50", 15 * 10**17),
        ("007.0", 7 * 10**18),
        ("1." + "0" * 60, 10**18),
    ],
)
def test_a_token_amount_is_read_exactly(text, raw):
    assert TokenAmount.parse(text) == raw


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "1.",
        ".5",
        "+1",
        "-1",
        " 1",
        "1 ",
        "1\n",
        "1_000",
        "1e3",
        "0x10",
        "١",
        "1,5",
        "NaN",
        "inf",
        "0",
        "0.0",
        "0.0000001",
        "1" * 101,
        "1.0000001",
    ],
)
def test_an_amount_out_of_shape_is_refused(text):
    with pytest.raises(BadRequest):
        UsdgAmount.parse(text)


def test_an_amount_beyond_the_pools_integers_has_no_liquidity():
    assert TokenAmount.parse(str(2**255 // 10**18)) > 0
    with pytest.raises(NoLiquidity):
        TokenAmount.parse(str(2**255 // 10**18 + 1))


@pytest.mark.parametrize(
    ("raw", "text"), [(10**18, "1"), (1, "0.000000000000000001"), (15 * 10**17, "1.5"), (0, "0"), (10**20, "100")]
)
def test_a_token_amount_shows_no_trailing_zeros(raw, text):
    assert TokenAmount(raw).text() == text


def test_dollars_always_show_six_decimals():
    assert UsdgAmount(1).text() == "0.000001"
    assert money_text(1_250_000_000) == "1250.000000"


@pytest.mark.parametrize(
    ("price", "text"),
    [
        (Price(1, 3), "0.333333333333333333"),
        (Price(2, 3), "0.666666666666666666"),
        (Price(10, 5), "2"),
        (Price(1, 10**19), "0"),
        (Price(37161500, 100000), "371.615"),
    ],
)
def test_a_price_is_cut_toward_zero_at_18_decimals(price, text):
    assert price.text() == text


@pytest.mark.parametrize("text", ["", "-1", "0", "0.00", "NaN", "1e5", " 1", "1" * 200])
def test_an_upstream_price_that_is_no_positive_decimal_is_none(text):
    assert Price.parse(text) is None


def test_the_mid_is_the_exact_middle():
    mid = Price.parse("371.43").midway(Price.parse("371.8"))
    assert mid.equals(Price.parse("371.615"))


def test_a_value_is_rounded_down_to_the_base_unit():
    assert Price.parse("0.9999999").value_of(TokenAmount(10**18)) == 999_999


@pytest.mark.parametrize(
    ("num", "den", "text"),
    [
        (1, 8, "12.5000"),
        (-1, 3, "-33.3333"),
        (5, 10**7, "0.0000"),
        (15, 10**7, "0.0002"),
        (25, 10**7, "0.0002"),
        (0, 1, "0.0000"),
        (-5, 10**7, "0.0000"),
        (7, 5, "140.0000"),
    ],
)
def test_percentages_round_half_to_even_at_four_decimals(num, den, text):
    assert percent_text(num, den) == text
