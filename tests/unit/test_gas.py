"""The gas of a swap, from how it goes through the pool."""

from types import SimpleNamespace

import pytest

from tickyard.market.swaps.fills import Mode, Side
from tickyard.market.swaps.gas import pool_gas, swap_gas


def went(ticks_crossed, steps):
    return SimpleNamespace(ticks_crossed=ticks_crossed, steps=steps)


@pytest.mark.parametrize(("side", "least"), [(Side.BUY, 101_000), (Side.SELL, 97_000)])
def test_every_tick_and_every_further_word_of_the_bitmap_costs_its_own(side, least):
    assert pool_gas(side, went(0, 1)) == least
    assert pool_gas(side, went(0, 0)) == least
    assert pool_gas(side, went(2, 3)) == least + 2 * 52_000
    assert pool_gas(side, went(2, 6)) == least + 2 * 52_000 + 3 * 7_800


@pytest.mark.parametrize(
    ("side", "mode", "around"),
    [
        (Side.BUY, Mode.EXACT_IN, 33_600),
        (Side.BUY, Mode.EXACT_OUT, 38_700),
        (Side.SELL, Mode.EXACT_IN, 40_400),
        (Side.SELL, Mode.EXACT_OUT, 45_600),
    ],
)
def test_the_transaction_adds_what_is_around_the_pool(side, mode, around):
    assert swap_gas(SimpleNamespace(side=side, mode=mode), SimpleNamespace(pool_gas=7)) == 7 + around
