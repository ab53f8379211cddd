"""Text to amount and back, for every amount that fits."""

from decimal import Decimal, localcontext
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from tickyard.kernel.units import AMOUNT_MAX_RAW, Price, TokenAmount, UsdgAmount, percent_text


@given(st.integers(1, AMOUNT_MAX_RAW))
def test_a_token_amount_survives_the_wire(raw):
    assert TokenAmount.parse(TokenAmount(raw).text()) == raw


@given(st.integers(1, AMOUNT_MAX_RAW))
def test_a_dollar_amount_survives_the_wire(raw):
    assert UsdgAmount.parse(UsdgAmount(raw).text()) == raw


@given(st.integers(1, 2**200), st.integers(1, 2**200))
def test_price_text_is_the_ratio_cut_at_18_decimals(num, den):
    shown = Fraction(Price(num, den).text())
    exact = Fraction(num, den)
    assert 0 <= exact - shown < Fraction(1, 10**18)


@given(st.integers(-(10**30), 10**30), st.integers(1, 10**30))
def test_percentages_agree_with_decimal_half_even(num, den):
    with localcontext(prec=200):
        exact = Decimal(num) / Decimal(den) * 100
        assert Decimal(percent_text(num, den)) == exact.quantize(Decimal("0.0001"))
