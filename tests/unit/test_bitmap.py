"""The words of a pool's bitmap: which ticks they name, to the very last."""

import pytest

from tickyard.chain.v3.bitmap import ticks_in, words_around
from tickyard.kernel.errors import UpstreamDown

LAST = 887_272


def bit(tick, spacing=1):
    word, place = divmod(tick // spacing, 256)
    return word, 1 << place, spacing


@pytest.mark.parametrize("tick", [-LAST, -257, -256, -1, 0, 255, 256, LAST])
def test_a_bit_names_its_tick(tick):
    assert ticks_in(*bit(tick)) == [tick]


@pytest.mark.parametrize("tick", [-LAST - 1, LAST + 1])
def test_a_bit_beyond_all_ticks_is_a_lie(tick):
    with pytest.raises(UpstreamDown):
        ticks_in(*bit(tick))


def test_a_word_names_its_ticks_in_order_and_by_their_spacing():
    assert ticks_in(-1, 1 << 255 | 1 << 3 | 1, 60) == [-256 * 60, -253 * 60, -60]
    assert ticks_in(5, 0, 60) == []


def test_the_words_around_a_price_end_with_the_ticks():
    assert words_around(-10, 10, 1) == range(-1, 1)
    assert words_around(-2 * LAST, 2 * LAST, 1) == range(-LAST // 256, LAST // 256 + 1)
