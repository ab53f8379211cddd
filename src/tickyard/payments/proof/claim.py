"""One transfer proves one payment, whoever finds it first: for the answer that is handed out as for the books.

Permit2 names a nonce nowhere, and its owner can use many in one block, with permits that move nothing. Without a claim
one transfer beside them would have paid for all.
"""

from collections.abc import Sequence

from msgspec.structs import replace
from sqlalchemy import Table, and_, delete, func, select

from tickyard.payments.books.row import PaymentRow
from tickyard.payments.books.tables import payment
from tickyard.payments.proof.transfer import PaidTransfer, permit_words
from tickyard.payments.signed.key import Key
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
        if not seen.names(row) and await _is_anothers(tx, row, seen, transfers):
            continue
        proof = {**mine, "transaction": seen.transaction, "log_index": seen.log_index}
        if (await tx.execute(insert_new(tx, claims), proof)).rowcount == 1:
            return seen
    return None


async def _is_anothers(tx: Transaction, row: PaymentRow, seen: PaidTransfer, transfers: Sequence[PaidTransfer]) -> bool:
    """Whether the transaction speaks of another payment of this payer, or receipts name it as often as it has
    transfers. What nobody else can have is left to the one that was hidden in it."""
    others = and_(
        *(payment.c[name] == getattr(row.key, name) for name in ("network", "asset", "payer")),
        payment.c.nonce != row.key.nonce,
    )
    # Whatever was used in the block was good then.
    young = payment.c.valid_before >= row.network_time
    found = await tx.execute(select(payment.c.nonce, payment.c.amount_raw, payment.c.valid_before).where(others, young))
    assert seen.calldata is not None
    for other in found:
        if permit_words(replace(row.key, nonce=other.nonce), other.amount_raw, other.valid_before) in seen.calldata:
            return True
    named = and_(others, payment.c.state == "settled", payment.c.transaction == seen.transaction)
    receipts: int = (await tx.execute(select(func.count()).where(named))).scalar_one()
    return receipts >= sum(each.transaction == seen.transaction for each in transfers)
