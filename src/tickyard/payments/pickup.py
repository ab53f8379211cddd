"""An answer that its payer comes back for with a signature alone. Standard clients keep no payment: after a lost reply
they sign in, and pay again when that opens nothing.

What has left the house is theirs for a minute more, because it may have got lost on the way; after that a payer who
asks the same again wants today's answer, and pays for it. Nothing is settled here, and no chain is read.
"""

from collections.abc import Collection
from datetime import timedelta
from typing import Final

from sqlalchemy import and_, or_, select, text

from tickyard.kernel.clock import Clock
from tickyard.kernel.ids import Address
from tickyard.payments.ledger import KEEP_ANSWERS, Ledger
from tickyard.payments.refusal import outcome_unknown, still_running
from tickyard.payments.row import PaymentRow, read_row
from tickyard.payments.tables import MAY_BE_FETCHED, payment

DELIVERED: Final = timedelta(seconds=60)


class Pickup:
    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock

    async def find(self, payer: Address, networks: Collection[str], fingerprint: str) -> PaymentRow | None:
        """Their newest settled payment for this very request. UpstreamDown while one may yet turn out to be settled:
        they must not pay again."""
        row = await self._newest(payer, networks, fingerprint)
        if row is None:
            return None
        if row.state == "running":
            raise still_running()
        if row.state != "settled":
            # Reading the chain is the worker's business: nobody is made to do it by asking often.
            raise outcome_unknown()
        is_over = row.delivered_at is not None and row.delivered_at <= self._clock.now() - DELIVERED
        return None if is_over else row

    async def _newest(self, payer: Address, networks: Collection[str], fingerprint: str) -> PaymentRow | None:
        now = self._clock.now()
        is_theirs = and_(
            payment.c.fingerprint == fingerprint, payment.c.payer == payer, payment.c.network.in_(list(networks))
        )
        may_be_had = or_(
            payment.c.state.in_(("settling", "unknown")),
            and_(payment.c.state == "running", payment.c.lease_until > now),
            and_(payment.c.state == "settled", payment.c.settled_at > now - KEEP_ANSWERS),
        )
        chosen = and_(is_theirs, text(f"({MAY_BE_FETCHED})"), may_be_had)
        async with self._ledger.store.read() as tx:
            newest = select(payment).where(chosen).order_by(payment.c.begun_at.desc()).limit(1)
            found = (await tx.execute(newest)).mappings().one_or_none()
        return None if found is None else read_row(found)
