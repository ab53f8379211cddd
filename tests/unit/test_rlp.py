"""What was written as RLP is read as it was written, or not at all."""

import pytest

from tickyard.chain.rlp import read_rlp_list, rlp


@pytest.mark.parametrize(
    "items",
    [[], [b""], [b"\x00"], [b"\x7f", b"\x80"], [b"a" * 55, b"b" * 56], [b"c" * 255, b"d" * 70_000]],
    ids=lambda items: "-".join(str(len(item)) for item in items),
)
def test_a_list_is_read_as_it_was_written(items):
    assert read_rlp_list(rlp([*items])) == items


def test_a_list_within_a_list_is_told_by_its_bytes():
    assert read_rlp_list(rlp([b"cat", [b"dog"], 1024])) == [b"cat", rlp(b"dog"), b"\x04\x00"]


@pytest.mark.parametrize(
    "data", [b"", b"\x05", b"\x83cat", b"\xc0\xc0", b"\xc2\x83", b"\xf8", b"\xb8", rlp([b"x" * 60])[:-1]]
)
def test_what_is_no_list_or_cut_off_is_refused(data):
    with pytest.raises(ValueError, match=r"cut off|not one list"):
        read_rlp_list(data)
