"""An answer that its payer comes back for with a signature alone. Standard clients keep no payment: after a lost reply
they sign in, and pay again when that opens nothing.

What has left the house is theirs for a minute more, because it may have got lost on the way; after that a payer who
asks the same again wants today's answer, and pays for it. It hides no other, which may have been bought beside it and
never left, or may be in doubt. Nothing is settled here, and no chain is read.

Anybody may sign, as often as they like: they wait for their turn among themselves, so that those who pay do not.
"""

from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import CompoundSelect, and_, or_, select, text, union_all

from tickyard.kernel.clock import Clock
from tickyard.kernel.ids import Address
from tickyard.payments.books.ledger import KEEP_ANSWERS, Ledger
from tickyard.payments.books.row import PaymentRow, read_row
from tickyard.payments.books.tables import IS_OPEN, payment
from tickyard.payments.books.turns import Turns
from tickyard.payments.refusal import outcome_unknown, still_running
from tickyard.store.engine import Transaction

DELIVERED: Final = timedelta(seconds=60)
AT_ONCE: Final = 2

IsUnderWay = Callable[[Address, str], bool]
"""Whether a payer's payment for a request is being looked at here, with or without a row by now."""


class Pickup:
    def __init__(self, ledger: Ledger, clock: Clock, is_under_way: IsUnderWay) -> None:
        self._turns = Turns(ledger.store, AT_ONCE)
        self._clock = clock
        self._is_under_way = is_under_way

    async def find(self, payer: Address, networks: Collection[str], fingerprint: str) -> PaymentRow | None:
        """Their newest payment for this very request whose answer they may still want. UpstreamDown while it is one
        that may yet turn out to be settled: they must not pay again."""
        # Asked first: by the time that the books are read it may be in them, or be over.
        is_under_way = self._is_under_way(payer, fingerprint)
        row = await self._turns.look(lambda tx: self._newest(tx, payer, networks, fingerprint))
        if row is not None and row.state == "running":
            raise still_running()
        if row is not None and row.state != "settled":
            # Reading the chain is the worker's business: nobody is made to do it by asking often.
            raise outcome_unknown()
        if row is None and is_under_way:
            raise still_running()
        return row

    async def _newest(
        self, tx: Transaction, payer: Address, networks: Collection[str], fingerprint: str
    ) -> PaymentRow | None:
        newest = newest_of(payer, networks, fingerprint, self._clock.now())
        found = (await tx.execute(newest)).mappings().one_or_none()
        return None if found is None else read_row(found)


def newest_of(payer: Address, networks: Collection[str], fingerprint: str, now: datetime) -> CompoundSelect[Any]:
    """What a payer asks for again: being made, or made. Two searches, because each has an index that stays small."""
    is_theirs = and_(payment.c.fingerprint == fingerprint, payment.c.payer == payer)
    # Not a plain column: SQLite would take the network for the best way in, and there are two of them in all the books.
    is_there = payment.c.network.concat("").in_(list(networks))
    being_made = and_(is_theirs, is_there, text(IS_OPEN), payment.c.state == "running", payment.c.lease_until > now)
    may_be_lost = or_(payment.c.delivered_at.is_(None), payment.c.delivered_at > now - DELIVERED)
    may_be_had = or_(
        payment.c.state.in_(("settling", "unknown")),
        and_(payment.c.state == "settled", payment.c.settled_at > now - KEEP_ANSWERS, may_be_lost),
    )
    made = and_(is_theirs, is_there, payment.c.body.is_not(None), may_be_had)
    both = union_all(select(payment).where(being_made), select(payment).where(made))
    return both.order_by(both.selected_columns.begun_at.desc()).limit(1)
