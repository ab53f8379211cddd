"""Slippage bounds: never looser than asked, and as near to it as whole units allow."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis.strategies import integers

from tickyard.features.trades.bounds import maximum_in, minimum_out
from tickyard.kernel.errors import NoLiquidity

quoted = integers(0, 255).flatmap(lambda bits: integers(1, (2 << bits) - 1))
slippages = integers(1, 5000)


@given(quoted, slippages)
def test_a_minimum_is_never_below_what_was_asked(amount, bps):
    asked = amount * (1 - Fraction(bps, 10_000))
    assert asked <= minimum_out(amount, bps) < asked + 1


@given(quoted, slippages)
def test_a_maximum_is_never_above_what_was_asked(amount, bps):
    asked = amount * (1 + Fraction(bps, 10_000))
    assert asked - 1 < maximum_in(amount, bps) <= asked


@given(quoted, slippages)
def test_the_quote_itself_is_always_within_its_bounds(amount, bps):
    assert minimum_out(amount, bps) <= amount <= maximum_in(amount, bps)


@given(slippages)
def test_a_swap_that_yields_nothing_is_never_built(bps):
    with pytest.raises(NoLiquidity):
        minimum_out(0, bps)
