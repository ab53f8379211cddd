"""The payment layer as one object."""

from dataclasses import dataclass

from tickyard.payments.cashier import Cashier
from tickyard.payments.ledger import Ledger
from tickyard.payments.offer.terms import Terms
from tickyard.payments.proof.chain import ChainProof
from tickyard.payments.settlement import Settlement


@dataclass(frozen=True, slots=True)
class Payments:
    terms: Terms
    ledger: Ledger
    cashier: Cashier
    settlement: Settlement
    chains: dict[str, ChainProof]
    """Our own eyes on each network."""
