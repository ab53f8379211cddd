"""Looking at all payments at once, whether they are due or not: for whoever cannot wait for the worker."""

from collections import Counter
from collections.abc import Mapping

from tickyard.chain.blocks import Finality
from tickyard.kernel.clock import Clock
from tickyard.payments.books.ledger import Ledger
from tickyard.payments.proof.chain import AT_ONCE, ChainProof
from tickyard.payments.proof.reconcile import look_after
from tickyard.store.engine import Store


async def verify_settlements(
    store: Store, chains: Mapping[str, ChainProof], clock: Clock, *, finality: Finality, limit: int = AT_ONCE
) -> Counter[str]:
    """Look at every payment now, and credit those whose transfer is final."""
    return await look_after(Ledger(store, clock), chains, finality=finality, limit=limit, is_forced=True)
