"""Every word that the reference facilitators have for a refused exact payment is sorted here on purpose, and none is of
our own making: a word that is believed wrongly has somebody pay twice, one that is not believed keeps them waiting."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from tickyard.payments.facilitators.reasons import NONCE_USED, NOTHING_SENT, says_used

ROOT = Path(__file__).parents[2]
PYTHON = Path(find_spec("x402").origin).parent / "mechanisms" / "evm"
TYPESCRIPT = ROOT / "node_modules" / "@x402" / "evm" / "dist" / "cjs"
USED = {
    "invalid_exact_evm_nonce_already_used",
    "permit2_invalid_nonce",
    "invalid_exact_evm_transaction_simulation_failed",
    "permit2_simulation_failed",
}
MAY_HAVE_BEEN_SENT = {
    "transaction_failed",
    "invalid_exact_evm_transaction_failed",
    "invalid_exact_evm_transfer_event_mismatch",
    "invalid_exact_evm_failed_to_get_asset_info",
    "invalid_transaction_state",
    "settlement_pending",
}
# Of schemes and extensions that we do not offer.
FOREIGN = re.compile(r"(invalid_)?(upto|batch_settlement|eip2612|erc20_approval)_")


@pytest.fixture(scope="module")
def words():
    """(those that are declared as reasons, every word) of both references."""
    declared, every = set(), set()
    for folder, suffix in ((PYTHON, "*.py"), (TYPESCRIPT, "*.js")):
        for path in folder.rglob(suffix):
            text = path.read_text()
            declared.update(re.findall(r'\bE(?:RR_|rr)\w+ = "(\w+)"', text))
            every.update(re.findall(r'"(\w+)"', text))
    assert len(declared) > 100
    return declared, every


def test_every_reason_of_the_references_is_sorted(words):
    declared, _ = words
    ours = {each for each in declared if not FOREIGN.match(each)}
    assert ours - NOTHING_SENT - USED == MAY_HAVE_BEEN_SENT & ours


def test_no_reason_is_believed_that_no_reference_gives(words):
    _, every = words
    assert not (NOTHING_SENT | USED) - every
    assert not NOTHING_SENT & MAY_HAVE_BEEN_SENT


def test_only_a_word_for_a_used_nonce_says_that_money_may_have_moved():
    assert all(map(says_used, USED))
    assert not any(map(says_used, NOTHING_SENT | MAY_HAVE_BEEN_SENT))
    assert set(NONCE_USED.values()) <= USED
