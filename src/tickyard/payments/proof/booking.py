"""From settled to earned: the worker reads the chain itself before a payment counts anywhere else.

A facilitator's word is enough to serve an answer. It is not enough for the books: a facilitator that lies, or was taken
over, must not be able to create revenue.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import and_, update

from tickyard.observe.log import log
from tickyard.payments.books.ledger import Ledger
from tickyard.payments.books.row import PaymentRow
from tickyard.payments.books.tables import payment, payment_proof
from tickyard.payments.proof.claim import claim, renew
from tickyard.payments.proof.transfer import PaidTransfer
from tickyard.payments.signed.key import Key
from tickyard.store import revenue
from tickyard.store.engine import Transaction


async def credit(ledger: Ledger, row: PaymentRow, transfers: Sequence[PaidTransfer]) -> bool:
    """Count the payment once, by a transfer that will not change and that counts for no other."""
    assert row.settled_at is not None
    async with ledger.store.begin() as tx:
        seen = await claim(tx, payment_proof, row, transfers)
        if seen is None:
            return False
        settlement = revenue.settlement_of(row.key.network, seen.transaction, seen.log_index)
        await revenue.credit(tx, settlement, row.amount_raw, row.settled_at, ledger.clock.now())
        # The receipt's hash stays what the caller was told; the one on the chain is the truth.
        where = {"mined": seen.transaction, "mined_index": seen.log_index, "mined_block": seen.block}
        if await _mark(tx, row, proof="credited", request=None, look_at=None, mined_hash=seen.block_hash, **where):
            await renew(tx, row, [seen])
    return True


async def mark_missing(ledger: Ledger, row: PaymentRow) -> None:
    async with ledger.store.begin() as tx:
        await _mark(tx, row, proof="missing", request=None, look_at=None)
    log.error("a settled payment has no transfer on the chain", network=row.key.network, transaction=row.transaction)


async def _mark(tx: Transaction, row: PaymentRow, **values: Any) -> bool:
    mine = and_(*(payment.c[name] == getattr(row.key, name) for name in Key.__struct_fields__))
    marked = await tx.execute(update(payment).where(mine, payment.c.proof == "waiting").values(**values))
    return marked.rowcount == 1
