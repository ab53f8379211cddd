"""The payment layer as one object."""

from dataclasses import dataclass

from tickyard.payments.books.ledger import Ledger
from tickyard.payments.offer.terms import Terms
from tickyard.payments.proof.chain import ChainProof
from tickyard.payments.receipts import ReceiptKey
from tickyard.payments.selling.cashier import Cashier
from tickyard.payments.selling.identity import PayerIdentity


@dataclass(frozen=True, slots=True)
class Payments:
    terms: Terms
    ledger: Ledger
    cashier: Cashier
    identity: PayerIdentity
    chains: dict[str, ChainProof]
    """Our own eyes on each network."""
    receipt_key: ReceiptKey | None = None
