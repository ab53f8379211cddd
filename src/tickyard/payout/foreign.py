"""A payment of the desk that the books know nothing of: they were restored, another agent pays too, or a thief does."""

from datetime import datetime
from typing import Final

from sqlalchemy import and_, select

from tickyard.features.earn.books.desk import DeskEvent
from tickyard.features.earn.rules import share
from tickyard.features.earn.tables import earn_claim, earn_close, earn_epoch, earn_line, earn_share
from tickyard.observe.log import log
from tickyard.payout.ledger import count
from tickyard.store.engine import Transaction
from tickyard.store.statement import Bulk

_new_lines: Final = Bulk(earn_line, only_new=True)


async def add_foreign(tx: Transaction, event: DeskEvent, ended_attempt: int | None, now: datetime) -> list[str]:
    """Write down that it was paid, after the attempt that had ended unpaid. What must not be, for a person."""
    found = select(earn_claim.c.attempt).where(earn_claim.c.epoch == event.epoch, earn_claim.c.address == event.account)
    claimed = (await tx.execute(found)).scalar_one_or_none()
    row = {
        "epoch": event.epoch, "address": event.account,
        "attempt": (claimed or 0) if ended_attempt is None else ended_attempt + 1, "state": "confirmed",
        "amount_raw": event.amount, "payer": None, "nonce": None, "hash": event.tx or None, "reason": None,
        "sent_at": now, "ended_at": now, "block_number": event.block,
    }  # fmt: skip
    await _new_lines.run(tx, [row])
    await count(tx, event.epoch, wallets=1, live_raw=event.amount, paid_raw=event.amount)
    log.warning("the desk paid what the books did not know of", epoch=event.epoch, address=event.account)
    return await _judge(tx, event)


async def _judge(tx: Transaction, event: DeskEvent) -> list[str]:
    mine = and_(earn_share.c.epoch == earn_epoch.c.id, earn_share.c.address == event.account)
    found = await tx.execute(
        select(earn_epoch.c.state, earn_epoch.c.pool_raw, earn_epoch.c.eligible_total, earn_share.c.balance)
        .join(earn_share, mine, isouter=True)
        .where(earn_epoch.c.id == event.epoch)
    )
    day = found.one_or_none()
    if day is not None and day.state == "skipped":
        return [f"the desk paid {event.account} for epoch {event.epoch}, which was skipped: its money had gone on"]
    if day is None or day.pool_raw is None:
        # Restored to before its pool was fixed: there is nothing to judge it by yet.
        return []
    due = share(day.pool_raw, day.balance or 0, day.eligible_total)
    if event.amount != due:
        return [f"the desk paid {event.account} {event.amount} for epoch {event.epoch}, not {due}"]
    if day.state != "closed":
        return []
    kept = await tx.execute(
        select(earn_close.c.amount_raw).where(
            earn_close.c.epoch == event.epoch,
            earn_close.c.address == event.account,
            earn_close.c.returned_to.is_(None),
        )
    )
    if kept.scalar_one_or_none() == event.amount:
        return []
    return [f"the desk paid {event.account} for epoch {event.epoch}, though its share had gone on to another pool"]
