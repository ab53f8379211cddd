"""Days that have books and no desk written down: a worker of an older version sealed them.

Only the desk that has their books can have paid anybody. Where none has them, nobody was paid, and the desk of the
settings opens them.
"""

from typing import Final

from sqlalchemy import select, update

from tickyard.features.earn.books.desk import read_epochs
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
