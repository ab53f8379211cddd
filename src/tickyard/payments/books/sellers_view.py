"""The seller's own view of the books: what came in, what is in doubt, what was paid and never fetched. Reads only.

Answers are never read here: a day of them is many times the books, and nobody who keeps books wants them.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
from sqlalchemy import Column, ColumnElement, and_, func, literal, or_, select, text, tuple_

from tickyard.chain import erc20
from tickyard.chain.address import checksum
from tickyard.kernel.ids import Address
from tickyard.kernel.units import UsdgAmount
from tickyard.kernel.wire import iso
from tickyard.payments.books.ledger import KEEP_ANSWERS
from tickyard.payments.books.row import PaymentRow, read_row
from tickyard.payments.books.tables import IS_ORPHAN, IS_UNPROVEN, payment
from tickyard.store.engine import Store

_ANSWER: Final = ("status", "content_type", "body", "request")
_COLUMNS: Final = tuple(column for column in payment.c if column.name not in _ANSWER)
_KEY: Final = tuple(payment.primary_key.columns)


class Filter(msgspec.Struct, frozen=True):
    state: str | None = None
    network: str | None = None
    payer: str | None = None
    since: datetime | None = None
    until: datetime | None = None


class NetworkStanding(msgspec.Struct, frozen=True):
    """What an alarm should know about one network."""

    oldest_unknown: datetime | None
    uncredited: int
    orphans: int


async def find_payments(store: Store, which: Filter, limit: int, after: PaymentRow | None = None) -> list[PaymentRow]:
    """The newest first; those that come after one of them."""
    order = (payment.c.begun_at, *_KEY)
    found = [*_conditions(which)]
    if after is not None:
        found.append(tuple_(*order) < _place(order, after))
    return await _read(store, and_(*found), [column.desc() for column in order], limit)


async def find_payment(store: Store, name: str) -> list[PaymentRow]:
    """By a transaction, the receipt's or the mined one, or by the payment's nonce."""
    wanted = name.lower()
    same = or_(payment.c.transaction == wanted, payment.c.mined == wanted, payment.c.nonce == wanted)
    return await _read(store, same, [payment.c.begun_at], 100)


async def find_settled(
    store: Store, since: datetime, until: datetime, limit: int | None = None, after: PaymentRow | None = None
) -> list[PaymentRow]:
    """Everything that was settled in [since, until), in its order, or what of it comes after one of them: for an
    accountant. What a facilitator called settled and the chain never had is no income."""
    order = (payment.c.settled_at, *_KEY)
    inside = and_(
        payment.c.state == "settled",
        payment.c.proof != "missing",
        payment.c.settled_at >= since,
        payment.c.settled_at < until,
        *([] if after is None else [tuple_(*order) > _place(order, after)]),
    )
    return await _read(store, inside, order, limit)


async def find_orphans(store: Store, until: datetime) -> list[PaymentRow]:
    """Money that we have seen arrive before `until`, whose answer has never left the house."""
    return await _read(store, and_(text(IS_ORPHAN), payment.c.settled_at < until), [payment.c.settled_at], None)


async def take_stock(store: Store, network: str, until: datetime) -> NetworkStanding:
    ours = payment.c.network == network
    async with store.read() as tx:
        oldest = await tx.execute(
            select(func.min(payment.c.begun_at)).where(
                ours, payment.c.state == "unknown", payment.c.look_at.is_not(None)
            )
        )
        # Not a plain column: SQLite would take the network for the best way in, and there are two of them in all books.
        theirs = payment.c.network.concat("") == network
        waiting = await tx.execute(select(func.count()).select_from(payment).where(theirs, text(IS_UNPROVEN)))
        orphans = await tx.execute(select(func.count()).where(theirs, text(IS_ORPHAN), payment.c.settled_at < until))
        return NetworkStanding(oldest.scalar(), waiting.scalar() or 0, orphans.scalar() or 0)


def book_entry(row: PaymentRow, pool_day: str) -> dict[str, Any]:
    """One line of an export. `pool_day`: of the pool that it counts for, once it counts."""
    assert row.settled_at is not None
    return {
        "time": iso(row.settled_at),
        "network": row.key.network,
        "asset": checksum(row.key.asset),
        "amount": UsdgAmount(row.amount_raw).text(),
        "payer": checksum(row.key.payer),
        "route": row.route,
        "transaction": row.mined or row.transaction or "",
        "block": row.mined_block if row.mined_block is not None else "",
        "creditedDay": pool_day if row.proof == "credited" else "",
    }


def life_of(row: PaymentRow) -> dict[str, Any]:
    """Everything that happened to a payment, without what its caller asked or got."""
    moments = {
        "begunAt": row.begun_at,
        "settledAt": row.settled_at,
        "deliveredAt": row.delivered_at,
        "nextLookAt": row.look_at,
    }
    return {
        "id": row.key.nonce,
        "network": row.key.network,
        "payer": checksum(row.key.payer),
        "amount": UsdgAmount(row.amount_raw).text(),
        "route": row.route,
        "state": row.state,
        "proof": row.proof,
        "reason": row.reason,
        **{name: None if moment is None else iso(moment) for name, moment in moments.items()},
        "validBefore": row.valid_before,
        "facilitator": row.facilitator,
        "settles": row.settles,
        "looks": row.looks or 0,
        "transaction": row.transaction,
        "mined": row.mined,
        "block": row.mined_block,
    }


def answer_until(row: PaymentRow) -> str | None:
    """Until when the payer may still fetch the answer: who is paid back before that may have both."""
    return None if row.settled_at is None else iso(row.settled_at + KEEP_ANSWERS)


def refund_of(row: PaymentRow) -> dict[str, Any]:
    """A transfer back to the payer, for a person to sign. Nothing here can."""
    data = erc20.transfer(row.key.payer, row.amount_raw)
    return {
        "chainId": int(row.key.network.removeprefix("eip155:")),
        "from": checksum(row.pay_to),
        "to": checksum(row.key.asset),
        "data": "0x" + data.hex(),
        "value": "0",
    }


def _conditions(which: Filter) -> Sequence[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = [payment.c.nonce.is_not(None)]
    if which.state is not None:
        found.append(payment.c.state == which.state)
    if which.network is not None:
        found.append(payment.c.network == which.network)
    if which.payer is not None:
        found.append(payment.c.payer == Address(which.payer.lower()))
    if which.since is not None:
        found.append(payment.c.begun_at >= which.since)
    if which.until is not None:
        found.append(payment.c.begun_at < which.until)
    return found


def _place(order: Sequence[Column[Any]], row: PaymentRow) -> ColumnElement[Any]:
    """Where a payment stands in an order by a moment and by the name of the payment."""
    moment, *key = order
    values = [getattr(row, moment.name), *(getattr(row.key, column.name) for column in key)]
    return tuple_(*(literal(value, column.type) for column, value in zip(order, values, strict=True)))


async def _read(
    store: Store, which: ColumnElement[bool], order: Sequence[ColumnElement[Any]], limit: int | None
) -> list[PaymentRow]:
    async with store.read() as tx:
        found = await tx.execute(select(*_COLUMNS).where(which).order_by(*order).limit(limit))
        return [read_row({**each, **dict.fromkeys(_ANSWER)}) for each in found.mappings()]
