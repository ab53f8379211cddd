"""The words of a revert, from bytes that may say anything."""

import pytest
from eth_abi import encode

from tickyard.chain.abi import read_text, revert_text
from tickyard.kernel.errors import UpstreamDown

ERROR = bytes.fromhex("08c379a0")


def reverted(text):
    return ERROR + encode(["string"], [text])


@pytest.mark.parametrize("text", ["", "STF", "x" * 31, "x" * 32, "x" * 200, "übergroß"])
def test_the_text_is_read_as_the_contract_wrote_it(text):
    assert revert_text(reverted(text)) == text


def test_a_long_text_is_cut():
    assert revert_text(reverted("x" * 5000)) == "x" * 200


def test_without_its_padding_a_text_is_still_whole_and_not_with_a_byte_less():
    bare = reverted("STF")[: 4 + 64 + 3]
    assert revert_text(bare) == "STF"
    assert revert_text(bare[:-1]) is None


@pytest.mark.parametrize(
    "data",
    [
        None,
        b"",
        ERROR,
        reverted("")[: 4 + 63],
        bytes.fromhex("4e487b71") + encode(["uint256"], [17]),
        bytes.fromhex("4e487b71") + encode(["string"], ["STF"]),
        ERROR + encode(["uint256", "uint256"], [64, 3]) + b"STF",
        ERROR + encode(["uint256", "uint256"], [32, 2**255]) + b"STF",
    ],
)
def test_any_other_revert_has_no_text(data):
    assert revert_text(data) is None


def test_bytes_that_are_no_text_are_shown_as_such():
    assert revert_text(ERROR + encode(["uint256", "uint256"], [32, 2]) + b"\xff\xfe") == "\ufffd\ufffd"


@pytest.mark.parametrize("text", ["", "AAPL", "x" * 32, "x" * 200])
def test_a_name_is_read_as_the_contract_returns_it(text):
    assert read_text(encode(["string"], [text])) == text


def test_a_name_of_a_contract_is_cut_too_and_a_part_of_one_is_the_nodes_failure():
    whole = encode(["string"], ["x" * 300])
    assert read_text(whole) == "x" * 200
    for less in (whole[:63], whole[: 64 + 299], b"", encode(["uint256", "uint256"], [64, 0])):
        with pytest.raises(UpstreamDown):
            read_text(less)
