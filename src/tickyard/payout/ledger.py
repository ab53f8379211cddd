"""The agent's side of the books: what it reads of claims, and the rows only it writes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Integer, Row, and_, bindparam, func, insert, select, update

from tickyard.features.earn.digest import Sealed
from tickyard.features.earn.tables import earn_claim, earn_close, earn_epoch, earn_payer, earn_payout, earn_share
from tickyard.kernel.ids import Address
from tickyard.payout.halt import Halted
from tickyard.payout.judge import Claim
from tickyard.store.engine import Store, Transaction
from tickyard.store.upsert import insert_new

LIVE: Final = ("signed", "confirmed")

# What every round asks, made once: building a statement costs more than running it.
_PAYER: Final = select(earn_payer).where(earn_payer.c.chain_id == bindparam("of_chain"))
_PAYABLE: Final = (
    select(earn_epoch.c.id, earn_epoch.c.state).where(earn_epoch.c.opened_at.is_not(None)).order_by(earn_epoch.c.id)
)
_UNPAID: Final = (
    select(earn_claim)
    .join(
        earn_payout,
        and_(
            earn_payout.c.epoch == earn_claim.c.epoch,
            earn_payout.c.address == earn_claim.c.address,
            earn_payout.c.attempt == earn_claim.c.attempt,
        ),
        isouter=True,
    )
    .where(earn_claim.c.epoch == bindparam("of_epoch"), earn_payout.c.state.is_(None))
    .order_by(earn_claim.c.reserved_at, earn_claim.c.address)
    .limit(bindparam("most", type_=Integer))
    .offset(bindparam("passed", type_=Integer))
)
_IN_FLIGHT: Final = (
    select(earn_payout)
    .where(earn_payout.c.state == "signed")
    .order_by(earn_payout.c.nonce)
    .limit(bindparam("most", type_=Integer))
)


@dataclass(frozen=True, slots=True)
class Signed:
    """A payout whose bytes are stored."""

    epoch: int
    address: Address
    attempt: int
    amount_raw: int
    nonce: int
    raw: bytes
    hash: str


async def next_nonce(tx: Transaction, chain_id: int, address: Address) -> int | None:
    """Null: this account has never paid. Raises Halted when the books belong to another account."""
    row = (await tx.execute(_PAYER, {"of_chain": chain_id})).one_or_none()
    if row is None:
        return None
    if row.address != address:
        raise Halted("the books name another payout account than the key's")
    nonce: int = row.next_nonce
    return nonce


async def introduce(tx: Transaction, chain_id: int, address: Address, nonce: int) -> None:
    row = {"chain_id": chain_id, "address": address, "next_nonce": nonce}
    await tx.execute(insert_new(tx, earn_payer), row)


async def take_nonces(tx: Transaction, chain_id: int, first: int, count: int) -> None:
    """Move the counter. Nobody else can have: it was read in this transaction."""
    taken = await tx.execute(
        update(earn_payer)
        .where(earn_payer.c.chain_id == chain_id, earn_payer.c.next_nonce == first)
        .values(next_nonce=first + count)
    )
    if taken.rowcount != 1:
        raise Halted("somebody else takes nonces from these books")


async def payable_epochs(tx: Transaction) -> list[tuple[int, str]]:
    return [(row.id, row.state) for row in await tx.execute(_PAYABLE)]


async def sealed(store: Store, epoch: int) -> tuple[Sealed, str]:
    """An epoch as the books hold it, and the digest that they give it."""
    async with store.read() as tx:
        row = (await tx.execute(select(earn_epoch).where(earn_epoch.c.id == epoch))).one()
        shares = await tx.execute(select(earn_share.c.address, earn_share.c.balance).where(earn_share.c.epoch == epoch))
        balances: dict[str, int] = {each.address: each.balance for each in shares}
    return Sealed(epoch, row.block_hash, row.pool_raw, balances), row.digest


async def unpaid_claims(tx: Transaction, epoch: int, limit: int, passed: int = 0) -> list[Claim]:
    """Claims whose newest attempt has no payout, longest waiting first.

    The claims are read before the epoch's state: what is in them while it is still open, closing will count.
    """
    rows = (await tx.execute(_UNPAID, {"of_epoch": epoch, "most": limit, "passed": passed})).all()
    if not rows:
        return []
    state = (await tx.execute(select(earn_epoch.c.state).where(earn_epoch.c.id == epoch))).scalar_one()
    kept = None if state == "open" else await _kept(tx, epoch)
    return [
        Claim(
            epoch,
            Address(row.address),
            row.attempt,
            row.signature,
            row.reserved_at,
            kept is None or (row.address, row.attempt) in kept,
        )
        for row in rows
    ]


async def is_paid_or_on_its_way(tx: Transaction, claim: Claim) -> bool:
    """By whichever attempt: the database would not take a second one either."""
    found = await tx.execute(
        select(earn_payout.c.attempt).where(
            earn_payout.c.epoch == claim.epoch,
            earn_payout.c.address == claim.address,
            earn_payout.c.state.in_(LIVE),
        )
    )
    return found.first() is not None


async def spent_in_epoch(tx: Transaction, epoch: int) -> int:
    return await _spent(tx, earn_payout.c.epoch == epoch)


async def spent_since(tx: Transaction, moment: datetime) -> int:
    return await _spent(tx, earn_payout.c.signed_at >= moment)


async def add(tx: Transaction, signed: Signed, now: datetime) -> None:
    await _insert(tx, signed.epoch, signed.address, signed.attempt, state="signed", amount_raw=signed.amount_raw,
                  nonce=signed.nonce, raw=signed.raw, hash=signed.hash, signed_at=now)  # fmt: skip


async def refuse(tx: Transaction, claim: Claim, reason: str, now: datetime) -> None:
    await _insert(tx, claim.epoch, claim.address, claim.attempt, state="refused", amount_raw=0, reason=reason,
                  signed_at=now, ended_at=now)  # fmt: skip


async def in_flight(tx: Transaction, limit: int) -> list[Signed]:
    """Everything that is signed and not final, in nonce order."""
    return [_read(row) for row in await tx.execute(_IN_FLIGHT, {"most": limit})]


async def end(tx: Transaction, payout: Signed, state: str, block: int, now: datetime) -> bool:
    """The chain has decided, for good."""
    ended = await tx.execute(
        update(earn_payout)
        .where(earn_payout.c.nonce == payout.nonce, earn_payout.c.hash == payout.hash, earn_payout.c.state == "signed")
        .values(state=state, block_number=block, ended_at=now)
    )
    return ended.rowcount == 1


async def _insert(tx: Transaction, epoch: int, address: Address, attempt: int, **values: Any) -> None:
    await tx.execute(insert(earn_payout), {"epoch": epoch, "address": address, "attempt": attempt, **values})


async def _kept(tx: Transaction, epoch: int) -> set[tuple[str, int]]:
    found = await tx.execute(
        select(earn_close.c.address, earn_close.c.attempt).where(
            earn_close.c.epoch == epoch, earn_close.c.returned_to.is_(None)
        )
    )
    return {(row.address, row.attempt) for row in found}


async def _spent(tx: Transaction, which: Any) -> int:
    found = await tx.execute(select(func.sum(earn_payout.c.amount_raw)).where(which, earn_payout.c.state.in_(LIVE)))
    return int(found.scalar_one() or 0)


def _read(row: Row[Any]) -> Signed:
    return Signed(row.epoch, row.address, row.attempt, row.amount_raw, row.nonce, bytes(row.raw), row.hash)


def in_order(payouts: Sequence[Signed], first_nonce: int) -> list[Signed]:
    """Those that the chain can take next: from its nonce on."""
    return [payout for payout in payouts if payout.nonce >= first_nonce]
