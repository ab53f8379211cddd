"""The pieces of work, and when each is due."""

import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import Final, Protocol

from tickyard.config.pinned import SECOND_CHAIN_ID
from tickyard.deps import Deps
from tickyard.features.actions.sync import ActionsDeps, sync_actions
from tickyard.features.alerts.store import expire
from tickyard.features.earn.books.funds import tell_funds
from tickyard.features.earn.books.sums import unbalanced_epochs
from tickyard.features.earn.days.epochs import index_holders, run_due
from tickyard.features.earn.room import EarnDeps
from tickyard.features.history.reading import newest_slot
from tickyard.kernel.clock import SLOT_S, Stamp, seconds_since, stamp
from tickyard.kernel.errors import UpstreamDown
from tickyard.market.sampling.rounds import slot_number
from tickyard.observe import metrics
from tickyard.observe.log import log
from tickyard.observe.watched import note_head
from tickyard.payments.books.stock import forget_stock, show_stock
from tickyard.payments.layer import Payments
from tickyard.payments.offer.terms import SECOND
from tickyard.payments.proof.reconcile import look_after
from tickyard.store import outbox
from tickyard.store.leases import Lease
from tickyard.worker.tick import run_slot

_ACTIONS_EVERY_S: Final = 3600
_AUDIT_EVERY_S: Final = 600
_FUNDS_EVERY_S: Final = 60
_FORGET_EVERY_S: Final = 60


@dataclass(frozen=True, slots=True)
class Job:
    """A piece of work that exactly one process does at a time."""

    name: str
    pause_s: float
    """How long to wait between two looks."""
    run: Callable[[Deps, Lease], Awaitable[None]]
    """One look: do what is due by now, if anything. Must be harmless when done twice."""
    forget: Callable[[], None] = lambda: None
    """Another process does it now: whoever stands by must not ring for ever with what it knew."""


class Sampler:
    """Takes each slot's round once, at a moment within its first seconds that nobody can foresee."""

    def __init__(self, rng: Random, spread_s: int) -> None:
        self._rng = rng
        self._spread_s = spread_s
        self._done: int | None = None
        self._first: int | None = None
        self._aimed: tuple[int, float] = (0, 0.0)

    async def do_due(self, deps: Deps, lease: Lease) -> None:
        now = deps.clock.now()
        slot = slot_number(now)
        if slot == self._done or now.timestamp() < self._moment(slot):
            return
        if self._done is None:
            async with deps.store.glance() as tx:
                self._done = await newest_slot(tx)
            # Also by who will record none: the alarm goes by this. Where none was ever recorded, since we tried to.
            self._first = slot if self._first is None else self._first
            metrics.last_slot.set((self._first if self._done is None else self._done) * SLOT_S)
            if self._done == slot:
                return
        ticked = await run_slot(deps, lease)
        self._done = ticked.slot
        if ticked.is_new:
            metrics.samples_recorded.inc(ticked.sampled)
            metrics.samples_skipped.inc(ticked.skipped)
            metrics.alerts_fired.inc(ticked.fired)
            metrics.last_slot.set(ticked.slot * SLOT_S)
            log.info("round recorded", slot=ticked.slot, sampled=ticked.sampled, fired=ticked.fired)

    def _moment(self, slot: int) -> float:
        # A predictable second would cost a manipulator only one block.
        if self._aimed[0] != slot:
            self._aimed = (slot, slot * SLOT_S + self._rng.uniform(0, self._spread_s))
        return self._aimed[1]


async def _proven_now(deps: Deps) -> datetime:
    """The present moment, which the newest block bears out. UpstreamDown: it does not, or there is no block to ask.

    What ends by time alone stays ended: a clock that was ahead for a minute would have ended everything for good.
    """
    head = await deps.rpc.head()
    # An API process shows it only when it is asked whether it is ready, and not every proxy asks.
    note_head(deps.rpc.chain_id, head.timestamp, deps.clock.timestamp())
    return deps.clock.now()


class Tidier:
    """Alerts that are over become expired, and old outbox rows go."""

    def __init__(self, payments: Payments) -> None:
        self._payments = payments

    async def do_due(self, deps: Deps, _lease: Lease) -> None:
        if str(SECOND_CHAIN_ID) in deps.settings.networks:
            await self._show_second_head()
        now = await _proven_now(deps)
        async with deps.store.begin() as tx:
            await expire(tx, now)
            await outbox.forget_old(tx, now)

    async def _show_second_head(self) -> None:
        """While nobody pays there, nobody else asks its nodes: the next buyer would be the first to find them dead."""
        # Its trouble is told by what counts its calls, and by this head growing old.
        with contextlib.suppress(UpstreamDown):
            chain = self._payments.chains[SECOND]
            tip = await chain.tip()
            note_head(SECOND_CHAIN_ID, tip.timestamp, chain.clock.timestamp())


class Bookkeeper:
    """Payments in doubt are looked after, and settled ones counted once we have seen them on the chain."""

    def __init__(self, payments: Payments) -> None:
        self._payments = payments
        self._forgot: Stamp | None = None

    async def do_due(self, deps: Deps, _lease: Lease) -> None:
        payments = self._payments
        await look_after(payments.ledger, payments.chains, finality=deps.settings.final_after)
        await show_stock(payments.ledger, payments.chains)
        if self._forgot is None or seconds_since(deps.clock, self._forgot) >= _FORGET_EVERY_S:
            self._forgot = stamp(deps.clock)
            # Answers that were paid for are kept a day, whatever a clock says.
            await _proven_now(deps)
            await payments.ledger.forget_answers()


class ActionReader:
    """The issuer forgets corporate actions after a month: read its list every hour, and archive it."""

    def __init__(self, deps: ActionsDeps) -> None:
        self._deps = deps
        self._read: Stamp | None = None

    async def do_due(self, deps: Deps, _lease: Lease) -> None:
        if self._read is None or seconds_since(deps.clock, self._read) >= _ACTIONS_EVERY_S:
            await sync_actions(self._deps)
            self._read = stamp(deps.clock)


class HolderReader:
    """Reads on in the service token's transfers. Whatever keeps it from that keeps nothing else."""

    def __init__(self, deps: EarnDeps) -> None:
        self._deps = deps

    async def do_due(self, _deps: Deps, _lease: Lease) -> None:
        await index_holders(self._deps)


class EpochKeeper:
    """Snapshot, seal, open, close: whatever the reward program owes by now."""

    def __init__(self, deps: EarnDeps) -> None:
        self._deps = deps
        self._audited: Stamp | None = None
        self._told: Stamp | None = None

    async def do_due(self, deps: Deps, _lease: Lease) -> None:
        await run_due(self._deps, deps.clock.now())
        if self._audited is None or seconds_since(deps.clock, self._audited) >= _AUDIT_EVERY_S:
            if epochs := await unbalanced_epochs(self._deps):
                log.error("THE BOOKS OF AN EPOCH DO NOT BALANCE", epochs=epochs)
            self._audited = stamp(deps.clock)
        if self._told is None or seconds_since(deps.clock, self._told) >= _FUNDS_EVERY_S:
            await tell_funds(self._deps)
            self._told = stamp(deps.clock)


def _forget_books() -> None:
    for gauge in (metrics.earn_late_epochs, metrics.earn_owed, metrics.earn_balance, metrics.earn_allowance):
        gauge.set(0)


class WorkDeps(ActionsDeps, EarnDeps, Protocol):
    """What single jobs need beyond Deps."""

    @property
    def payments(self) -> Payments: ...


def jobs(deps: Deps, rooms: WorkDeps, rng: Random) -> list[Job]:
    is_sandbox = deps.settings.is_sandbox
    earn = [
        Job("earn", 0.25 if is_sandbox else 5.0, EpochKeeper(rooms).do_due, _forget_books),
        Job("holders", 0.5 if is_sandbox else 5.0, HolderReader(rooms).do_due),
    ]
    return [
        *(earn if deps.settings.has_earn else []),
        Job(
            "tick", 0.25 if is_sandbox else 1.0, Sampler(rng, 0 if is_sandbox else deps.settings.sample_spread_s).do_due
        ),
        Job("payments", 1.0 if is_sandbox else 5.0, Bookkeeper(rooms.payments).do_due, forget_stock),
        Job("actions", 5.0, ActionReader(rooms).do_due),
        Job("tidy", 30.0, Tidier(rooms.payments).do_due),
    ]
