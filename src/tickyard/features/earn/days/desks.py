"""Which desk pays a day, where that is not plain: only the desk that has its books can have paid anybody.

Days that were sealed by a worker of an older version have books and no desk written down. And a day that is sealed may
have been sealed before, for a desk that has been replaced since, when the books are a copy from before that. Where none
has its books, nobody was paid, and the desk of the settings opens them.
"""

from typing import Final

from sqlalchemy import select, update

from tickyard.features.earn.books.desk import read_days, read_epochs
from tickyard.features.earn.room import EarnDeps
from tickyard.features.earn.tables import earn_desk_mark, earn_epoch
from tickyard.kernel.ids import Address
from tickyard.observe.log import log

_NAMELESS: Final = (
    select(earn_epoch.c.id, earn_epoch.c.digest)
    .where(earn_epoch.c.desk.is_(None), earn_epoch.c.digest.is_not(None))
    .order_by(earn_epoch.c.id)
)
_READ_SO_FAR: Final = select(earn_desk_mark.c.desk).order_by(earn_desk_mark.c.desk)


async def desk_that_pays(deps: EarnDeps, epoch: int) -> Address:
    """The desk for which a day is to be sealed. Raises UpstreamDown when one that was replaced cannot be asked.

    That a replaced desk is open is not enough: whoever once had the payer's key can open days to come with any books,
    and nobody could be paid on them. It must have paid somebody, or have been opened with this very pool.
    """
    ours = deps.earn.desk
    async with deps.store.read() as tx:
        others = [Address(desk) for desk in (await tx.execute(_READ_SO_FAR)).scalars() if desk != ours]
        pool_raw = (await tx.execute(select(earn_epoch.c.pool_raw).where(earn_epoch.c.id == epoch))).scalar_one()
    if not others:
        return ours
    our_day, *days = await read_days(deps.rpc, deps.earn.multicall, [(desk, epoch) for desk in (ours, *others)])
    if our_day.is_open:
        return ours
    for desk, day in zip(others, days, strict=True):
        if day.spent_raw or (day.is_open and day.pool_raw == pool_raw):
            return desk
        if day.is_open:
            log.error("a replaced desk was opened with books that are not ours", epoch=epoch, desk=desk)
    return ours


async def name_desks(deps: EarnDeps) -> str:
    """Write down who pays such days, before anybody asks another desk about them."""
    room = deps.earn
    async with deps.store.read() as tx:
        rows = (await tx.execute(_NAMELESS)).all()
        desks = (await tx.execute(_READ_SO_FAR)).scalars().all() if rows else []
    named = {row.id: room.desk for row in rows}
    for desk in map(Address, desks):
        if desk == room.desk:
            continue
        on_desk = await read_epochs(deps.rpc, room.multicall, desk, [row.id for row in rows])
        named |= {row.id: desk for row, each in zip(rows, on_desk, strict=True) if each.books == row.digest}
    for epoch, desk in named.items():
        log.warning("an epoch was sealed by an older version, its desk is written down now", epoch=epoch, desk=desk)
        async with deps.store.begin() as tx:
            this = update(earn_epoch).where(earn_epoch.c.id == epoch, earn_epoch.c.desk.is_(None))
            await tx.execute(this.values(desk=desk))
    return "named"
