"""Which payments the worker looks at next.

Half of a window is for those that wait longest, so that each has its turn. The other half is for those that were
looked at least: a node forgets a block's state within minutes, so what is new must be seen soon, however many payments
somebody keeps in doubt. These have been looked at often by then, and stand behind it.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Select, bindparam, func, select

from tickyard.payments.books.row import PaymentRow, read_row
from tickyard.payments.books.tables import payment
from tickyard.store.engine import Store, Transaction

# Put together once: the worker's rounds ask every few seconds, and mostly find nothing.
_OF_NETWORK: Final = select(payment).where(payment.c.network == bindparam("of_network"), payment.c.state != "running")
_UNTIL: Final = bindparam("until", type_=payment.c.look_at.type)
_LONGEST_DUE: Final = (
    _OF_NETWORK.where(payment.c.look_at <= _UNTIL).order_by(payment.c.look_at).limit(bindparam("most"))
)
# Not a plain column: SQLite would take the moment for the best way in, and sort all that are due each time.
_MOMENT: Final = func.coalesce(payment.c.look_at, payment.c.look_at)
_LEAST_LOOKED_AT: Final = (
    _OF_NETWORK.where(payment.c.look_at.is_not(None), _MOMENT <= _UNTIL)
    .order_by(payment.c.looks, payment.c.look_at)
    .limit(bindparam("most"))
)


async def find_due(store: Store, network: str, until: datetime, most: int) -> Sequence[PaymentRow]:
    given = {"of_network": network, "until": until}
    half = most - most // 2
    async with store.read() as tx:
        longest = await _read(tx, _LONGEST_DUE, given | {"most": half})
        if len(longest) < half:
            return longest
        found = {row.key: row for row in longest}
        for row in await _read(tx, _LEAST_LOOKED_AT, given | {"most": most}):
            found.setdefault(row.key, row)
    return list(found.values())[:most]


async def _read(tx: Transaction, which: Select[Any], given: dict[str, Any]) -> list[PaymentRow]:
    return [read_row(each) for each in (await tx.execute(which, given)).mappings()]
