"""Payments that no event has told of, found in the desk's own memory.

An event that a node keeps to itself comes to light when its line is sent again: the desk skips it. Restored books may
have lost the claim as well. Then nobody sends anything, and the epoch could never be closed.
"""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Integer, bindparam, func, select, text

from tickyard.chain.blocks import Header
from tickyard.chain.rpc.client import Rpc
from tickyard.features.earn.books.desk import MOST_RAW, DeskEvent, read_epochs, read_paid
from tickyard.features.earn.days.outcome import ENDED_UNPAID
from tickyard.features.earn.tables import earn_claim, earn_epoch, earn_line, earn_share, earn_tally
from tickyard.kernel.ids import Address
from tickyard.payout.foreign import add_foreign
from tickyard.payout.halt import Halted, halt_with
from tickyard.payout.turn import IS_OURS
from tickyard.store.engine import Store
from tickyard.store.leases import Lease, guard

_AT_ONCE: Final = 500
_due: Final = (
    select(func.sum(earn_line.c.amount_raw))
    .where(earn_line.c.epoch == earn_epoch.c.id, text("earn_line.state = 'due'"))
    .scalar_subquery()
)
_closing: Final = (
    select(earn_epoch.c.id, earn_tally.c.paid_raw, earn_tally.c.live_raw, _due.label("due_raw"))
    .join(earn_tally, earn_tally.c.epoch == earn_epoch.c.id, isouter=True)
    .where(earn_epoch.c.state == "closing", IS_OURS)
)
_mine: Final = (earn_line.c.epoch == earn_share.c.epoch, earn_line.c.address == earn_share.c.address)
_waits: Final = (
    earn_claim.c.epoch == earn_share.c.epoch,
    earn_claim.c.address == earn_share.c.address,
    ~select(earn_line.c.address)
    .where(
        # By the claim's own columns: a query two floors down does not see the share, and would take anybody's line.
        earn_line.c.epoch == earn_claim.c.epoch,
        earn_line.c.address == earn_claim.c.address,
        earn_line.c.attempt >= earn_claim.c.attempt,
    )
    .exists(),
)
_unpaid: Final = (
    select(
        earn_share.c.address,
        select(func.max(earn_line.c.attempt)).where(*_mine).scalar_subquery().label("ended_attempt"),
    )
    .where(
        earn_share.c.epoch == bindparam("of_epoch"),
        earn_share.c.address > bindparam("after"),
        ~select(earn_line.c.address).where(*_mine, earn_line.c.state.not_in(ENDED_UNPAID)).exists(),
        # A claim that waits is sent, and then the desk itself tells: that is worth more than a node's word.
        ~select(earn_claim.c.address).where(*_waits).exists(),
    )
    .order_by(earn_share.c.address)
    .limit(bindparam("most", type_=Integer))
)


async def epochs_with_hidden(
    store: Store, rpc: Rpc, multicall: Address, desk: Address, final: Header
) -> dict[int, int]:
    """Epochs that are being closed and of which the desk has paid more than any line tells, with that sum."""
    async with store.read() as tx:
        closing = (await tx.execute(_closing, {"our_desk": desk})).all()
    # Whatever is on its way tells by itself. What is to go again does not: it goes when the day is closed.
    settled = [
        (row.id, row.paid_raw or 0)
        for row in closing
        if (row.live_raw or 0) - int(row.due_raw or 0) == (row.paid_raw or 0)
    ]
    if not settled:
        return {}
    on_desk = await read_epochs(rpc, multicall, desk, [epoch for epoch, _ in settled], final.hash)
    return {
        epoch: day.spent_raw
        for (epoch, paid_raw), day in zip(settled, on_desk, strict=True)
        if day.spent_raw > paid_raw
    }


async def add_hidden(
    store: Store, rpc: Rpc, multicall: Address, desk: Address, lease: Lease, final: Header, epoch: int
) -> int:
    """Ask the desk about everybody with a share and without a payout, and write down whom it has paid. How many."""
    after, added = "", 0
    while True:
        async with store.read() as tx:
            rows = (await tx.execute(_unpaid, {"of_epoch": epoch, "after": after, "most": _AT_ONCE})).all()
        if not rows:
            return added
        paid = await read_paid(rpc, multicall, desk, [(epoch, Address(row.address)) for row in rows], final.hash)
        found = [
            # Nobody has shown the event: of its transaction nothing is known.
            (DeskEvent(final.number, 0, "paid", epoch, Address(row.address), raw, ""), row.ended_attempt)
            for row, raw in zip(rows, paid, strict=True)
            if 0 < raw <= MOST_RAW
        ]
        await _write(store, lease, found)
        added += len(found)
        after = rows[-1].address


async def _write(store: Store, lease: Lease, found: Sequence[tuple[DeskEvent, int | None]]) -> None:
    if not found:
        return
    wrong: list[str] = []
    async with store.begin() as tx:
        await guard(tx, lease)
        now = await store.now(tx)
        for event, ended_attempt in found:
            wrong += await add_foreign(tx, event, ended_attempt, now)
        if wrong:
            await halt_with(tx, "; ".join(wrong[:3]), now)
    if wrong:
        raise Halted("; ".join(wrong[:3]))
