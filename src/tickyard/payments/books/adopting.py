"""Payments that nobody would look at any more, or not soon: the worker takes them in.

Its rounds ask for them every few seconds and mostly find none, so the questions are put together once, and looking
comes before writing: that costs nobody a lock.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, and_, bindparam, select, text, update

from tickyard.payments.books.tables import IS_OPEN, IS_UNPROVEN, payment
from tickyard.store.engine import Store

LOOK_PAUSE_MAX_S: Final = 300
_AHEAD_MAX: Final = timedelta(seconds=2 * LOOK_PAUSE_MAX_S)
"""Nothing is put off for so long: what is due after that was dated by a clock that has been set back since."""


def first_of(which: ColumnElement[bool]) -> Select[tuple[str]]:
    return select(payment.c.nonce).where(which).limit(1)


# Two searches, because each has an index that stays small.
_LOST: Final = and_(text(IS_OPEN), payment.c.look_at.is_(None), payment.c.state != "running")
_LOST_UNPROVEN: Final = and_(text(IS_UNPROVEN), payment.c.look_at.is_(None))
_LOOK_TOO_FAR: Final = and_(payment.c.network == bindparam("of_network"), payment.c.look_at > bindparam("too_far"))
_UNCOUNTED: Final = and_(
    payment.c.network == bindparam("of_network"), payment.c.look_at.is_not(None), payment.c.looks.is_(None)
)
_LEASE_TOO_FAR: Final = and_(text(IS_OPEN), payment.c.lease_until > bindparam("too_far"))
_ALL: Final = (_LOST, _LOST_UNPROVEN, _UNCOUNTED, _LOOK_TOO_FAR, _LEASE_TOO_FAR)
_FIRST: Final = {which: first_of(which) for which in _ALL}


async def adopt(store: Store, networks: Iterable[str], now: datetime, soon: datetime) -> None:
    """Rows that an older version of this code left open have no moment at which they are looked at, or no count of
    looks, and those that were dated by a wrong clock have none that comes soon. Who may still hold one of these keeps
    it for a while."""
    far = {"too_far": now + _AHEAD_MAX}
    for lost in (_LOST, _LOST_UNPROVEN):
        await _change(store, lost, {}, look_at=now, looks=0)
    await _change(store, _LEASE_TOO_FAR, far, lease_until=soon)
    for network in networks:
        await _change(store, _UNCOUNTED, {"of_network": network}, looks=0)
        await _change(store, _LOOK_TOO_FAR, far | {"of_network": network}, look_at=soon)


async def is_there(store: Store, first: Select[tuple[str]], given: dict[str, Any] | None = None) -> bool:
    async with store.read() as tx:
        return (await tx.execute(first, given)).first() is not None


async def _change(store: Store, which: ColumnElement[bool], given: dict[str, Any], **values: datetime | int) -> None:
    if await is_there(store, _FIRST[which], given):
        async with store.begin() as tx:
            await tx.execute(update(payment).where(which).values(**values), given)
