"""From settled to earned: the worker reads the chain itself before a payment counts anywhere else.

A facilitator's word is enough to serve an answer. It is not enough for the books: a facilitator that lies, or was taken
over, must not be able to create revenue.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import and_, select, update

from tickyard.chain.blocks import Finality
from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import UpstreamDown
from tickyard.observe.log import log
from tickyard.payments.ledger import PaymentRow, read_row
from tickyard.payments.proof import witness as proofs
from tickyard.payments.proof.chain import ChainProof, PaidTransfer, Unused
from tickyard.payments.signed.authorization import Key
from tickyard.payments.tables import payment
from tickyard.store import revenue
from tickyard.store.engine import Store, Transaction

GRACE: Final = timedelta(hours=1)
"""How long a settled payment may stay without a transfer before it is called missing."""


async def verify_settlements(
    store: Store, chains: Mapping[str, ChainProof], clock: Clock, *, finality: Finality, limit: int = 100
) -> Counter[str]:
    """Credit settled payments whose transfer is final. Counts what became credited, waiting or missing."""
    ended: Counter[str] = Counter()
    final: dict[str, int] = {}
    async with store.read() as tx:
        rows = await _unproven(tx, limit)
    for row in rows:
        network = row.key.network
        try:
            if network not in final:
                final[network] = await chains[network].final_block(finality)
            ended[await _verify(store, chains[network], clock, row, final[network])] += 1
        except UpstreamDown:
            ended["waiting"] += 1
    return ended


async def _verify(store: Store, chain: ChainProof, clock: Clock, row: PaymentRow, final: int) -> str:
    assert row.settled_at is not None
    named = (await chain.transfers_in(row, row.transaction) or []) if row.transaction is not None else []
    if await _credit(store, row, named, final, clock.now()):
        return "credited"
    # Not by the transaction that the facilitator named, so by whichever used the nonce.
    seen = await chain.search(row)
    found = [] if isinstance(seen, Unused) else seen.transfers
    if await _credit(store, row, found, final, clock.now()):
        return "credited"
    is_waiting = any(transfer.block > final for transfer in (*named, *found))
    if is_waiting or not seen.is_over or clock.now() < row.settled_at + GRACE:
        return "waiting"
    async with store.begin() as tx:
        await _mark(tx, row, "missing")
    log.error("a settled payment has no transfer on the chain", network=row.key.network, transaction=row.transaction)
    return "missing"


async def _credit(store: Store, row: PaymentRow, transfers: Sequence[PaidTransfer], final: int, now: datetime) -> bool:
    """Count the payment once, by a transfer that will not change and that counts for no other."""
    assert row.settled_at is not None
    unchanging = [transfer for transfer in transfers if transfer.block <= final]
    if not unchanging:
        return False
    async with store.begin() as tx:
        transfer = await proofs.claim(tx, row, unchanging)
        if transfer is None:
            return False
        settlement = f"{row.key.network}/{transfer.transaction}/{transfer.log_index}"
        await revenue.credit(tx, settlement, row.amount_raw, row.settled_at, now)
        await _mark(tx, row, "credited", transfer)
    return True


async def _unproven(tx: Transaction, limit: int) -> list[PaymentRow]:
    waiting = select(payment).where(payment.c.proof == "waiting").order_by(payment.c.settled_at).limit(limit)
    return [read_row(found) for found in (await tx.execute(waiting)).mappings()]


async def _mark(tx: Transaction, row: PaymentRow, proof: str, transfer: PaidTransfer | None = None) -> None:
    # The hash that the facilitator gave stands for the caller's receipt; the one on the chain is the truth.
    truth = {} if transfer is None else {"transaction": transfer.transaction}
    mine = and_(*(payment.c[name] == getattr(row.key, name) for name in Key.__struct_fields__))
    await tx.execute(update(payment).where(mine, payment.c.proof == "waiting").values(proof=proof, **truth))
