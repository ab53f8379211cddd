"""The worker's round over payments: it looks, books and gives up. It never asks anybody for money.

One network at a time, so that none waits for another; each row when it is due, so that none stands in another's way.
When more are due than are looked at together, the round goes on: a node forgets the states that prove what is new.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from tickyard.chain.blocks import Finality
from tickyard.kernel.errors import UpstreamDown
from tickyard.observe.log import log
from tickyard.payments.books.ledger import Ledger
from tickyard.payments.books.row import PaymentRow
from tickyard.payments.proof.booking import credit, mark_missing
from tickyard.payments.proof.chain import AT_ONCE, ChainProof
from tickyard.payments.proof.verdict import Verdict, judge

_WINDOWS_MAX: Final = 20
"""How often a round looks at the next ones; what is left then is due in the round after it."""
_UNANSWERED: Final = "unanswered"


async def look_after(
    ledger: Ledger,
    chains: Mapping[str, ChainProof],
    *,
    finality: Finality,
    limit: int = AT_ONCE,
    is_forced: bool = False,
) -> Counter[str]:
    """Let go of runs whose process died, and look at every payment that is due. Counts what became of how many.

    `is_forced`: also those that are not due yet.
    """
    ended: Counter[str] = Counter(released=await ledger.release_abandoned())
    await ledger.adopt(chains)
    # Of what a round itself makes due the next one learns.
    behind, began = dict(chains), ledger.clock.now()
    for _ in range(1 if is_forced else _WINDOWS_MAX):
        for network, chain in list(behind.items()):
            most = min(limit, chain.bears)
            rows = await ledger.due(network, most, by=began, is_forced=is_forced)
            ends = await _look_at(ledger, chain, rows, finality)
            ended += ends
            if len(rows) < most or _UNANSWERED in ends:
                del behind[network]
    ended["waiting"] += ended.pop(_UNANSWERED, 0)
    return +ended


async def _look_at(ledger: Ledger, chain: ChainProof, rows: Sequence[PaymentRow], finality: Finality) -> Counter[str]:
    ended: Counter[str] = Counter()
    rows = [row for row in [await ledger.expire(row) for row in rows] if row.state not in ("running", "settling")]
    if not rows:
        return ended
    try:
        tip = await chain.tip(finality)
        # What we have seen already only waits for its block to be final, as long as that block is there.
        seen = [row for row in rows if row.mined_block is not None and row.mined_block > tip.final]
        is_any_over = any(row.valid_before < tip.timestamp for row in rows)
        beside = [tip.final] if is_any_over else []
        gone = await chain.gone([row for row in seen if row.valid_before > tip.timestamp], *beside)
        idle = [row for row in seen if row.key not in gone]
        busy = [row for row in rows if row not in idle]
        findings = await chain.examine(busy, tip)
        # Asked for only when somebody's deadline may lie before it.
        final_s = await chain.time_of(tip.final) if is_any_over else 0
    except UpstreamDown:
        chain.note_round(len(rows), is_done=False)
        log.warning("the chain of payments does not answer", network=chain.network, rows=len(rows))
        for row in rows:
            await ledger.watch(row, has_looked=False)
        ended[_UNANSWERED] += len(rows)
        return ended
    chain.note_round(len(rows), is_done=True)
    for row in idle:
        await ledger.watch(row)
        ended["waiting"] += 1
    for row in busy:
        ended[await _follow(ledger, row, judge(row, findings[row.key], tip, final_s))] += 1
    return ended


async def _follow(ledger: Ledger, row: PaymentRow, verdict: Verdict) -> str:
    if verdict.act == "credit":
        if await credit(ledger, row, verdict.transfers):
            return "credited"
    elif verdict.act == "missing":
        await mark_missing(ledger, row)
        return "missing"
    elif verdict.act != "wait":
        return await carry_out(ledger, row, verdict)
    await ledger.watch(row, is_unexplained=verdict.is_unexplained)
    return "waiting"


async def carry_out(ledger: Ledger, row: PaymentRow, verdict: Verdict) -> str:
    """What anybody may do who looked; the name of what became of the row."""
    if verdict.act == "settle":
        return (await ledger.settle_by(row, verdict.transfers, verdict.reason)).state
    if verdict.act == "refuse":
        return (await ledger.refuse(row, verdict.reason)).state
    if verdict.act == "unsettle":
        log.warning("a payment's transfer is gone from the chain", network=row.key.network, transaction=row.mined)
        return (await ledger.unsettle(row)).state
    if verdict.act == "see":
        await ledger.see(row, verdict.transfers)
    elif verdict.act == "close":
        await ledger.close(row)
        return "closed"
    return "waiting"
