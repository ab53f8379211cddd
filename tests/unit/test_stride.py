"""How long a range of blocks a node is asked for: back to what it serves, and not over it again and again."""

import pytest

from tickyard.chain.rpc.stride import Stride


def test_a_range_that_is_refused_is_halved_and_its_length_never_asked_for_again():
    stride = Stride(blocks=100)
    assert stride.refused(100)
    assert (stride.blocks, stride.most) == (50, 99)
    lengths = []
    for _ in range(3):
        stride.went_well(0)
        lengths.append(stride.blocks)
    assert lengths == [99, 99, 99]


def test_what_went_wrong_otherwise_shows_no_limit():
    stride = Stride(blocks=100)
    stride.stumbled(100)
    assert stride.blocks == 50
    stride.went_well(0)
    stride.went_well(0)
    assert stride.blocks == 200


@pytest.mark.parametrize("asked", [2, 3])
def test_at_least_one_block_is_asked_for_and_one_that_is_refused_is_the_end(asked):
    stride = Stride(blocks=asked)
    assert stride.refused(asked)
    assert (stride.blocks, stride.most) == (1, asked - 1)
    assert not stride.refused(1)
    assert (stride.blocks, stride.most) == (1, 1)
    stride.stumbled(1)
    stride.went_well(0)
    assert stride.blocks == 1


def test_a_range_full_of_logs_is_long_enough():
    stride = Stride(blocks=100)
    stride.went_well(2_000)
    assert stride.blocks == 100
    stride.went_well(1_999)
    assert stride.blocks == 200


def test_what_looked_like_a_limit_is_tried_again_after_a_while():
    stride = Stride(blocks=1)
    assert not stride.refused(1)
    reads = 0
    while stride.blocks < 1_000 and reads < 2_000:
        stride.went_well(0)
        reads += 1
    assert 500 <= reads <= 600


def test_a_limit_that_is_one_costs_one_refusal_now_and_then():
    stride, refusals = Stride(blocks=200), 0
    assert stride.refused(101)
    for _ in range(1_000):
        if stride.blocks > 100:
            stride.refused(stride.blocks)
            assert (stride.blocks, stride.most) == (100, 100)
            refusals += 1
        else:
            stride.went_well(0)
    assert 18 <= refusals <= 20


def test_shorter_ranges_say_nothing_about_the_limit():
    stride = Stride(blocks=101)
    stride.refused(101)
    for _ in range(1_000):
        stride.went_well(0, asked=3)
    assert (stride.blocks, stride.most) == (100, 100)
    for _ in range(50):
        stride.went_well(0, asked=100)
    for _ in range(1_000):
        stride.went_well(0, asked=3)
    assert (stride.blocks, stride.most) == (200, 200)
    stride.refused(150)
    assert (stride.blocks, stride.most) == (75, 100)


def test_a_longer_range_that_went_well_is_what_the_next_limit_is_counted_from():
    stride = Stride(blocks=101)
    stride.refused(101)
    for _ in range(52):
        stride.went_well(0)
    stride.went_well(0, asked=160)
    stride.refused(180)
    assert (stride.blocks, stride.most) == (90, 179)
