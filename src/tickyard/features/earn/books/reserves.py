"""The reserves: what the chain holds and what the books owe, side by side at one block."""

from typing import Annotated, Any, Final

from msgspec import Meta
from sqlalchemy import Row, func, select

from tickyard.chain.abi import malformed
from tickyard.chain.address import checksum
from tickyard.chain.blocks import header
from tickyard.chain.quantity import quantity
from tickyard.chain.rpc.trouble import RpcError
from tickyard.features.earn.books.desk import NO_BOOKS, read_days, read_till
from tickyard.features.earn.days.opening import owed_raw
from tickyard.features.earn.days.pool import late_raw
from tickyard.features.earn.room import EarnDeps
from tickyard.features.earn.tables import earn_epoch, earn_tally
from tickyard.features.earn.wire import EpochId
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.kernel.operation import Kept, NoAsk
from tickyard.kernel.units import money_text, ratio_text
from tickyard.kernel.wire import AddressText, Answer, Moment, MoneyText, TokenText, iso
from tickyard.store.engine import Transaction

_KEEP_S: Final = 5
_EPOCHS: Final = 30
_ALL: Final = 2**255

BooksHash = Annotated[str, Meta(examples=["9f2c1d5be8a04c6f" * 4], description="SHA-256 of books.csv, in hex digits.")]


class Payer(Answer):
    """The payout account, from whose balance the desk pays."""

    address: AddressText
    usdg: MoneyText
    eth: TokenText
    allowance: Annotated[MoneyText, Meta(description="What the desk may move; an unlimited one is shown as it is.")]


class ReservedEpoch(Answer):
    id: EpochId
    books_hash: BooksHash | None
    on_chain_books_hash: Annotated[BooksHash | None, Meta(description="What the desk keeps; null: not opened there.")]
    pool_usd: MoneyText
    paid_usd: MoneyText
    on_chain_paid_usd: MoneyText


class Reserves(Answer):
    block_number: int
    as_of: Moment
    desk: AddressText
    payer: Payer
    owed_usd: Annotated[
        MoneyText,
        Meta(description="Claimed in closed epochs, and neither paid nor returned; the rest is in sealedUsd."),
    ]
    sealed_usd: Annotated[MoneyText, Meta(description="Pools that are sealed and not closed yet.")]
    paid_usd: Annotated[MoneyText, Meta(description="Paid at a final block, over all epochs.")]
    epochs: list[ReservedEpoch]


async def get_earn_reserves(deps: EarnDeps, _ask: NoAsk) -> Kept[Reserves]:
    """What the reward program holds and owes: the payout account's USDG, ETH and allowance, and for the newest epochs
    pool, payments and the hash of the books, from the chain and from our own records side by side, at one block.

    Freshness: the newest block, at most five seconds ago.
    """
    room = deps.earn
    head = await header(deps.rpc, "latest")
    async with deps.store.read() as tx:
        rows = await _epochs(tx)
        # What failed late is nobody's claim any more: it is in what accrues.
        owed = max(0, await owed_raw(tx) - await late_raw(tx))
        paid = int((await tx.execute(select(func.sum(earn_tally.c.paid_raw)))).scalar_one() or 0)
        now = await deps.store.now(tx)
    till = await read_till(deps.rpc, room.multicall, room.desk, room.terms.usdg, head.hash)
    days = [(room.desk_of(row), row.id) for row in rows]
    on_desk = await read_days(deps.rpc, room.multicall, days, head.hash)
    sealed = [row for row in rows if row.state in ("pooled", "sealed", "open", "closing")]
    answer = Reserves(
        block_number=head.number,
        as_of=iso(now),
        desk=checksum(room.desk),
        payer=Payer(
            address=checksum(till.payer),
            usdg=money_text(till.usdg_raw),
            eth=ratio_text(await _wei(deps, till.payer, head.hash), 10**18, 18),
            allowance=money_text(till.allowance_raw),
        ),
        owed_usd=money_text(owed),
        sealed_usd=money_text(sum(row.pool_raw for row in sealed)),
        paid_usd=money_text(paid),
        epochs=[
            ReservedEpoch(
                id=row.id,
                books_hash=row.digest,
                on_chain_books_hash=None if desk.books == NO_BOOKS else desk.books,
                pool_usd=money_text(row.pool_raw),
                paid_usd=money_text(int(row.paid_raw or 0)),
                on_chain_paid_usd=money_text(desk.spent_raw),
            )
            for row, desk in zip(rows, on_desk, strict=True)
        ],
    )
    return Kept(answer, _KEEP_S)


async def _epochs(tx: Transaction) -> list[Row[Any]]:
    """The newest with a pool, newest first."""
    found = await tx.execute(
        select(
            earn_epoch.c.id,
            earn_epoch.c.state,
            earn_epoch.c.digest,
            earn_epoch.c.desk,
            earn_epoch.c.pool_raw,
            earn_tally.c.paid_raw,
        )
        .join(earn_tally, earn_tally.c.epoch == earn_epoch.c.id, isouter=True)
        .where(earn_epoch.c.pool_raw.is_not(None))
        .order_by(earn_epoch.c.id.desc())
        .limit(_EPOCHS)
    )
    return list(found)


async def _wei(deps: EarnDeps, payer: Address, block: str) -> int:
    try:
        wei = quantity(await deps.rpc.call("eth_getBalance", [payer, {"blockHash": block}]))
    except RpcError as error:
        raise UpstreamDown("the chain node refused to show a balance") from error
    if wei >= _ALL:
        raise malformed()
    return wei
