"""The cashier: takes an order with a good-looking payment and brings back its answer, paid for exactly once.

    verify -> reserve -> run -> (not a success: release, not charged) -> settle -> answer

One cashier serves all gates of a process. Each sale is a task of its own: a caller who hangs up does not stop it.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from functools import cache
from typing import Final, Literal

import msgspec
from prometheus_client import Counter

from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import UpstreamDown
from tickyard.observe.log import log
from tickyard.observe.metrics import REGISTRY
from tickyard.payments.budgets import Budget
from tickyard.payments.facilitator import FacilitatorRefused
from tickyard.payments.ledger import KEEP_ANSWERS, Ledger, PaymentRow, Reservation
from tickyard.payments.refusal import ALREADY_USED, BadPayment, Refusal, TooMany, outcome_unknown, still_running
from tickyard.payments.reply import Reply
from tickyard.payments.settlement import Settlement, Till
from tickyard.payments.signed.authorization import Key, Payment, check_times

WAIT_S: Final = 8.0
"""How long a copy of a running request waits for it."""
UNSETTLED_PER_MINUTE: Final = 20
_POLL_S: Final = 0.1

sales = Counter("tickyard_sales", "Paid requests by network and how they ended", ["network", "end"], registry=REGISTRY)


@cache
def _counted(network: str, end: str) -> Counter:
    """Finding a counter by its labels costs more than counting."""
    return sales.labels(network, end)


Step = Literal["take", "wait", "replay", "refuse", "reconcile"]


class Order(msgspec.Struct, frozen=True):
    """One paid request."""

    payment: Payment
    fingerprint: str
    route: str
    request: bytes
    """What the facilitator is asked, for verifying and for settling."""
    run: Callable[[], Awaitable[Reply]]


class Sale(msgspec.Struct, frozen=True):
    reply: Reply
    transaction: str | None
    """None: the operation failed, and nothing was taken."""


def next_step(row: PaymentRow | None, fingerprint: str, now: datetime) -> Step:
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
        self._flights: dict[tuple[Key, str], asyncio.Task[Sale]] = {}
        """The sales under way by payment and request: copies of a request go along in the first one."""
        self._taking: dict[Key, asyncio.Future[Refusal | TooMany | UpstreamDown | None]] = {}
        self._name = secrets.token_hex(8)
        self._count = 0

    async def sell(self, order: Order) -> Sale:
        """The answer to a paid request. Raises Refusal, TooMany or UpstreamDown."""
        name = order.payment.key, order.fingerprint
        task = self._flights.get(name)
        if task is None:
            task = self._flights[name] = asyncio.create_task(self._sell(order))
            task.add_done_callback(lambda done: self._landed(name, done))
            return await asyncio.shield(task)
        await asyncio.wait({task}, timeout=self._wait_s)
        if not task.done() or task.cancelled():
            raise still_running()
        return task.result()

    async def drain(self) -> None:
        """Wait until every sale that has begun is over. Called when no more requests come in."""
        while self._flights:
            await asyncio.wait(self._flights.values())

    def _landed(self, name: tuple[Key, str], task: asyncio.Task[Sale]) -> None:
        del self._flights[name]
        # Looking at it is also what keeps a failed sale, whose caller hung up, from being called lost.
        trouble = None if task.cancelled() else task.exception()
        if trouble is not None and not isinstance(trouble, Refusal | TooMany | UpstreamDown):
            log.error("a sale crashed", network=name[0].network, kind=type(trouble).__name__)

    async def _sell(self, order: Order) -> Sale:
        deadline = self._clock.monotonic() + self._wait_s
        while True:
            row = await self._ledger.find(order.payment.key)
            step = next_step(row, order.fingerprint, self._clock.now())
            if step == "refuse":
                raise Refusal(ALREADY_USED)
            if row is not None and step == "replay":
                return _sale(row)
            if row is not None and step == "reconcile":
                return self._end(await self._settlement.reconcile(row, self._holder()))
            if step == "take":
                try:
                    held = await self._take(order, deadline)
                except Refusal:
                    # Another process may have taken and settled the payment while the facilitator looked at it.
                    if await self._is_free(order):
                        raise
                    continue
                if held is not None:
                    return await self._run(order, held)
            elif self._clock.monotonic() >= deadline:
                raise still_running()
            else:
                await self._clock.sleep(_POLL_S)

    async def _is_free(self, order: Order) -> bool:
        row = await self._ledger.find(order.payment.key)
        return next_step(row, order.fingerprint, self._clock.now()) == "take"

    async def _take(self, order: Order, deadline: float) -> PaymentRow | None:
        """Verify and reserve, one request at a time for each payment: more than one cannot have it anyway."""
        key = order.payment.key
        if key in self._taking:
            await self._wait_for_another(key, deadline)
            return None
        taking = self._taking[key] = asyncio.get_running_loop().create_future()
        trouble = None
        try:
            await self._verify(order)
        except (Refusal, TooMany, UpstreamDown) as refused:
            trouble = refused
            raise
        else:
            return await self._ledger.reserve(_claim(order), self._holder())
        finally:
            del self._taking[key]
            taking.set_result(trouble)

    async def _wait_for_another(self, key: Key, deadline: float) -> None:
        """Until another request has the payment, or does not get it. No good for that one is no good for us."""
        taking = self._taking[key]
        await asyncio.wait({taking}, timeout=max(0.0, deadline - self._clock.monotonic()))
        if not taking.done():
            raise still_running()
        trouble = taking.result()
        if trouble is not None:
            raise trouble

    async def _verify(self, order: Order) -> None:
        payer = order.payment.key.payer
        check_times(order.payment, order.payment.entry.clock.seconds())
        wait_s = self._unsettled.wait_s(payer, self._clock.monotonic())
        if wait_s:
            raise TooMany("too many calls of this payer ended without a settlement", wait_s)
        verdict = await self._tills[order.payment.key.network].facilitator.verify(order.request)
        if isinstance(verdict, FacilitatorRefused):
            _counted(order.payment.key.network, "refused").inc()
            raise BadPayment(verdict.reason)

    async def _run(self, order: Order, held: PaymentRow) -> Sale:
        try:
            reply = await order.run()
        except Exception:
            await self._release(held)
            raise
        if not reply.is_good:
            await self._release(held)
            return Sale(reply, None)
        try:
            settling = await self._ledger.start_settling(held, reply)
            row = None if settling is None else await self._settlement.settle(settling)
        except UpstreamDown as trouble:
            # The store failed in the middle of it: the row may say that money may have moved.
            raise outcome_unknown() from trouble
        if row is None:
            raise still_running()
        if row.state == "failed":
            self._spend(held)
        return self._end(row)

    def _spend(self, held: PaymentRow) -> None:
        self._unsettled.spend(held.key.payer, self._clock.monotonic())

    async def _release(self, held: PaymentRow) -> None:
        self._spend(held)
        try:
            await self._ledger.release(held)
        except UpstreamDown:
            # Nothing was taken, and the lease lets go of the payment by itself.
            log.warning("a payment could not be released", network=held.key.network)

    def _end(self, row: PaymentRow) -> Sale:
        _counted(row.key.network, row.state).inc()
        if row.state == "failed":
            raise Refusal(row.reason or ALREADY_USED)
        if row.state != "settled":
            raise outcome_unknown()
        return _sale(row)

    def _holder(self) -> str:
        """A name that nobody else has and that is never used again."""
        self._count += 1
        return f"{self._name}-{self._count:x}"


def _sale(row: PaymentRow) -> Sale:
    assert row.reply is not None
    return Sale(row.reply, row.transaction)


def _claim(order: Order) -> Reservation:
    payment = order.payment
    return Reservation(
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
