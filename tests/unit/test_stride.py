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
