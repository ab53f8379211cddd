"""What became of a wallet's claim: the line of its newest attempt. Asked in one way only, by all who ask.

Books that were restored may know less than the desk has done: of a payment and not of its claim, or of a claim's first
attempt and not of the second, which was paid. So it is never the claim's own count of attempts that decides, only that
a line must not be older than it.
"""

from typing import Any, Final

from sqlalchemy import ColumnElement, FromClause, and_, func, or_, select

from tickyard.features.earn.tables import earn_claim, earn_line

ENDED_UNPAID: Final = ("failed", "refused")

ATTEMPT: Final = func.coalesce(earn_line.c.attempt, earn_claim.c.attempt).label("attempt")
"""Null: neither claimed nor paid."""

_later: Final = earn_line.alias("later")
IS_NEWEST_LINE: Final = ~(
    select(_later.c.epoch)
    .where(
        _later.c.epoch == earn_line.c.epoch,
        _later.c.address == earn_line.c.address,
        _later.c.attempt > earn_line.c.attempt,
    )
    .correlate(earn_line)
    .exists()
)


def claim_of(epoch: Any, address: Any) -> ColumnElement[bool]:
    """Joins the claim of a wallet, which may not be there."""
    return and_(earn_claim.c.epoch == epoch, earn_claim.c.address == address)


def line_of(epoch: Any, address: Any) -> ColumnElement[bool]:
    """Joins the line that tells what became of it, after the claim; none: nothing yet."""
    return and_(
        earn_line.c.epoch == epoch,
        earn_line.c.address == address,
        or_(earn_claim.c.attempt.is_(None), earn_line.c.attempt >= earn_claim.c.attempt),
        IS_NEWEST_LINE,
    )


def line_since(counted: FromClause) -> ColumnElement[bool]:
    """Joins the line that tells what became of an attempt which closing counted, or of a later one."""
    return and_(
        earn_line.c.epoch == counted.c.epoch,
        earn_line.c.address == counted.c.address,
        earn_line.c.attempt >= counted.c.attempt,
        IS_NEWEST_LINE,
    )
