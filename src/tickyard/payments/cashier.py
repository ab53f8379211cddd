"""The cashier: takes an order with a good-looking payment and brings back its answer, paid for exactly once.

    verify -> reserve -> run -> (status >= 400: release, not charged) -> settle -> answer

One cashier serves all gates of a process. Each sale is a task of its own: a caller who hangs up does not stop it.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from prometheus_client import Counter

from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import UpstreamDown
from tickyard.observe.log import log
from tickyard.observe.metrics import REGISTRY
from tickyard.payments.authorization import Key, Payment, check_times
from tickyard.payments.budgets import Budget
from tickyard.payments.facilitator import Refused
from tickyard.payments.ledger import KEEP_ANSWERS, Claim, Ledger, Row
from tickyard.payments.refusal import ALREADY_USED, BadPayment, Refusal, TooMany, outcome_unknown, still_running
from tickyard.payments.reply import Reply
from tickyard.payments.settlement import Settlement, Till

WAIT_S: Final = 8.0
"""How long a copy of a running request waits for it."""
UNSETTLED_PER_MINUTE: Final = 20
_POLL_S: Final = 0.1

sales = Counter("tickyard_sales", "Paid requests by network and how they ended", ["network", "end"], registry=REGISTRY)

Step = Literal["take", "wait", "replay", "refuse", "reconcile"]


@dataclass(frozen=True, slots=True)
class Order:
    """One paid request."""

    payment: Payment
    fingerprint: str
    route: str
    request: bytes
    """What the facilitator is asked, for verifying and for settling."""
    run: Callable[[], Awaitable[Reply]]


@dataclass(frozen=True, slots=True)
class Sale:
    reply: Reply
    transaction: str | None
    """None: the operation failed, and nothing was taken."""


@dataclass(frozen=True, slots=True)
class _Flight:
    fingerprint: str
    task: asyncio.Task[Sale]


def next_step(row: Row | None, fingerprint: str, now: datetime) -> Step:
    """What a request does with the row that its payment already has."""
    if row is None or row.state == "failed" or (row.state == "running" and row.lease_until <= now):
        return "take"
    if row.fingerprint != fingerprint:
        return "refuse"
    if row.state == "settled":
        assert row.settled_at is not None
        return "replay" if row.reply is not None and row.settled_at + KEEP_ANSWERS > now else "refuse"
    if row.state == "unknown" or (row.state == "settling" and row.lease_until <= now):
        return "reconcile"
    return "wait"


class Cashier:
    def __init__(
        self,
        ledger: Ledger,
        tills: Mapping[str, Till],
        clock: Clock,
        *,
        unsettled_per_minute: int | None = UNSETTLED_PER_MINUTE,
        wait_s: float = WAIT_S,
    ) -> None:
        self._ledger = ledger
        self._tills = tills
        self._clock = clock
        self._settlement = Settlement(ledger, tills)
        self._unsettled = Budget(unsettled_per_minute)
        self._wait_s = wait_s
        self._flights: dict[Key, _Flight] = {}
        self._name = secrets.token_hex(8)
        self._count = 0

    async def sell(self, order: Order) -> Sale:
        """The answer to a paid request. Raises Refusal, TooMany or UpstreamDown."""
        key = order.payment.key
        flight = self._flights.get(key)
        if flight is None:
            task = asyncio.create_task(self._sell(order))
            self._flights[key] = _Flight(order.fingerprint, task)
            task.add_done_callback(lambda done: self._landed(key, done))
            return await asyncio.shield(task)
        if flight.fingerprint != order.fingerprint:
            raise Refusal(ALREADY_USED)
        await asyncio.wait({flight.task}, timeout=self._wait_s)
        if not flight.task.done() or flight.task.cancelled():
            raise still_running()
        return flight.task.result()

    async def drain(self) -> None:
        """Wait until every sale that has begun is over. Called when no more requests come in."""
        while self._flights:
            await asyncio.wait([flight.task for flight in self._flights.values()])

    def _landed(self, key: Key, task: asyncio.Task[Sale]) -> None:
        del self._flights[key]
        # Looking at it is also what keeps a failed sale, whose caller hung up, from being called lost.
        trouble = None if task.cancelled() else task.exception()
        if trouble is not None and not isinstance(trouble, Refusal | TooMany | UpstreamDown):
            log.error("a sale crashed", network=key.network, kind=type(trouble).__name__)

    async def _sell(self, order: Order) -> Sale:
        deadline = self._clock.monotonic() + self._wait_s
        is_verified = False
        while True:
            row = await self._ledger.find(order.payment.key)
            step = next_step(row, order.fingerprint, self._clock.now())
            if step == "refuse":
                raise Refusal(ALREADY_USED)
            if row is not None and step == "replay":
                return _sale(row)
            if row is not None and step == "reconcile":
                return self._end(await self._settlement.reconcile(row, self._holder()))
            if step == "wait":
                if self._clock.monotonic() >= deadline:
                    raise still_running()
                await self._clock.sleep(_POLL_S)
                continue
            if not is_verified:
                await self._verify(order)
                is_verified = True
            held = await self._ledger.reserve(_claim(order), self._holder())
            if held is not None:
                return await self._run(order, held)

    async def _verify(self, order: Order) -> None:
        payer = order.payment.key.payer
        check_times(order.payment, order.payment.entry.clock.seconds())
        wait_s = self._unsettled.wait_s(payer, self._clock.monotonic())
        if wait_s:
            raise TooMany("too many calls of this payer ended without a settlement", wait_s)
        verdict = await self._tills[order.payment.key.network].facilitator.verify(order.request)
        if isinstance(verdict, Refused):
            sales.labels(order.payment.key.network, "refused").inc()
            raise BadPayment(verdict.reason)

    async def _run(self, order: Order, held: Row) -> Sale:
        try:
            reply = await order.run()
        except Exception:
            await self._release(held)
            raise
        if reply.status >= 400:
            await self._release(held)
            return Sale(reply, None)
        settling = await self._ledger.start_settling(held, reply)
        if settling is None:
            raise still_running()
        try:
            row = await self._settlement.settle(settling)
        except UpstreamDown as trouble:
            # The store failed in the middle of it: the row says that money may have moved.
            raise outcome_unknown() from trouble
        if row.state == "failed":
            self._spend(held)
        return self._end(row)

    def _spend(self, held: Row) -> None:
        self._unsettled.spend(held.key.payer, self._clock.monotonic())

    async def _release(self, held: Row) -> None:
        self._spend(held)
        try:
            await self._ledger.release(held)
        except UpstreamDown:
            # Nothing was taken, and the lease lets go of the payment by itself.
            log.warning("a payment could not be released", network=held.key.network)

    def _end(self, row: Row) -> Sale:
        sales.labels(row.key.network, row.state).inc()
        if row.state == "failed":
            raise Refusal(row.reason or ALREADY_USED)
        if row.state != "settled":
            raise outcome_unknown()
        return _sale(row)

    def _holder(self) -> str:
        """A name that nobody else has and that is never used again."""
        self._count += 1
        return f"{self._name}-{self._count:x}"


def _sale(row: Row) -> Sale:
    assert row.reply is not None
    return Sale(row.reply, row.transaction)


def _claim(order: Order) -> Claim:
    payment = order.payment
    return Claim(
        key=payment.key,
        fingerprint=order.fingerprint,
        route=order.route,
        amount_raw=payment.entry.amount_raw,
        pay_to=payment.entry.pay_to,
        valid_before=payment.valid_before,
        network_time=payment.entry.clock.seconds(),
        request=order.request,
        identifier=payment.identifier,
    )
