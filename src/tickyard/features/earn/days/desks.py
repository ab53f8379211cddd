"""Which desk pays a day, where that is not plain: only the desk that has its books can have paid anybody.

Days that were sealed by a worker of an older version have books and no desk written down. And a day that is sealed may
have been sealed before, for a desk that has been replaced since, when the books are a copy from before that. Where none
has its books, nobody was paid, and the desk of the settings opens them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import select, update

from tickyard.chain.abi import uint_word
from tickyard.chain.blocks import header, last_before
from tickyard.chain.rpc.stride import Stride
from tickyard.chain.rpc.trouble import TooManyLogs
from tickyard.chain.transfers import read_logs
from tickyard.features.earn.books.desk import OPENED, read_days, read_epochs
from tickyard.features.earn.room import EarnDeps
from tickyard.features.earn.rules import opens_at
from tickyard.features.earn.tables import earn_desk_mark, earn_epoch
from tickyard.kernel.ids import Address
from tickyard.observe.log import log

_NAMELESS: Final = (
    select(earn_epoch.c.id, earn_epoch.c.digest)
    .where(earn_epoch.c.desk.is_(None), earn_epoch.c.digest.is_not(None))
    .order_by(earn_epoch.c.id)
)
_READ_SO_FAR: Final = select(earn_desk_mark.c.desk).order_by(earn_desk_mark.c.desk)


@dataclass(frozen=True, slots=True)
class Opened:
    """A day as a desk that was replaced since was opened for it."""

    desk: Address
    books: str
    is_in_time: bool
    """Not before the day was over, when nobody can have known its pool."""


async def opened_elsewhere(deps: EarnDeps, epoch: int) -> list[Opened]:
    """The replaced desks that are open for a day. Raises UpstreamDown when one of them cannot be asked."""
    ours = deps.earn.desk
    async with deps.store.read() as tx:
        others = [Address(desk) for desk in (await tx.execute(_READ_SO_FAR)).scalars() if desk != ours]
    if not others:
        return []
    our_day, *days = await read_days(deps.rpc, deps.earn.multicall, [(desk, epoch) for desk in (ours, *others)])
    if our_day.is_open:
        return []
    return [
        Opened(desk, day.books, await _was_opened_in_time(deps, desk, epoch))
        for desk, day in zip(others, days, strict=True)
        if day.is_open
    ]


def desk_that_pays(ours: Address, opened: Sequence[Opened], epoch: int, digest: str) -> Address:
    """The desk for which a day is to be sealed.

    That a replaced desk is open, or has paid, is not enough: whoever once had the payer's key can open days to come
    with any books and pay on them. Only what nobody could do in advance counts.
    """
    for day in opened:
        if day.is_in_time or day.books == digest:
            return day.desk
        log.error("a replaced desk was opened in advance with books that are not ours", epoch=epoch, desk=day.desk)
    return ours


async def _was_opened_in_time(deps: EarnDeps, desk: Address, epoch: int) -> bool:
    """By the blocks since the end of the day: a node keeps logs for longer than it keeps state."""
    over_s, head = int(opens_at(epoch).timestamp()), await header(deps.rpc, "latest")
    if head.timestamp < over_s:
        return False
    before = await last_before(deps.rpc, over_s, head)
    first, stride = 0 if before is None else before.number + 1, Stride()
    while first <= head.number:
        last = min(first + stride.blocks - 1, head.number)
        try:
            found = await read_logs(deps.rpc, desk, [OPENED, "0x" + uint_word(epoch).hex()], first, last)
        except TooManyLogs:
            if not stride.refused(last - first + 1):
                raise
            continue
        if found.logs:
            return True
        stride.went_well(0, last - first + 1)
        first = last + 1
    return False


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
