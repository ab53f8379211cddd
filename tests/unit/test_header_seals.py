"""A header that is not the one of its hash, told from one of a kind that we do not know."""

import pytest

from tickyard.chain.rpc.seal import Seals

# The first block of Ethereum.
FIRST = {
    "parentHash": "0x" + "00" * 32,
    "sha3Uncles": "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347",
    "miner": "0x" + "00" * 20,
    "stateRoot": "0xd7f8974fb5ac78d9ac099b9ad5018bedc2ce0a72dad1827a1709da30580f0544",
    "transactionsRoot": "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421",
    "receiptsRoot": "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421",
    "logsBloom": "0x" + "00" * 256,
    "difficulty": "0x400000000",
    "number": "0x0",
    "gasLimit": "0x1388",
    "gasUsed": "0x0",
    "timestamp": "0x0",
    "extraData": "0x11bbe8db4e347b4e8c937c1c8370e4b5ed33adb3db69cbdb7a38e1e50b1b82fa",
    "mixHash": "0x" + "00" * 32,
    "nonce": "0x0000000000000042",
    "size": "0x21c",
    "uncles": [],
}
HASH = bytes.fromhex("d4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3")


def knowing():
    seals = Seals()
    assert not seals.is_broken(FIRST, HASH)
    return seals


@pytest.mark.parametrize("field", ["number", "timestamp", "gasUsed", "parentHash", "logsBloom"])
def test_a_header_with_one_field_changed_is_not_the_one_of_its_hash(field):
    digits = FIRST[field][2:]
    assert knowing().is_broken({**FIRST, field: f"0x{digits[:-1]}1"}, HASH)


def test_what_a_node_tells_beside_the_header_does_not_matter():
    assert not knowing().is_broken(
        {**FIRST, "l1BlockNumber": "0x1", "transactions": ["0x12"], "sendCount": "0x5"}, HASH
    )


def test_a_kind_of_header_that_never_had_its_hash_is_not_judged():
    assert not Seals().is_broken({**FIRST, "number": "0x1"}, HASH)
    assert not knowing().is_broken({**FIRST, "baseFeePerGas": "0x1"}, HASH)


def test_an_upgrade_of_the_chain_that_adds_a_field_does_not_break_every_header():
    upgraded = bytes.fromhex("ab" * 32)
    assert not knowing().is_broken({**FIRST, "blockAccessListHash": "0x" + "12" * 32}, upgraded)


def test_names_that_a_node_makes_up_do_not_fill_the_memory():
    seals = knowing()
    for number in range(1000):
        assert not seals.is_broken({**FIRST, f"field{number}": "0x1"}, HASH)
    assert len(seals._kinds) < 100
    assert seals.is_broken({**FIRST, "number": "0x1"}, HASH)


@pytest.mark.parametrize("value", [None, 7, "", "0x", "0x-1", "0x1_0", "0xzz", "1" * 5000, "0x" + "1" * 5000, ["0x1"]])
@pytest.mark.parametrize("field", ["difficulty", "mixHash"])
def test_a_header_of_which_a_part_is_missing_or_makes_no_sense_is_not_judged(field, value):
    if (field, value) != ("mixHash", "0x"):
        assert not knowing().is_broken({**FIRST, field: value}, HASH)
