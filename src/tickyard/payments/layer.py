"""The payment layer as one object."""

from dataclasses import dataclass

from tickyard.payments.cashier import Cashier
from tickyard.payments.identity import Identity
from tickyard.payments.ledger import Ledger
from tickyard.payments.offer.terms import Terms
from tickyard.payments.proof.chain import ChainProof
from tickyard.payments.receipts import ReceiptKey


@dataclass(frozen=True, slots=True)
class Payments:
    terms: Terms
    ledger: Ledger
    cashier: Cashier
    identity: Identity
    chains: dict[str, ChainProof]
    """Our own eyes on each network."""
    receipt_key: ReceiptKey | None = None
