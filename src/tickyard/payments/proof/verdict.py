"""What a look at the chain means for a payment. Pure: a row, what was found, and how far the chain is.

    row                    found                          so
    unknown or failed      paid                           settled
    unknown                spent, and told by what        failed
    unknown                unused, deadline passed        failed
    failed                 not paid, final deadline       closed: it never will be
    settled                paid, final                    credited
    settled, seen before   unused, or told, block there   unknown again: the chain was reorganised
    settled, never seen    unused, final deadline         missing
    any                    spent, and nothing says how    as if told, after many looks that found just that
    any                    states against a passing word  as the states say, after as many and a final deadline
    any                    anything else                  looked at again later

A used nonce without any log proves nothing by itself: a node may keep its logs to itself, and who is told "not paid"
pays again.
The deadline is final when a block later than it is: what has not happened by then never will.
"""

from dataclasses import dataclass, replace
from typing import Final, Literal

from tickyard.payments.books.row import PaymentRow
from tickyard.payments.proof.finding import Finding, Paid, Spent, Tip, Unclear, Unused
from tickyard.payments.proof.transfer import PaidTransfer
from tickyard.payments.refusal import EXPIRED, NONCE_SPENT

EXPIRY_MARGIN_S: Final = 30
"""How long after its deadline a payment is given up, for blocks that are reorganised."""

LOOKS_MIN: Final = 10
"""So often the same must have been found that proves nothing by itself: minutes apart, by whatever node answers.
Looks at which a node said nothing do not count."""

Act = Literal["settle", "refuse", "close", "credit", "see", "unsettle", "missing", "wait"]


@dataclass(frozen=True, slots=True)
class Verdict:
    act: Act
    transfers: tuple[PaidTransfer, ...] = ()
    """The one to take first; another only where the first turns out to be somebody else's."""
    reason: str = ""
    """Of a settlement: why it is refused should all of them be others'. Empty: that must be looked at again."""
    is_unexplained: bool = False
    """Whether a wait is for something that a true node may say for ever: these looks are counted."""


_WAIT: Final = Verdict("wait")


def judge(row: PaymentRow, found: Finding, tip: Tip, final_s: int) -> Verdict:
    """`final_s` is the time of the newest block that will not change."""
    is_closed = final_s > row.valid_before
    is_unexplained = isinstance(found, Spent) and not found.is_told
    if isinstance(found, Unclear) and found.states_say is not None:
        is_unexplained = True
        if is_closed and (row.unexplained or 0) >= LOOKS_MIN:
            found = found.states_say
    verdict = _judge(row, found, tip, is_closed)
    return replace(verdict, is_unexplained=True) if verdict.act == "wait" and is_unexplained else verdict


def _judge(row: PaymentRow, found: Finding, tip: Tip, is_closed: bool) -> Verdict:
    if row.state == "settled":
        return _judge_settled(row, found, tip, is_closed)
    if isinstance(found, Paid):
        # A node that keeps one log to itself shows the others' beside it.
        is_over = is_closed and is_sure(row, found)
        return Verdict("settle", _ordered(row, found), NONCE_SPENT if is_over else "")
    if row.state == "failed":
        return Verdict("close") if is_closed and is_sure(row, found) else _WAIT
    if isinstance(found, Spent):
        is_over = found.is_told or (is_closed and is_sure(row, found))
        return Verdict("refuse", reason=NONCE_SPENT) if is_over else _WAIT
    if isinstance(found, Unused) and tip.timestamp > row.valid_before + EXPIRY_MARGIN_S:
        return Verdict("refuse", reason=EXPIRED)
    return _WAIT


def _judge_settled(row: PaymentRow, found: Finding, tip: Tip, is_closed: bool) -> Verdict:
    if isinstance(found, Paid):
        transfers = _ordered(row, found)
        seen = transfers[0]
        if seen.block <= tip.final:
            return Verdict("credit", transfers)
        return (
            _WAIT if (row.mined, row.mined_hash) == (seen.transaction, seen.block_hash) else Verdict("see", transfers)
        )
    is_told = isinstance(found, Unused) or (isinstance(found, Spent) and found.is_told)
    if row.mined is not None and is_told:
        # A node that has not come as far as the transfer's block cannot say that it is gone.
        return Verdict("unsettle") if row.mined_block is None or tip.number >= row.mined_block else _WAIT
    return Verdict("missing") if is_closed and is_sure(row, found) else _WAIT


def is_sure(row: PaymentRow, found: Finding) -> bool:
    """Whether what was found says that this payment was not paid, for sure. Transfers that turn out to be others' say
    no more than no log at all."""
    if isinstance(found, Unused | Unclear):
        return isinstance(found, Unused)
    is_told = isinstance(found, Spent) and found.is_told
    return is_told or (row.unexplained or 0) >= LOOKS_MIN


def _ordered(row: PaymentRow, found: Paid) -> tuple[PaidTransfer, ...]:
    """First the one that we saw before or that the receipt names."""
    names = (row.mined, row.transaction)
    return tuple(sorted(found.transfers, key=lambda each: each.transaction not in names))
