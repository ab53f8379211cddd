"""A sale: what it is called, who goes along in it, and how it ends."""

import asyncio
from collections.abc import Iterable
from datetime import datetime
from functools import cache

import msgspec
from prometheus_client import Counter

from tickyard.kernel.ids import Address
from tickyard.observe.metrics import REGISTRY
from tickyard.payments.books.reply import Reply
from tickyard.payments.books.row import PaymentRow, Reservation
from tickyard.payments.selling.standing import PaidRequest
from tickyard.payments.signed.key import Key

Name = tuple[Key, str, str]
"""A payment exactly as it was signed: nobody waits for, or hears of, what somebody else brought under its nonce."""


class Sale(msgspec.Struct, frozen=True):
    reply: Reply
    transaction: str | None
    """None: the operation failed, and nothing was taken."""
    settled_at: datetime | None = None


class Flight:
    """A sale under way. Copies of its request go along in it."""

    __slots__ = ("is_public", "order", "task")

    def __init__(self, order: PaidRequest) -> None:
        self.order = order
        # Only while we hold its row is it known how far the payment is: else the bytes alone let nobody in.
        self.is_public = True
        self.task: asyncio.Task[Sale]


sales = Counter("tickyard_sales", "Paid requests by network and how they ended", ["network", "end"], registry=REGISTRY)


@cache
def counted(network: str, end: str) -> Counter:
    """Finding a counter by its labels costs more than counting."""
    return sales.labels(network, end)


def name_of(order: PaidRequest) -> Name:
    return order.payment.key, order.bearer.digest, order.bearer.signature


def is_any_of(flights: Iterable[Flight], payer: Address, fingerprint: str) -> bool:
    """Whether one of these is for a payment that this payer signed, for this request. Anybody can name a payer."""
    orders = (flight.order for flight in flights if flight.order.fingerprint == fingerprint)
    return any(order.payment.key.payer == payer and order.bearer.is_signature_seen for order in orders)


def sale_of(row: PaymentRow) -> Sale:
    assert row.reply is not None
    return Sale(row.reply, row.transaction, row.settled_at)


def claim_of(order: PaidRequest) -> Reservation:
    payment, bearer = order.payment, order.bearer
    return Reservation(
        key=payment.key,
        fingerprint=order.fingerprint,
        route=order.route,
        amount_raw=payment.entry.amount_raw,
        pay_to=payment.entry.pay_to,
        valid_before=payment.valid_before,
        network_time=payment.entry.clock.seconds(),
        request=order.request,
        digest=bearer.digest,
        signature=bearer.signature,
        client=bearer.client,
        identifier=bearer.identifier,
    )
