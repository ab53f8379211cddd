"""The cashier: takes an order with a good-looking payment and brings back its answer, paid for exactly once.

    verify -> reserve -> run -> (not a success: release, not charged) -> settle -> answer

One cashier serves all gates of a process. Each sale is a task of its own: a caller who hangs up does not stop it.
"""

import asyncio
import secrets
from collections.abc import Mapping
from functools import partial
from typing import Final

from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import UpstreamDown
from tickyard.observe.log import log
from tickyard.payments.books.ledger import Ledger
from tickyard.payments.books.reply import Reply
from tickyard.payments.books.row import PaymentRow
from tickyard.payments.facilitators.facilitator import FacilitatorRefused, VerifierDown
from tickyard.payments.facilitators.reasons import NONCE_USED, says_used
from tickyard.payments.facilitators.till import Till
from tickyard.payments.refusal import (
    ALREADY_USED,
    BadPayment,
    NotSettled,
    Refusal,
    TooManyPayments,
    outcome_unknown,
    still_running,
)
from tickyard.payments.selling.budgets import Budget, Place
from tickyard.payments.selling.deliveries import Deliveries
from tickyard.payments.selling.pickup import Pickup
from tickyard.payments.selling.sale import Flight, Name, Sale, claim_of, counted, is_any_of, name_of, sale_of
from tickyard.payments.selling.settlement import Settlement
from tickyard.payments.selling.standing import PaidRequest, is_payer, is_same_caller, may_be_payer, stranger_of
from tickyard.payments.selling.steps import is_free, next_step
from tickyard.payments.signed.authorization import check_times

WAIT_S: Final = 8.0
"""How long a copy of a running request waits for it."""
UNSETTLED_PER_MINUTE: Final = 20
_POLL_S: Final = 0.1


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
        self._settlement = Settlement(ledger, tills, clock, looks_per_minute=unsettled_per_minute)
        self._unsettled = Budget(unsettled_per_minute, clock, "too many calls of this payer ended without a settlement")
        self._wait_s = wait_s
        self.deliveries = Deliveries(ledger, clock)
        self._flights: dict[tuple[Name, str], Flight] = {}
        self.pickup = Pickup(ledger, clock, partial(is_any_of, self._flights.values()))
        self._alone: set[asyncio.Task[Sale]] = set()
        """Sales that nobody may join."""
        self._taking: dict[Name, asyncio.Future[Refusal | TooManyPayments | UpstreamDown | None]] = {}
        self._name = secrets.token_hex(8)
        self._count = 0

    async def sell(self, order: PaidRequest) -> Sale:
        """The answer to a paid request. Raises Refusal, TooMany or UpstreamDown."""
        name = name_of(order), order.fingerprint
        flight = self._flights.get(name)
        if flight is None:
            flight = self._flights[name] = Flight(order)
            flight.task = asyncio.create_task(self._sell(order, flight))
            flight.task.add_done_callback(lambda done: self._landed(name, done))
            return await asyncio.shield(flight.task)
        first = flight.order.bearer
        if flight.is_public and not is_same_caller(order.bearer, first.client, first.identifier):
            # Not in this one; the ledger knows what they may have.
            task = asyncio.create_task(self._sell(order, Flight(order)))
            self._alone.add(task)
            task.add_done_callback(self._alone.discard)
            return await asyncio.shield(task)
        # Going along costs nobody anything.
        order.place.give_back()
        await asyncio.wait({flight.task}, timeout=self._wait_s)
        if not flight.task.done() or flight.task.cancelled():
            raise still_running()
        return flight.task.result()

    async def drain(self) -> None:
        """Wait until every sale that has begun is over. Called when no more requests come in."""
        while tasks := {*(flight.task for flight in self._flights.values()), *self._alone}:
            await asyncio.wait(tasks)
        await self.deliveries.close()

    def _landed(self, name: tuple[Name, str], task: asyncio.Task[Sale]) -> None:
        del self._flights[name]
        # Looking at it is also what keeps a failed sale, whose caller hung up, from being called lost.
        trouble = None if task.cancelled() else task.exception()
        if trouble is not None and not isinstance(trouble, Refusal | TooManyPayments | UpstreamDown):
            log.error("a sale crashed", network=name[0][0].network, kind=type(trouble).__name__)

    async def _sell(self, order: PaidRequest, flight: Flight) -> Sale:
        deadline, is_early = self._clock.monotonic() + self._wait_s, False
        while True:
            row = await self._ledger.find(order.payment.key)
            now = self._clock.now()
            # Whoever came with it before it was settled anywhere did not read it off the chain.
            is_early = is_early or row is None or not row.may_be_public
            if row is not None and not is_free(row, now) and not await _is_payer(order, row, is_early):
                return await self._as_stranger(order)
            step = next_step(row, order.fingerprint, now)
            if step == "refuse":
                raise Refusal(ALREADY_USED)
            if row is not None and step == "replay":
                return sale_of(row)
            if row is not None and step == "reconcile":
                # What is settled is the payment as it came first, which another may have signed for the payer.
                is_seen = order.bearer.is_signature_seen and order.bearer.signature == row.signature
                return self._end(await self._settlement.reconcile(row, self._holder(), is_seen=is_seen))
            if step == "take":
                try:
                    held = await self._take(order, deadline)
                except (Refusal, VerifierDown) as trouble:
                    if not await self._has_moved(order, trouble, is_early):
                        raise
                    continue
                if held is not None:
                    return await self._run(order, *held, flight)
            elif self._clock.monotonic() >= deadline:
                raise still_running()
            else:
                await self._clock.sleep(_POLL_S)

    async def _has_moved(self, order: PaidRequest, trouble: Refusal | VerifierDown, is_early: bool) -> bool:
        """Whether a payment that nobody found good just now is settled all the same: by another process while the
        facilitator was asked, or long ago, when it was called failed too soon. The chain is read before we say no."""
        row = await self._ledger.find(order.payment.key)
        if row is None or not await _is_payer(order, row, is_early):
            return False
        if row.state == "failed" and row.is_watched:
            looked = await self._settlement.look(row)
            if looked is None and (isinstance(trouble, VerifierDown) or says_used(trouble.reason)):
                # Who used it, if not we? Our node may only lag, and a refusal would be paid for with new money.
                raise outcome_unknown()
            row = looked or row
        return next_step(row, order.fingerprint, self._clock.now()) != "take"

    async def _as_stranger(self, order: PaidRequest) -> Sale:
        """A payment whose nonce we know, from somebody who may not hear of it: all goes as if we did not, and it ends
        as a payment ends whose nonce somebody else has used. Nothing is reserved, nothing is settled."""
        place = await self._unsettled.take(stranger_of(order))
        try:
            await self._verify(order)
        except (Refusal, UpstreamDown):
            # As for a payment that is unknown here: two different limits would tell which it is.
            place.give_back()
            raise
        try:
            reply = await order.run()
        finally:
            place.spend()
        if not reply.is_good:
            return Sale(reply, None)
        raise NotSettled(NONCE_USED[order.payment.entry.method], order.payment.key)

    async def _take(self, order: PaidRequest, deadline: float) -> tuple[PaymentRow, str, Place] | None:
        """Verify and reserve, one request at a time for each payment: more than one cannot have it anyway.

        The row, the facilitator that will settle it, and our place in the payer's budget.
        """
        name = name_of(order)
        if name in self._taking:
            await self._wait_for_another(name, deadline)
            return None
        taking = self._taking[name] = asyncio.get_running_loop().create_future()
        trouble = None
        try:
            return await self._reserve(order)
        except (Refusal, TooManyPayments, UpstreamDown) as refused:
            trouble = refused
            raise
        finally:
            del self._taking[name]
            taking.set_result(trouble)

    async def _reserve(self, order: PaidRequest) -> tuple[PaymentRow, str, Place] | None:
        payer, is_theirs = order.payment.key.payer, order.bearer.is_signature_seen
        # Anybody can name a payer: what nobody has found good yet takes none of the payer's places.
        place = await self._unsettled.take(payer if is_theirs else stranger_of(order))
        is_waste = False
        try:
            facilitator = await self._verify(order)
            # What comes to nothing from here on could be had again and again, at the facilitator's cost.
            is_waste = True
            if not is_theirs:
                place = await self._unsettled.exchange(place, payer)
            order.place.give_back()
            if await order.is_gone():
                # Nobody knows of this sale yet, and who hung up may be about to pay anew.
                raise still_running()
            row = await self._ledger.reserve(claim_of(order), self._holder())
        except BaseException:
            (place.spend if is_waste else place.give_back)()
            raise
        if row is None:
            place.give_back()
            return None
        return row, facilitator, place

    async def _wait_for_another(self, name: Name, deadline: float) -> None:
        """Until another request has the payment, or does not get it. No good for that one is no good for us."""
        taking = self._taking[name]
        await asyncio.wait({taking}, timeout=max(0.0, deadline - self._clock.monotonic()))
        if not taking.done():
            raise still_running()
        trouble = taking.result()
        if trouble is not None:
            raise trouble

    async def _verify(self, order: PaidRequest) -> str:
        """The name of the facilitator that finds the payment good. Raises BadPayment or UpstreamDown."""
        check_times(order.payment, order.payment.entry.clock.seconds())
        await order.check_signature()
        network = order.payment.key.network
        till, is_seen = self._tills[network], order.bearer.is_signature_seen
        verdict, facilitator = await till.verify(order.request, order.payment.key, is_seen=is_seen)
        if isinstance(verdict, FacilitatorRefused):
            counted(network, "refused").inc()
            raise BadPayment(verdict.reason)
        return facilitator

    async def _run(self, order: PaidRequest, held: PaymentRow, facilitator: str, place: Place, flight: Flight) -> Sale:
        # Nobody else settles what we hold: until we do, the bytes let whoever has them in. Not those of one that has
        # failed before: they may be on the chain since.
        flight.is_public = held.may_be_public
        try:
            reply = await order.run()
        except Exception:
            place.spend()
            await self._release(held)
            raise
        if not reply.is_good:
            place.spend()
            await self._release(held)
            return Sale(reply, None)
        flight.is_public = True
        try:
            row = await self._settle(held, reply, facilitator, is_seen=order.bearer.is_signature_seen)
            if row.state == "settled":
                place.give_back()
        finally:
            place.spend()
        return self._end(row)

    async def _settle(self, held: PaymentRow, reply: Reply, facilitator: str, *, is_seen: bool) -> PaymentRow:
        try:
            settling = await self._ledger.start_settling(held, reply, facilitator)
            row = None if settling is None else await self._settlement.settle(settling, is_seen=is_seen)
        except UpstreamDown as trouble:
            # The store failed in the middle of it: the row may say that money may have moved.
            raise outcome_unknown() from trouble
        if row is None:
            raise still_running()
        return row

    async def _release(self, held: PaymentRow) -> None:
        try:
            await self._ledger.release(held)
        except UpstreamDown:
            # Nothing was taken, and the lease lets go of the payment by itself.
            log.warning("a payment could not be released", network=held.key.network)

    def _end(self, row: PaymentRow) -> Sale:
        counted(row.key.network, row.state).inc()
        if row.state == "failed":
            raise NotSettled(row.reason or ALREADY_USED, row.key)
        if row.state != "settled":
            raise outcome_unknown()
        return sale_of(row)

    def _holder(self) -> str:
        """A name that nobody else has and that is never used again."""
        self._count += 1
        return f"{self._name}-{self._count:x}"


async def _is_payer(order: PaidRequest, row: PaymentRow, is_early: bool) -> bool:
    bearer = order.bearer
    return is_payer(bearer, row, is_early) or (may_be_payer(bearer, row, is_early) and await order.asks_account())
