"""The payment layer as one object."""

from dataclasses import dataclass

from tickyard.payments.cashier import Cashier
from tickyard.payments.chainproof import ChainProof
from tickyard.payments.ledger import Ledger
from tickyard.payments.settlement import Settlement
from tickyard.payments.terms import Terms


@dataclass(frozen=True, slots=True)
class Payments:
    terms: Terms
    ledger: Ledger
    cashier: Cashier
    settlement: Settlement
    chains: dict[str, ChainProof]
    """Our own eyes on each network."""
