"""Settling a payment, and finding out afterwards what became of it.

    facilitator says            the chain says               so the payment is
    settled, with its hash      (not asked)                  settled
    no, for a definite reason   unused, or does not answer   failed
    no, and names a hash        unused, and that reverted    failed
    anything else               used, by a transfer to us    settled
                                used, by no such transfer    failed, once the deadline has passed
                                unused, deadline passed      failed
                                unused, or does not answer   unknown: never refused, never served

A repeated settling cannot pay twice, because there is one nonce; but its refusal proves nothing.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import UpstreamDown
from tickyard.observe.log import log
from tickyard.payments.facilitator import Facilitator, FacilitatorRefused, Settled, Unknown
from tickyard.payments.ledger import Ledger, PaymentRow
from tickyard.payments.proof import witness as proofs
from tickyard.payments.proof.chain import ChainProof, Unused, Used
from tickyard.payments.refusal import EXPIRED, NONCE_SPENT

_LOOK_S: Final = 15.0


@dataclass(frozen=True, slots=True)
class Till:
    """Where payments of one network are settled, and where that can be seen."""

    facilitator: Facilitator
    proof: ChainProof
    clock: Clock


class Settlement:
    def __init__(self, ledger: Ledger, tills: Mapping[str, Till], *, look_s: float = _LOOK_S) -> None:
        self._ledger = ledger
        self._tills = tills
        self._look_s = look_s

    async def settle(self, row: PaymentRow) -> PaymentRow:
        """Ask for the money of a row that we hold in `settling`. The row comes back settled, failed or unknown."""
        assert row.request is not None
        outcome = await self._tills[row.key.network].facilitator.settle(row.request)
        if isinstance(outcome, Settled):
            return await self._ledger.settle(row, outcome.transaction)
        kind = outcome.kind if isinstance(outcome, Unknown) else outcome.reason
        log.warning("a settlement was not confirmed", network=row.key.network, kind=kind, settles=row.settles)
        seen = await self._look(row)
        if isinstance(seen, Used):
            return await self._by_transfer(row, seen)
        if seen is not None and seen.is_over:
            return await self._ledger.refuse(row, EXPIRED)
        if isinstance(outcome, FacilitatorRefused) and row.settles == 1 and await self._is_definite(row, outcome, seen):
            return await self._ledger.refuse(row, outcome.reason)
        return await self._ledger.doubt(row)

    async def reconcile(self, row: PaymentRow, holder: str) -> PaymentRow:
        """Find out about a row that nobody holds: the chain first, and only then the facilitator again."""
        row = await self._ledger.expire(row)
        if row.state != "unknown":
            return row
        seen = await self._look(row)
        if isinstance(seen, Used):
            return await self._by_transfer(row, seen)
        if seen is None:
            return row
        if seen.is_over:
            return await self._ledger.refuse(row, EXPIRED)
        if row.valid_before <= self._tills[row.key.network].clock.seconds():
            return row
        held = await self._ledger.resume(row, holder)
        return row if held is None else await self.settle(held)

    async def _is_definite(self, row: PaymentRow, refused: FacilitatorRefused, seen: Unused | None) -> bool:
        if refused.is_definite:
            return True
        if refused.transaction is None or seen is None:
            return False
        try:
            async with asyncio.timeout(self._look_s):
                transfers = await self._tills[row.key.network].proof.transfers_in(row, refused.transaction)
        except (UpstreamDown, TimeoutError):
            return False
        # Mined, and it moved nothing of this payment.
        return transfers is not None and not transfers and "pending" not in refused.reason.lower()

    async def _by_transfer(self, row: PaymentRow, used: Used) -> PaymentRow:
        async with self._ledger.store.begin() as tx:
            has_rival = await proofs.has_rival(tx, row)
            transfer = None if has_rival else await proofs.claim(tx, row, used.transfers)
        if transfer is not None:
            return await self._ledger.settle(row, transfer.transaction)
        # A node that lags may not have the transfer yet: only after the deadline is its silence an answer.
        if used.is_over and not has_rival:
            return await self._ledger.refuse(row, NONCE_SPENT)
        return await self._ledger.doubt(row)

    async def _look(self, row: PaymentRow) -> Used | Unused | None:
        """What the chain says; None when it does not answer."""
        try:
            async with asyncio.timeout(self._look_s):
                return await self._tills[row.key.network].proof.search(row)
        except (UpstreamDown, TimeoutError):
            log.warning("the chain of a payment does not answer", network=row.key.network)
            return None
