"""The public books of an epoch: enough for anybody to check every sum."""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Annotated, Any, Final, Literal

from msgspec import Meta
from sqlalchemy import Integer, Row, bindparam, func, select

from tickyard.chain.address import checksum
from tickyard.features.earn.days.outcome import ATTEMPT, ENDED_UNPAID, claim_of, line_of
from tickyard.features.earn.room import EarnDeps
from tickyard.features.earn.rules import no_such_epoch, share
from tickyard.features.earn.tables import (
    earn_books,
    earn_claim,
    earn_credit,
    earn_epoch,
    earn_line,
    earn_share,
)
from tickyard.features.earn.wire import EpochId, TxHash
from tickyard.kernel.errors import NotFound
from tickyard.kernel.ids import ADDRESS_PATTERN, Address
from tickyard.kernel.operation import Kept
from tickyard.kernel.units import money_text
from tickyard.kernel.wire import AddressText, Answer, Ask, Moment, MoneyText, StreamAnswer, iso
from tickyard.store.engine import Store, Transaction

_KEEP_S: Final = 5
_PAGE: Final = 1_000
_LINES_AT_ONCE: Final = 100
_FOREVER_S: Final = 31_536_000

State = Literal["snapshot", "sealed", "open", "closed"]
ClaimState = Literal["reserved", "sent", "confirmed", "failed"]
_STATES: Final[dict[str, State]] = {"taken": "snapshot", "pooled": "snapshot", "closing": "open"}
_SHOWN: Final[dict[str | None, ClaimState]] = {"sent": "sent", "confirmed": "confirmed"}


class BooksAsk(Ask):
    id: EpochId
    limit: Annotated[int, Meta(ge=1, le=_PAGE, description="Wallets in one answer.")] = _PAGE
    cursor: (
        Annotated[
            str,
            Meta(
                pattern=ADDRESS_PATTERN,
                examples=["0xaf3d76f1834a1d425780943c99ea8a608f8a93f9"],
                description="`nextCursor` of the answer before.",
                extra={"says": "the nextCursor of an earlier answer"},
            ),
        ]
        | None
    ) = None


class FileAsk(Ask):
    id: EpochId


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
    digest: Annotated[
        str | None,
        Meta(description="SHA-256 of books.csv, which the desk on the chain keeps; null until the pool is sealed."),
    ]
    desk: Annotated[
        AddressText | None,
        Meta(description="The contract that keeps its hash and pays it, whichever one pays by now; null until then."),
    ]
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
    wallets: list[BookLine]
    next_cursor: Annotated[
        str | None,
        Meta(examples=["0xaf3d76f1834a1d425780943c99ea8a608f8a93f9"], description="Null: these were the last."),
    ]


async def get_epoch_books(deps: EarnDeps, ask: BooksAsk) -> Kept[EpochBooks]:
    """The public books of one epoch: pool, revenue, rollover, and its wallets with share, claim and transaction, a
    page at a time. Anybody can add them up; `books.csv.gz` beside it is all of it in one file.

    Limits: at most 1,000 wallets in one answer; `nextCursor` leads on.
    """
    async with deps.store.read() as tx:
        row = await _epoch(tx, ask.id, await deps.store.now(tx))
        calls = await tx.execute(select(func.count()).where(earn_credit.c.epoch == ask.id))
        counted = calls.scalar_one()
        lines: list[BookLine] = []
        last = (ask.cursor or "").lower()
        while len(lines) < ask.limit:
            most = min(_LINES_AT_ONCE, ask.limit - len(lines))
            found = (await tx.execute(_ROWS, {"of_epoch": ask.id, "after": last, "most": most})).all()
            lines += [_line(row, each) for each in found]
            last = found[-1].address if found else ""
            # Others have their turn in between.
            await deps.clock.sleep(0)
            if len(found) < most:
                break
    sums = await deps.earn.sums.read(deps.store, row)
    books = EpochBooks(
        id=row.id,
        state=_STATES.get(row.state, row.state),
        block_number=row.block_number,
        block_hash=row.block_hash,
        proven_at_block=row.proven_at_block,
        digest=row.digest,
        desk=checksum(deps.earn.desk_of(row)) if row.digest is not None else None,
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
        wallets=lines,
        next_cursor=last if len(lines) == ask.limit else None,
    )
    return Kept(books, _KEEP_S)


async def get_epoch_file(deps: EarnDeps, ask: FileAsk) -> StreamAnswer:
    """All books of one epoch in one file, which never changes once the pool is sealed: CSV of address, balance and
    share in base units, one row per eligible wallet, gzip'd. The SHA-256 of the CSV itself is the hash that the desk
    on the chain keeps.
    """
    async with deps.store.read() as tx:
        row = await _epoch(tx, ask.id, await deps.store.now(tx))
    if row.digest is None:
        raise NotFound("the books of this epoch are not sealed yet")
    return StreamAnswer(
        parts=_parts(deps.store, ask.id),
        content_type="application/gzip",
        etag=f'"{row.digest}"',
        seconds=_FOREVER_S,
        file_name=f"books-{ask.id}.csv.gz",
    )


_ROWS: Final = (
    select(
        earn_share.c.address,
        earn_share.c.balance,
        ATTEMPT,
        earn_line.c.state,
        earn_line.c.hash,
    )
    .select_from(earn_share)
    .join(earn_claim, claim_of(earn_share.c.epoch, earn_share.c.address), isouter=True)
    .join(earn_line, line_of(earn_share.c.epoch, earn_share.c.address), isouter=True)
    .where(earn_share.c.epoch == bindparam("of_epoch"), earn_share.c.address > bindparam("after"))
    .order_by(earn_share.c.address)
    .limit(bindparam("most", type_=Integer))
)
_PART: Final = select(earn_books.c.body).where(
    earn_books.c.epoch == bindparam("of_epoch"), earn_books.c.part == bindparam("of_part")
)


async def _epoch(tx: Transaction, epoch: int, now: datetime) -> Row[Any]:
    row = (await tx.execute(select(earn_epoch).where(earn_epoch.c.id == epoch))).one_or_none()
    if row is None or row.state in ("accruing", "skipped"):
        raise no_such_epoch(epoch, now)
    return row


async def _parts(store: Store, epoch: int) -> AsyncIterator[bytes]:
    part = 0
    while True:
        async with store.read() as tx:
            body = (await tx.execute(_PART, {"of_epoch": epoch, "of_part": part})).scalar_one_or_none()
        if body is None:
            return
        yield bytes(body)
        part += 1


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
        tx=None if claim == "reserved" else row.hash,
    )  # fmt: skip


def _money(raw: int | None) -> str | None:
    return None if raw is None else money_text(raw)
