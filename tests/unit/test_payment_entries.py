"""The logs of a payment's token, and what of them is ours."""

from types import SimpleNamespace

import pytest
from eth_abi import encode
from eth_utils import keccak

from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.payments.proof.transfer import (
    PaidTransfer,
    is_cancelled,
    is_cancelled_by,
    is_transfer,
    is_use,
    permit_words,
    read_entry,
)
from tickyard.payments.signed.key import Key

ASSET, PAYER, PAY_TO, OTHER = (Address("0x" + digit * 40) for digit in "1234")
NONCE = "0x" + "ab" * 32
KEY = Key("eip155:8453", ASSET, PAYER, NONCE)


def word(address):
    return "0x" + encode(["address"], [address]).hex()


def entry(signature, *topics, data="0x", **changes):
    return {
        "address": ASSET,
        "topics": ["0x" + keccak(text=signature).hex(), *topics],
        "data": data,
        "transactionHash": "0x" + "cd" * 32,
        "logIndex": "0x2",
        "blockNumber": "0x10",
        "blockHash": "0x" + "ef" * 32,
    } | changes


MOVED = entry(
    "Transfer(address,address,uint256)", word(PAYER), word(PAY_TO), data="0x" + encode(["uint256"], [7]).hex()
)
USED = entry("AuthorizationUsed(address,bytes32)", word(PAYER), NONCE)
CANCELLED = entry("AuthorizationCanceled(address,bytes32)", word(PAYER), NONCE)


def test_a_transfer_is_ours_when_all_of_it_is():
    read = read_entry(MOVED)
    assert (read.place.transaction, read.place.log_index, read.place.block) == ("0x" + "cd" * 32, 2, 16)
    assert is_transfer(read, KEY, PAY_TO, 7)
    assert not is_transfer(read, KEY, PAY_TO, 8)
    assert not is_transfer(read, KEY, OTHER, 7)
    for changes in (
        {"address": OTHER},
        {"topics": [MOVED["topics"][0], word(OTHER), word(PAY_TO)]},
        {"topics": [USED["topics"][0], word(PAYER), word(PAY_TO)]},
    ):
        assert not is_transfer(read_entry(MOVED | changes), KEY, PAY_TO, 7)


def test_the_word_about_a_nonce_is_about_this_one():
    assert [(is_use(each, KEY), is_cancelled(each, KEY)) for each in map(read_entry, (USED, CANCELLED, MOVED))] == [
        (True, False),
        (False, True),
        (False, False),
    ]
    for log, is_it in ((USED, is_use), (CANCELLED, is_cancelled)):
        for changes in ({"address": OTHER}, {"topics": [log["topics"][0], word(OTHER), NONCE]}):
            assert not is_it(read_entry(log | changes), KEY)


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        [],
        MOVED | {"topics": None},
        MOVED | {"removed": True},
        MOVED | {"address": None},
        MOVED | {"data": 7},
        MOVED | {"topics": ["0x12"]},
        MOVED | {"transactionHash": "0x12"},
        MOVED | {"blockNumber": "-0x5"},
        MOVED | {"logIndex": None},
    ],
)
def test_what_is_no_log_is_the_nodes_failure(wrong):
    with pytest.raises(UpstreamDown):
        read_entry(wrong)


@pytest.mark.parametrize("nonce", [0, 1, 255, 256, 257, 511, (7 << 8) | 44, 2**256 - 1])
def test_a_nonce_is_crossed_out_where_its_bit_stands_in_its_word_and_nowhere_else(nonce):
    key = Key("eip155:4663", ASSET, PAYER, f"0x{nonce:064x}")

    def crossed(word_at, mask, *, by=OTHER, owner=PAYER, data=None):
        shown = "0x" + encode(["uint256", "uint256"], [word_at, mask]).hex() if data is None else data
        signature = "UnorderedNonceInvalidation(address,uint256,uint256)"
        return is_cancelled_by(read_entry(entry(signature, word(owner), data=shown, address=by)), OTHER, key)

    word_at, bit = divmod(nonce, 256)
    assert crossed(word_at, 1 << bit)
    assert crossed(word_at, 2**256 - 1)
    assert not crossed(word_at, 2**256 - 1 - (1 << bit))
    assert not crossed(word_at ^ 1, 1 << bit)
    assert not crossed(word_at, 1 << bit, by=ASSET)
    assert not crossed(word_at, 1 << bit, owner=OTHER)
    assert not crossed(word_at, 1 << bit, data="0x" + "00" * 65)
    assert not crossed(word_at, 1 << bit, data="0x")


def test_calldata_names_a_permit_by_its_four_words_side_by_side():
    words = encode(["address", "uint256", "uint256", "uint256"], [ASSET, 7, int(NONCE, 16), 900]).hex()
    assert permit_words(KEY, 7, 900) == words
    row = SimpleNamespace(key=KEY, amount_raw=7, valid_before=900)
    for calldata, is_named in ((None, True), ("0x12" + words + "00", True), ("0x12" + words[1:], False), ("0x", False)):
        assert PaidTransfer("0x01", 1, 1, "0x02", calldata).names(row) is is_named
