"""Share equivalents against exact rationals, up to the largest balance a token can hold."""

from fractions import Fraction
from itertools import pairwise
from math import floor

from hypothesis import given
from hypothesis.strategies import builds, integers, lists, text

from tickyard.features.votes.power import Stake, ranked, shares_text, total_text
from tickyard.kernel.units import TokenAmount

balances = integers(0, 2**256 - 1).map(TokenAmount)
multipliers = integers(1, 10**24)
stakes = builds(Stake, text("ABC", min_size=1, max_size=3), balances, multipliers)


@given(stakes)
def test_a_share_equivalent_is_the_exact_product_cut_to_six_decimals(stake):
    exact = Fraction(stake.balance, 10**18) * Fraction(stake.multiplier_e18, 10**18)
    whole, _, fraction = shares_text(stake).partition(".")
    assert len(fraction) == 6
    assert Fraction(int(whole + fraction), 10**6) == Fraction(floor(exact * 10**6), 10**6)


@given(lists(stakes, max_size=12))
def test_the_total_is_the_sum_of_what_is_shown_and_never_too_much(held):
    total = Fraction(total_text(held))
    assert total == sum((Fraction(shares_text(stake)) for stake in held), Fraction(0))
    exact = sum((Fraction(stake.balance * stake.multiplier_e18, 10**36) for stake in held), Fraction(0))
    assert 0 <= exact - total < Fraction(max(1, len(held)), 10**6)


@given(lists(stakes, max_size=12, unique_by=lambda stake: stake.symbol))
def test_the_largest_comes_first_whatever_the_order(held):
    shown = ranked(held)
    assert shown == ranked(reversed(held))
    assert all(a.exact >= b.exact for a, b in pairwise(shown))
