"""What alarms are made of: the oldest payment in doubt, what is not credited yet, what was never fetched."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from prometheus_client import Gauge

from tickyard.observe.metrics import REGISTRY
from tickyard.payments.books.ledger import Ledger
from tickyard.payments.books.sellers_view import take_stock

_FRESH: Final = timedelta(minutes=5)

unknown_age_s = Gauge(
    "tickyard_payment_unknown_age_seconds", "Age of the oldest payment in doubt", ["network"], registry=REGISTRY
)
uncredited = Gauge(
    "tickyard_payments_uncredited", "Settled payments whose transfer is not final", ["network"], registry=REGISTRY
)
orphans = Gauge("tickyard_payment_orphans", "Money whose answer was never fetched", ["network"], registry=REGISTRY)


async def show_stock(ledger: Ledger, networks: Iterable[str]) -> None:
    now = ledger.clock.now()
    for network in networks:
        found = await take_stock(ledger.store, network, now - _FRESH)
        age = timedelta(0) if found.oldest_unknown is None else now - found.oldest_unknown
        unknown_age_s.labels(network).set(age // timedelta(seconds=1))
        uncredited.labels(network).set(found.uncredited)
        orphans.labels(network).set(found.orphans)


def forget_stock() -> None:
    for gauge in (unknown_age_s, uncredited, orphans):
        gauge.clear()
