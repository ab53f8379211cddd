"""Which desk pays a day, where that is not plain: only the desk that has its books can have paid anybody.

Days that were sealed by a worker of an older version have books and no desk written down. And a day that is sealed may
have been sealed before, for a desk that has been replaced since, when the books are a copy from before that. Where none
has its books, nobody was paid, and the desk of the settings opens them. So it does for every day that ended after it
was deployed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import select, update

from tickyard.chain.abi import uint_word
from tickyard.chain.blocks import Header, header, last_before
from tickyard.chain.rpc.stride import Stride
from tickyard.chain.rpc.trouble import TooManyLogs
from tickyard.chain.transfers import read_logs
from tickyard.features.earn.books.desk import OPENED, PAYER_CHANGED, read_days, read_epochs
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
    """The replaced desks that may pay a day. Raises UpstreamDown when one of them cannot be asked.

    A day that ended when our desk was there already is none of theirs: a replaced desk has its payer for ever, also
    when that key has long been somebody else's.
    """
    ours = deps.earn.desk
    async with deps.store.read() as tx:
        others = [Address(desk) for desk in (await tx.execute(_READ_SO_FAR)).scalars() if desk != ours]
    if not others:
        return []
    our_day, *days = await read_days(deps.rpc, deps.earn.multicall, [(desk, epoch) for desk in (ours, *others)])
    opened = [(desk, day) for desk, day in zip(others, days, strict=True) if day.is_open]
    if our_day.is_open or not opened:
        return []
    head = await header(deps.rpc, "latest")
    ended = await _last_of_day(deps, epoch, head)
    if await _has_said(deps, ours, [[OPENED, PAYER_CHANGED]], deps.earn.desk_first_block, ended):
        log.error("a replaced desk was opened for a day that ended after its successor was there", epoch=epoch)
        return []
    opening = [OPENED, "0x" + uint_word(epoch).hex()]
    return [
        Opened(desk, day.books, await _has_said(deps, desk, opening, ended + 1, head.number)) for desk, day in opened
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


async def _last_of_day(deps: EarnDeps, epoch: int, head: Header) -> int:
    """The number of its last block so far; -1: the chain is younger."""
    over_s = int(opens_at(epoch).timestamp())
    if head.timestamp < over_s:
        return head.number
    last = await last_before(deps.rpc, over_s, head)
    return -1 if last is None else last.number


async def _has_said(deps: EarnDeps, desk: Address, topics: Sequence[Any], first: int, last: int) -> bool:
    """By its logs, the newest first: a node keeps them for longer than it keeps state."""
    stride = Stride()
    while first <= last:
        start = max(first, last + 1 - stride.blocks)
        try:
            found = await read_logs(deps.rpc, desk, topics, start, last)
        except TooManyLogs:
            if not stride.refused(last + 1 - start):
                raise
            continue
        if found.logs:
            return True
        stride.went_well(0, last + 1 - start)
        last = start - 1
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
