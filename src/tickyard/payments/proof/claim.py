"""One transfer proves one payment, whoever finds it first: for the answer that is handed out as for the books.

Permit2 names a nonce nowhere, and its owner can use many in one block, with permits that move nothing. Without a claim
one transfer beside them would have paid for all.

A log's number counts within its block, so a claim that was made before the chain was reorganised may be at a place that
is another's by now. It goes with its payment whenever that is seen elsewhere, and goes away when that is seen nowhere.
Who loses a place to somebody who was seen there first, or finds their new one held by an equal payment, keeps their
claim, parked, until they are seen again.
Whoever writes claims for answers holds the payment's row, so that each payment has one.
"""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import asdict, replace
from sqlalchemy import ColumnElement, Insert, Table, and_, bindparam, delete, func, select, update

from tickyard.payments.books.row import PaymentRow
from tickyard.payments.books.tables import payment, payment_transfer
from tickyard.payments.proof.transfer import PaidTransfer, permit_words
from tickyard.payments.signed.key import Key
from tickyard.store.engine import Transaction
from tickyard.store.statement import Prepared
from tickyard.store.upsert import insert_new, upsert

_Place = tuple[str, int]
_PLACE: Final = ("network", "transaction", "log_index")
_NAMES: Final = Key.__struct_fields__
_OWN: Final = and_(*(payment_transfer.c[name] == bindparam(f"of_{name}") for name in _NAMES))
# Asked for every payment that is seen: put together once.
_FIND: Final = Prepared(lambda _tx: select(payment_transfer.c.transaction).where(_OWN))
_DROP: Final = Prepared(lambda _tx: delete(payment_transfer).where(_OWN))


async def claim(
    tx: Transaction, claims: Table, row: PaymentRow, transfers: Sequence[PaidTransfer]
) -> PaidTransfer | None:
    """The transfer that is this payment's from now on: the one it has, or the first that is nobody's.

    `claims`: for the answer or for the books, which are written by different hands.
    """
    holders = await _holders(tx, claims, row.key, transfers)
    own = next((place for place, holder in holders.items() if holder == row.key), None)
    if own is not None:
        for seen in transfers:
            if own == (seen.transaction, seen.log_index):
                return seen
        # The chain was reorganised, and the transfer happened again somewhere else.
        await tx.execute(delete(claims).where(_is(claims, row.key)))
    for seen in transfers:
        if not seen.names(row) and await _is_anothers(tx, row, seen, transfers):
            continue
        holder = holders.get((seen.transaction, seen.log_index))
        # Not asked of the books: what is in them was final.
        is_ours = claims is payment_transfer and await _must_be_ours(tx, row, seen, holder)
        if is_ours and holder is not None:
            await _park(tx, holder, seen)
        made = _replacing if is_ours else insert_new
        proof = {**asdict(row.key), "transaction": seen.transaction, "log_index": seen.log_index}
        if (await tx.execute(made(tx, claims), proof)).rowcount == 1:
            return seen
    if own is not None and claims is payment_transfer:
        # An equal payment still has the place, and may be gone itself by now: ours waits until it is seen again.
        waiting = {**asdict(row.key), "transaction": own[0], "log_index": min(own[1], -1 - own[1])}
        await tx.execute(insert_new(tx, claims), waiting)
    return None


async def renew(tx: Transaction, row: PaymentRow, transfers: Sequence[PaidTransfer]) -> None:
    """The payment was seen to be paid by one of these: what it has claimed for its answer is there from now on."""
    if await _FIND.one(tx, _own(row.key)) is not None:
        await claim(tx, payment_transfer, row, transfers)


async def drop(tx: Transaction, key: Key) -> None:
    """The payment's transfer is on the chain no more: its place may be another's."""
    await _DROP.change(tx, _own(key))


async def _holders(tx: Transaction, claims: Table, key: Key, transfers: Sequence[PaidTransfer]) -> dict[_Place, Key]:
    """Who has which place of these transactions, and where this payment's own claim is. So it stays until we are done,
    taken hold of in one order: nobody waits for somebody who waits for them."""
    names = {seen.transaction for seen in transfers}
    names.update((await tx.execute(select(claims.c.transaction).where(_is(claims, key)))).scalars())
    there = and_(claims.c.network == key.network, claims.c.transaction.in_(names))
    order = (claims.c.transaction, claims.c.log_index)
    found = await tx.execute(select(claims).where(there).order_by(*order).with_for_update())
    return {(each.transaction, each.log_index): Key(*(getattr(each, name) for name in _NAMES)) for each in found}


async def _must_be_ours(tx: Transaction, row: PaymentRow, seen: PaidTransfer, holder: Key | None) -> bool:
    """Whether it can be nobody else's transfer: its log names the nonce, or its payer or amount and not the holder's.
    Who has the place all the same has it from before a reorganisation."""
    if seen.is_named or holder is None:
        return seen.is_named
    if (holder.asset, holder.payer) != (row.key.asset, row.key.payer):
        return True
    of_holder = and_(*(payment.c[name] == value for name, value in asdict(holder).items()))
    amount = (await tx.execute(select(payment.c.amount_raw).where(of_holder))).scalar_one_or_none()
    return amount is not None and amount != row.amount_raw


async def _park(tx: Transaction, holder: Key, seen: PaidTransfer) -> None:
    """Put a claim aside, where no log can be, until its payment is seen again: then it goes there."""
    parked = -1 - seen.log_index
    left_there = (
        payment_transfer.c[name] == value
        for name, value in (("network", holder.network), ("transaction", seen.transaction), ("log_index", parked))
    )
    await tx.execute(delete(payment_transfer).where(*left_there))
    await tx.execute(update(payment_transfer).where(_is(payment_transfer, holder)).values(log_index=parked))


def _replacing(tx: Transaction, claims: Table) -> Insert:
    return upsert(tx, claims, _PLACE, lambda new: {name: new[name] for name in _NAMES if name not in _PLACE})


def _own(key: Key) -> dict[str, str]:
    return {f"of_{name}": value for name, value in asdict(key).items()}


def _is(claims: Table, key: Key) -> ColumnElement[bool]:
    return and_(*(claims.c[name] == value for name, value in asdict(key).items()))


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
