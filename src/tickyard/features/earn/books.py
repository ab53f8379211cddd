"""The public books of an epoch: enough for anybody to check every sum."""

import csv
import io
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from msgspec import Meta
from sqlalchemy import Row, and_, func, select

from tickyard.chain.address import checksum
from tickyard.features.earn.closing import ENDED_UNPAID
from tickyard.features.earn.desk import EarnDeps
from tickyard.features.earn.rules import share
from tickyard.features.earn.tables import earn_claim, earn_close, earn_credit, earn_epoch, earn_payout, earn_share
from tickyard.features.earn.wire import EpochId, TxHash
from tickyard.kernel.errors import NotFound
from tickyard.kernel.ids import Address
from tickyard.kernel.operation import Kept
from tickyard.kernel.units import money_text
from tickyard.kernel.wire import AddressText, Answer, Ask, Moment, MoneyText, TextAnswer, iso
from tickyard.observe.log import log
from tickyard.store.engine import Transaction

_KEEP_S: Final = 5
_LINES_AT_ONCE: Final = 1_000

State = Literal["snapshot", "sealed", "open", "closed"]
ClaimState = Literal["reserved", "sent", "confirmed", "failed"]


class BooksAsk(Ask):
    id: EpochId
    format: Literal["json", "csv"] = "json"


class BookLine(Answer):
    """One wallet of the snapshot."""

    address: AddressText
    balance: Annotated[str, Meta(examples=["2000000000000000000000000"], description="Base units at the snapshot.")]
    share_usd: MoneyText | None
    claim: ClaimState | None
    tx: TxHash | None


class EpochBooks(Answer):
    id: EpochId
    state: State
    block_number: int | None
    block_hash: str
    proven_at_block: int
    digest: str | None
    revenue_usd: MoneyText | None
    calls: int
    rollover_usd: MoneyText | None
    pool_usd: MoneyText | None
    eligible_wallets: int
    eligible_total: str
    paid_usd: MoneyText
    in_flight_usd: MoneyText
    rolled_over_usd: Annotated[MoneyText | None, Meta(description="Null until the window is closed.")]
    returned_later_usd: Annotated[MoneyText, Meta(description="Claims that failed for good after the closing.")]
    balanced: Annotated[
        bool | None,
        Meta(description="paid + in flight + rolled over + returned later = pool; null until the window is closed."),
    ]
    sealed_at: Moment | None
    closed_at: Moment | None
    lines: list[BookLine]


@dataclass(frozen=True, slots=True)
class Sums:
    """Where the pool of a closed epoch is, in base units."""

    pool: int
    paid: int
    in_flight: int
    rolled: int
    late: int

    @property
    def is_balanced(self) -> bool:
        return self.paid + self.in_flight + self.rolled + self.late == self.pool


async def get_epoch_books(deps: EarnDeps, ask: BooksAsk) -> Kept[EpochBooks] | Kept[TextAnswer]:
    """The public books of one epoch: pool, revenue, rollover, every share, claim and transaction, as JSON or CSV.
    Anybody can add them up."""
    async with deps.store.read() as tx:
        row = (await tx.execute(select(earn_epoch).where(earn_epoch.c.id == ask.id))).one_or_none()
        if row is None or row.state == "accruing":
            raise NotFound("no such epoch")
        calls = await tx.execute(select(func.count()).where(earn_credit.c.epoch == ask.id))
        sums = await read_sums(tx, row)
        found = await _rows(tx, ask.id)
        counted = calls.scalar_one()
    lines = []
    for start in range(0, len(found), _LINES_AT_ONCE):
        lines += [_line(row, each) for each in found[start : start + _LINES_AT_ONCE]]
        # A hundred thousand wallets take a while: others have their turn in between.
        await deps.clock.sleep(0)
    if ask.format == "csv":
        return Kept(TextAnswer(text=_csv(lines), content_type="text/csv; charset=utf-8"), _KEEP_S)
    books = EpochBooks(
        id=row.id,
        state="snapshot" if row.state == "taken" else row.state,
        block_number=row.block_number,
        block_hash=row.block_hash,
        proven_at_block=row.proven_at_block,
        digest=row.digest,
        revenue_usd=_money(row.revenue_raw),
        calls=counted,
        rollover_usd=_money(row.rollover_raw),
        pool_usd=_money(row.pool_raw),
        eligible_wallets=row.eligible_wallets,
        eligible_total=str(row.eligible_total),
        paid_usd=money_text(sums.paid),
        in_flight_usd=money_text(sums.in_flight),
        rolled_over_usd=_money(row.rolled_raw),
        returned_later_usd=money_text(sums.late),
        balanced=sums.is_balanced if row.state == "closed" else None,
        sealed_at=iso(row.sealed_at) if row.sealed_at else None,
        closed_at=iso(row.closed_at) if row.closed_at else None,
        lines=lines,
    )
    return Kept(books, _KEEP_S)


async def unbalanced_epochs(deps: EarnDeps, *, newest: int = 30) -> list[int]:
    """Closed epochs whose books do not balance, for the worker to cry about. There are none, ever."""
    closed = select(earn_epoch).where(earn_epoch.c.state == "closed").order_by(earn_epoch.c.id.desc()).limit(newest)
    async with deps.store.read() as tx:
        rows = (await tx.execute(closed)).all()
        wrong: list[int] = [row.id for row in rows if not (await read_sums(tx, row)).is_balanced]
    if wrong:
        log.error("the books of the reward program do not balance", epochs=wrong)
    return wrong


async def read_sums(tx: Transaction, row: Row[Any]) -> Sums:
    """From the payouts as they are, not from what closing expected of them."""
    found = await tx.execute(
        select(earn_payout.c.state, func.sum(earn_payout.c.amount_raw))
        .where(earn_payout.c.epoch == row.id)
        .group_by(earn_payout.c.state)
    )
    by_state = {state: int(amount) for state, amount in found}
    newest = and_(
        earn_payout.c.epoch == earn_close.c.epoch,
        earn_payout.c.address == earn_close.c.address,
        earn_payout.c.attempt == earn_close.c.attempt,
    )
    closed = await tx.execute(
        select(earn_close.c.amount_raw, earn_close.c.returned_to, earn_payout.c.state)
        .join(earn_payout, newest, isouter=True)
        .where(earn_close.c.epoch == row.id)
    )
    late = unsettled = 0
    for amount, returned_to, state in closed:
        if returned_to is None and state not in ("signed", "confirmed"):
            # Not signed yet, or failed for good and not yet in another pool.
            unsettled += amount
        elif returned_to not in (None, row.id):
            late += amount
    in_flight = by_state.get("signed", 0) + unsettled
    return Sums(row.pool_raw or 0, by_state.get("confirmed", 0), in_flight, row.rolled_raw or 0, late)


async def _rows(tx: Transaction, epoch: int) -> list[Row[Any]]:
    found = await tx.execute(
        select(
            earn_share.c.address,
            earn_share.c.balance,
            earn_claim.c.attempt,
            earn_payout.c.state,
            earn_payout.c.hash,
        )
        .select_from(earn_share)
        .join(
            earn_claim,
            and_(earn_claim.c.epoch == earn_share.c.epoch, earn_claim.c.address == earn_share.c.address),
            isouter=True,
        )
        .join(
            earn_payout,
            and_(
                earn_payout.c.epoch == earn_share.c.epoch,
                earn_payout.c.address == earn_share.c.address,
                earn_payout.c.attempt == earn_claim.c.attempt,
            ),
            isouter=True,
        )
        .where(earn_share.c.epoch == epoch)
        .order_by(earn_share.c.address)
    )
    return list(found)


def _line(epoch: Row[Any], row: Row[Any]) -> BookLine:
    claim: ClaimState | None = None
    if row.attempt is not None:
        claim = "failed" if row.state in ENDED_UNPAID else _SHOWN.get(row.state, "reserved")
    return BookLine(
        address=checksum(Address(row.address)),
        balance=str(row.balance),
        share_usd=None if epoch.pool_raw is None else money_text(
            share(epoch.pool_raw, row.balance, epoch.eligible_total)
        ),
        claim=claim,
        tx=row.hash,
    )  # fmt: skip


_SHOWN: dict[str | None, ClaimState] = {"signed": "sent", "confirmed": "confirmed"}


def _csv(lines: list[BookLine]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["address", "balance", "shareUsd", "claim", "tx"])
    writer.writerows([line.address, line.balance, line.share_usd, line.claim, line.tx] for line in lines)
    return out.getvalue()


def _money(raw: int | None) -> str | None:
    return None if raw is None else money_text(raw)
