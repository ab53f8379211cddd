"""One transfer proves one payment, whoever finds it first: for the answer that is handed out as for the books.

Permit2 names a nonce nowhere, and its owner can use many in one block, with permits that move nothing. Without a claim
one transfer beside them would have paid for all.
"""

from collections.abc import Sequence

from sqlalchemy import Table, and_, delete, func, not_, select

from tickyard.payments.proof.transfer import PaidTransfer
from tickyard.payments.row import PaymentRow
from tickyard.payments.signed.key import Key
from tickyard.payments.tables import payment
from tickyard.store.engine import Transaction
from tickyard.store.upsert import insert_new


async def claim(
    tx: Transaction, claims: Table, row: PaymentRow, transfers: Sequence[PaidTransfer]
) -> PaidTransfer | None:
    """The transfer that is this payment's from now on: the one it has, or the first that is nobody's.

    `claims`: for the answer or for the books, which are written by different hands.
    """
    mine = {name: getattr(row.key, name) for name in Key.__struct_fields__}
    of_mine = and_(*(claims.c[name] == value for name, value in mine.items()))
    found = (await tx.execute(select(claims).where(of_mine))).one_or_none()
    if found is not None:
        for seen in transfers:
            if (found.transaction, found.log_index) == (seen.transaction, seen.log_index):
                return seen
        # The chain was reorganised, and the transfer happened again somewhere else.
        await tx.execute(delete(claims).where(of_mine))
    for seen in transfers:
        if row.transaction != seen.transaction and await _is_spoken_for(tx, row, seen, transfers):
            continue
        proof = {**mine, "transaction": seen.transaction, "log_index": seen.log_index}
        if (await tx.execute(insert_new(tx, claims), proof)).rowcount == 1:
            return seen
    return None


async def _is_spoken_for(
    tx: Transaction, row: PaymentRow, seen: PaidTransfer, transfers: Sequence[PaidTransfer]
) -> bool:
    """Whether every transfer of this transaction belongs to a payment whose receipt names it."""
    is_mine = and_(*(payment.c[name] == getattr(row.key, name) for name in Key.__struct_fields__))
    named = and_(
        payment.c.network == row.key.network,
        payment.c.payer == row.key.payer,
        payment.c.state == "settled",
        payment.c.transaction == seen.transaction,
        not_(is_mine),
    )
    others: int = (await tx.execute(select(func.count()).where(named))).scalar_one()
    return others >= sum(each.transaction == seen.transaction for each in transfers)
