"""What is due in the life of the epochs, for the worker: called again and again, by any number of workers.

Every step is a conditional write, so a step that is repeated, raced or interrupted changes nothing twice; and each
is decided by where an epoch stands, not by what was done at which hour, so a worker that was down catches up.
"""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import func, select

from tickyard.chain.blocks import final_header, header
from tickyard.features.earn.books.desk import read_epochs, read_paid
from tickyard.features.earn.days.closing import DeskView, close
from tickyard.features.earn.days.desks import name_desks
from tickyard.features.earn.days.opening import open_claims
from tickyard.features.earn.days.pool import fix_pool
from tickyard.features.earn.days.sealing import write_books
from tickyard.features.earn.days.snapshot import take
from tickyard.features.earn.room import EarnDeps, holder_index
from tickyard.features.earn.rules import (
    accruing_epoch,
    closes_at,
    epochs_between,
    is_in_window,
    opens_at,
    snapshot_at,
    starts_at,
)
from tickyard.features.earn.tables import earn_epoch
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.observe import metrics
from tickyard.observe.log import log
from tickyard.store.engine import Store, Transaction
from tickyard.store.upsert import insert_new

_PATIENCE: Final = {
    # By then its block is final on any day like another.
    "snapshot": timedelta(hours=23, minutes=30),
    "seal": timedelta(hours=24, minutes=1),
    "open": timedelta(hours=24, minutes=1),
    "close": timedelta(hours=25, minutes=5),
}
"""By when, from the start of its day, a step of an epoch is done."""
_NEWEST: Final = select(func.max(earn_epoch.c.id))
_UNFINISHED: Final = (
    select(earn_epoch.c.id, earn_epoch.c.state)
    .where(earn_epoch.c.state.not_in(("closed", "skipped")))
    .order_by(earn_epoch.c.id)
)


@dataclass(slots=True)
class Done:
    """What one call of `run_due` did, and what it could not do yet."""

    began: list[int] = field(default_factory=list)
    taken: list[int] = field(default_factory=list)
    sealed: list[int] = field(default_factory=list)
    opened: list[int] = field(default_factory=list)
    closed: list[int] = field(default_factory=list)
    waiting: dict[int, str] = field(default_factory=dict)
    """Epochs with a step that is due and not done, and why."""

    @property
    def is_idle(self) -> bool:
        return not (self.began or self.taken or self.sealed or self.opened or self.closed)


async def run_due(deps: EarnDeps, now: datetime) -> Done:
    """Do every step that is due by now, oldest epoch first. Raises UpstreamDown only for the store's trouble."""
    await deps.earn.drift.measure(deps.store)
    done = Done()
    done.began = await _begin(deps.store, now)
    await _try_chain(name_desks(deps))
    for epoch, state in await _unfinished(deps.store):
        await _advance(deps, epoch, state, now, done)
    _tell_late(deps, now, done)
    if not done.is_idle:
        log.info("epochs moved", taken=done.taken, sealed=done.sealed, opened=done.opened, closed=done.closed)
    return done


def _tell_late(deps: EarnDeps, now: datetime, done: Done) -> None:
    late = {
        epoch: why for epoch, why in done.waiting.items() if now >= starts_at(epoch) + _PATIENCE[why.partition(":")[0]]
    }
    metrics.earn_late_epochs.set(len(late))
    for epoch, why in late.items():
        if (epoch, why) not in deps.earn.late:
            deps.earn.late.add((epoch, why))
            log.error("an epoch is late", epoch=epoch, why=why)


async def index_holders(deps: EarnDeps, *, steps: int = 50) -> int:
    """Read on in the token's transfers, so that the snapshot has little left to read. How many blocks.

    A snapshot that is being taken reads for itself: it must find the index where it left it.
    """
    if deps.earn.reading.locked():
        return 0
    async with deps.earn.reading:
        final = await final_header(deps.rpc, deps.earn.finality)
        return await holder_index(deps).catch_up(final, steps=steps)


async def _advance(deps: EarnDeps, epoch: int, state: str, now: datetime, done: Done) -> None:
    """Take one epoch as far as it can go."""
    if state == "accruing" and now >= snapshot_at(epoch):
        if (outcome := await _try_chain(take(deps, epoch))) == "taken":
            done.taken.append(epoch)
            state = "taken"
        else:
            done.waiting[epoch] = f"snapshot: {outcome}"
    if state == "taken" and now >= opens_at(epoch):
        if await fix_pool(deps.store, epoch):
            state = "pooled"
        else:
            done.waiting[epoch] = "seal: an earlier epoch is not closed"
    if state == "pooled":
        if (outcome := await _try_chain(_seal(deps, epoch))) == "sealed":
            done.sealed.append(epoch)
            state = "sealed"
        else:
            done.waiting[epoch] = f"seal: {outcome}"
    if state == "sealed" and is_in_window(epoch, now):
        if (outcome := await _try_chain(open_claims(deps, epoch))) == "opened":
            done.opened.append(epoch)
        else:
            done.waiting[epoch] = f"open: {outcome}"
    if state in ("sealed", "open", "closing") and now >= closes_at(epoch):
        if (outcome := await _try_chain(_close(deps, epoch))) == "closed":
            done.closed.append(epoch)
        else:
            done.waiting[epoch] = f"close: {outcome}"


async def _seal(deps: EarnDeps, epoch: int) -> str:
    return "sealed" if await write_books(deps, epoch) else "somebody else writes the books"


async def _close(deps: EarnDeps, epoch: int) -> str:
    room = deps.earn
    async with deps.store.read() as tx:
        desk = room.desk_of((await tx.execute(select(earn_epoch.c.desk).where(earn_epoch.c.id == epoch))).one())
    head = await header(deps.rpc, "latest")
    (on_desk,) = await read_epochs(deps.rpc, room.multicall, desk, [epoch], head.hash)

    async def paid_to(accounts: Sequence[str]) -> Sequence[int]:
        whom = [(epoch, Address(account)) for account in accounts]
        return await read_paid(deps.rpc, room.multicall, desk, whom, head.hash)

    return await close(deps.store, epoch, DeskView(head.number, on_desk.spent_raw, paid_to))


async def _try_chain(step: Awaitable[str]) -> str:
    """A node that is down holds up this step only; it is tried again at the next call."""
    try:
        return await step
    except UpstreamDown as down:
        return down.message


async def _begin(store: Store, now: datetime) -> list[int]:
    """A row for every day from the first to this one: what happened while nobody looked is caught up in order.

    A day begins when it has by both clocks, this machine's and the store's: one that is ahead begins none for all.
    """
    async with store.read() as tx:
        today = accruing_epoch(min(now, await store.now(tx)))
        newest = await _newest(tx)
    if newest is not None and newest >= today:
        return []
    days = [today] if newest is None else list(epochs_between(newest, today))
    async with store.begin() as tx:
        rows = [{"id": day, "state": "accruing"} for day in days]
        added = await tx.execute(insert_new(tx, earn_epoch), rows) if rows else None
    return days if added is not None and added.rowcount else []


async def _newest(tx: Transaction) -> int | None:
    newest: int | None = (await tx.execute(_NEWEST)).scalar_one()
    return newest


async def _unfinished(store: Store) -> list[tuple[int, str]]:
    async with store.read() as tx:
        return [(row.id, row.state) for row in await tx.execute(_UNFINISHED)]
