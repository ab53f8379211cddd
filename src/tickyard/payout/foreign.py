"""A payment of the desk that the books know nothing of: they were restored, another agent pays too, or a thief does."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from sqlalchemy import and_, select

from tickyard.chain.blocks import header
from tickyard.chain.rpc.client import Rpc
from tickyard.features.earn.books.desk import DeskEvent
from tickyard.features.earn.rules import is_over, share
from tickyard.features.earn.tables import IN_ADVANCE, earn_claim, earn_close, earn_epoch, earn_line, earn_share
from tickyard.kernel.ids import Address
from tickyard.observe.log import log
from tickyard.payout.ledger import count, nonces_of
from tickyard.store.engine import Store, Transaction
from tickyard.store.statement import Bulk

_new_lines: Final = Bulk(earn_line, only_new=True)


async def sort_out(tx: Transaction, desk: Address, events: Sequence[DeskEvent]) -> tuple[list[DeskEvent], list[str]]:
    """The events that can be about a line of ours; and what the desk paid by the others, for a person.

    Those are input from whoever had the payer's key: no day, no amount that can be, or a day that another desk pays.
    """
    if not events:
        # As of nearly all blocks: nothing is asked of the store for them.
        return [], []
    days = sorted({event.epoch for event in events if event.fits_a_line})
    elsewhere = select(earn_epoch.c.id).where(earn_epoch.c.id.in_(days), earn_epoch.c.desk != desk)
    others = set((await tx.execute(elsewhere)).scalars())
    ours, wrong = [], []
    for event in events:
        if event.fits_a_line and event.epoch not in others:
            ours.append(event)
            continue
        # As text: no log shows numbers as large as these may be.
        log.error("the desk speaks of what is no line of ours", word=event.word, epoch=str(event.epoch),
                  address=event.account, raw=str(event.amount), tx=event.tx)  # fmt: skip
        if event.word == "paid":
            wrong.append(
                f"the desk {desk} paid {event.account} {event.amount} for epoch {event.epoch}, which is no day that it "
                "pays: somebody else has or had the payer's key"
            )
    return ours, wrong


async def find_early(store: Store, rpc: Rpc, events: Sequence[DeskEvent]) -> set[DeskEvent]:
    """Payments of days that were not over in their own block: no books can have asked for them."""
    paid = [event for event in events if event.word == "paid" and event.fits_a_line]
    if not paid:
        return set()
    async with store.read() as tx:
        ours = await nonces_of(tx, {event.tx for event in paid})
    theirs = [event for event in paid if event.tx not in ours]
    times = {block: (await header(rpc, block)).timestamp for block in sorted({event.block for event in theirs})}
    return {event for event in theirs if not is_over(event.epoch, times[event.block])}


async def add_foreign(
    tx: Transaction, event: DeskEvent, ended_attempt: int | None, now: datetime, *, is_early: bool = False
) -> list[str]:
    """Write down that it was paid, after the attempt that had ended unpaid. What must not be, for a person."""
    found = select(earn_claim.c.attempt).where(earn_claim.c.epoch == event.epoch, earn_claim.c.address == event.account)
    claimed = (await tx.execute(found)).scalar_one_or_none()
    row = {
        "epoch": event.epoch, "address": event.account,
        "attempt": (claimed or 0) if ended_attempt is None else ended_attempt + 1, "state": "confirmed",
        "amount_raw": event.amount, "payer": None, "nonce": None, "hash": event.tx or None,
        "reason": IN_ADVANCE if is_early else None,
        "sent_at": now, "ended_at": now, "block_number": event.block,
    }  # fmt: skip
    await _new_lines.run(tx, [row])
    await count(tx, event.epoch, wallets=1, live_raw=event.amount, paid_raw=event.amount)
    log.warning("the desk paid what the books did not know of", epoch=event.epoch, address=event.account)
    if is_early:
        what = f"the desk paid {event.account} {event.amount} for epoch {event.epoch}"
        return [f"{what}, before that day was over: somebody else has or had the payer's key"]
    return await what_is_wrong(tx, event)


async def what_is_wrong(tx: Transaction, event: DeskEvent) -> list[str]:
    """With a payment that nobody here has asked for, by the books. Nothing, or one reason for a person."""
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
