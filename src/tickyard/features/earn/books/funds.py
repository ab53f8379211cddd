"""For the alarm: what the payout account must be able to pay, beside what it holds, at every hour of the day."""

from typing import Final

from sqlalchemy import select

from tickyard.chain.blocks import header
from tickyard.features.earn.books.desk import read_days, read_till
from tickyard.features.earn.days.opening import owed_raw
from tickyard.features.earn.room import EarnDeps
from tickyard.features.earn.tables import earn_epoch, earn_tally
from tickyard.observe import metrics

_EPOCHS: Final = 7
_NEWEST: Final = (
    select(earn_epoch.c.id, earn_epoch.c.state, earn_epoch.c.desk, earn_epoch.c.pool_raw, earn_tally.c.paid_raw)
    .join(earn_tally, earn_tally.c.epoch == earn_epoch.c.id, isouter=True)
    .where(earn_epoch.c.pool_raw.is_not(None))
    .order_by(earn_epoch.c.id.desc())
    .limit(_EPOCHS)
)


async def tell_funds(deps: EarnDeps) -> None:
    """Show balance and allowance, and all that is owed: by closed epochs to claimants, by the others to everybody."""
    room = deps.earn
    head = await header(deps.rpc, "latest")
    async with deps.store.read() as tx:
        rows = (await tx.execute(_NEWEST)).all()
        owed = await owed_raw(tx)
    till = await read_till(deps.rpc, room.multicall, room.desk, room.terms.usdg, head.hash)
    days = [(room.desk_of(row), row.id) for row in rows]
    on_desk = await read_days(deps.rpc, room.multicall, days, head.hash)
    for row, desk in zip(rows, on_desk, strict=True):
        # The account has paid what is mined; the books wait until it is final.
        if row.state == "closed":
            owed -= desk.spent_raw - int(row.paid_raw or 0)
        else:
            # Of restored books the pool may be less than the desk has paid: that is nobody else's.
            owed += max(0, row.pool_raw - desk.spent_raw)
    metrics.earn_owed.set(max(0, owed))
    metrics.earn_balance.set(till.usdg_raw)
    metrics.earn_allowance.set(min(till.allowance_raw, 2**63))
