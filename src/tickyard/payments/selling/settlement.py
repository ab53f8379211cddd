"""Settling a payment, and finding out afterwards what became of it.

    facilitator says                  the chain says               so the payment is
    settled, with a hash of its own   (not asked)                  settled
    no, and it has sent nothing       unused, or no answer         failed, and watched
    no, and it has sent nothing       used, nothing says by what   unknown: never refused, never served
    anything else                     paid                         settled
                                      spent otherwise              failed, and watched
                                      unused, deadline passed      failed, and watched
                                      unused, or no answer         unknown: never refused, never served

A transaction that reverted is there for all to read, and may be sent again by anybody until the deadline: unknown.
Only the buyer's own request comes here with a payment to settle. A repeated settling cannot pay twice, because there is
one nonce; but its refusal proves nothing.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import UpstreamDown
from tickyard.observe.log import log
from tickyard.payments.books.ledger import Ledger
from tickyard.payments.books.row import PaymentRow
from tickyard.payments.facilitators.facilitator import FacilitatorRefused, Settled, Unknown
from tickyard.payments.facilitators.till import Till
from tickyard.payments.proof.finding import Finding, Tip, Unused
from tickyard.payments.proof.reconcile import carry_out
from tickyard.payments.proof.verdict import Verdict, is_sure, judge
from tickyard.payments.refusal import TooManyPayments, outcome_unknown
from tickyard.payments.selling.budgets import Budget

_LOOK_S: Final = 15.0
LOOKS_PER_MINUTE: Final = 20
"""How often the repeats of one payer make us read the chain. The worker reads it anyway."""


class Settlement:
    def __init__(
        self,
        ledger: Ledger,
        tills: Mapping[str, Till],
        clock: Clock,
        *,
        look_s: float = _LOOK_S,
        looks_per_minute: int | None = LOOKS_PER_MINUTE,
    ) -> None:
        self._ledger = ledger
        self._tills = tills
        self._look_s = look_s
        self._looks = Budget(looks_per_minute, clock, "too many repeats of payments in doubt")

    async def settle(self, row: PaymentRow, *, is_seen: bool) -> PaymentRow:
        """Ask for the money of a row that we hold in `settling`. The row comes back settled, failed or unknown.

        `is_seen`: the payer's own key made its signature."""
        outcome = await self._ask(row, is_seen)
        if isinstance(outcome, Settled) and outcome.payer in (None, row.key.payer):
            settled = await self._ledger.settle(row, outcome.transaction)
            if settled.state != "settling":
                return settled
        kind = _kind(outcome)
        log.warning("a settlement was not confirmed", network=row.key.network, kind=kind, settles=row.settles)
        seen = await self._read(row)
        verdict = _verdict(row, seen)
        if verdict is not None and verdict.act in ("settle", "refuse"):
            return await self._follow(row, verdict)
        # A nonce that is used, while nothing says by what, may have been used by the very money that it says it left.
        is_unused = seen is None or isinstance(seen[0], Unused)
        if isinstance(outcome, FacilitatorRefused) and row.settles == 1 and outcome.has_sent_nothing and is_unused:
            return await self._ledger.refuse(row, outcome.reason)
        return await self._ledger.doubt(row)

    async def _ask(self, row: PaymentRow, is_seen: bool) -> Settled | FacilitatorRefused | Unknown:
        assert row.request is not None
        if not self._ledger.is_in_time(row):
            # By now others may have told the buyer that nobody knows, and the buyer may be gone.
            return Unknown("overslept")
        return await self._tills[row.key.network].settle(row.request, row.key, row.facilitator, is_seen=is_seen)

    async def reconcile(self, row: PaymentRow, holder: str, *, is_seen: bool) -> PaymentRow:
        """The buyer is back with a payment that nobody holds: the chain first, and only then the facilitator again."""
        row = await self._ledger.expire(row)
        if row.state != "unknown":
            return row
        await self._allow_look(row)
        verdict = _verdict(row, await self._read(row))
        if verdict is None:
            return row
        if verdict.act != "wait":
            return await self._follow(row, verdict)
        if row.request is None or row.valid_before <= self._tills[row.key.network].clock.seconds():
            return row
        held = await self._ledger.resume(row, holder)
        return row if held is None else await self.settle(held, is_seen=is_seen)

    async def look(self, row: PaymentRow) -> PaymentRow | None:
        """Read the chain about a payment that failed, and believe it. None: it shows no use of the nonce. UpstreamDown
        when it shows one and nothing that says by what: who is refused then pays again."""
        await self._allow_look(row)
        seen = await self._read(row)
        if seen is None:
            return None
        verdict = judge(row, *seen, final_s=0)
        if verdict.act != "wait":
            row = await self._follow(row, verdict)
        if row.state == "failed" and not is_sure(row, seen[0]):
            raise outcome_unknown()
        return None if isinstance(seen[0], Unused) else row

    async def _allow_look(self, row: PaymentRow) -> None:
        """Whoever asks without a pause hears what they have heard before, and the chain is not asked."""
        try:
            (await self._looks.take(row.key.payer)).spend()
        except TooManyPayments as trouble:
            raise outcome_unknown(trouble.retry_after_s) from None

    async def _follow(self, row: PaymentRow, verdict: Verdict) -> PaymentRow:
        await carry_out(self._ledger, row, verdict)
        return await self._ledger.find(row.key) or row

    async def _read(self, row: PaymentRow) -> tuple[Finding, Tip] | None:
        """What the chain shows of the row; None when it does not answer."""
        proof = self._tills[row.key.network].proof
        try:
            async with asyncio.timeout(self._look_s):
                tip = await proof.tip()
                return (await proof.examine([row], tip))[row.key], tip
        except (UpstreamDown, TimeoutError):
            log.warning("the chain of a payment does not answer", network=row.key.network)
            return None


def _verdict(row: PaymentRow, seen: tuple[Finding, Tip] | None) -> Verdict | None:
    """What that means for the row. What is final is the worker's business: here nothing is closed or credited."""
    return None if seen is None else judge(row, *seen, final_s=0)


def _kind(outcome: Settled | FacilitatorRefused | Unknown) -> str:
    """What to call it in the log."""
    if isinstance(outcome, Settled):
        return "names another's transaction or payer"
    return outcome.kind if isinstance(outcome, Unknown) else outcome.reason
