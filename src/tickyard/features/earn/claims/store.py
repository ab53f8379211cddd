"""What the operations read, and the one thing they write: a claim."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import BindParameter, Row, and_, bindparam, select, update

from tickyard.features.earn.days.outcome import ATTEMPT, ENDED_UNPAID, claim_of, line_of
from tickyard.features.earn.rules import closes_at, is_in_window, opens_at, share
from tickyard.features.earn.tables import earn_claim, earn_epoch, earn_gate, earn_line, earn_share, earn_tally
from tickyard.kernel.errors import BadRequest, UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.kernel.wire import iso
from tickyard.store.engine import Store, Transaction
from tickyard.store.upsert import insert_new

_mine: Final[BindParameter[str]] = bindparam("of_address")
_standing: Final = (
    select(
        earn_epoch.c.id,
        earn_epoch.c.state,
        earn_epoch.c.pool_raw,
        earn_epoch.c.eligible_total,
        earn_share.c.balance,
        ATTEMPT,
        earn_line.c.state.label("payout_state"),
        earn_line.c.hash,
        earn_line.c.amount_raw,
    )
    .select_from(earn_epoch)
    .join(earn_share, and_(earn_share.c.epoch == earn_epoch.c.id, earn_share.c.address == _mine), isouter=True)
    .join(earn_claim, claim_of(earn_epoch.c.id, _mine), isouter=True)
    .join(earn_line, line_of(earn_epoch.c.id, _mine), isouter=True)
)
# Made once: building a statement costs more than running it.
_IN_ONE: Final = _standing.where(earn_epoch.c.id == bindparam("of_epoch"))
_GATE: Final = select(earn_gate.c.epoch).where(earn_gate.c.epoch == bindparam("of_epoch")).with_for_update(read=True)
_SHOWN: Final = earn_epoch.c.state.not_in(("accruing", "skipped"))
_IN_NEWEST: Final = _standing.where(_SHOWN).order_by(earn_epoch.c.id.desc()).limit(1)


@dataclass(frozen=True, slots=True)
class WalletStanding:
    """One wallet in one epoch."""

    epoch: int
    state: str
    in_snapshot: bool
    share_raw: int | None
    """Null until the pool is sealed."""
    attempt: int | None
    """Null: never claimed."""
    payout_state: str | None
    tx: str | None
    payout_raw: int | None
    """What is in that transaction: books that were restored may give another share than the desk has paid."""

    @property
    def is_claimed(self) -> bool:
        """Reserved, on its way or paid. A claim that failed for good is none."""
        return self.attempt is not None and self.payout_state not in ENDED_UNPAID

    def is_open(self, now: datetime) -> bool:
        """The same judgement for showing and for reserving."""
        return self.state == "open" and is_in_window(self.epoch, now)


async def standing(tx: Transaction, epoch: int, address: Address) -> WalletStanding | None:
    """Null: there is no such epoch."""
    row = (await tx.execute(_IN_ONE, {"of_epoch": epoch, "of_address": address})).one_or_none()
    return None if row is None else _read(row)


async def newest_standing(tx: Transaction, address: Address) -> WalletStanding | None:
    """In the newest epoch with a snapshot; null before the first."""
    row = (await tx.execute(_IN_NEWEST, {"of_address": address})).one_or_none()
    return None if row is None else _read(row)


async def newest_epoch(tx: Transaction) -> Row[Any] | None:
    found = await tx.execute(select(earn_epoch).where(_SHOWN).order_by(earn_epoch.c.id.desc()).limit(1))
    return found.one_or_none()


async def claimed(tx: Transaction, epoch: int) -> tuple[int, int]:
    """How many wallets have a payout that has not failed, and its sum."""
    row = (await tx.execute(select(earn_tally).where(earn_tally.c.epoch == epoch))).one_or_none()
    return (0, 0) if row is None else (row.wallets, row.live_raw)


async def reserve(store: Store, epoch: int, address: Address, signature: str) -> int:
    """Reserve the claim, or find that it is reserved already. The number of its attempt.

    The window is judged here and nowhere else. Once the row is written the claim will be paid, whenever that is.
    """
    async with store.begin() as tx:
        # Shared with other claims; closing waits until all of them are written.
        await tx.execute(_GATE, {"of_epoch": epoch})
        now = await store.now(tx)
        found = await standing(tx, epoch, address)
        assert found is not None
        if found.attempt is not None and found.is_claimed:
            return found.attempt
        must_be_open(found, now)
        if await _write(tx, found, address, signature, now):
            return 0 if found.attempt is None else found.attempt + 1
        # The same claim over another replica was faster: it is as good as this one.
        again = await standing(tx, epoch, address)
        assert again is not None
        assert again.attempt is not None
        return again.attempt


async def _write(tx: Transaction, found: WalletStanding, address: Address, signature: str, now: datetime) -> bool:
    """The first attempt, or the one after the one that failed. False: somebody was faster."""
    content = {"signature": signature, "reserved_at": now}
    attempt = 0 if found.attempt is None else found.attempt + 1
    if attempt:
        mine = (
            earn_claim.c.epoch == found.epoch,
            earn_claim.c.address == address,
            earn_claim.c.attempt < attempt,
        )
        if (await tx.execute(update(earn_claim).where(*mine).values(attempt=attempt, **content))).rowcount == 1:
            return True
    # Also after an attempt: what failed may have been a payment that nobody had claimed.
    row = {"epoch": found.epoch, "address": address, "attempt": attempt, **content}
    return (await tx.execute(insert_new(tx, earn_claim), row)).rowcount == 1


def must_be_in_window(epoch: int, now: datetime) -> None:
    if now < opens_at(epoch):
        raise BadRequest(f"the claim window of this epoch opens at {iso(opens_at(epoch))}")
    if not is_in_window(epoch, now):
        raise BadRequest(f"the claim window of this epoch closed at {iso(closes_at(epoch))}")


def must_have_a_snapshot(found: WalletStanding) -> None:
    """Before it is taken nobody is in it, and nobody may be told that they are not."""
    if found.state == "accruing":
        raise UpstreamDown("the snapshot of this epoch is not taken yet", retry_after_s=30)
    if found.state == "skipped":
        raise BadRequest("this epoch was skipped, its pool is in a later one")


def must_be_open(found: WalletStanding, now: datetime) -> None:
    must_be_in_window(found.epoch, now)
    if found.state != "open":
        # Sealed late, or the payout account is short: neither is the caller's fault.
        raise UpstreamDown("claims of this epoch are not open yet", retry_after_s=30)


def _read(row: Row[Any]) -> WalletStanding:
    sealed = row.pool_raw is not None
    return WalletStanding(
        epoch=row.id,
        state=row.state,
        in_snapshot=row.balance is not None,
        share_raw=share(row.pool_raw, row.balance or 0, row.eligible_total) if sealed else None,
        attempt=row.attempt,
        payout_state=row.payout_state,
        # One that came to nothing, and goes again, is no longer the claim's.
        tx=row.hash if row.payout_state in ("sent", "confirmed") else None,
        payout_raw=row.amount_raw,
    )
