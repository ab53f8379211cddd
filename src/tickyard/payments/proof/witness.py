"""One transfer, one payment: who may point at which transfer of the chain."""

from collections.abc import Sequence

from sqlalchemy import and_, delete, select

from tickyard.payments.ledger import PaymentRow
from tickyard.payments.proof.chain import PaidTransfer
from tickyard.payments.signed.authorization import Key
from tickyard.payments.tables import payment, payment_proof
from tickyard.store.engine import Transaction
from tickyard.store.upsert import insert_new


async def claim(tx: Transaction, row: PaymentRow, transfers: Sequence[PaidTransfer]) -> PaidTransfer | None:
    """The transfer that proves this payment from now on: the one it has, or the first that is nobody's."""
    mine = and_(*(payment_proof.c[name] == getattr(row.key, name) for name in Key.__struct_fields__))
    found = (await tx.execute(select(payment_proof).where(mine))).one_or_none()
    if found is not None:
        for transfer in transfers:
            if (transfer.transaction, transfer.log_index) == (found.transaction, found.log_index):
                return transfer
        if not transfers:
            return None
        # The chain was reorganised, and the transfer happened again somewhere else.
        await tx.execute(delete(payment_proof).where(mine))
    spoken_for = await _spoken_for(tx, row, transfers)
    for transfer in transfers:
        if transfer.transaction in spoken_for:
            continue
        names = {name: getattr(row.key, name) for name in Key.__struct_fields__}
        proof = {**names, "transaction": transfer.transaction, "log_index": transfer.log_index}
        if (await tx.execute(insert_new(tx, payment_proof), proof)).rowcount == 1:
            return transfer
    return None


async def has_rival(tx: Transaction, row: PaymentRow) -> bool:
    """Whether the same payer is settling an equal payment right now, whose transfer could be taken for this one's."""
    rivals = await tx.execute(
        select(payment.c.nonce)
        .where(
            payment.c.network == row.key.network,
            payment.c.payer == row.key.payer,
            payment.c.amount_raw == row.amount_raw,
            payment.c.nonce != row.key.nonce,
            payment.c.state == "settling",
        )
        .limit(1)
    )
    return rivals.first() is not None


async def _spoken_for(tx: Transaction, row: PaymentRow, transfers: Sequence[PaidTransfer]) -> set[str]:
    """Transactions in which every transfer belongs to other payments that were settled by them.

    A facilitator may put several payments into one transaction, so their number counts, not their presence. The
    transaction that the payment names itself is never left to others: whoever claims a transfer first has it.
    """
    hashes = {transfer.transaction for transfer in transfers} - {row.transaction}
    others = await tx.execute(
        select(payment.c.transaction).where(
            payment.c.network == row.key.network,
            payment.c.payer == row.key.payer,
            payment.c.amount_raw == row.amount_raw,
            payment.c.nonce != row.key.nonce,
            payment.c.state == "settled",
            payment.c.transaction.in_(hashes),
        )
    )
    named = list(others.scalars())
    held = [transfer.transaction for transfer in transfers]
    return {each for each in hashes if named.count(each) >= held.count(each)}
