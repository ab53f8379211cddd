"""Closing an epoch: what nobody claimed, and what failed for good, goes on to the next unsealed pool.

First the door: no claim comes in any more. Then every claim is counted, some at a time. At the end the rest is known,
and it is only closed when the books know of everybody whom the desk has paid.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Integer, Row, bindparam, func, or_, select, update

from tickyard.features.earn.days.outcome import ATTEMPT, ENDED_UNPAID, claim_of, line_of, line_since
from tickyard.features.earn.rules import closes_at, share
from tickyard.features.earn.tables import earn_claim, earn_close, earn_epoch, earn_gate, earn_line, earn_share
from tickyard.observe.log import log
from tickyard.store.engine import Store, Transaction
from tickyard.store.statement import Bulk

_AT_ONCE: Final = 1_000

_set_rows: Final = Bulk(
    earn_close,
    key=["epoch", "address"],
    # Counted again while it waits: what was unpaid at the first count may have been paid by now.
    merge=lambda new: {name: new[name] for name in ("attempt", "amount_raw", "returned_to")},
)
_claimed: Final = (
    select(
        earn_share.c.address,
        earn_share.c.balance,
        ATTEMPT,
        earn_line.c.state,
        earn_line.c.amount_raw,
    )
    .select_from(earn_share)
    .join(earn_claim, claim_of(earn_share.c.epoch, earn_share.c.address), isouter=True)
    .join(earn_line, line_of(earn_share.c.epoch, earn_share.c.address), isouter=True)
    .where(
        earn_share.c.epoch == bindparam("of_epoch"),
        earn_share.c.address > bindparam("after"),
        or_(earn_claim.c.attempt.is_not(None), earn_line.c.attempt.is_not(None)),
    )
    .order_by(earn_share.c.address)
    .limit(bindparam("most", type_=Integer))
)
_strangers: Final = select(earn_line.c.address, earn_line.c.attempt, earn_line.c.amount_raw).where(
    earn_line.c.epoch == bindparam("of_epoch"),
    earn_line.c.state == "confirmed",
    ~select(earn_share.c.address)
    .where(earn_share.c.epoch == earn_line.c.epoch, earn_share.c.address == earn_line.c.address)
    .exists(),
)
"""Whom the desk paid without a share. There are none, unless the key was in wrong hands: but then it is gone."""
_kept: Final = (
    select(earn_close.c.address, earn_line.c.state, earn_line.c.amount_raw, earn_line.c.block_number)
    .select_from(earn_close)
    .join(earn_line, line_since(earn_close), isouter=True)
    .where(
        earn_close.c.epoch == bindparam("of_epoch"),
        earn_close.c.address > bindparam("after"),
        earn_close.c.returned_to.is_(None),
    )
    .order_by(earn_close.c.address)
    .limit(bindparam("most", type_=Integer))
)


@dataclass(frozen=True, slots=True)
class DeskView:
    """What the desk has paid of one epoch, as of one block."""

    block: int
    spent_raw: int
    paid_to: Callable[[Sequence[str]], Awaitable[Sequence[int]]]
    """What each of these accounts was paid."""


async def close(store: Store, epoch: int, desk: DeskView) -> str:
    """Close an epoch whose window is over. What happened: closed, or what it waits for."""
    if not await _shut(store, epoch):
        return "somebody was faster"
    after: str | None = ""
    while after is not None:
        after = await _count_some(store, epoch, after)
        await store.clock.sleep(0)
    await _count_strangers(store, epoch)
    if (known := await _known_raw(store, epoch, desk)) < desk.spent_raw:
        log.error("an epoch stays open: the desk has paid more than the books know of", epoch=epoch,
                  desk_raw=desk.spent_raw, books_raw=known)  # fmt: skip
        return "the desk has paid more than the books know of"
    async with store.begin() as tx:
        row = (await tx.execute(select(earn_epoch).where(earn_epoch.c.id == epoch).with_for_update())).one()
        if row.state != "closing":
            return "somebody was faster"
        found = await tx.execute(
            select(func.sum(earn_close.c.amount_raw)).where(
                earn_close.c.epoch == epoch, earn_close.c.returned_to.is_(None)
            )
        )
        kept = int(found.scalar_one() or 0)
        # Less than nothing only after a theft: it is not taken from those of the next day.
        values = {"state": "closed", "closed_at": await store.now(tx), "rolled_raw": max(0, row.pool_raw - kept)}
        await tx.execute(update(earn_epoch).where(earn_epoch.c.id == epoch).values(values))
    return "closed"


async def _known_raw(store: Store, epoch: int, desk: DeskView) -> int:
    """What the desk had paid by its block to those for whom the books keep something.

    Account by account: what is kept for one who still waits must not stand for another, whom the desk paid and
    restored books forgot.
    """
    known, after = 0, ""
    while desk.spent_raw:
        async with store.read() as tx:
            rows = (await tx.execute(_kept, {"of_epoch": epoch, "after": after, "most": _AT_ONCE})).all()
        asked = []
        for row in rows:
            if row.state == "confirmed" and row.block_number <= desk.block:
                known += row.amount_raw
            else:
                asked.append(row.address)
        known += sum(await desk.paid_to(asked)) if asked else 0
        if len(rows) < _AT_ONCE:
            break
        after = rows[-1].address
        await store.clock.sleep(0)
    return known


async def _shut(store: Store, epoch: int) -> bool:
    async with store.begin() as tx:
        # Claims hold this row while they are written: after we have it, none can come in between.
        await tx.execute(select(earn_gate.c.epoch).where(earn_gate.c.epoch == epoch).with_for_update())
        if await store.now(tx) < closes_at(epoch):
            return False
        shut = await tx.execute(
            update(earn_epoch)
            .where(earn_epoch.c.id == epoch, earn_epoch.c.state.in_(("sealed", "open", "closing")))
            .values(state="closing")
        )
        return shut.rowcount == 1


async def _count_some(store: Store, epoch: int, after: str) -> str | None:
    """Count the next claims. Where to go on; None: these were the last."""
    async with store.begin() as tx:
        if (row := await _closing(tx, epoch)) is None:
            return None
        claims = await _claims(tx, epoch, after)
        rows = [
            {
                "epoch": epoch,
                "address": claim.address,
                "attempt": claim.attempt,
                # What was paid is what the chain says; it is never another amount, unless a person was called.
                "amount_raw": claim.amount_raw
                if claim.state == "confirmed"
                else share(row.pool_raw, claim.balance, row.eligible_total),
                "returned_to": epoch if claim.state in ENDED_UNPAID else None,
            }
            for claim in claims
        ]
        await _set_rows.run(tx, rows)
    return claims[-1].address if len(claims) == _AT_ONCE else None


async def _count_strangers(store: Store, epoch: int) -> None:
    async with store.read() as tx:
        found = (await tx.execute(_strangers, {"of_epoch": epoch})).mappings().all()
    async with store.begin() as tx:
        if await _closing(tx, epoch) is not None:
            await _set_rows.run(tx, [{"epoch": epoch, "returned_to": None, **row} for row in found])


async def _closing(tx: Transaction, epoch: int) -> Row[Any] | None:
    """The epoch, which stays in closing until this transaction ends. None: another worker has closed it, and what
    was counted is for good."""
    found = select(earn_epoch).where(earn_epoch.c.id == epoch).with_for_update(read=True)
    row = (await tx.execute(found)).one()
    return row if row.state == "closing" else None


async def _claims(tx: Transaction, epoch: int, after: str) -> Sequence[Row[Any]]:
    """Claims with their balance and what became of them, as of one moment.

    Amounts follow from the snapshot, or from the chain: nothing that the API wrote is believed but that there is a
    claim.
    """
    return (await tx.execute(_claimed, {"of_epoch": epoch, "after": after, "most": _AT_ONCE})).all()
