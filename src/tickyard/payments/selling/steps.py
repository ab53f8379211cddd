"""What a request does with the row that its payment already has. Pure."""

from datetime import datetime
from typing import Literal

from tickyard.payments.books.ledger import KEEP_ANSWERS
from tickyard.payments.books.row import PaymentRow

Step = Literal["take", "wait", "replay", "refuse", "reconcile"]


def is_free(row: PaymentRow | None, now: datetime) -> bool:
    """Whether nothing of a payment is under way or done, so that whoever has it may use it."""
    return row is None or (row.state == "running" and row.lease_until <= now and not row.may_be_public)


def next_step(row: PaymentRow | None, fingerprint: str, now: datetime) -> Step:
    """What the payer's request does with the row that the payment already has."""
    if is_free(row, now):
        return "take"
    assert row is not None
    if row.fingerprint != fingerprint:
        return "refuse"
    if row.state == "failed" or (row.state == "running" and row.lease_until <= now):
        return "take"
    if row.state == "settled":
        assert row.settled_at is not None
        return "replay" if row.reply is not None and row.settled_at + KEEP_ANSWERS > now else "refuse"
    if row.state == "unknown" or (row.state == "settling" and row.lease_until <= now):
        return "reconcile"
    return "wait"
