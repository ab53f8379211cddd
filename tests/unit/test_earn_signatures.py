"""Claim signatures: every valid form of a wallet's own, nobody else's, and of accounts with a key only."""

import pytest
from eth_account import Account
from eth_account.messages import encode_defunct, encode_typed_data

from tickyard.features.earn.claims.message import EarnTerms, claim_message, message_digest
from tickyard.features.earn.claims.signature import is_key_account, read_signature, recover
from tickyard.kernel.errors import BadRequest
from tickyard.kernel.ids import Address

ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
WALLET = Account.from_key("0x" + "11" * 32)
ADDRESS = Address(WALLET.address.lower())
TERMS = EarnTerms(4663, Address("0x" + "a1" * 20), Address("0x" + "b2" * 20))
EPOCH = 20261114


def digest(terms=TERMS, epoch=EPOCH, address=ADDRESS):
    return message_digest(claim_message(terms, epoch, address))


def signed(text=None, key=WALLET):
    return bytes(key.sign_message(encode_defunct(text=text or claim_message(TERMS, EPOCH, ADDRESS))).signature)


def test_the_digest_is_what_wallets_sign():
    text = claim_message(TERMS, EPOCH, ADDRESS)
    assert message_digest(text) == WALLET.sign_message(encode_defunct(text=text)).message_hash


def test_the_message_names_service_purpose_chain_epoch_address_and_asset():
    text = claim_message(TERMS, EPOCH, ADDRESS)
    for part in ("tickyard", "claim daily reward", "4663", "20261114", WALLET.address, "USDG 0xb2"):
        assert part.lower() in text.lower()
    assert WALLET.address in text
    assert len(text.splitlines()) > 5


@pytest.mark.parametrize("shift", [0, 27])
def test_v_counts_from_zero_or_from_27(shift):
    signature = signed()
    parity = signature[64] - 27
    form = read_signature("0x" + (signature[:64] + bytes([parity + shift])).hex())
    assert recover(digest(), form) == ADDRESS


def test_a_malleated_signature_is_the_same_wallets():
    signature = signed()
    s = ORDER - int.from_bytes(signature[32:64], "big")
    twin = signature[:32] + s.to_bytes(32, "big") + bytes([28 - (signature[64] - 27)])
    assert recover(digest(), twin) == ADDRESS


@pytest.mark.parametrize("v", [2, 3, 26, 29, 35, 36, 255])
def test_other_recovery_bytes_are_refused(v):
    with pytest.raises(BadRequest):
        read_signature("0x" + (signed()[:64] + bytes([v])).hex())
    assert recover(digest(), signed()[:64] + bytes([v])) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0x",
        "0x" + "00" * 64,
        "0x" + "00" * 66,
        "00" * 65,
        "0x" + "zz" * 65,
        "0x" + "1_" * 65,
        "0x" + " 1" * 65,
        "0x" + "00" * 65 + "\n",
        "0X" + "00" * 65,
    ],
)
def test_a_signature_is_65_bytes_of_hex(text):
    with pytest.raises(BadRequest):
        read_signature(text)


@pytest.mark.parametrize("body", [bytes(64), b"\xff" * 64, bytes(32) + b"\x01" * 32, b"\x01" * 32 + bytes(32)])
def test_numbers_off_the_curve_are_nobodys(body):
    assert recover(digest(), body + b"\x1b") is None


def test_other_epochs_chains_keys_addresses_and_prefixes_are_not_this_claim():
    signature = signed()
    assert recover(digest(epoch=EPOCH + 1), signature) != ADDRESS
    assert recover(digest(terms=EarnTerms(1, TERMS.token, TERMS.usdg)), signature) != ADDRESS
    assert recover(digest(terms=EarnTerms(4663, TERMS.usdg, TERMS.token)), signature) != ADDRESS
    assert recover(digest(address=Address("0x" + "c3" * 20)), signature) != ADDRESS
    assert recover(digest(), signed(key=Account.from_key("0x" + "22" * 32))) != ADDRESS
    assert recover(digest(), signed(text=claim_message(TERMS, EPOCH, ADDRESS) + "\n")) != ADDRESS
    typed = encode_typed_data(
        {"name": "tickyard", "chainId": 4663}, {"Claim": [{"name": "epoch", "type": "uint256"}]}, {"epoch": EPOCH}
    )
    assert recover(digest(), bytes(WALLET.sign_message(typed).signature)) != ADDRESS


def test_accounts_with_a_key_are_told_from_contracts():
    assert is_key_account("0x")
    assert is_key_account("0xef0100" + "ab" * 20)
    assert not is_key_account("0xef0101" + "ab" * 20)
    assert not is_key_account("0xef0100" + "ab" * 19)
    assert not is_key_account("0xef0100" + "ab" * 21)
    assert not is_key_account("0x6080604052")
    assert not is_key_account("")
