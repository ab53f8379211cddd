"""What a contract throws, and what a signer is told of it."""

import pytest
from eth_abi import encode
from eth_utils import keccak

from tickyard.features.trades.reasons import read_refusal

WHO = "0x" + "11" * 20


@pytest.mark.parametrize(
    ("declared", "code"),
    [
        ("ERC20InsufficientBalance(address,uint256,uint256)", "balance_short"),
        ("ERC20InsufficientAllowance(address,uint256,uint256)", "allowance_short"),
        ("EnforcedPause()", "token_paused"),
        ("ContractPaused()", "token_paused"),
        ("AddressFrozen()", "recipient_blocked"),
        ("InsufficientFunds()", "balance_short"),
        ("InsufficientAllowance()", "allowance_short"),
    ],
)
def test_an_error_with_a_name_is_told_by_it(declared, code):
    name, _, kinds = declared.partition("(")
    values = encode(["address", "uint256", "uint256"], [WHO, 1, 2]) if kinds != ")" else b""
    found = read_refusal(keccak(text=declared)[:4] + values)
    assert (found.code, found.said, found.is_vague) == (code, name, False)
    assert found.text.endswith(f" The contract said: {name}.")


@pytest.mark.parametrize(
    ("data", "code", "said"),
    [
        (b"", "out_of_gas_or_assertion", None),
        (bytes.fromhex("4e487b71") + encode(["uint256"], [0x11]), "out_of_gas_or_assertion", "Panic 0x11"),
        (bytes.fromhex("4e487b71"), "other", None),
        (b"\x01\x02\x03\x04", "other", None),
        (bytes.fromhex("08c379a0") + encode(["string"], ["a word of its own"]), "other", "a word of its own"),
    ],
)
def test_what_has_no_name_is_vague(data, code, said):
    found = read_refusal(data)
    assert (found.code, found.said, found.is_vague) == (code, said, True)
    assert found.data == data


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("Too little received", "too_little_received"),
        ("Too much requested", "too_much_requested"),
        ("Transaction too old", "transaction_too_old"),
        *((word, "transfer_failed") for word in ("STF", "TF", "ST", "IIA")),
        *((word, "pool_refused") for word in ("LOK", "SPL", "AS")),
        *((word, "recipient_blocked") for word in ("blocked", "frozen")),
        *((word, "token_paused") for word in ("paused", "Pausable: paused")),
        ("ERC20: transfer amount exceeds balance", "balance_short"),
        ("ERC20: insufficient allowance", "allowance_short"),
        ("ERC20: transfer amount exceeds allowance", "allowance_short"),
    ],
)
def test_a_word_of_the_router_the_pool_or_a_token_is_understood(said, code):
    found = read_refusal(bytes.fromhex("08c379a0") + encode(["string"], [said]))
    assert (found.code, found.said, found.is_vague) == (code, said, code == "transfer_failed")
