"""What a look at the chain means for a payment, line by line."""

from datetime import UTC, datetime

import pytest

from tickyard.kernel.ids import Address
from tickyard.payments.books.row import PaymentRow
from tickyard.payments.proof.finding import Paid, Spent, Tip, Unclear, Unused
from tickyard.payments.proof.transfer import PaidTransfer
from tickyard.payments.proof.verdict import judge
from tickyard.payments.refusal import EXPIRED, NONCE_SPENT
from tickyard.payments.signed.key import Key

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
DEADLINE = 1_000
OPEN, OVER = DEADLINE, DEADLINE + 1
"""The time of the newest final block: a payment may still come in one at its deadline, and in none after."""
TOLD, UNTOLD = Spent(is_told=True), Spent(is_told=False)
SEEN = PaidTransfer("0x01", 3, 50, "0xb50")
OTHER = PaidTransfer("0x02", 4, 50, "0xb50")


def row(state, **more):
    key = Key("eip155:8453", Address("0x" + "1" * 40), Address("0x" + "2" * 40), "0x" + "3" * 64)
    return PaymentRow(
        key, state, "h", NOON, "f", "r", 7, Address("0x" + "4" * 40), DEADLINE, 900, NOON, 1, None, None, **more
    )


def tip(*, number=60, timestamp=DEADLINE, final=40):
    return Tip(number, timestamp, final)


@pytest.mark.parametrize(
    ("found", "now", "final_s", "act", "reason"),
    [
        (TOLD, 900, OPEN, "refuse", NONCE_SPENT),
        (UNTOLD, 900, OVER, "wait", ""),
        (Unused(), DEADLINE + 30, OPEN, "wait", ""),
        (Unused(), DEADLINE + 31, OPEN, "refuse", EXPIRED),
        (UNTOLD, DEADLINE + 31, OVER, "wait", ""),
        (Unclear(), DEADLINE + 31, OVER, "wait", ""),
    ],
)
def test_what_is_unknown_ends_by_what_the_chain_tells(found, now, final_s, act, reason):
    verdict = judge(row("unknown"), found, tip(timestamp=now), final_s)
    assert (verdict.act, verdict.reason) == (act, reason)


@pytest.mark.parametrize(
    ("found", "final_s", "act"),
    [
        (Unused(), OVER, "close"),
        (Unused(), OPEN, "wait"),
        (TOLD, OVER, "close"),
        (TOLD, OPEN, "wait"),
        (UNTOLD, OVER, "wait"),
        (Unclear(), OVER, "wait"),
    ],
)
def test_what_failed_is_closed_when_it_never_can_be_paid(found, final_s, act):
    assert judge(row("failed"), found, tip(), final_s).act == act


@pytest.mark.parametrize("state", ["unknown", "failed"])
@pytest.mark.parametrize("final_s", [OPEN, OVER])
def test_what_is_paid_is_settled_by_the_transfer_that_the_receipt_names(state, final_s):
    verdict = judge(row(state, transaction="0x02"), Paid((SEEN, OTHER)), tip(), final_s)
    assert (verdict.act, verdict.transfers, verdict.reason) == ("settle", (OTHER, SEEN), "")
    verdict = judge(row(state, mined="0x02"), Paid((SEEN, OTHER)), tip(), final_s)
    assert verdict.transfers == (OTHER, SEEN)


@pytest.mark.parametrize(("looks", "act", "missing"), [(9, "wait", "wait"), (10, "refuse", "missing")])
def test_a_used_nonce_that_nothing_explains_is_believed_after_ten_looks_and_the_deadline(looks, act, missing):
    """Its looks are counted while it waits, and only then."""
    unknown, settled = row("unknown", unexplained=looks), row("settled", unexplained=looks)
    verdict = judge(unknown, UNTOLD, tip(), OVER)
    assert (verdict.act, verdict.is_unexplained) == (act, act == "wait")
    assert judge(settled, UNTOLD, tip(), OVER).act == missing
    assert judge(row("failed", unexplained=looks), UNTOLD, tip(), OVER).act == ("wait" if looks < 10 else "close")
    assert judge(unknown, UNTOLD, tip(), OPEN).act == "wait"
    over = judge(unknown, Paid((SEEN,)), tip(), OVER)
    assert (over.act, over.reason) == ("settle", "" if looks < 10 else NONCE_SPENT)
    assert judge(unknown, Paid((SEEN,)), tip(), OPEN).reason == ""


@pytest.mark.parametrize("found", [TOLD, Unused(), Unclear()])
def test_only_a_nonce_that_nothing_explains_counts_as_one(found):
    waiting = judge(row("failed"), found, tip(), OPEN)
    assert (waiting.act, waiting.is_unexplained) == ("wait", False)


@pytest.mark.parametrize("looks", [9, 10])
@pytest.mark.parametrize("states", [TOLD, Unused(), UNTOLD])
def test_states_that_only_a_passing_word_denies_are_believed_after_ten_looks_and_the_deadline(looks, states):
    """A true node says the same for ever: a batch of which this payment failed names it, too."""
    found, is_over = Unclear(states), looks == 10
    unknown, failed, settled = (row(state, unexplained=looks) for state in ("unknown", "failed", "settled"))
    late = tip(timestamp=DEADLINE + 31)
    verdict = judge(unknown, found, late, OVER)
    assert (verdict.act, verdict.is_unexplained) == (("refuse", False) if is_over else ("wait", True))
    assert judge(failed, found, late, OVER).act == ("close" if is_over else "wait")
    assert judge(settled, found, late, OVER).act == ("missing" if is_over else "wait")
    for each in (unknown, failed, settled):
        open_ = judge(each, found, late, OPEN)
        assert (open_.act, open_.is_unexplained) == ("wait", True)


@pytest.mark.parametrize(
    ("final", "known", "act"),
    [
        (50, {}, "credit"),
        (49, {}, "see"),
        (49, {"mined": "0x01", "mined_hash": "0xb50"}, "wait"),
        (49, {"mined": "0x01", "mined_hash": "0xother"}, "see"),
        (49, {"mined": "0x09", "mined_hash": "0xb50"}, "see"),
        (50, {"mined": "0x01", "mined_hash": "0xb50"}, "credit"),
    ],
)
def test_what_is_settled_is_credited_in_a_final_block_and_noted_before(final, known, act):
    verdict = judge(row("settled", **known), Paid((SEEN,)), tip(final=final), OPEN)
    assert (verdict.act, verdict.transfers) == (act, () if act == "wait" else (SEEN,))


@pytest.mark.parametrize("found", [TOLD, Unused()])
@pytest.mark.parametrize(("mined_block", "act"), [(60, "unsettle"), (61, "wait"), (None, "unsettle")])
def test_what_was_seen_and_is_gone_was_reorganised_unless_the_node_is_not_that_far(found, mined_block, act):
    seen = row("settled", mined="0x01", mined_hash="0xb", mined_block=mined_block)
    assert judge(seen, found, tip(number=60), OPEN).act == act


@pytest.mark.parametrize(
    ("found", "final_s", "act"),
    [(Unused(), OVER, "missing"), (Unused(), OPEN, "wait"), (TOLD, OVER, "missing"), (Unclear(), OVER, "wait")],
)
def test_what_a_facilitator_called_settled_and_nobody_saw_is_missing_in_the_end(found, final_s, act):
    assert judge(row("settled"), found, tip(), final_s).act == act
