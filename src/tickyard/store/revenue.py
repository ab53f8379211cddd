"""What the service has earned: one row per settlement whose transfer we saw on the chain ourselves.

Written by payments, in the worker; read by the reward program.
"""

from datetime import datetime
from typing import Final

from sqlalchemy import BigInteger, Column, Index, String, Table

from tickyard.store.engine import Transaction
from tickyard.store.tables import METADATA, Instant
from tickyard.store.upsert import insert_new

revenue: Final = Table(
    "revenue",
    METADATA,
    # network, transaction hash and log index, joined by slashes: the transfer itself.
    Column("settlement", String, primary_key=True),
    # Dollars with six decimals, in whichever of the two assets they came.
    Column("amount_raw", BigInteger, nullable=False),
    Column("settled_at", Instant, nullable=False),
    Column("credited_at", Instant, nullable=False),
)
Index("ix_revenue_settled_at", revenue.c.settled_at)
Index("ix_revenue_credited_at", revenue.c.credited_at)


def settlement_of(network: str, transaction: str | None, log_index: int | None) -> str:
    """What a transfer is called in the books."""
    return f"{network}/{transaction}/{log_index}"


async def credit(tx: Transaction, settlement: str, amount_raw: int, settled_at: datetime, now: datetime) -> bool:
    """Count a settlement. False: it has been counted before."""
    row = {"settlement": settlement, "amount_raw": amount_raw, "settled_at": settled_at, "credited_at": now}
    return (await tx.execute(insert_new(tx, revenue), row)).rowcount == 1
