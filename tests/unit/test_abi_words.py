"""Words of Solidity at their borders, and answers of a multicall that are legal but that no compiler writes."""

import pytest
from eth_abi import encode

from tickyard.chain import abi, aggregate3
from tickyard.kernel.errors import UpstreamDown


def word(number):
    return (number % 2**256).to_bytes(32, "big")


def refused(read, *given):
    with pytest.raises(UpstreamDown, match="malformed"):
        read(*given)
    return True


@pytest.mark.parametrize("bits", [1, 8, 24, 128, 160, 255, 256])
def test_an_unsigned_number_has_no_more_than_its_bits(bits):
    assert abi.read_uint(word(2**bits - 1), bits) == 2**bits - 1
    assert abi.read_uint(word(0), bits) == 0
    assert bits == 256 or refused(abi.read_uint, word(2**bits), bits)


@pytest.mark.parametrize("bits", [2, 24, 128, 256])
def test_a_signed_number_has_no_more_than_its_bits(bits):
    most = 2 ** (bits - 1) - 1
    for number in (-most - 1, -1, 0, 1, most):
        assert abi.read_int(word(number), bits) == number
    if bits < 256:
        for number in (-most - 2, most + 1):
            assert refused(abi.read_int, word(number), bits)


def test_a_number_without_a_width_has_a_whole_word():
    assert abi.read_uint(word(2**256 - 1)) == 2**256 - 1
    assert (abi.read_int(word(-(2**255))), abi.read_int(word(2**255 - 1))) == (-(2**255), 2**255 - 1)


@pytest.mark.parametrize("read", [abi.read_uint, abi.read_int, abi.read_bool, abi.read_address])
def test_a_word_of_another_length_is_none(read):
    for size in (0, 31, 33, 64):
        assert refused(read, bytes(size))


def test_yes_is_one_and_no_is_zero():
    assert (abi.read_bool(word(0)), abi.read_bool(word(1))) == (False, True)
    for number in (2, 3, 256, 2**255):
        assert refused(abi.read_bool, word(number))


def test_an_address_has_twelve_clean_bytes_before_it():
    raw = bytes(range(1, 21))
    assert abi.read_address(bytes(12) + raw) == "0x" + raw.hex()
    assert abi.address_word(abi.read_address(bytes(12) + raw)) == bytes(12) + raw
    for place in range(12):
        dirty = bytearray(bytes(12) + raw)
        dirty[place] = 1
        assert refused(abi.read_address, bytes(dirty))


def test_so_many_words_and_nothing_before_or_after():
    data = bytes(range(64))
    assert abi.words(data, 2) == [data[:32], data[32:]]
    assert abi.words(b"", 0) == []
    for count, size in ((2, 63), (2, 65), (1, 64), (3, 64)):
        assert refused(abi.words, data[:size].ljust(size, b"\0"), count)


@pytest.mark.parametrize("text", ["", "AAPL", "x" * 32, "x" * 33, "é" * 40])
def test_a_text_is_read_as_the_reference_wrote_it(text):
    assert abi.read_text(encode(["string"], [text])) == text


def test_a_text_is_cut_and_cleaned_and_one_that_is_not_all_there_is_refused():
    assert abi.read_text(encode(["string"], ["y" * 201])) == "y" * 200
    assert abi.read_text(word(32) + word(3) + b"a\xffb") == "a\ufffdb", "no padding is asked for"
    assert abi.read_text(word(32) + word(0)) == ""
    for data in (
        b"",
        word(32),
        word(32) + word(0)[1:],
        word(32) + word(1),
        word(32) + word(4) + b"abc",
        word(64) + word(3) + b"abc",
        word(31) + word(3) + b"abc",
    ):
        assert refused(abi.read_text, data)


def answer(*items, offsets=None):
    """Items in a row, whatever is in them; where they begin unless that is said."""
    starts, at = [], 32 * len(items)
    for item in items:
        starts.append(at)
        at += len(item)
    return word(32) + word(len(items)) + b"".join(map(word, offsets or starts)) + b"".join(items)


def test_an_outcome_may_keep_its_bytes_wherever_it_says():
    usual = word(1) + word(64) + word(3) + b"abc" + bytes(29)
    apart = word(1) + word(96) + bytes(32) + word(3) + b"xyz" + bytes(29)
    failed = word(0) + word(96) + bytes(32) + word(2) + b"no" + bytes(30)
    assert aggregate3.outcomes(answer(usual, apart, failed), 3) == [(True, b"abc"), (True, b"xyz"), (False, b"no")]
    assert aggregate3.decode(answer(usual, apart, failed), 3) == [b"abc", b"xyz", None]
    # In any order.
    swapped = answer(usual, apart, offsets=[64 + len(usual), 64])
    assert aggregate3.decode(swapped, 2) == [b"xyz", b"abc"]


def test_an_outcome_that_is_neither_yes_nor_no_or_not_all_there_is_refused():
    whole = word(1) + word(64) + word(3) + b"abc"
    assert aggregate3.decode(answer(whole), 1) == [b"abc"], "the last may come without padding"
    for item in (
        word(2) + word(64) + word(3) + b"abc",
        word(1) + word(64) + word(4) + b"abc",
        word(1) + word(65) + word(3) + b"abc",
        word(1) + word(2**255) + word(3) + b"abc",
        word(1) + word(64),
        word(1),
        b"",
    ):
        for read in (aggregate3.decode, aggregate3.outcomes):
            assert refused(read, answer(item), 1)


def test_the_front_of_an_answer_says_where_its_list_is_and_how_long():
    item = word(1) + word(64) + word(32) + bytes(32)
    right = answer(item)
    assert aggregate3.decode(right, 1) == [bytes(32)]
    assert refused(aggregate3.decode, word(64) + right[32:], 1)
    assert refused(aggregate3.decode, right[:32] + word(2) + right[64:], 1)
    assert refused(aggregate3.decode, right[:95], 1)
    assert aggregate3.decode(word(32) + word(0), 0) == []
    assert refused(aggregate3.decode, (word(32) + word(0))[:-1], 0)


def test_pieces_are_cut_where_the_calls_of_each_begin_and_none_is_empty():
    item = word(1) + word(64) + word(32) + bytes(32)
    pieces = [aggregate3.Piece((64,), ""), aggregate3.Piece((64, 64), "")]
    right = answer(item, item, item)
    assert [part.raw for part in aggregate3.cut(right, pieces)] == [item, item * 2]
    for offsets in ([96, 96, 352], [224, 96, 352], [96, 480, 352], [480, 224, 352]):
        assert refused(aggregate3.cut, answer(item, item, item, offsets=offsets), pieces)
