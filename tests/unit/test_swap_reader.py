"""The other eyes on our calldata: not a byte of it may be anything else. Written by another codec."""

import pytest
from eth_abi import encode

from tickyard.chain.v3.swap_reader import DecodedApproval, DecodedSwap, UnreadableSwap, decode_approval, decode_swap

IN, OUT, ME = ("0x" + digit * 40 for digit in "abc")
SINGLES = {True: "04e45aaf", False: "5023b4df"}


def single(*, is_exact_input=True, fee=500, limit=9, selector=None, more=b""):
    words = [int(IN, 16), int(OUT, 16), fee, int(ME, 16), 5, 7, limit]
    packed = b"".join(word.to_bytes(32, "big") for word in words)
    return bytes.fromhex(selector or SINGLES[is_exact_input]) + packed + more


def wrapped(*inner, deadline=77):
    return bytes.fromhex("5ae401dc") + encode(["uint256", "bytes[]"], [deadline, list(inner)])


def unreadable(data, read=decode_swap):
    with pytest.raises(UnreadableSwap):
        read(data)
    return True


@pytest.mark.parametrize("is_exact_input", [True, False])
def test_a_swap_is_read_field_by_field(is_exact_input):
    told = decode_swap(wrapped(single(is_exact_input=is_exact_input)))
    assert told == DecodedSwap(77, is_exact_input, IN, OUT, 500, ME, 5, 7, 9)


def test_no_byte_of_a_swap_can_be_another_unseen():
    data = wrapped(single())
    told = decode_swap(data)
    for place in range(len(data)):
        for flipped in (1, 0x20, 0x80):
            damaged = bytearray(data)
            damaged[place] ^= flipped
            try:
                assert decode_swap(bytes(damaged)) != told, place
            except UnreadableSwap:
                continue
    assert all(unreadable(data[:size]) for size in range(len(data)))
    assert unreadable(data + bytes(1))
    assert unreadable(data + bytes(32))


def test_what_is_wrapped_is_one_swap_of_one_pool():
    assert unreadable(wrapped())
    assert unreadable(wrapped(single(), single()))
    assert unreadable(wrapped(single(selector="c6a5026a")))
    assert unreadable(wrapped(single(more=bytes(32))))
    assert unreadable(wrapped(single()[:-32]))
    assert unreadable(single())


@pytest.mark.parametrize(("name", "bits"), [("fee", 24), ("limit", 160)])
def test_a_number_has_no_more_than_its_bits(name, bits):
    most = 2**bits - 1
    told = decode_swap(wrapped(single(**{name: most})))
    assert most in (told.fee, told.price_limit)
    assert unreadable(wrapped(single(**{name: most + 1})))


def test_padding_and_offsets_are_what_the_reference_writes():
    data = bytearray(wrapped(single()))
    data[-1] = 1
    assert unreadable(bytes(data))
    # The same swap behind a gap says the same, and is not what we wrote.
    inner = single()
    body = inner + bytes(-len(inner) % 32)

    def laid(array_at, item_at, gap=b""):
        head = (77).to_bytes(32, "big") + array_at.to_bytes(32, "big")
        item = (1).to_bytes(32, "big") + item_at.to_bytes(32, "big") + gap + len(inner).to_bytes(32, "big") + body
        return bytes.fromhex("5ae401dc") + head + bytes(array_at - 64) + item

    assert laid(64, 32) == wrapped(inner)
    assert unreadable(laid(96, 32))
    assert unreadable(laid(64, 64, gap=bytes(32)))


def approval(amount=5, more=b""):
    return bytes.fromhex("095ea7b3") + encode(["address", "uint256"], [ME, amount]) + more


def test_an_approval_is_read_and_not_a_byte_more():
    for amount in (0, 5, 2**256 - 1):
        assert decode_approval(approval(amount)) == DecodedApproval(ME, amount)
    data = approval()
    for bad in (data + b"\0", data[:-1], data + bytes(32), b"\0" + data[1:], data[:4] + b"\1" + data[5:], b""):
        assert unreadable(bad, decode_approval)
