"""Living through a slot at once: sample, evaluate, deliver, and only then answer."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Final, Protocol

from msgspec import Meta
from sqlalchemy import func, select

from tickyard.deps import Deps
from tickyard.features.alerts.store import alert, expire
from tickyard.features.earn.days.epochs import index_holders, run_due
from tickyard.features.earn.room import EarnDeps
from tickyard.features.history.tables import recorded
from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.wire import Answer, Moment, iso
from tickyard.market.sampling.rounds import slot_number
from tickyard.payments.layer import Payments
from tickyard.payments.proof.credit import verify_settlements
from tickyard.sandbox.node.process import Node
from tickyard.worker.tick import run_slot

_DELIVERY_S: Final = 15.0
_LOOK_S: Final = 0.02
_DUE_S: Final = 20.0


class DueDeps(EarnDeps, Protocol):
    @property
    def payments(self) -> Payments: ...


class TickReport(Answer):
    slot: Moment
    sampled: Annotated[int, Meta(examples=[172])]
    skipped: Annotated[int, Meta(examples=[22])]
    fired: int
    delivered: int
    failed: int


async def live_through(deps: Deps, slot: datetime) -> TickReport:
    """The worker process does the same by itself within a second; whoever is first, the books tell what happened."""
    await run_slot(deps)
    async with deps.store.read() as tx:
        row = (await tx.execute(select(recorded).where(recorded.c.slot == slot_number(slot)))).one_or_none()
    if row is None:
        raise UpstreamDown("the slot was over before it was recorded")
    ends = await _ends(deps, row.taken_at, deps.clock)
    return TickReport(
        slot=iso(slot),
        sampled=row.sampled,
        skipped=row.skipped,
        fired=sum(ends.values()),
        delivered=ends.get("delivered", 0),
        failed=ends.get("failed", 0),
    )


async def do_what_is_due(deps: Deps, rooms: DueDeps, nodes: Sequence[Node]) -> None:
    """What the worker would do within seconds: expire alerts, count revenue, move the reward program's epochs."""
    async with deps.store.begin() as tx:
        await expire(tx, deps.clock.now())
    if not deps.settings.has_earn:
        return
    # Revenue and snapshots wait for their blocks to be final.
    finality = int(deps.settings.finality)
    for node in nodes:
        await node.call("hardhat_mine", [hex(finality + 2)])
    await verify_settlements(deps.store, rooms.payments.chains, deps.clock, finality=finality)
    deadline = deps.clock.monotonic() + _DUE_S
    while True:
        await index_holders(rooms)
        done = await run_due(rooms, deps.clock.now())
        if (done.is_idle and not done.waiting) or deps.clock.monotonic() > deadline:
            return
        await deps.clock.sleep(_LOOK_S)


async def _ends(deps: Deps, fired_at: datetime, clock: Clock) -> dict[str | None, int]:
    """How the deliveries of the alerts fired at this moment ended, once none is on its way any more."""
    query = select(alert.c.delivery, func.count()).where(alert.c.fired_at == fired_at).group_by(alert.c.delivery)
    deadline = clock.monotonic() + _DELIVERY_S
    while True:
        async with deps.store.glance() as tx:
            ends = {row[0]: row[1] for row in await tx.execute(query)}
        if not {None, "pending", "sending"} & ends.keys() or clock.monotonic() > deadline:
            return ends
        await clock.sleep(_LOOK_S)
