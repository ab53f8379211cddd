"""Opening a sealed pool to claims: only when the desk has its books, and the payout account can pay all of it."""

from collections import Counter
from typing import Any, Final

from sqlalchemy import Select, and_, func, insert, select, text, update

from tickyard.chain.blocks import header
from tickyard.chain.quantity import quantity
from tickyard.chain.rpc.trouble import RpcError
from tickyard.features.earn.books.desk import MOST_LINES, DeskTill, read_epochs, read_till
from tickyard.features.earn.room import EarnDeps
from tickyard.features.earn.rules import is_in_window
from tickyard.features.earn.tables import FOREIGN, earn_close, earn_epoch, earn_gate, earn_line, earn_tally
from tickyard.kernel.errors import UpstreamDown
from tickyard.observe.log import log
from tickyard.store.engine import Transaction

LINE_GAS: Final = 70_000
"""Of one line of a batch, to an account that has never held the asset; measured 52,000."""
BATCH_GAS: Final = 450_000
"""What a batch must bring beside its lines, though it uses little of it."""
_FEE_FACTOR: Final = 4
_FEE_FLOOR: Final = 10**8

_BEYOND: Final = (
    select(earn_line.c.epoch, func.sum(earn_line.c.amount_raw - func.coalesce(earn_close.c.amount_raw, 0)))
    .select_from(earn_line)
    .join(earn_epoch, and_(earn_epoch.c.id == earn_line.c.epoch, earn_epoch.c.state == "closed"))
    .join(
        earn_close,
        and_(
            earn_close.c.epoch == earn_line.c.epoch,
            earn_close.c.address == earn_line.c.address,
            earn_close.c.returned_to.is_(None),
        ),
        isouter=True,
    )
    .where(text(FOREIGN))
    .group_by(earn_line.c.epoch)
)
"""What the desk has paid beyond what was kept for the one it paid: a thief's payment settles nobody's claim."""
_LATE: Final = (
    select(earn_close.c.epoch, func.sum(earn_close.c.amount_raw))
    .where(earn_close.c.returned_to.is_not(None), earn_close.c.returned_to > earn_close.c.epoch)
    .group_by(earn_close.c.epoch)
)
_OVER_POOL: Final = (
    select(earn_epoch.c.id, earn_tally.c.paid_raw - (earn_epoch.c.pool_raw - earn_epoch.c.rolled_raw))
    .join(earn_tally, earn_tally.c.epoch == earn_epoch.c.id)
    .where(earn_epoch.c.state == "closed", earn_tally.c.paid_raw > earn_epoch.c.pool_raw - earn_epoch.c.rolled_raw)
)
"""Days of which more was paid than these books kept: they were restored, and lack revenue that the desk's had."""


def first_offer(base_fee: int) -> int:
    """What a transaction offers per gas at first; what is not needed is not paid."""
    return max(base_fee * _FEE_FACTOR, _FEE_FLOOR)


async def open_claims(deps: EarnDeps, epoch: int) -> str:
    """Open the claims of a sealed epoch. What happened: opened, or what it waits for."""
    room = deps.earn
    async with deps.store.read() as tx:
        row = (await tx.execute(select(earn_epoch).where(earn_epoch.c.id == epoch))).one()
        owed = await owed_raw(tx)
    desk = room.desk_of(row)
    till = await read_till(deps.rpc, room.multicall, desk, room.terms.usdg)
    if till.is_paused:
        return "the desk is paused"
    if not await _is_solvent(deps, till, row.pool_raw + owed, row.eligible_wallets):
        log.error(
            "claims stay closed: the payout account cannot pay the pool", epoch=epoch, usdg_raw=row.pool_raw + owed
        )
        return "not solvent"
    (on_desk,) = await read_epochs(deps.rpc, room.multicall, desk, [epoch])
    if not on_desk.is_open:
        return "the desk has no books of it yet"
    if (on_desk.books, on_desk.pool_raw) != (row.digest, row.pool_raw):
        log.error("claims stay closed: the desk has other books", epoch=epoch, desk=on_desk.books, ours=row.digest)
        return "the desk has other books"
    async with deps.store.begin() as tx:
        now = await deps.store.now(tx)
        if not is_in_window(epoch, now):
            return "outside the window"
        opened = await tx.execute(
            update(earn_epoch)
            .where(earn_epoch.c.id == epoch, earn_epoch.c.state == "sealed")
            .values(state="open", opened_at=now)
        )
        if opened.rowcount != 1:
            return "somebody was faster"
        await tx.execute(insert(earn_gate), {"epoch": epoch})
    return "opened"


async def owed_raw(tx: Transaction) -> int:
    """What closed epochs kept for their claimants, and have neither paid nor returned."""
    kept = await tx.execute(
        select(func.sum(earn_epoch.c.pool_raw - earn_epoch.c.rolled_raw)).where(earn_epoch.c.state == "closed")
    )
    paid = await tx.execute(
        select(func.sum(earn_tally.c.paid_raw))
        .join(earn_epoch, earn_epoch.c.id == earn_tally.c.epoch)
        .where(earn_epoch.c.state == "closed")
    )
    late, foreign, over = await _by_epoch(tx, _LATE), await _by_epoch(tx, _BEYOND), await _by_epoch(tx, _OVER_POOL)
    # No day owes less than nothing: what one has overpaid settles no claim of another.
    overpaid = sum(max(0, raw + late[epoch] - foreign[epoch]) for epoch, raw in over.items())
    return int(kept.scalar_one() or 0) - int(paid.scalar_one() or 0) - late.total() + foreign.total() + overpaid


async def _by_epoch(tx: Transaction, sums: Select[Any]) -> Counter[int]:
    return Counter({epoch: int(raw) for epoch, raw in await tx.execute(sums)})


async def _is_solvent(deps: EarnDeps, till: DeskTill, needed_raw: int, wallets: int) -> bool:
    head = await header(deps.rpc, "latest")
    try:
        gas_wei = quantity(await deps.rpc.call("eth_getBalance", [till.payer, "latest"]))
    except RpcError as error:
        raise UpstreamDown("the chain node refused to show a balance") from error
    batches = -(-wallets // MOST_LINES) + 1
    # Twice the present fee, as the window lasts an hour; and what the chain wants to see on the account at the last.
    fees = 2 * head.base_fee * (wallets * LINE_GAS + batches * BATCH_GAS)
    fees += first_offer(head.base_fee) * (min(wallets, MOST_LINES) * LINE_GAS + BATCH_GAS)
    return min(till.usdg_raw, till.allowance_raw) >= needed_raw and gas_wei >= fees
