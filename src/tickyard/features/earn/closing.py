"""Closing an epoch: what nobody claimed, and what failed for good, goes on to the next unsealed pool."""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Row, and_, select, update

from tickyard.features.earn.rules import closes_at, share
from tickyard.features.earn.tables import earn_claim, earn_close, earn_epoch, earn_gate, earn_payout, earn_share
from tickyard.store.engine import Store, Transaction
from tickyard.store.statement import Bulk

ENDED_UNPAID: Final = ("failed", "refused")
_new_rows: Final = Bulk(earn_close)


async def close(store: Store, epoch: int) -> bool:
    """Close an epoch whose window is over, in one transaction. False: too early, or done already."""
    async with store.begin() as tx:
        # Claims hold this row while they are written: after we have it, none can come in between.
        await tx.execute(select(earn_gate.c.epoch).where(earn_gate.c.epoch == epoch).with_for_update())
        now = await store.now(tx)
        if now < closes_at(epoch):
            return False
        closed = await tx.execute(
            update(earn_epoch)
            .where(earn_epoch.c.id == epoch, earn_epoch.c.state.in_(("sealed", "open")))
            .values(state="closed", closed_at=now)
        )
        if closed.rowcount != 1:
            return False
        row = (await tx.execute(select(earn_epoch).where(earn_epoch.c.id == epoch))).one()
        rows = [
            {
                "epoch": epoch,
                "address": claim.address,
                "attempt": claim.attempt,
                "amount_raw": share(row.pool_raw, claim.balance, row.eligible_total),
                "returned_to": epoch if claim.state in ENDED_UNPAID else None,
            }
            for claim in await _claims(tx, epoch)
        ]
        await _new_rows.run(tx, rows)
        kept = sum(claim["amount_raw"] for claim in rows if claim["returned_to"] is None)
        await tx.execute(update(earn_epoch).where(earn_epoch.c.id == epoch).values(rolled_raw=row.pool_raw - kept))
    return True


async def _claims(tx: Transaction, epoch: int) -> Sequence[Row[Any]]:
    """Claims with their balance and the state of their newest payout, all as of one moment.

    Amounts follow from the snapshot: nothing that the API wrote is believed but that there is a claim.
    """
    found = await tx.execute(
        select(earn_claim.c.address, earn_claim.c.attempt, earn_share.c.balance, earn_payout.c.state)
        .join(earn_share, and_(earn_share.c.epoch == earn_claim.c.epoch, earn_share.c.address == earn_claim.c.address))
        .join(
            earn_payout,
            and_(
                earn_payout.c.epoch == earn_claim.c.epoch,
                earn_payout.c.address == earn_claim.c.address,
                earn_payout.c.attempt == earn_claim.c.attempt,
            ),
            isouter=True,
        )
        .where(earn_claim.c.epoch == epoch)
    )
    return found.all()
