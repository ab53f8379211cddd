"""After a final block has left the chain, and a person has looked: going on with the branch that is there now.

Halting kept everything as it was. What the newest epochs' lines tell is held against the desk's memory; who is not paid
on this branch goes again, and the desk's events are read again from before all of them. A payment that nobody had
claimed is not ours to make again: it has ended unpaid.
"""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Row, bindparam, func, select, update

from tickyard.chain.blocks import Header
from tickyard.chain.rpc.client import Rpc
from tickyard.features.earn.books.desk import read_paid
from tickyard.features.earn.tables import IN_ADVANCE, earn_claim, earn_epoch, earn_line
from tickyard.kernel.ids import Address
from tickyard.observe.log import log
from tickyard.payout.ledger import OF_CLAIM, count
from tickyard.payout.turn import IS_OURS
from tickyard.store.engine import Store, Transaction
from tickyard.store.leases import Lease, guard

_EPOCHS: Final = 7
"""So many of the newest epochs are looked through: no chain goes back by days."""
_AT_ONCE: Final = 500

_confirmed: Final = (
    select(
        earn_line.c.address,
        earn_line.c.attempt,
        earn_line.c.amount_raw,
        select(earn_claim.c.address).where(OF_CLAIM).exists().label("is_claimed"),
    )
    .where(
        earn_line.c.epoch == bindparam("of_epoch"),
        earn_line.c.address > bindparam("after"),
        earn_line.c.state == "confirmed",
    )
    .order_by(earn_line.c.address)
    .limit(_AT_ONCE)
)


async def unpaid_again(
    store: Store, rpc: Rpc, multicall: Address, desk: Address, lease: Lease, final: Header
) -> tuple[int, int | None]:
    """Send again what this branch has not paid. How many lines, and the block of the oldest of all; None: no lines."""
    async with store.read() as tx:
        # Whom another desk has paid, this one cannot tell.
        newest = (
            select(earn_line.c.epoch)
            .join(earn_epoch, earn_epoch.c.id == earn_line.c.epoch, isouter=True)
            .where(IS_OURS)
            .distinct()
            .order_by(earn_line.c.epoch.desc())
        )
        in_advance = earn_line.c.reason.is_not_distinct_from(IN_ADVANCE)
        epochs = list((await tx.execute(newest.where(~in_advance).limit(_EPOCHS), {"our_desk": desk})).scalars())
        # Beside those: a thief may have paid on any number of days to come, which must not hide the newest.
        early = (await tx.execute(newest.where(in_advance), {"our_desk": desk})).scalars()
        epochs += [epoch for epoch in early if epoch not in epochs]
        oldest = select(func.min(earn_line.c.block_number)).where(earn_line.c.epoch.in_(epochs))
        first: int | None = (await tx.execute(oldest)).scalar_one_or_none()
    again = 0
    for epoch in epochs:
        again += await unpaid_of(store, rpc, multicall, desk, lease, final, epoch)
    return again, first


async def unpaid_of(
    store: Store, rpc: Rpc, multicall: Address, desk: Address, lease: Lease, final: Header, epoch: int
) -> int:
    """Of one epoch, what this desk has not paid by the final block though a line says so. How many lines."""
    again, after = 0, ""
    while True:
        async with store.read() as tx:
            rows = (await tx.execute(_confirmed, {"of_epoch": epoch, "after": after})).all()
        whom = [(epoch, Address(row.address)) for row in rows]
        paid = await read_paid(rpc, multicall, desk, whom, final.hash) if whom else []
        gone = [row for row, raw in zip(rows, paid, strict=True) if not raw]
        await _send_again(store, lease, epoch, gone)
        again += len(gone)
        if len(rows) < _AT_ONCE:
            return again
        after = rows[-1].address


async def _send_again(store: Store, lease: Lease, epoch: int, lines: Sequence[Row[Any]]) -> None:
    if not lines:
        return
    log.warning("payouts are not on this branch of the chain, they go again", epoch=epoch, lines=len(lines))
    ours = [line for line in lines if line.is_claimed]
    others = [line for line in lines if not line.is_claimed]
    async with store.begin() as tx:
        await guard(tx, lease)
        # The block stays until another has it: whoever has to do this again must begin there too.
        await _set_state(tx, epoch, ours, "due")
        await _set_state(tx, epoch, others, "failed")
        gone_raw = sum(line.amount_raw for line in others)
        paid_raw = sum(line.amount_raw for line in lines)
        await count(tx, epoch, wallets=-len(others), live_raw=-gone_raw, paid_raw=-paid_raw)


async def _set_state(tx: Transaction, epoch: int, lines: Sequence[Row[Any]], state: str) -> None:
    this = update(earn_line).where(
        earn_line.c.epoch == epoch,
        earn_line.c.address == bindparam("of_address"),
        earn_line.c.attempt == bindparam("of_attempt"),
        earn_line.c.state == "confirmed",
    )
    if lines:
        await tx.execute(
            this.values(state=state),
            [{"of_address": line.address, "of_attempt": line.attempt} for line in lines],
        )
