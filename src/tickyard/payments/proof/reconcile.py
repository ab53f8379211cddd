"""The worker's round over payments that nobody holds any more."""

import secrets
from collections import Counter

from tickyard.kernel.errors import UpstreamDown
from tickyard.payments.ledger import Ledger
from tickyard.payments.settlement import Settlement


async def reconcile(ledger: Ledger, settlement: Settlement, *, holder: str, limit: int = 100) -> Counter[str]:
    """Let go of runs whose process died, and look after every payment in doubt.

    Returns how many rows ended in which state; `released` counts the runs let go of.
    """
    ended: Counter[str] = Counter(released=await ledger.release_abandoned())
    for row in await ledger.doubtful(limit):
        try:
            # A name never used before: an earlier round of the same worker may have overslept with this row in hand.
            ended[(await settlement.reconcile(row, f"{holder}-{secrets.token_hex(8)}")).state] += 1
        except UpstreamDown:
            ended["unknown"] += 1
    return ended
