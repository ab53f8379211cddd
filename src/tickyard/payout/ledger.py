"""The agent's side of the books: what it reads of claims, and the rows only it writes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Integer, and_, bindparam, func, select, text, update

from tickyard.features.earn.books.digest import Books
from tickyard.features.earn.days.sealing import share_pages
from tickyard.features.earn.tables import earn_batch, earn_claim, earn_close, earn_epoch, earn_line, earn_tally
from tickyard.kernel.ids import Address
from tickyard.payout.judge import Claim
from tickyard.store.engine import Store, Transaction
from tickyard.store.statement import Bulk, Query

LIVE: Final = ("sent", "due", "confirmed")

OF_CLAIM: Final = and_(
    earn_line.c.epoch == earn_claim.c.epoch,
    earn_line.c.address == earn_claim.c.address,
    earn_line.c.attempt == earn_claim.c.attempt,
)
# What every round asks, made once: building a statement costs more than running it.
_PAYABLE: Final = Query(
    select(earn_epoch.c.id, earn_epoch.c.state, earn_epoch.c.desk)
    .where(text("earn_epoch.state IN ('sealed', 'open', 'closed')"), earn_epoch.c.digest.is_not(None))
    .order_by(earn_epoch.c.id)
)
_NEW: Final = (
    select(earn_claim)
    .join(earn_line, OF_CLAIM, isouter=True)
    .where(
        earn_claim.c.epoch == bindparam("of_epoch"),
        earn_claim.c.reserved_at >= bindparam("since"),
        earn_line.c.state.is_(None),
    )
    .order_by(earn_claim.c.reserved_at, earn_claim.c.address)
    .limit(bindparam("most", type_=Integer))
)
_DUE: Final = (
    select(earn_claim)
    .join(earn_line, OF_CLAIM)
    .where(earn_line.c.epoch == bindparam("of_epoch"), text("earn_line.state = 'due'"))
    .limit(bindparam("most", type_=Integer))
)
_DUE_EPOCHS: Final = Query(select(earn_line.c.epoch).where(text("earn_line.state = 'due'")).distinct())
_LIVE_BATCHES: Final = (
    select(earn_batch).where(text("earn_batch.ended_at IS NULL")).order_by(earn_batch.c.nonce, earn_batch.c.signed_at)
)
_set_lines: Final = Bulk(
    earn_line,
    key=["epoch", "address", "attempt"],
    merge=lambda new: {name: new[name] for name in ("state", "payer", "nonce", "hash")},
)
# The same bytes may be signed again: by a payer who was replaced and then named again, or at a fee of before.
_set_batch: Final = Bulk(
    earn_batch,
    key=["hash"],
    merge=lambda new: {"signed_at": new.signed_at, "ended_at": new.ended_at},
)
_set_refused: Final = Bulk(
    earn_line,
    key=["epoch", "address", "attempt"],
    merge=lambda new: {name: new[name] for name in ("state", "amount_raw", "reason", "ended_at")},
)
_add_tally: Final = Bulk(
    earn_tally,
    key=["epoch"],
    merge=lambda new: {name: earn_tally.c[name] + new[name] for name in ("wallets", "live_raw", "paid_raw")},
)


@dataclass(frozen=True, slots=True)
class Batch:
    """A transaction that was signed: an opening, or lines."""

    hash: str
    payer: Address
    nonce: int
    epoch: int
    opens: bool
    gas: int
    max_fee: int
    tip: int
    signed_at: datetime


@dataclass(frozen=True, slots=True)
class PayoutLine:
    claim: Claim
    amount_raw: int


async def payable_epochs(tx: Transaction, desk: Address | None = None) -> list[tuple[int, str]]:
    """All of them, or those that this desk pays."""
    found = await tx.fetch(_PAYABLE, {})
    return [(epoch, state) for epoch, state, its_desk in found if desk is None or its_desk in (None, desk)]


async def due_epochs(tx: Transaction) -> set[int]:
    """Of which something is to be sent again."""
    return {epoch for (epoch,) in await tx.fetch(_DUE_EPOCHS, {})}


async def read_books(store: Store, epoch: int) -> tuple[Books, str]:
    """An epoch's books as the store holds them, and the digest that it gives them."""
    async with store.read() as tx:
        row = (await tx.execute(select(earn_epoch).where(earn_epoch.c.id == epoch))).one()
        books = Books(epoch, row.pool_raw, row.eligible_total)
        async for page in share_pages(tx, epoch):
            books.add(page)
            await store.clock.sleep(0)
    return books, row.digest


async def waiting_claims(tx: Transaction, epoch: int, since: datetime, most: int) -> list[Claim]:
    """Claims that have no line yet, or one that is to be sent again; longest waiting first."""
    due = (await tx.execute(_DUE, {"of_epoch": epoch, "most": most})).all()
    new = (await tx.execute(_NEW, {"of_epoch": epoch, "since": since, "most": most})).all()
    return [
        Claim(epoch, Address(row.address), row.attempt, row.signature, row.reserved_at, is_again)
        for rows, is_again in ((due, True), (new, False))
        for row in rows
    ]


async def not_kept(tx: Transaction, epoch: int, claims: Sequence[Claim]) -> set[tuple[str, int]] | None:
    """Those of the claims which closing did not count as on their way. None: it is being closed, wait.

    The claims were read before the epoch's state: what is in them while it is still open, closing will count.
    """
    state = (await tx.execute(select(earn_epoch.c.state).where(earn_epoch.c.id == epoch))).scalar_one()
    if state == "open":
        return set()
    if state != "closed":
        return None
    addresses = [claim.address for claim in claims]
    found = await tx.execute(
        select(earn_close.c.address, earn_close.c.attempt).where(
            earn_close.c.epoch == epoch, earn_close.c.address.in_(addresses), earn_close.c.returned_to.is_(None)
        )
    )
    kept = {(row.address, row.attempt) for row in found}
    return {(str(claim.address), claim.attempt) for claim in claims} - kept


async def spent_in_epoch(tx: Transaction, epoch: int) -> int:
    found = await tx.execute(select(earn_tally.c.live_raw).where(earn_tally.c.epoch == epoch))
    return int(found.scalar_one_or_none() or 0)


async def spent_since(tx: Transaction, moment: datetime) -> int:
    found = await tx.execute(
        select(func.sum(earn_line.c.amount_raw)).where(earn_line.c.sent_at >= moment, earn_line.c.state.in_(LIVE))
    )
    return int(found.scalar_one() or 0)


async def on_its_way(tx: Transaction, payer: Address, first_nonce: int) -> int:
    """What this payer's lines from a nonce on add up to."""
    mine = (earn_line.c.payer == payer, earn_line.c.nonce >= first_nonce, text("earn_line.state = 'sent'"))
    return int((await tx.execute(select(func.sum(earn_line.c.amount_raw)).where(*mine))).scalar_one() or 0)


async def live_batches(tx: Transaction) -> list[Batch]:
    """Every transaction whose nonce no final block has used, by nonce, the newest of a nonce last."""
    return [
        Batch(
            row.hash, Address(row.payer), row.nonce, row.epoch, row.opens, row.gas, row.max_fee, row.tip, row.signed_at
        )
        for row in await tx.execute(_LIVE_BATCHES)
    ]


async def nonces_of(tx: Transaction, hashes: Iterable[str]) -> dict[str, tuple[str, int]]:
    """Payer and nonce of those transactions that were ours."""
    found = await tx.execute(
        select(earn_batch.c.hash, earn_batch.c.payer, earn_batch.c.nonce).where(earn_batch.c.hash.in_(sorted(hashes)))
    )
    return {row.hash: (row.payer, row.nonce) for row in found}


async def batch_lines(tx: Transaction, batch: Batch) -> list[tuple[Address, int]]:
    """The lines that are still on their way in this batch."""
    found = await tx.execute(
        select(earn_line.c.address, earn_line.c.amount_raw)
        .where(earn_line.c.payer == batch.payer, earn_line.c.nonce == batch.nonce, text("earn_line.state = 'sent'"))
        .order_by(earn_line.c.address)
    )
    return [(Address(row.address), row.amount_raw) for row in found]


async def add_batch(tx: Transaction, batch: Batch, lines: Iterable[PayoutLine] = ()) -> None:
    """A new transaction and what is in it, before it is sent."""
    await _set_batch.run(tx, [_row(batch)])
    sent = list(lines)
    again = await _due_among(tx, batch.epoch, sent)
    rows = [
        {
            "epoch": line.claim.epoch, "address": line.claim.address, "attempt": line.claim.attempt, "state": "sent",
            "amount_raw": line.amount_raw, "payer": batch.payer, "nonce": batch.nonce, "hash": batch.hash,
            "reason": None, "sent_at": batch.signed_at, "ended_at": None, "block_number": None,
        }
        for line in sent
    ]  # fmt: skip
    await _set_lines.run(tx, rows)
    new = [line for line in sent if (line.claim.address, line.claim.attempt) not in again]
    await count(tx, batch.epoch, wallets=len(new), live_raw=sum(line.amount_raw for line in new))


async def replace_batch(tx: Transaction, batch: Batch) -> None:
    """The same nonce again at a higher fee. Who asks is told of the newest."""
    await _set_batch.run(tx, [_row(batch)])
    await tx.execute(
        update(earn_line)
        .where(earn_line.c.payer == batch.payer, earn_line.c.nonce == batch.nonce, text("earn_line.state = 'sent'"))
        .values(hash=batch.hash)
    )


async def refuse(tx: Transaction, claim: Claim, reason: str, now: datetime) -> None:
    """Never to be paid. One that had been sent, and came back, is counted no more."""
    sent = await tx.execute(select(earn_line.c.amount_raw).where(*_line_of(claim)))
    if (sent_raw := sent.scalar_one_or_none()) is not None:
        await count(tx, claim.epoch, wallets=-1, live_raw=-sent_raw)
    row = {
        "epoch": claim.epoch, "address": claim.address, "attempt": claim.attempt, "state": "refused",
        "amount_raw": 0, "payer": None, "nonce": None, "hash": None, "reason": reason, "sent_at": now,
        "ended_at": now, "block_number": None,
    }  # fmt: skip
    await _set_refused.run(tx, [row])


async def count(tx: Transaction, epoch: int, *, wallets: int = 0, live_raw: int = 0, paid_raw: int = 0) -> None:
    if wallets or live_raw or paid_raw:
        row = {"epoch": epoch, "wallets": wallets, "live_raw": live_raw, "paid_raw": paid_raw}
        await _add_tally.run(tx, [row])


async def _due_among(tx: Transaction, epoch: int, lines: Sequence[PayoutLine]) -> set[tuple[str, int]]:
    addresses = [line.claim.address for line in lines]
    found = await tx.execute(
        select(earn_line.c.address, earn_line.c.attempt).where(
            earn_line.c.epoch == epoch, earn_line.c.address.in_(addresses), earn_line.c.state == "due"
        )
    )
    return {(row.address, row.attempt) for row in found}


def _line_of(claim: Claim) -> tuple[ColumnElement[bool], ...]:
    return (
        earn_line.c.epoch == claim.epoch,
        earn_line.c.address == claim.address,
        earn_line.c.attempt == claim.attempt,
    )


def _row(batch: Batch) -> dict[str, Any]:
    return {name: getattr(batch, name) for name in Batch.__slots__} | {"ended_at": None}
